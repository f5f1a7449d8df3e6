"""AUX: rings with an auxiliary index of the newest basic window (003, Section 6.2).

The auxiliary index lists the values of the newest basic window in the order in which they first
came, with the newest row of each. A row looks its value up there. Only the first row of a value
searches the index proper and walks the ring proper; the next ones are linked with the row that the
auxiliary index points at, which visits no other row. When the basic window is complete, the ends of
its rings are at hand, one for each of its values, and the list begins anew.

Rings are those of the simple ring, and rows leave them in the same way, each by a walk. With d of D
values in a basic window of b rows, of N in all, this costs d at most to look a row up, and N / D
for its deletion; a search and N / D more for the first row of each value.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.rings import kernels
from wavedex.online.rings.answer_kernels import rows_forward
from wavedex.online.rings.contract import I32, I64
from wavedex.online.rings.pooled import LocalRing, longer, writable
from wavedex.online.steps import ANSWER, AUXILIARY, LINK, UNLINK


class AuxiliaryRing(LocalRing):
    """Forward rings that are walked for each value that comes, and each row that leaves."""

    kind: ClassVar[str] = "auxiliary"

    def __init__(self, index: SetIndex, capacity: int) -> None:
        super().__init__(index, capacity)
        self.first: I32 = np.zeros(0, np.int32)
        """The oldest row of each node, seen or not."""
        self.end: I32 = np.zeros(0, np.int32)
        """The newest row of each node that can be seen."""

    def rows_of(self, nodes: I32) -> tuple[I64, I64]:
        self._fit_nodes()
        ring = self.pool.numbers, self.pool.links
        counts, rows = rows_forward(*ring, writable(nodes), self.first, self.end)
        self.index.steps[ANSWER] += len(rows)
        return counts, rows

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.first.nbytes + self.end.nbytes

    def _fit_nodes(self) -> None:
        room = self.index.room
        if len(self.first) < room:
            self.first, self.end = longer(self.first, room), longer(self.end, room)

    def _link(self, nodes: I32) -> None:
        self._fit_local(len(nodes))
        rows, values = kernels.link_auxiliary(self.pool, self.local, nodes, self.linked, self.first)
        self.index.steps[LINK] += rows
        self.index.steps[AUXILIARY] += values

    def _show(self) -> None:
        self._show_local(self.end)

    def _unlink(self, start: int, stop: int) -> None:
        visited = kernels.unlink_forward(self.pool, start, stop, self.first, self.end)
        self.index.steps[UNLINK] += visited
