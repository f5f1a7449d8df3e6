"""How basic windows keep an attribute whose rows are aggregated out (003, Section 3.2).

A basic window has a *piece* for the attribute: values and how often each came, and no rows. Values
are 64-bit numbers in the order of the values, as in an index. Where there is an index, each value
of a piece points at its node; nulls are counted apart, and have the node of nulls.

In the order in which things happen:

1. `enter`: rows arrive in the newest basic window. Where pointers are made eagerly, its values
   already point at their nodes, which `locate` has found or made; nothing is counted yet.
2. `slide`: the newest basic window is complete and counts from now on; the oldest leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.steps import new_steps

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Storage(ABC):
    """The pieces of one attribute, of all basic windows and of the newest, which is filling up."""

    kind: ClassVar[str]
    """What it is called in `storage=`."""

    def __init__(self, index: SetIndex | None, *, eager: bool = True) -> None:
        """Point at the nodes of an index, if there is one.

        With `eager` pointers are made as values come, else when the basic window is complete. Steps
        are counted with those of the index.
        """
        self.index = index
        self.eager = eager
        self.side = 0
        """The side of the index on which it counts."""
        self.steps: I64 = new_steps() if index is None else index.steps

    @abstractmethod
    def enter(self, keys: I64, nulls: int) -> None:
        """Take rows of the newest basic window: their values, and how many have none."""

    @abstractmethod
    def slide(self, *, completes: bool, expires: bool) -> None:
        """Count the newest basic window, and begin another; take out the oldest, if one leaves."""

    @abstractmethod
    def pointed(self, room: int) -> Bools:
        """Which nodes the newest basic window points at already, of so many."""

    @abstractmethod
    def held(self) -> I64:
        """The values that it knows by their numbers alone, without a node."""

    @abstractmethod
    def histogram(self) -> tuple[I64, I64, int]:
        """The values in the window in order, how often each is there, and how many nulls.

        Made of the pieces alone, without an index: they are merged.
        """

    @abstractmethod
    def rekey(self, old: I64, new: I64) -> None:
        """Give values other numbers of the same order, as an index does."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes it takes."""
