"""Who is alive: which additions and removals are possible, and a place for each id while it lives.

An id keeps its place, its *entry*, for as long as it is alive. Methods that must find the record of
an id that is removed keep its place in their pages under that entry: the paper's hashing of ids to
pages (Section 3.1), which is in memory and not counted.

A table of open addressing leads from ids to entries. Nobody is told of changes of which one is not
possible: what was taken in of them is undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.temporal.changes import I8, I32, I64, Bools
from wavedex.temporal.growing import Growing
from wavedex.temporal.soundness import are_in, demand

BLOCK = 1 << 15
"""So many changes are taken in at a time: room is made for as many additions."""
COUNT, FREE = 0, 1
"""Places in `tally`: how many entries were ever given out, and how many of them are free."""


class Alive:
    """The ids that are alive, and their entries."""

    def __init__(self) -> None:
        self._table: I32 = np.full(16, -1, np.int32)
        self._ids = Growing(np.int64)
        self._free = Growing(np.int32)
        self._tally: I64 = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self._tally[COUNT] - self._tally[FREE])

    @property
    def entries(self) -> int:
        """How many entries were ever given out."""
        return int(self._tally[COUNT])

    @property
    def ids(self) -> I64:
        """The ids that are alive, in no order."""
        return self._ids.room[: self.entries][self.is_alive]

    @property
    def is_alive(self) -> Bools:
        """Which entries are those of ids that are alive."""
        found = np.ones(self.entries, np.bool_)
        found[self._free.room[: self._tally[FREE]]] = False
        return found

    def take(self, ids: I64, signs: I8) -> tuple[I32, int]:
        """Take changes in, and return the entry of each id and -1.

        Where one is not possible, nothing has changed, and its place is returned in place of -1.
        """
        entries = np.empty(len(ids), np.int32)
        for start in range(0, len(ids), BLOCK):
            block = slice(start, min(start + BLOCK, len(ids)))
            bad = self._take_block(ids[block], signs[block], entries[block])
            if bad >= 0:
                for first in range(start - BLOCK, -1, -BLOCK):
                    back = slice(first, first + BLOCK)
                    undone = np.empty(BLOCK, np.int32)
                    self._take_block(ids[back][::-1].copy(), -signs[back][::-1], undone)
                return entries, start + bad
        return entries, -1

    def _take_block(self, ids: I64, signs: I8, entries: I32) -> int:
        from wavedex.temporal.alive_kernels import take

        self._reserve(len(ids))
        return int(
            take(ids, signs, self._table, self._ids.room, self._free.room, self._tally, entries)
        )

    def _reserve(self, count: int) -> None:
        """Have room for so many more."""
        needed = self.entries + count
        self._ids.reserve(needed)
        self._free.reserve(needed)
        if 2 * (len(self) + count) > len(self._table):
            self._rehash(1 << (4 * (len(self) + count)).bit_length())

    def entries_of(self, ids: I64) -> I32:
        """The entries of ids; -1 where one is not alive."""
        from wavedex.temporal.alive_kernels import entries_of

        entries = np.empty(len(ids), np.int32)
        entries_of(self._table, self._ids.room, ids, entries)
        return entries

    def _rehash(self, size: int) -> None:
        from wavedex.temporal.alive_kernels import fill

        self._table = np.full(size, -1, np.int32)
        is_whole = fill(self._table, self._ids.room[: self.entries], self.is_alive)
        demand(is_whole, "an id is alive twice")

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that is kept."""
        return {
            "alive_ids": self._ids.room[: self.entries],
            "alive_free": self._free.room[: self._tally[FREE]],
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was. Raises Damaged where an id or an entry is there twice."""
        self._ids.restore(arrays["alive_ids"])
        self._free.restore(arrays["alive_free"])
        count, free = self._ids.count, self._free.used
        demand(are_in(free, 0, count), "an entry is free that was never given out")
        self._tally = np.array([count, len(free)])
        demand(self.is_alive.sum() == len(self), "an entry is free twice")
        self._rehash(1 << (4 * len(self) + 16).bit_length())

    def findings(self) -> Iterator[str]:
        """What is wrong with the table, in sentences."""
        ids = self.ids
        if len(np.unique(ids)) != len(ids):
            yield "an id is alive twice"
        lost = int((self.entries_of(ids) < 0).sum())
        if lost:
            yield f"{lost} ids that are alive cannot be found"
