"""From a key to its bucket: a hash table that lies on disk as it is used in memory.

The table is an array of bucket numbers. Each is stored as one more than the number, so that 0 is an
empty place. The first bits of a key's hash name its place. If that is taken, the key goes to the
next free one. The buckets are placed in the order of their hashes. So all places follow from one
running maximum, and no loop is needed to build the table. It never wraps round: a few places are
added at its end instead.

Some bits of a place are needed by no bucket number. They hold the same bits of the hash, its tag. A
look-up that meets the bucket of another key tells so from the table alone, without a look at the
keys.

A table knows nothing of keys and rows. Whoever looks something up hands in a function that
compares. Opening a table costs the same however many keys there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wavedex.rows.hashes import U64
from wavedex.rows.order import stable_order

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LOAD_MAX = 0.75
"""How full a table may be. Fuller ones take less room and make look-ups try more places."""
_AHEAD, _AHEAD_OF_MANY, _MANY = np.arange(16), np.arange(8), 10_000
"""How many places a look-up of several keys takes in at a time: fewer from `_MANY` keys on.

More places make fewer passes. Fewer places take less memory where keys are many.
"""


def build_table(hashes: U64) -> tuple[npt.NDArray[np.uint32], int]:
    """The table for buckets 0, 1, 2 ... with these hashes, and how many bits of a hash it uses."""
    order, places, bits, size = assign_places(hashes)
    table = np.zeros(size, np.uint32)
    _, tag_mask = _masks(len(hashes))
    table[places] = (order + 1) | (hashes[order] & np.uint64(tag_mask)).astype(np.int64)
    return table, bits


def assign_places(hashes: U64) -> tuple[I64, I64, int, int]:
    """Give each bucket a place in a table.

    Returns the buckets in the order of their hashes, the place of each, how many bits name a home,
    and how many places there are.
    """
    count = len(hashes)
    bits = max(1, int(np.ceil(np.log2(max(count, 1) / LOAD_MAX))))
    homes = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = stable_order(homes)
    rank = np.arange(count, dtype=np.int64)
    places = homes[order]
    del homes
    places -= rank
    np.maximum.accumulate(places, out=places)
    places += rank
    last = int(places[-1]) if count else 0
    return order, places, bits, max(1 << bits, last + 1) + 1


def _masks(count: int) -> tuple[int, int]:
    """Which of 32 bits hold one of `count` bucket numbers, and which the tag."""
    number_mask = (1 << count.bit_length()) - 1
    return number_mask, 0xFFFFFFFF & ~number_mask


class HashTable:
    """A table to look up in: of `count` buckets with tags or, without `count`, of numbers alone."""

    def __init__(
        self,
        places: npt.NDArray[np.uint32] | npt.NDArray[np.uint8],
        bits: int,
        count: int | None = None,
    ) -> None:
        self.places = places
        self.shift = 64 - bits
        self.number_mask, self.tag_mask = (0xFFFFFFFF, 0) if count is None else _masks(count)
        self.view = places.data.cast("B").cast("I" if places.itemsize == 4 else "B")

    def find(self, hashed: int, matches: Callable[[int], bool]) -> int:
        """The bucket whose key has this hash and `matches`, or -1."""
        view, tag_mask = self.view, self.tag_mask
        place, tag = hashed >> self.shift, hashed & tag_mask
        while entry := view[place]:
            if entry & tag_mask == tag and matches(entry - tag - 1):
                return entry - tag - 1
            place += 1
        return -1

    def find_many(self, hashes: U64, matches: Callable[[I64, I64], Bools]) -> I64:
        """The bucket of each hash, or -1.

        `matches(rows, buckets)` compares the caller's keys with those of the buckets.

        COST: a pass over the keys still in question for every few places of the longest run of
        taken ones.
        """
        found = np.full(len(hashes), -1, np.int64)
        rows = np.arange(len(hashes), dtype=np.int64)
        places = (hashes >> np.uint64(self.shift)).astype(np.int64)
        tags = hashes.astype(np.uint32) & np.uint32(self.tag_mask)
        ahead = _AHEAD if len(hashes) < _MANY else _AHEAD_OF_MANY
        while len(rows):
            if int(places.min()) >= len(self.places):
                raise ValueError("a table without an end")
            # The last place of a table is empty, so that looking past the end finds nothing.
            entries = self.places.take(places[:, None] + ahead, mode="clip")
            ends = (entries == 0) | (entries & np.uint32(self.tag_mask) == tags[:, None])
            each, step = np.arange(len(rows)), ends.argmax(1)
            entry, is_end = entries[each, step], ends[each, step]
            going = entry > 0
            likely = np.flatnonzero(going & is_end)
            buckets = (entry[likely] & np.uint32(self.number_mask)).astype(np.int64) - 1
            equal = matches(rows[likely], buckets)
            found[rows[likely[equal]]] = buckets[equal]
            going[likely[equal]] = False
            places += np.where(is_end, step + 1, len(ahead))
            rows, places, tags = rows[going], places[going], tags[going]
        return found
