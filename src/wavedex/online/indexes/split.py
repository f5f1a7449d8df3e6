"""An index that is split as a wave: sub-indexes, of which the newest takes what comes (003, 5.6).

New values are looked for in one sub-index, which is a fraction of the size of a single index.
Each sub-index takes the values of a few basic windows, one after the other. When the next turn is
its own again, all of these have left: it is thrown away and begins anew, and no value has to be
looked for to be taken out. So insertion is cheaper, and a value may have a node in each sub-index.

A node of the whole is the node of a sub-index times their number, plus the number of the sub-index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import I32, I64, NO_NODE, Bools, SetIndex

NONE = np.zeros(0, np.int32)


@dataclass(frozen=True)
class Split:
    """An index that is split: `index={"src": Split("list", 4)}`."""

    kind: str
    """What its sub-indexes are."""
    parts: int = 4
    """How many there are, from 2 on."""

    def check(self) -> None:
        """Raise BadDefinition where it cannot be."""
        parts = self.parts
        if not isinstance(self.kind, str):
            raise BadDefinition(f"Split({self.kind!r}): give the name of an index.")
        if self.kind == "group":
            raise BadDefinition("An index of groups is small: it is not split.")
        if not isinstance(parts, int) or isinstance(parts, bool) or not 2 <= parts <= 1_000:
            raise BadDefinition(f"Split(parts={parts!r}): give a number of sub-indexes from 2 on.")


class SplitIndex(SetIndex):
    """Sub-indexes of one kind."""

    kind: ClassVar[str] = "split"
    is_split: ClassVar[bool] = True

    def __init__(self, made: list[SetIndex], basics: int) -> None:
        """Split an index over `made`, for a window of so many basic windows."""
        super().__init__()
        self._parts = made
        self._each = -(-basics // (len(made) - 1))
        """The basic windows of a sub-index. Those of all others are at least the window."""
        self._turn = 0
        """Basic windows that were completed."""
        for part in made:
            part.steps = self.steps

    @property
    def size(self) -> int:
        return sum(part.size for part in self._parts)

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(part.nbytes for part in self._parts)

    @property
    def _newest(self) -> int:
        return self._turn // self._each % len(self._parts)

    def locate(self, keys: I64) -> I32:
        newest = self._newest
        nodes = self._whole(self._parts[newest].locate(keys), newest)
        self.keys[nodes] = keys
        return nodes

    def find(self, keys: I64) -> I32:
        """The newest node of each value; others may have it too."""
        found = np.full(len(keys), NO_NODE, np.int32)
        for back in range(len(self._parts)):
            place = (self._newest - back) % len(self._parts)
            here = self._parts[place].find(keys)
            new = (found == NO_NODE) & (here != NO_NODE)
            found[new] = here[new] * len(self._parts) + place
        return found

    def in_order(self) -> I32:
        """All nodes in the order of their values, which may come several times."""
        return self._sorted([part.in_order() for part in self._parts])

    def between(self, low: int | None, high: int | None) -> I32:
        return self._sorted([part.between(low, high) for part in self._parts])

    def counted(self, side: int = 0) -> tuple[I64, I64]:
        nodes = self.in_order()
        amounts = self.counts[side, nodes]
        nodes, amounts = nodes[amounts != 0], amounts[amounts != 0]
        keys = self.keys[nodes]
        if not len(keys):
            return keys, amounts
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        return keys[starts], np.add.reduceat(amounts, starts)

    def turn(self) -> I32:
        before, self._turn = self._newest, self._turn + 1
        return NONE if self._newest == before else self._begin(self._newest)

    def gone(self, nodes: I32) -> I64:
        keys = np.unique(self.keys[nodes])
        known = np.zeros(len(keys), np.bool_)
        for part in self._parts:
            known |= part.find(keys) != NO_NODE
        return keys[~known]

    def rekey(self, old: I64, new: I64) -> None:
        for place, part in enumerate(self._parts):
            part.rekey(old, new)
            nodes = part.in_order()
            self.keys[self._whole(nodes, place)] = part.keys[nodes]

    def purge(self, pointed: Bools) -> I32:
        """Take out nothing: a sub-index is thrown away as a whole."""
        return NONE

    def _begin(self, place: int) -> I32:
        """Throw a sub-index away, so that it can take what comes. Returns its nodes."""
        part = self._parts[place]
        nodes = part.in_order()
        whole = self._whole(nodes, place)
        assert not self.counts[:, whole].any()  # since all of its basic windows have left
        part._take_out(nodes)
        return whole

    def _whole(self, nodes: I32, place: int) -> I32:
        """Nodes of a sub-index as those of the whole."""
        room = self._parts[place].room * len(self._parts)
        if room > self.room:
            missing = room - self.room
            self.keys = np.concatenate([self.keys, np.zeros(missing, np.int64)])
            more = np.zeros((len(self.counts), missing), np.int64)
            self.counts = np.concatenate([self.counts, more], axis=1)
        whole: I32 = (nodes * len(self._parts) + place).astype(np.int32)
        return whole

    def _sorted(self, several: list[I32]) -> I32:
        """The nodes of sub-indexes, as those of the whole, in the order of their values."""
        nodes = np.concatenate([self._whole(each, n) for n, each in enumerate(several)])
        return nodes[np.argsort(self.keys[nodes], kind="stable")]

    def _take_out(self, nodes: I32) -> None:
        raise AssertionError("sub-indexes are thrown away as a whole")

    def _scanned(self) -> I32:
        raise AssertionError("sub-indexes are thrown away as a whole")
