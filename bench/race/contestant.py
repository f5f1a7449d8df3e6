"""What takes part in the race: something that keeps a window of slots and answers questions on it.

Rows come as Arrow tables of `bench.workload.SCHEMA`, one table a slot, and answers leave as Arrow
tables with the same columns, since that is what a user of columnar data wants to hold. What it
takes to make one is part of every time.

A transition is durable when it has been synced to the disk: a crash of the machine right after
`slide` returns loses nothing. A slot is a day, numbered from 1970, and its rows have times of that
day.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from bench.workload import DAY_US

Sums = list[tuple[str, int, float]]


class Contestant(ABC):
    """One store in one layout.

    The calls come in this order: create, load, settle, (slide, settle)..., questions, close.
    """

    name: ClassVar[str]
    """By which it is called on the command line and in the tables."""

    folder: Path
    window: int

    def create(self, folder: Path, window: int) -> None:
        """Begin with nothing, in a folder that is empty and its own."""
        self.folder = folder
        self.window = window

    def reopen(self, folder: Path, window: int) -> None:
        """Go on, in another process, with what one of its kind has loaded, settled and closed.

        Only questions follow.
        """
        raise NotImplementedError(f"{self.name} cannot be opened again")

    @abstractmethod
    def load(self, tables: Sequence[pa.Table]) -> None:
        """Take the first W slots, all at once."""

    @abstractmethod
    def slide(self, table: pa.Table, old_slot: int) -> None:
        """Take a new slot and let the oldest go; return once it is durable and can be queried."""

    def settle(self) -> None:  # noqa: B027 - nothing to do for some
        """Do what a good user would do after loading or sliding and need not wait for.

        ENSURES: no work is left that would go on in the background while something else is
        measured.
        """

    @abstractmethod
    def probe(self, key: int) -> pa.Table:
        """All rows of a key."""

    @abstractmethod
    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        """The rows of a key in the slots from `since_slot` on."""

    @abstractmethod
    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        """All rows of several distinct keys."""

    @abstractmethod
    def grouped_sum(self) -> Sums:
        """For each label the sum of units and of amount, over the window."""

    @abstractmethod
    def count_rows(self) -> int:
        """How many rows the window has, counted rather than remembered."""

    @abstractmethod
    def version(self) -> str:
        """The version of the store, for the report."""

    def server_processes(self) -> list[int]:
        """The ids of the processes that work for it beside this one."""
        return []

    def close(self) -> None:  # noqa: B027 - nothing to do for some
        """Let go of files and processes."""


def slot_of(table: pa.Table) -> int:
    """The slot of a table of one slot."""
    return table["at"][0].value // DAY_US


def start_us(slot: int) -> int:
    """The first microsecond of a slot."""
    return slot * DAY_US


def start_date(slot: int) -> dt.date:
    """The day that a slot is."""
    return dt.date(1970, 1, 1) + dt.timedelta(days=slot)


def start_text(slot: int) -> str:
    """The beginning of a slot as SQL writes it, in UTC."""
    return f"{start_date(slot)} 00:00:00+00"


def listed(keys: Sequence[int]) -> str:
    """Keys for the brackets of an `in` of SQL."""
    return ",".join(map(str, keys))


def sums_of(table: pa.Table) -> Sums:
    """The sums from an Arrow table of label, units and amount."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
