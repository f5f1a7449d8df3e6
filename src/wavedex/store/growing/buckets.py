"""Buckets of records in a file that grows: the room of each, and which of its records count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavedex.rows.order import spread_ranges, stable_order
from wavedex.store.directory import I64


@dataclass(frozen=True)
class Buckets:
    """Where buckets lie."""

    rooms: I64
    """Where the room of each begins."""
    sizes: I64
    """The size of the room of each."""
    skips: I64
    """How many records are skipped at the front of each."""
    counts: I64
    """How many records of each count."""

    @property
    def firsts(self) -> I64:
        """The position of each bucket's first record."""
        return self.rooms + self.skips

    def positions(self) -> I64:
        """The positions of all records that count, bucket by bucket."""
        return spread_ranges(self.firsts, self.counts)

    def take(self, which: I64) -> Buckets:
        """Some of the buckets, or all in another order."""
        return Buckets(*(array[which] for array in self.arrays().values()))

    def not_in(self, other: Buckets, records: int) -> Buckets:
        """The buckets with records that another version of the same file does not show.

        The file has so many `records`.

        A record that is shown is never written over. So where both have a bucket in the same room,
        the records that both show are the same. They come in the order of the file.
        """
        twins = np.full(records, -1, np.int32)
        twins[other.rooms] = np.arange(len(other.rooms), dtype=np.int32)
        twin = twins[self.rooms]
        firsts, ends = other.firsts[twin], (other.firsts + other.counts)[twin]
        is_more = (self.firsts < firsts) | (self.firsts + self.counts > ends)
        found = self.take(np.flatnonzero((twin < 0) | is_more))
        return found.take(stable_order(found.rooms))

    def followed_by(self, other: Buckets) -> Buckets:
        """These and then those."""
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return Buckets(*(np.concatenate(pair) for pair in pairs))

    def arrays(self) -> dict[str, I64]:
        """As a directory holds them."""
        return {
            "rooms": self.rooms,
            "sizes": self.sizes,
            "skips": self.skips,
            "counts": self.counts,
        }
