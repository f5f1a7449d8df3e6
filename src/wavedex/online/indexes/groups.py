"""The G-INDEX: an L-INDEX of groups of values, each known by its number (003, Section 5.4).

Basic windows that are kept as groups have few of them. So nothing points at the nodes: the changes
of a slide are sorted by group and merged with the list.

COST: a merge visits each node at most once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.online.indexes.contract import plain
from wavedex.online.indexes.lists import ListIndex
from wavedex.online.steps import SEARCH

I64 = npt.NDArray[np.int64]


class GroupIndex(ListIndex):
    """Numbers of groups in one sorted linked list."""

    kind = "group"

    def merge(self, keys: I64, amounts: I64, side: int = 0) -> None:
        """Add changes to the counts of groups, in one pass of both; negative ones take away.

        The nodes that the pass visits are steps of a search, those that it changes of counting.

        REQUIRES: `keys` are sorted, each comes once.
        """
        while self.room - 1 - self.size < len(keys):
            self._grow()
        nodes = np.empty(len(keys), np.int32)
        lists = (self.keys, self._nexts, self._previous, self._heads, self._state)
        self._kernels.merge(plain(keys), nodes, *lists, self.steps[SEARCH : SEARCH + 1])
        self.count(nodes, amounts, side)
