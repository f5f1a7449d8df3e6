"""DB: backward rings that keep one row too many, which a bit tells (003, Section 6.4).

When the oldest basic window leaves, the youngest row of each of its values stays as the last row of
its ring. So nothing has to be found: that row points back at the node from now on, and older ones
go. A deletion costs a visit a row. The *stale* row that stayed is over, and a bit of its node says
so; answers leave it out, for one visit more a ring.

A stale row leaves when the next rows of its value do, and another takes its place; or with its
node, when the value was purged. Then the bit is set back, which the paper does not say: the next
value of that node would lose its last row.

Insertion is that of BW: it walks no ring.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wavedex.online.rings import kernels
from wavedex.online.rings.backward import BackwardRing
from wavedex.online.rings.contract import I32
from wavedex.online.rings.kernels import COUNT
from wavedex.online.rings.pooled import with_positions, writable
from wavedex.online.steps import UNLINK

SHARE_MORE = 8
"""The pool grows by an eighth when stale rows fill it: they are few where values come again."""


class DirtyBitsRing(BackwardRing):
    """Backward rings that are not walked; the last row of one may be stale."""

    kind: ClassVar[str] = "dirty-bits"

    def forget(self, nodes: I32) -> None:
        self._fit_nodes()
        kernels.forget_stale(self.pool, writable(nodes), self.newest, self.dirty)

    def _fit_nodes(self) -> None:
        super()._fit_nodes()
        more = len(self.newest) - len(self.dirty)
        if more:
            self.dirty = np.append(self.dirty, np.zeros(more, np.bool_))

    def _link(self, nodes: I32) -> None:
        missing = len(nodes) - int(self.pool.free[COUNT])
        if missing > 0:
            self.pool = with_positions(self.pool, max(missing, self.capacity // SHARE_MORE))
        super()._link(nodes)

    def _unlink(self, start: int, stop: int) -> None:
        visited = kernels.unlink_but_youngest(self.pool, start, stop, self.dirty)
        self.index.steps[UNLINK] += visited
