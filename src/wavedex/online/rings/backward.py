"""BW: rings that run from newer rows to older ones (003, Section 6.3).

The node points at the newest row that can be seen, and the oldest row points back at the node. Rows
of the newest basic window hang on the auxiliary index, as with AUX, until they are shown.

All rows of a value that leave together are the end of its ring. So they leave together: from the
youngest of them to the index, and on from the newest row to the oldest that stays. That is one walk
round the ring for each value of the oldest basic window, and not one for each row.

The paper charges the first row of a value with a walk of the ring, as with AUX. Here there is none:
the node points at the very row to link with. So insertion visits no rows, only the auxiliary index.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.rings import kernels
from wavedex.online.rings.answer_kernels import rows_backward
from wavedex.online.rings.contract import I32, I64
from wavedex.online.rings.pooled import LocalRing, longer, writable
from wavedex.online.steps import ANSWER, AUXILIARY, UNLINK


class BackwardRing(LocalRing):
    """Backward rings that are walked once for each value that leaves."""

    kind: ClassVar[str] = "backward"

    def __init__(self, index: SetIndex, capacity: int) -> None:
        super().__init__(index, capacity)
        self.newest: I32 = np.zeros(0, np.int32)
        """The newest row of each node that is shown."""
        self.dirty = np.zeros(0, np.bool_)
        """Of each node, whether the last row of its ring is over. Here there are no such bits."""

    def rows_of(self, nodes: I32) -> tuple[I64, I64]:
        self._fit_nodes()
        ring = self.pool.numbers, self.pool.links
        answer = rows_backward(*ring, writable(nodes), self.newest, self.dirty)
        self.index.steps[ANSWER] += answer[2]
        return answer[:2]

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.newest.nbytes + self.dirty.nbytes

    def _fit_nodes(self) -> None:
        if len(self.newest) < self.index.room:
            self.newest = longer(self.newest, self.index.room)

    def _link(self, nodes: I32) -> None:
        self._fit_local(len(nodes))
        visited = kernels.link_backward(self.pool, self.local, nodes, self.linked, self.newest)
        self.index.steps[AUXILIARY] += visited

    def _show(self) -> None:
        self._show_local(self.newest)

    def _unlink(self, start: int, stop: int) -> None:
        visited = kernels.unlink_backward(self.pool, start, stop, self.newest)
        self.index.steps[UNLINK] += visited
