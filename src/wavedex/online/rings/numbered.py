"""Rings whose links are arrival numbers, which is the default: what leaves costs nothing.

Each row remembers the arrival number of the row of its value that came before it, and each value
that of its newest row. A walk from there ends at the first number that is smaller than that of the
oldest row in the window: no link has to be cut when rows leave, no ring has to be followed, and no
dirty bit to be looked at. A row that cannot be seen yet has a number that is too large, and is
stepped over. So rows that leave change one number, whatever the rings are like; and to link a row
visits no other.

It is ours; those of the paper are beside it. A link takes 8 bytes a row.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.rings.contract import I32, I64, NO_ROW, Ring
from wavedex.online.rows import grown_circular
from wavedex.online.steps import ANSWER


class NumberedRing(Ring):
    """Rows linked by their arrival numbers, from the newest of a value to the oldest."""

    kind: ClassVar[str] = "numbered"
    takes_several: ClassVar[bool] = True

    def __init__(self, index: SetIndex, capacity: int) -> None:
        from wavedex.online.rings import answer_kernels, numbered_kernels

        super().__init__(index, capacity)
        self._kernels = numbered_kernels
        self._answer_kernels = answer_kernels
        self._newest: I64 = np.full(index.room, NO_ROW, np.int64)
        """The newest row of each node."""
        self._before: I64 = np.full(capacity, NO_ROW, np.int64)
        """The row of the same value before each row, in a circle."""

    def link(self, nodes: I32) -> None:
        self._follow_index()
        self._kernels.link_rows(nodes, self.linked, self._newest, self._before)
        self.linked += len(nodes)

    def slide(self, shown: int, oldest: int) -> None:
        self.shown, self.oldest = shown, oldest

    def rows_of(self, nodes: I32) -> tuple[I64, I64]:
        self._follow_index()
        span = self._newest, self._before, self.shown, self.oldest
        counts, rows, visited = self._answer_kernels.rows_by_number(nodes, *span)
        self.index.steps[ANSWER] += visited
        return counts, rows

    def forget(self, nodes: I32) -> None:
        self._follow_index()
        self._newest[nodes] = NO_ROW

    def grow(self, capacity: int) -> None:
        self._before = grown_circular(self._before, capacity, self.oldest, self.linked)
        self.capacity = capacity

    @property
    def nbytes(self) -> int:
        return self._newest.nbytes + self._before.nbytes

    def _follow_index(self) -> None:
        """Have room for as many nodes as the index."""
        missing = self.index.room - len(self._newest)
        if missing > 0:
            self._newest = np.concatenate([self._newest, np.full(missing, NO_ROW, np.int64)])
