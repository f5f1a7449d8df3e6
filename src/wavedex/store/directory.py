"""From a key to its bucket: a hash table that lies on disk as it is used in memory.

The table is an array of bucket numbers, each one more than the number, so that 0 is an empty place. A key belongs at the
place that the first bits of its hash name or, where that is taken, at the next free one. The buckets are placed in the
order of their hashes, so that all places follow from one running maximum and no loop is needed to build it. It never
wraps round: a few places are added at its end instead.

A table knows nothing of keys and rows; whoever looks something up hands in a function that compares. Opening one costs
the same however many keys there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wavedex.store.order import stable_order
from wavedex.store.xxh64 import U64

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LOAD_MAX = 0.75
"""How full a table may be. Fuller ones take less room and make look-ups try more places."""


def build_table(hashes: U64) -> tuple[npt.NDArray[np.uint32], int]:
    """The table for buckets 0, 1, 2 ... whose keys have these hashes, and how many bits of a hash it uses."""
    count = len(hashes)
    bits = max(1, int(np.ceil(np.log2(max(count, 1) / LOAD_MAX))))
    homes = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = stable_order(homes)
    rank = np.arange(count, dtype=np.int64)
    places = rank + np.maximum.accumulate(homes[order] - rank)
    last = int(places[-1]) if count else 0
    table = np.zeros(max(1 << bits, last + 1) + 1, np.uint32)
    table[places] = order + 1
    return table, bits


class Table:
    """A table to look up in."""

    def __init__(self, places: npt.NDArray[np.uint32] | npt.NDArray[np.uint8], bits: int) -> None:
        self.places = places
        self.shift = 64 - bits
        self._view = places.data.cast("B").cast("I" if places.itemsize == 4 else "B")

    def find(self, hashed: int, matches: Callable[[int], bool]) -> int:
        """The bucket whose key has this hash and `matches`, or -1."""
        view = self._view
        place = hashed >> self.shift
        while bucket := view[place]:
            if matches(bucket - 1):
                return bucket - 1
            place += 1
        return -1

    def find_many(self, hashes: U64, matches: Callable[[I64, I64], Bools]) -> I64:
        """The bucket of each hash, or -1; `matches(rows, buckets)` compares the caller's keys with the buckets'.

        COST: as many passes as the longest run of taken places, each over the keys still in question.
        """
        found = np.full(len(hashes), -1, np.int64)
        rows = np.arange(len(hashes), dtype=np.int64)
        places = (hashes >> np.uint64(self.shift)).astype(np.int64)
        while len(rows):
            buckets = self.places[places].astype(np.int64) - 1
            taken = buckets >= 0
            rows, places, buckets = rows[taken], places[taken], buckets[taken]
            equal = matches(rows, buckets)
            found[rows[equal]] = buckets[equal]
            rows, places = rows[~equal], places[~equal] + 1
        return found
