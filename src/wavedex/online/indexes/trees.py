"""The T-INDEX: values in an AVL tree (003, Section 5.2).

The tree is balanced whenever a value is put in or taken out. A node knows the one above, so a value
whose node is known is taken out without a search.

COST: a search visits at most 1.45 times the binary logarithm of the number of values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.online.indexes.contract import ROOM_LEAST, SetIndex, plain, rekeyed
from wavedex.online.steps import ANSWER, PURGE, SEARCH

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

LEAST, MOST = -(2**63), 2**63 - 1
SIZE = 2
"""Where `tree_kernels` keeps the number of nodes."""


class TreeIndex(SetIndex):
    """Values in a balanced search tree."""

    kind = "tree"

    def __init__(self) -> None:
        from wavedex.online.indexes import tree_kernels

        super().__init__()
        self._kernels = tree_kernels
        self._links: I32 = np.zeros((ROOM_LEAST, 4), np.int32)
        self._state: I64 = np.array([1, 0, 0, 0], np.int64)

    @property
    def size(self) -> int:
        return int(self._state[SIZE])

    def locate(self, keys: I64) -> I32:
        keys = plain(keys)
        nodes, done = np.empty(len(keys), np.int32), 0
        visited = self.steps[SEARCH : SEARCH + 1]
        while True:
            tree = (self.keys, self._links, self._state)
            done = self._kernels.locate(keys, nodes, done, *tree, visited)
            if done == len(keys):
                return nodes
            self._grow()

    def find(self, keys: I64) -> I32:
        nodes = np.empty(len(keys), np.int32)
        tree = (self.keys, self._links, self._state)
        self._kernels.find(plain(keys), nodes, *tree, self.steps[SEARCH : SEARCH + 1])
        return nodes

    def in_order(self) -> I32:
        return self.between(None, None)

    def between(self, low: int | None, high: int | None) -> I32:
        return self._walked(low, high, self.steps[ANSWER : ANSWER + 1])

    def _walked(self, low: int | None, high: int | None, visited: I64) -> I32:
        low, high = LEAST if low is None else low, MOST if high is None else high
        nodes = np.empty(self.size, np.int32)
        tree = (self.keys, self._links, self._state)
        return nodes[: self._kernels.between(low, high, nodes, *tree, visited)]

    def _scanned(self) -> I32:
        return self._walked(None, None, self.steps[PURGE : PURGE + 1])

    def _take_out(self, nodes: I32) -> None:
        self._kernels.take_out(plain(nodes, np.int32), self._links, self._state)

    def rekey(self, old: I64, new: I64) -> None:
        self.keys[1:] = rekeyed(self.keys[1:], old, new)

    def _grow(self) -> None:
        super()._grow()
        self._links = np.concatenate([self._links, np.zeros_like(self._links)])
