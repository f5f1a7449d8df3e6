"""GROUP: counts of groups of values for each basic window, by the number of the group (003, 3.2).

With a G-INDEX there is no domain storage: pieces keep the numbers of their groups. At a slide the
newest piece and the oldest make one sorted list of changes, which is merged with the index (Section
5.4). Another index is pointed at, as by AGGR.

COST: a row visits up to all groups. A slide visits each node of two pieces and of the index once.
"""

from __future__ import annotations

import numpy as np

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.indexes.groups import GroupIndex
from wavedex.online.steps import STORE
from wavedex.online.storages.aggregates import AggrStorage
from wavedex.online.storages.chains import Piece

_NONE = Piece(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), 0)
"""What a window has that nothing comes to, or that nothing leaves."""


class GroupStorage(AggrStorage):
    """Pieces that are one sorted linked list of groups."""

    kind = "group"

    def __init__(self, index: SetIndex | None, *, eager: bool = True) -> None:
        super().__init__(index, eager=eager)
        if isinstance(index, GroupIndex):
            self._domain = None

    def _count(self, newest: Piece | None, oldest: Piece | None) -> None:
        if not isinstance(self.index, GroupIndex):
            super()._count(newest, oldest)
            return
        from wavedex.online.group_kernels import merge_changes

        comes, goes = newest or _NONE, oldest or _NONE
        most = len(comes.keys) + len(goes.keys)
        self.steps[STORE] += most
        groups, amounts = np.empty(most, np.int64), np.empty(most, np.int64)
        pieces = comes.keys, comes.counts, goes.keys, goes.counts
        changed = merge_changes(*pieces, groups, amounts)
        self.index.merge(groups[:changed], amounts[:changed], self.side)
        self._count_nulls(comes.nulls - goes.nulls)
