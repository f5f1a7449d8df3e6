"""The simple ring: everything is found by walking it (003, Section 6.1).

A ring runs from its oldest row, at which the node points, to its newest, which points back at the
node. A second pointer of the node tells which row is the last that can be seen.

Each row that comes walks its whole ring, and each that leaves walks what is left of it. When a
basic window is complete, the whole index is scanned to move the ends of rings. With N rows, D
values and b basic windows this costs D / b + 2 N / D a row. It is here to be compared with.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.rings import kernels
from wavedex.online.rings.answer_kernels import rows_forward
from wavedex.online.rings.contract import I32, I64
from wavedex.online.rings.kernels import NOWHERE
from wavedex.online.rings.pooled import PooledRing, longer, writable
from wavedex.online.steps import ANSWER, LINK, SHOW, UNLINK


class SimpleRing(PooledRing):
    """Forward rings that are walked for each row."""

    kind: ClassVar[str] = "simple"

    def __init__(self, index: SetIndex, capacity: int) -> None:
        super().__init__(index, capacity)
        self.first: I32 = np.zeros(0, np.int32)
        """The oldest row of each node, seen or not."""
        self.end: I32 = np.zeros(0, np.int32)
        """The newest row of each node that can be seen."""
        self.last: I32 = np.zeros(0, np.int32)
        """The newest row that came, of nodes that have one: what the scan makes the end.

        It costs the paper nothing to find that row during its scan, so something has to note it.
        Linking walks all the same.
        """

    def rows_of(self, nodes: I32) -> tuple[I64, I64]:
        self._fit_nodes()
        ring = self.pool.numbers, self.pool.links
        counts, rows = rows_forward(*ring, writable(nodes), self.first, self.end)
        self.index.steps[ANSWER] += len(rows)
        return counts, rows

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.first.nbytes + self.end.nbytes + self.last.nbytes

    def _fit_nodes(self) -> None:
        room = self.index.room
        if len(self.first) < room:
            self.first, self.end = longer(self.first, room), longer(self.end, room)
            self.last = longer(self.last, room)

    def _link(self, nodes: I32) -> None:
        visited = kernels.link_simple(self.pool, nodes, self.linked, self.first, self.last)
        self.index.steps[LINK] += visited

    def _show(self) -> None:
        np.copyto(self.end, self.last, where=self.first != NOWHERE)
        self.index.steps[SHOW] += self.index.size + 1  # The node of nulls has a ring as well.

    def _unlink(self, start: int, stop: int) -> None:
        visited = kernels.unlink_forward(self.pool, start, stop, self.first, self.end)
        self.index.steps[UNLINK] += visited
