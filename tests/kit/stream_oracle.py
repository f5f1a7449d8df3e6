"""What an index that a stream feeds must answer: a plain dictionary of slots to rows.

Imports none of the code that it judges; what the index must refuse is known here by the error's
name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pyarrow as pa

EVERY = 10
KEYS = range(6)
SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])

Row = dict[str, Any]


class Refused(Exception):
    """What the index must say, by the name of its error."""


def slot_of(row: Row) -> int:
    return row["t"] // EVERY


def table(rows: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def rows(*times: int) -> pa.Table:
    """A row for each of these times."""
    return table({"k": time % 3, "t": time, "v": str(time)} for time in times)


def bag(rows: Iterable[Row] | pa.Table | pa.RecordBatchReader) -> Counter:
    """The rows in any order, each as often as it is there."""
    if isinstance(rows, pa.RecordBatchReader):
        rows = rows.read_all()
    if isinstance(rows, pa.Table):
        rows = rows.to_pylist()
    return Counter((row["k"], row["t"], row["v"]) for row in rows)


class StreamOracle:
    """The window as anyone would keep it by hand.

    `slots` has every row that can be seen, `newest` the last sealed slot.
    """

    def __init__(self, window: int, max_gap: int) -> None:
        self.window = window
        self.max_gap = max_gap
        self.slots: dict[int, list[Row]] = {}
        self.newest: int | None = None
        self.watermark: int | None = None

    def feed(self, rows: list[Row], delay: int, another: bool = False) -> dict[str, Any]:
        """A batch that comes for the first time, of the stream or of `another` that takes over.

        What is to be said of it. Raises Refused, and nothing has changed.
        """
        watermark = None if another else self.watermark
        late = [row for row in rows if self.is_late(slot_of(row), watermark)]
        entering = [row for row in rows if not self.is_late(slot_of(row), watermark)]
        if any(slot_of(row) not in self.known for row in entering):
            self.check_gaps(map(slot_of, entering))
        amended = sum(self.is_sealed(slot_of(row)) for row in entering)
        self.put(entering)
        seen = [row["t"] - delay for row in entering] + ([] if watermark is None else [watermark])
        self.watermark = max(seen, default=None)
        sealed = self.seal_what_the_watermark_passed()
        return {"rows": len(entering), "amended": amended, "late": late, "sealed": sealed}

    def is_late(self, slot: int, watermark: int | None) -> bool:
        passed = watermark is not None and (slot + 1) * EVERY <= watermark
        return passed or (self.newest is not None and slot <= self.newest - self.window)

    def is_sealed(self, slot: int) -> bool:
        return self.newest is not None and slot <= self.newest

    def seal_what_the_watermark_passed(self) -> list[int]:
        if self.watermark is None:
            return []
        slot = min(self.slots) if self.newest is None else self.newest + 1
        sealed = []
        while (slot + 1) * EVERY <= self.watermark:
            sealed.append(slot)
            slot += 1
        if sealed:
            self.seal(sealed[-1])
        return sealed

    def append(self, rows: list[Row]) -> None:
        slots = sorted(set(map(slot_of, rows)))
        if self.newest is not None and slots[0] <= self.newest - self.window:
            raise Refused("OutsideWindow")
        if self.open & set(slots):
            raise Refused("SlotConflict")
        if any(map(self.is_sealed, slots)):
            raise Refused("SlotConflict", "SlotBackwards")
        self.check_gaps(slots)
        self.put(rows)
        self.seal(slots[-1])

    def amend(self, rows: list[Row]) -> None:
        if any(slot_of(row) not in self.known for row in rows):
            raise Refused("OutsideWindow")
        self.put(rows)

    def put(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.slots.setdefault(slot_of(row), []).append(row)

    def seal(self, newest: int) -> None:
        self.newest = newest
        for slot in [slot for slot in self.slots if slot <= newest - self.window]:
            del self.slots[slot]

    def check_gaps(self, slots: Iterable[int]) -> None:
        there = {*slots, *self.open, *(() if self.newest is None else (self.newest,))}
        there = sorted(slot for slot in there if self.newest is None or slot >= self.newest)
        for before, after in pairwise(there):
            if after - before - 1 > self.max_gap:
                raise Refused("GapTooLarge")

    @property
    def open(self) -> set[int]:
        return {slot for slot in self.slots if not self.is_sealed(slot)}

    @property
    def known(self) -> set[int]:
        """The slots of the window: the last W that were sealed, and the open ones."""
        newest = self.newest
        return self.open | set(
            () if newest is None else range(newest - self.window + 1, newest + 1)
        )

    def rows(self, since: int | None = None, until: int | None = None) -> list[Row]:
        return [
            row
            for slot, rows in self.slots.items()
            for row in rows
            if (since is None or slot >= since) and (until is None or slot <= until)
        ]
