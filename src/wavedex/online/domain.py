"""A domain: the values of an attribute and the index that has them, for one window or for two.

Two windows that share a domain have one index with two counts for each value (003, 7.2.3): a value
is in both where both are not zero. Values are taken out once no window counts them and no row that
waits to be seen points at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import I32, Bools, SetIndex
from wavedex.online.turns import Turn
from wavedex.online.values import I64, Values
from wavedex.rows.arrow import to_arrow


class Holder(Protocol):
    """Somebody who points at the nodes of an index."""

    def pointed(self, room: int) -> Bools:
        """The nodes, of so many, at which rows point that cannot be seen yet."""

    def held(self) -> I64:
        """The values that it knows by their numbers alone, without a node."""

    def forget(self, nodes: I32) -> None:
        """These nodes were purged."""

    def rekey(self, old: I64, new: I64) -> None:
        """Values got other numbers."""


class Domain:
    """Values with their numbers and an index, and those who point at it."""

    def __init__(self, values: Values, index: SetIndex | None) -> None:
        self.values = values
        self.index = index
        self.shared_turn = Turn()
        """Windows that share it have one turn together."""
        self._holders: list[Holder | None] = []
        values.watch(self._rekey)

    def join(self, holder: Holder) -> int:
        """Have somebody else point at the index. Returns the side on which it counts."""
        if None in self._holders:
            side = self._holders.index(None)
            self._holders[side] = holder
            return side
        side = len(self._holders)
        if side and self.index is None:
            raise BadDefinition("Windows share an index. Give the first of them one.")
        if side and self.index is not None and self.index.is_split:
            raise BadDefinition("An index that is split is not shared. Give each window its own.")
        if side > 1:
            raise BadDefinition("An index is shared by two windows at most.")
        if side and self.index is not None:
            counts = self.index.counts
            self.index.counts = np.concatenate([counts, np.zeros_like(counts)])
        self._holders.append(holder)
        return side

    def leave(self, holder: Holder) -> None:
        """Have somebody point at the index no more, and count nothing of theirs."""
        if holder in self._holders:
            side = self._holders.index(holder)
            self._holders[side] = None
            if self.index is not None:
                self.index.counts[side] = 0

    @property
    def _present(self) -> Iterator[Holder]:
        return (holder for holder in self._holders if holder is not None)

    def purge(self) -> int:
        """Take out the values that are in no window. Returns how many."""
        index = self.index
        if index is None:
            known = self.values.known()
            self.values.forget(known[~np.isin(known, self._held())])
            return 0
        pointed = np.zeros(index.room, np.bool_)
        for holder in self._present:
            pointed |= holder.pointed(index.room)
        return self._forget(index.purge(pointed))

    def turn(self) -> None:
        """A basic window was completed."""
        if self.index is not None and self.index.is_split:
            self._forget(self.index.turn())

    def _forget(self, freed: I32) -> int:
        if len(freed) and self.index is not None:
            gone = self.index.gone(freed)
            self.values.forget(gone[~np.isin(gone, self._held())])
            for holder in self._present:
                holder.forget(freed)
        return len(freed)

    def _held(self) -> I64:
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *(holder.held() for holder in self._present)])

    def decode(self, nodes: I32) -> pa.Array:
        """The values of nodes, null for that of nulls."""
        assert self.index is not None
        kept = nodes != 0
        if kept.all():
            return self.values.decode(self.index.keys[nodes])
        found = self.values.decode(self.index.keys[nodes[kept]])
        places = np.cumsum(kept) - 1
        chosen = pa.Array.from_buffers(
            pa.int64(), len(nodes), [to_arrow(kept).buffers()[1], pa.py_buffer(places)]
        )
        return found.take(chosen)

    def _rekey(self, old: I64, new: I64) -> None:
        if self.index is not None:
            self.index.rekey(old, new)
        for holder in self._present:
            holder.rekey(old, new)
