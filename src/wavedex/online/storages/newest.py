"""The piece of the newest basic window, as it fills up: values and how often each came.

It is sorted linked lists, one for each bucket, in which a value is looked for as each row comes.
Beside its count a value may have its node of an index. One piece is filled again and again, so that
its arrays are made once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import plain, rekeyed

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

ROOM_LEAST = 64
"""Values for which there is room at first, but for one."""


class Newest:
    """Values and counts of rows that are not in the window yet."""

    def __init__(self, buckets: int) -> None:
        from wavedex.online.storages import newest_kernels

        if buckets < 1:
            raise BadDefinition(f"A basic window needs at least one bucket, not {buckets}.")
        self._kernels = newest_kernels
        self._keys: I64 = np.zeros(ROOM_LEAST, np.int64)
        self._counts: I64 = np.zeros(ROOM_LEAST, np.int64)
        self._nodes: I32 = np.zeros(ROOM_LEAST, np.int32)
        self._nexts: I32 = np.zeros(ROOM_LEAST, np.int32)
        self._heads: I32 = np.zeros(buckets, np.int32)
        self._used: I64 = np.ones(1, np.int64)
        self.pointing = 0
        """How many values have their nodes; these came first."""
        self.nulls = 0
        """How many rows have no value."""

    @property
    def size(self) -> int:
        """How many distinct values it has."""
        return int(self._used[0]) - 1

    @property
    def keys(self) -> I64:
        """The values in the order in which they came first."""
        return self._keys[1 : 1 + self.size]

    @property
    def counts(self) -> I64:
        """How often each value came, in the same order."""
        return self._counts[1 : 1 + self.size]

    @property
    def nodes(self) -> I32:
        """The nodes of the first values, of those that have one."""
        return self._nodes[1 : 1 + self.pointing]

    def enter(self, keys: I64, nulls: int, visited: I64) -> None:
        """Count rows. The nodes that are looked at are added to `visited`, which is one number."""
        keys, done = plain(keys), 0
        self.nulls += nulls
        while True:
            lists = (self._keys, self._counts, self._nexts, self._heads, self._used)
            done = self._kernels.enter(keys, done, *lists, visited)
            if done == len(keys):
                return
            for name in ("_keys", "_counts", "_nodes", "_nexts"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def point(self, nodes: I32) -> None:
        """Give the next values that have no nodes theirs."""
        start, self.pointing = self.pointing, self.pointing + len(nodes)
        self._nodes[1 + start : 1 + self.pointing] = nodes

    def listed(self) -> I32:
        """The positions of the values in `keys`, list by list: sorted if there is one list."""
        places = np.empty(self.size, np.int32)
        self._kernels.listed(self._nexts, self._heads, places)
        return places - 1

    def clear(self) -> None:
        """Begin another piece."""
        self._heads[:] = 0
        self._used[0] = 1
        self.pointing = self.nulls = 0

    def rekey(self, old: I64, new: I64) -> None:
        """Give values other numbers, which may belong to other buckets."""
        self.keys[:] = rekeyed(self.keys, old, new)
        places = np.argsort(self.keys, kind="stable")[::-1] + 1
        self._kernels.rehash(plain(places, np.int32), self._keys, self._nexts, self._heads)

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        lists = (self._nexts, self._heads)
        return sum(each.nbytes for each in (self._keys, self._counts, self._nodes, *lists))
