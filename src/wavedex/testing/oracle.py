"""What the answers must be: a plain dictionary of slots to rows, slow and obvious.

Imports none of the code that it judges. Rows are dictionaries; each slot's rows are a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Row = dict[str, Any]


class Oracle:
    """The window as anyone would keep it by hand.

    `slot_of` gives the slot of a row. `expired` is what has left the window. A soft index may still
    show some of it.
    """

    def __init__(self, window: int, key: str, slot_of: Callable[[Row], int]) -> None:
        self.window = window
        self.key = key
        self.slot_of = slot_of
        self.newest: int | None = None
        self.slots: dict[int, list[Row]] = {}
        self.expired: dict[int, list[Row]] = {}

    def append(self, rows: Iterable[Row], newest: int) -> None:
        """Slots up to `newest` arrive with these rows."""
        for row in rows:
            self.slots.setdefault(self.slot_of(row), []).append(row)
        self.newest = newest
        for slot in [slot for slot in self.slots if slot <= newest - self.window]:
            self.expired[slot] = self.slots.pop(slot)

    def amend(self, rows: Iterable[Row]) -> None:
        """Late rows for slots of the window."""
        for row in rows:
            self.slots.setdefault(self.slot_of(row), []).append(row)

    def rows(self, wanted: Callable[[Row], bool] = lambda row: True) -> list[Row]:
        """The rows of the window for which `wanted` holds."""
        return [row for rows in self.slots.values() for row in rows if wanted(row)]

    def probe(self, key: Any, wanted: Callable[[Row], bool] = lambda row: True) -> list[Row]:
        """The rows of one key."""
        return self.rows(lambda row: row[self.key] == key and wanted(row))


def same_rows(one: Iterable[Row], other: Iterable[Row]) -> bool:
    """Whether both have the same rows, each equally often, in any order."""
    return sorted(map(_sortable, one)) == sorted(map(_sortable, other))


def _sortable(row: Row) -> list[tuple[str, str]]:
    return sorted((name, repr(value)) for name, value in row.items())
