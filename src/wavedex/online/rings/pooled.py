"""What rings that are walked have in common: a pool of rows, and the order of things as it slides.

Rows leave at other times than they came: a row that is over may stay in its ring for a while. So a
row stands where the pool has room, and a circle of arrival numbers tells where.

A row takes 16 bytes: its number, its link and its place in the circle. A node takes 4 to 12 more,
and a value of the newest basic window 8.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from wavedex.errors import TooLarge
from wavedex.online.indexes.contract import SetIndex
from wavedex.online.rings.contract import I32, I64, Ring
from wavedex.online.rings.kernels import COUNT, NOWHERE, TOP, Local, Pool
from wavedex.online.steps import SHOW

Number = TypeVar("Number", bound=np.generic)

CAPACITY_MAX = 1 << 30
"""Positions are 32-bit numbers. The pool may grow by a half beyond this before they end."""
LOCAL_LEAST = 64
"""Values of the newest basic window for which there is room at first."""


class PooledRing(Ring):
    """Rings whose rows stand in a pool."""

    def __init__(self, index: SetIndex, capacity: int) -> None:
        super().__init__(index, capacity)
        check_capacity(capacity)
        no_rows, free = np.zeros(0, np.int32), np.array([NOWHERE, 0])
        empty = Pool(np.zeros(0, np.int64), no_rows, np.full(capacity, NOWHERE, np.int32), free)
        self.pool = with_positions(empty, capacity)

    def link(self, nodes: I32) -> None:
        assert self.linked + len(nodes) - self.oldest <= self.capacity, "there is no room"
        self._fit_nodes()
        self._link(writable(nodes))
        self.linked += len(nodes)

    def slide(self, shown: int, oldest: int) -> None:
        """Show all rows that are linked, then take out those before `oldest`.

        New rows are shown first, so that a walk back to the index meets every row of the ring.
        """
        assert shown == self.linked, "all rows that are linked are one basic window"
        assert self.oldest <= oldest <= shown, (self.oldest, oldest, shown)
        self._fit_nodes()
        self._show()
        self._unlink(self.oldest, oldest)
        self.shown, self.oldest = shown, oldest

    def forget(self, nodes: I32) -> None:
        """Do nothing: rows that cannot be seen have left their rings, and nodes know no others."""

    def grow(self, capacity: int) -> None:
        check_capacity(capacity)
        if capacity <= self.capacity:
            return  # A pool is not made smaller: its rows stand anywhere.
        places = np.full(capacity, NOWHERE, np.int32)
        rows = np.arange(self.oldest, self.linked)
        places[rows & (capacity - 1)] = self.pool.places[rows & (self.capacity - 1)]
        self.pool = with_positions(self.pool._replace(places=places), capacity - self.capacity)
        self.capacity = capacity

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.pool)

    @abstractmethod
    def _fit_nodes(self) -> None:
        """Make room for all nodes of the index."""

    @abstractmethod
    def _link(self, nodes: I32) -> None:
        """Link rows from arrival number `linked` on."""

    @abstractmethod
    def _show(self) -> None:
        """Have rings end with the newest row that is linked."""

    @abstractmethod
    def _unlink(self, start: int, stop: int) -> None:
        """Take the rows of one basic window out."""


class LocalRing(PooledRing):
    """Rings with an auxiliary index of the newest basic window (003, Section 6.2).

    The index proper is searched for the first row of each of its values only (`met`).
    """

    def __init__(self, index: SetIndex, capacity: int) -> None:
        super().__init__(index, capacity)
        nodes = np.zeros(LOCAL_LEAST, np.int32)
        self.local = Local(nodes, nodes.copy(), np.zeros(1, np.int64))

    @property
    def met(self) -> I32:
        return self.local.nodes[: int(self.local.size[0])]

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(array.nbytes for array in self.local)

    def _fit_local(self, count: int) -> None:
        """Have room for so many more values in the auxiliary index."""
        room, needed = len(self.local.nodes), int(self.local.size[0]) + count
        if needed <= room:
            return
        room = max(needed, min(2 * room, self.capacity))
        nodes, newest = (longer(array, room) for array in (self.local.nodes, self.local.newest))
        self.local = self.local._replace(nodes=nodes, newest=newest)

    def _show_local(self, ends: I32) -> None:
        """Move the end of each ring to the newest row, and empty the auxiliary index."""
        size = int(self.local.size[0])
        ends[self.local.nodes[:size]] = self.local.newest[:size]
        self.local.size[0] = 0
        self.index.steps[SHOW] += size


def check_capacity(capacity: int) -> None:
    """Raise TooLarge for more rows than can be told apart."""
    assert capacity > 0, capacity
    assert capacity & (capacity - 1) == 0, capacity
    if capacity > CAPACITY_MAX:
        raise TooLarge(
            f"Rings that are walked link {CAPACITY_MAX:,} rows at most, of the window and of the "
            f"basic window that fills up, and room for {capacity:,} is needed. Make the window "
            "shorter, or give it the ring 'numbered'."
        )


def with_positions(pool: Pool, count: int) -> Pool:
    """A pool with more positions, all of them free."""
    size = len(pool.links)
    numbers, links = longer(pool.numbers, size + count), longer(pool.links, size + count)
    links[size:] = np.arange(size + 1, size + count + 1)
    links[-1] = pool.free[TOP]
    free: I64 = np.array([size, pool.free[COUNT] + count])
    return pool._replace(numbers=numbers, links=links, free=free)


def longer(array: npt.NDArray[Number], size: int) -> npt.NDArray[Number]:
    """A copy of an array with room for so many; what is new is NOWHERE."""
    found = np.full(size, NOWHERE, array.dtype)
    found[: len(array)] = array
    return found


def writable(nodes: I32) -> I32:
    """Nodes as an array of the one type for which loops are compiled."""
    return np.require(nodes, np.int32, ["C", "W"])
