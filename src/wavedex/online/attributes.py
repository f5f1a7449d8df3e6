"""One attribute of a window: how it is stored, and the index and the ring that it has.

A window tells each of its attributes what happens to rows, in this order: they `enter` and cannot
be seen; `slide` shows those of complete basic windows and lets others leave. What an attribute does
then is its storage's:

- A *list* has a pointer for each row, in a circular array: to the node of its value in the index.
  Rows of several basic windows may enter and slide at once, if the ring can.
- The others aggregate the rows of a basic window (`wavedex.online.storages`), one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from wavedex.online.domain import Domain
from wavedex.online.indexes.contract import I32, NULL_NODE, Bools, SetIndex
from wavedex.online.indexes.counting import CountIndex
from wavedex.online.rings.contract import Ring
from wavedex.online.rows import Column, grown_circular, read_circular, write_circular
from wavedex.online.storages.contract import Storage
from wavedex.online.values import I64, Groups


class Attribute(ABC):
    """An attribute of the rows of a window."""

    def __init__(self, name: str, domain: Domain, ring: Ring | None) -> None:
        self.name = name
        self.domain = domain
        self.ring = ring

    @property
    def index(self) -> SetIndex | None:
        """The index, if there is one."""
        return self.domain.index

    @abstractmethod
    def close(self) -> None:
        """Point at the index no more."""

    @property
    @abstractmethod
    def takes_several(self) -> bool:
        """Whether rows of several basic windows may enter before the first of them is shown."""

    @abstractmethod
    def enter(self, first: int, column: pa.Array) -> None:
        """Take the values of rows that arrive, from row `first` on."""

    @abstractmethod
    def slide(self, shown: int, oldest: int, *, completes: bool, expires: bool) -> None:
        """Show the rows before `shown`, and let those before `oldest` leave.

        `completes` and `expires` say whether a basic window begins to be seen, and whether one
        leaves. Both may be empty.
        """

    @abstractmethod
    def grow(self, capacity: int, first: int, stop: int) -> None:
        """Make room for more rows; those from `first` up to `stop` are there."""

    @property
    def has_values(self) -> bool:
        """Whether the values of rows can be read by their pointers."""
        return False

    @property
    @abstractmethod
    def steps(self) -> I64:
        """How many nodes were visited."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes it takes."""


class ListAttribute(Attribute, Column):
    """A pointer for each row. It is a column of the window too: values are read by the pointers.

    Where values are grouped it is none, since a pointer leads to a group.
    """

    def __init__(
        self, name: str, domain: Domain, ring: Ring | None, capacity: int, *, eager: bool
    ) -> None:
        super().__init__(name, domain, ring)
        assert domain.index is not None
        self._index: SetIndex = domain.index
        self._eager = eager
        self._side = domain.join(self)
        self._nodes: I32 = np.zeros(capacity, np.int32)
        self._waiting: list[pa.Array] = []
        """Values whose pointers are made when their basic window is complete."""
        self._oldest = self._shown = self._pointing = 0

    @property
    def side(self) -> int:
        """The side of the index on which it counts."""
        return self._side

    def close(self) -> None:
        self.domain.leave(self)

    @property
    def takes_several(self) -> bool:
        is_several = self.ring is None or self.ring.takes_several
        return is_several and not self._index.is_split

    @property
    def has_values(self) -> bool:
        return not isinstance(self.domain.values, Groups)

    def enter(self, first: int, column: pa.Array) -> None:
        if self._eager:
            self._point(column)
        else:
            self._waiting.append(column)

    def slide(self, shown: int, oldest: int, *, completes: bool, expires: bool) -> None:
        if self._waiting:
            waiting, self._waiting = pa.concat_arrays(self._waiting), []
            ready = shown - self._pointing
            self._point(waiting.slice(0, ready))
            if ready < len(waiting):
                self._waiting.append(waiting.slice(ready))
        index = self._index
        span = self._shown, shown, self._oldest, oldest
        if isinstance(index, CountIndex):
            index.count_rows(self._nodes, *span, self._side)
        else:
            for first, stop, sign in ((self._shown, shown, 1), (self._oldest, oldest, -1)):
                nodes = read_circular(self._nodes, first, stop)
                index.count(nodes, np.full(len(nodes), sign, np.int64), self._side)
        if self.ring is not None:
            self.ring.slide(shown, oldest)
        self._shown, self._oldest = shown, oldest

    def nodes_of(self, first: int, stop: int) -> I32:
        """The nodes of the rows from `first` up to `stop`."""
        return read_circular(self._nodes, first, stop)

    def nodes_at(self, rows: I64) -> I32:
        """The nodes of some rows."""
        return self._nodes[rows & (len(self._nodes) - 1)]

    # -- as a column -------------------------------------------------------------------------------

    def write(self, first: int, values: pa.Array) -> None:
        return None

    def take(self, rows: I64) -> pa.Array:
        return self.domain.decode(self.nodes_at(rows))

    def span(self, first: int, stop: int) -> pa.Array:
        return self.domain.decode(self.nodes_of(first, stop))

    def grow(self, capacity: int, first: int, stop: int) -> None:
        self._nodes = grown_circular(self._nodes, capacity, first, self._pointing)
        if self.ring is not None:
            self.ring.grow(capacity)

    # -- as a holder of the domain -----------------------------------------------------------------

    def pointed(self, room: int) -> Bools:
        found = np.zeros(room, np.bool_)
        found[self.nodes_of(self._shown, self._pointing)] = True
        return found

    def held(self) -> I64:
        return np.zeros(0, np.int64)

    def forget(self, nodes: I32) -> None:
        if self.ring is not None:
            self.ring.forget(nodes)

    def rekey(self, old: I64, new: I64) -> None:
        return None

    @property
    def steps(self) -> I64:
        return self._index.steps

    @property
    def nbytes(self) -> int:
        return self._nodes.nbytes + (0 if self.ring is None else self.ring.nbytes)

    def _point(self, column: pa.Array) -> None:
        """Have the rows that come next point at the nodes of their values."""
        keys, nulls = self.domain.values.encode(column)
        index, start = self._index, self._pointing & (len(self._nodes) - 1)
        met = None if self.ring is None else self.ring.met
        if (
            nulls is None
            and met is None
            and isinstance(index, CountIndex)
            and start + len(keys) <= len(self._nodes)
        ):
            nodes = self._nodes[start : start + len(keys)]
            index.locate_into(keys, nodes)
        else:
            nodes = index.locate(keys) if met is None else self._located(keys, met)
            if nulls is not None:
                every = np.full(len(column), NULL_NODE, np.int32)
                every[~nulls] = nodes
                nodes = every
            write_circular(self._nodes, self._pointing, nodes)
        self._pointing += len(nodes)
        if self.ring is not None:
            self.ring.link(nodes)

    def _located(self, keys: I64, met: I32) -> I32:
        """The nodes of values, of which the ring knows some (003, Section 6.2).

        The index is searched once for each of the others, in the order in which they come first.
        """
        met = met[met != NULL_NODE]
        known = np.concatenate([self._index.keys[met], keys])
        values, firsts, places = np.unique(known, return_index=True, return_inverse=True)
        new = np.sort(firsts[firsts >= len(met)])
        nodes = np.concatenate([met, self._index.locate(known[new])])
        order = np.argsort(firsts)  # Those that the ring knows come first, each once.
        found = np.empty(len(values), np.int32)
        found[order] = nodes
        return found[places[len(met) :]]


class PiecedAttribute(Attribute):
    """An attribute whose rows are aggregated out, basic window by basic window."""

    def __init__(self, name: str, domain: Domain, storage: Storage) -> None:
        super().__init__(name, domain, None)
        self.storage = storage
        storage.side = domain.join(self)

    @property
    def side(self) -> int:
        """The side of the index on which it counts."""
        return self.storage.side

    def close(self) -> None:
        self.domain.leave(self)

    @property
    def takes_several(self) -> bool:
        return False

    def enter(self, first: int, column: pa.Array) -> None:
        keys, nulls = self.domain.values.encode(column)
        self.storage.enter(keys, 0 if nulls is None else int(nulls.sum()))

    def slide(self, shown: int, oldest: int, *, completes: bool, expires: bool) -> None:
        self.storage.slide(completes=completes, expires=expires)

    def grow(self, capacity: int, first: int, stop: int) -> None:
        return None

    def pointed(self, room: int) -> Bools:
        return self.storage.pointed(room)

    def held(self) -> I64:
        return self.storage.held()

    def forget(self, nodes: I32) -> None:
        return None

    def rekey(self, old: I64, new: I64) -> None:
        self.storage.rekey(old, new)

    @property
    def steps(self) -> I64:
        return self.storage.steps

    @property
    def nbytes(self) -> int:
        return self.storage.nbytes
