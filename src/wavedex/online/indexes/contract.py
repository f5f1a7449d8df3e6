"""A set-valued index: which values are in the window, and how often each is (003, Section 5).

A value has a *node*: a position in arrays. Rows and basic windows point at nodes, so a value stands
in the index once (the domain storage model). Node 0 is that of nulls, a value of their own that no
structure has to find. Values are 64-bit numbers here, whose order is that of the values
(`wavedex.online.values`).

What is done with an index:

1. `locate` finds the node of each value that arrives, and makes those that there are not. That is
   where structures differ. Its counts do not change yet: the rows cannot be seen.
2. `count` follows pointers, when a basic window is complete and when one leaves.
3. `purge` takes out values that have no count, and whose nodes nobody points at.

An index that two windows share has two counts for each value, one on each *side*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from wavedex.online.steps import COUNT, PURGE, new_steps

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NULL_NODE = 0
"""The node of nulls."""
NO_NODE = -1
"""Where there is no node."""
ROOM_LEAST = 64
"""Nodes for which there is room at first."""


def plain(array: npt.ArrayLike, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """An array as kernels are compiled for: in one piece and not read-only. Copied if it is not."""
    return np.require(array, dtype, ["C", "A", "W"])


def rekeyed(keys: I64, old: I64, new: I64) -> I64:
    """Values with each of `old`, which is sorted, replaced by that of `new`; others stay.

    >>> rekeyed(np.array([7, 2, 5]), np.array([2, 7]), np.array([20, 70])).tolist()
    [70, 20, 5]
    """
    if not len(old):
        return keys.copy()
    pos = np.minimum(np.searchsorted(old, keys), len(old) - 1)
    return np.where(old[pos] == keys, new[pos], keys)


class SetIndex(ABC):
    """The values of one attribute and their counts."""

    kind: ClassVar[str]
    """What it is called in `index=`."""
    is_split: ClassVar[bool] = False
    """Whether a value may have several nodes."""

    def __init__(self) -> None:
        self.keys: I64 = np.zeros(ROOM_LEAST, np.int64)
        """The value of each node."""
        self.counts: I64 = np.zeros((1, ROOM_LEAST), np.int64)
        """How often each value is in the window, side by side; one that shares it adds a side."""
        self.steps: I64 = new_steps()
        """How many nodes were visited (`wavedex.online.steps`)."""
        self.lists_zeros = False
        """Whether nodes whose count fell to zero are listed, so that a purge scans nothing."""
        self._zeros: list[I32] = []

    @property
    def room(self) -> int:
        """How many nodes there is room for, that of nulls included."""
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        held = (each for each in vars(self).values() if isinstance(each, np.ndarray))
        return sum(each.nbytes for each in held)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values have a node, those without a count included, nulls not."""

    @abstractmethod
    def locate(self, keys: I64) -> I32:
        """The node of each value; one is made where there is none. Nodes stay until a purge."""

    @abstractmethod
    def find(self, keys: I64) -> I32:
        """The node of each value, or NO_NODE. Nothing is made."""

    @abstractmethod
    def in_order(self) -> I32:
        """All nodes in the order of their values, without that of nulls; counts may be zero."""

    @abstractmethod
    def between(self, low: int | None, high: int | None) -> I32:
        """The nodes of the values from `low` to `high`, both included, in order; None: no end."""

    def counted(self, side: int = 0) -> tuple[I64, I64]:
        """The values that are there, in order, and how often each is; without nulls."""
        nodes = self.in_order()
        amounts = self.counts[side, nodes]
        there = amounts != 0
        return self.keys[nodes[there]], amounts[there]

    def turn(self) -> I32:
        """A basic window was completed. Returns the nodes that may be given to other values."""
        return np.zeros(0, np.int32)

    def gone(self, nodes: I32) -> I64:
        """The values of nodes that were given up, and that no other node has."""
        return self.keys[nodes]

    @abstractmethod
    def _take_out(self, nodes: I32) -> None:
        """Take values out of the structure, so that their nodes may be given to others."""

    def count(self, nodes: I32, amounts: I64, side: int = 0) -> None:
        """Add to the counts of nodes, which may come several times; negative amounts take away."""
        from wavedex.online.indexes import count_kernels as kernels

        nodes, amounts = plain(nodes, np.int32), plain(amounts)
        kernels.add(self.counts[side], nodes, amounts)
        self.steps[COUNT] += len(nodes)
        self._note_zeros(nodes, amounts)

    def _note_zeros(self, nodes: I32, amounts: I64) -> None:
        """List those of some nodes whose counts fell to zero, if zeros are listed."""
        if self.lists_zeros and len(amounts) and (amounts < 0).any():
            fallen = nodes[~self.counts[:, nodes].any(axis=0)]
            if len(fallen):
                self._zeros.append(np.unique(fallen))

    def _grow(self) -> None:
        """Double the room; a structure doubles its own arrays, too."""
        self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)])
        self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)], axis=1)

    def purge(self, pointed: Bools) -> I32:
        """Take out the values without a count, but those at which somebody points.

        Returns their nodes, which may be given to other values from now on.
        """
        if self.lists_zeros:
            listed = np.unique(np.concatenate([np.zeros(0, np.int32), *self._zeros]))
            self.steps[PURGE] += len(listed)
            dead = listed[~self.counts[:, listed].any(axis=0) & (listed != NULL_NODE)]
            kept, dead = dead[pointed[dead]], dead[~pointed[dead]]
            self._zeros = [kept] if len(kept) else []
        else:
            nodes = self._scanned()
            dead = nodes[~self.counts[:, nodes].any(axis=0) & ~pointed[nodes]]
        self._take_out(dead)
        return dead

    @abstractmethod
    def _scanned(self) -> I32:
        """All nodes in use but that of nulls, for a purge that looks at each: counts its steps."""

    @abstractmethod
    def rekey(self, old: I64, new: I64) -> None:
        """Give values other numbers in the same order: each of `old`, sorted, that of `new`.

        Values that are not among them stay.
        """
