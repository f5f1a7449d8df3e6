"""Room inside a file: which sizes buckets get, and where freed room is found again.

CONTIGUOUS (Faloutsos and Jagadish, 1992, as Section 5 of the wave-index paper sums it up): a bucket
has room for more entries than it holds. When the room is used up, the bucket moves to room that is
`growth` times larger. After deletions it moves to smaller room. All sizes are therefore of one
geometric series. Freed room fits the next bucket of its size and is handed out by array operations,
without a search.

If a key has several buckets (`wavedex.store.growing.chained`), they are of these sizes as well. The
number of the key's entries decides which.

Room that was freed may still be shown by an older manifest. It is handed out again only once no
kept manifest shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavedex.errors import BadDefinition

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """The sizes that room may have, in records: a geometric series."""

    growth: float = 2.0
    """How many times larger each size is than the one before."""
    first: int = 4
    """The first size."""
    per_key: float = 2.5
    """How many buckets a key is to have, if it has several.

    2.5 is what Section 4.1 of the paper on variable lifetimes found to be a good mean between room
    that never fills up and too many places to read.
    """

    def __post_init__(self) -> None:
        if not (self.growth > 1.0 and self.growth <= 16.0):
            raise BadDefinition(f"growth={self.growth} is not above 1 and at most 16.")
        if self.first < 1:
            raise BadDefinition(f"first_room={self.first} is less than 1 entry.")
        if not (self.per_key >= 1.0 and self.per_key <= 64.0):
            raise BadDefinition(f"buckets={self.per_key} is not at least 1 and at most 64.")

    def at_least(self, counts: I64) -> I64:
        """The least size that holds each count."""
        series = self._series(int(counts.max()) if len(counts) else 1)
        return series[np.searchsorted(series, counts)]

    def at_most(self, counts: I64) -> I64:
        """The largest size that fits into each count, 0 where none does."""
        series = self._series(int(counts.max()) if len(counts) else 1)
        return np.concatenate([[0], series])[np.searchsorted(series, counts, side="right")]

    def of_buckets(self, counts: I64) -> I64:
        """The size of the buckets of keys with these counts of entries.

        It is the least size of which at most `per_key` buckets hold the entries.
        """
        return self.at_least(np.ceil(counts / self.per_key).astype(np.int64))

    def _series(self, most: int) -> I64:
        series = [self.first]
        while series[-1] < most:
            series.append(max(series[-1] + 1, int(np.ceil(series[-1] * self.growth))))
        return np.array(series, np.int64)


@dataclass(frozen=True)
class FreeRoom:
    """Freed room, piece by piece."""

    starts: I64
    """Where each piece begins."""
    sizes: I64
    """The size of each piece."""
    commits: I64
    """The commit that freed each piece."""

    @classmethod
    def none(cls) -> FreeRoom:
        """No room at all."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty)

    def free(self, starts: I64, sizes: I64, commit: int) -> FreeRoom:
        """With more room, freed by `commit`."""
        keep = sizes > 0
        return FreeRoom(
            np.concatenate([self.starts, starts[keep]]),
            np.concatenate([self.sizes, sizes[keep]]),
            np.concatenate([self.commits, np.full(int(keep.sum()), commit, np.int64)]),
        )

    def take(self, sizes: I64, oldest_kept: int) -> tuple[I64, FreeRoom]:
        """Room for each size, -1 where there is none, and what is left.

        Only room freed by a commit that every kept manifest already includes is handed out.
        """
        places = np.full(len(sizes), -1, np.int64)
        left = np.ones(len(self.starts), bool)
        usable = np.flatnonzero(self.commits <= oldest_kept)
        for size in np.unique(sizes[np.isin(sizes, self.sizes[usable])]):
            rooms = usable[self.sizes[usable] == size]
            wants = np.flatnonzero(sizes == size)[: len(rooms)]
            places[wants] = self.starts[rooms[: len(wants)]]
            left[rooms[: len(wants)]] = False
        return places, FreeRoom(self.starts[left], self.sizes[left], self.commits[left])
