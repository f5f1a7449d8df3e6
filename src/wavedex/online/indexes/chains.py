"""Values in linked lists, one for each bucket: what L-, H-, UH- and G-INDEX have in common.

A value stands in the bucket of its remainder by the number of buckets. Lists are linked both ways,
so that a value whose node is known is taken out without a walk.

COST: a search visits up to all nodes of a bucket.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import ROOM_LEAST, SetIndex, plain, rekeyed
from wavedex.online.steps import ANSWER, PURGE, SEARCH, new_steps

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

LEAST, MOST = -(2**63), 2**63 - 1
SIZE = 2
"""Where `chain_kernels` keeps the number of nodes."""


class ChainIndex(SetIndex):
    """Values in linked lists, one for each bucket."""

    is_sorted: ClassVar[bool] = True
    """Whether lists are sorted by value. If not, a new value is put at the head."""

    def __init__(self, *, buckets: int) -> None:
        from wavedex.online.indexes import chain_kernels

        super().__init__()
        self._kernels = chain_kernels
        if buckets < 1:
            raise BadDefinition(f"An index needs at least one bucket, not {buckets}.")
        self._heads: I32 = np.zeros(buckets, np.int32)
        self._nexts: I32 = np.zeros(ROOM_LEAST, np.int32)
        self._previous: I32 = np.zeros(ROOM_LEAST, np.int32)
        self._state: I64 = np.array([1, 0, 0], np.int64)

    @property
    def size(self) -> int:
        return int(self._state[SIZE])

    def locate(self, keys: I64) -> I32:
        locate = self._kernels.locate_sorted if self.is_sorted else self._kernels.locate_unsorted
        keys = plain(keys)
        nodes, done = np.empty(len(keys), np.int32), 0
        visited = self.steps[SEARCH : SEARCH + 1]
        while True:
            lists = (self.keys, self._nexts, self._previous, self._heads, self._state)
            done = locate(keys, nodes, done, *lists, visited)
            if done == len(keys):
                return nodes
            self._grow()

    def find(self, keys: I64) -> I32:
        nodes = np.empty(len(keys), np.int32)
        lists = (self.keys, self._nexts, self._heads)
        self._kernels.find(
            plain(keys), nodes, self.is_sorted, *lists, self.steps[SEARCH : SEARCH + 1]
        )
        return nodes

    def in_order(self) -> I32:
        return self.between(None, None)

    def between(self, low: int | None, high: int | None) -> I32:
        nodes = self._walked(low, high, self.steps[ANSWER : ANSWER + 1])
        return self._merged(nodes)

    def _walked(self, low: int | None, high: int | None, visited: I64) -> I32:
        """The nodes of the values from `low` to `high`, bucket by bucket."""
        low, high = LEAST if low is None else low, MOST if high is None else high
        nodes = np.empty(self.size, np.int32)
        lists = (self.keys, self._nexts, self._heads)
        return nodes[: self._kernels.between(low, high, self.is_sorted, nodes, *lists, visited)]

    def _merged(self, nodes: I32) -> I32:
        """Nodes that were found bucket by bucket, by value. A stable sort merges sorted lists."""
        if len(self._heads) == 1 and self.is_sorted:
            return nodes
        return nodes[np.argsort(self.keys[nodes], kind="stable")]

    def _scanned(self) -> I32:
        return self._walked(None, None, self.steps[PURGE : PURGE + 1])

    def _take_out(self, nodes: I32) -> None:
        lists = (self.keys, self._nexts, self._previous, self._heads, self._state)
        self._kernels.take_out(plain(nodes, np.int32), *lists)

    def rekey(self, old: I64, new: I64) -> None:
        """Give values other numbers, which may belong to other buckets.

        In unsorted buckets the values are put in anew, from the tails of the lists to the heads.
        """
        nodes = self._walked(None, None, new_steps()[:1])
        self.keys[1:] = rekeyed(self.keys[1:], old, new)
        if self.is_sorted:
            nodes = self._merged(nodes)
        lists = (self.keys, self._nexts, self._previous, self._heads)
        self._kernels.rehash(plain(nodes[::-1], np.int32), *lists)

    def _grow(self) -> None:
        super()._grow()
        self._nexts = np.concatenate([self._nexts, np.zeros_like(self._nexts)])
        self._previous = np.concatenate([self._previous, np.zeros_like(self._previous)])
