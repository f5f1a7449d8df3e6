"""A ring index: the rows of each value, linked with one another (003, Section 6).

Rows are known by *arrival numbers*: 0 for the first that ever came, and so on. A ring hangs on a
node of a set-valued index (`wavedex.online.indexes.contract`). In the order in which things happen:

1. `link`: rows arrive in the newest basic window. They are linked, and cannot be seen.
2. `slide`: the newest basic window is complete and is seen from now on; rows before `oldest` leave.
3. `forget`: nodes were purged, and may be given to other values.

Rows that are linked cannot be seen before they are shown by `slide`, whoever asks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wavedex.online.indexes.contract import SetIndex

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NO_ROW = -1
"""Where there is no row."""


class Ring(ABC):
    """The rings of all values of one attribute."""

    kind: ClassVar[str]
    """What it is called in `ring=`."""
    takes_several: ClassVar[bool] = False
    """Whether rows of several basic windows may be linked before they are shown one by one."""

    def __init__(self, index: SetIndex, capacity: int) -> None:
        """Hang on the nodes of an index. `capacity`, a power of two, bounds rows at any time.

        Rows that can be seen and rows that are linked and cannot be seen yet count together. The
        steps are counted with those of the index, in `index.steps`.
        """
        self.index = index
        self.capacity = capacity
        self.oldest = 0
        """The first row that can be seen."""
        self.shown = 0
        """One past the last row that can be seen."""
        self.linked = 0
        """One past the last row that is linked."""

    @property
    def met(self) -> I32 | None:
        """The nodes of the newest basic window in the order in which they first came.

        A value that is among them is not looked for in the index any more. None for a ring that has
        no index of its own for them.
        """
        return None

    @abstractmethod
    def link(self, nodes: I32) -> None:
        """Link the rows that arrive next; `nodes` has the node of each.

        REQUIRES: all belong to one basic window, unless `takes_several`; there is room for them.
        """

    @abstractmethod
    def slide(self, shown: int, oldest: int) -> None:
        """Show the rows up to `shown` (not included), and let go of those before `oldest`.

        REQUIRES: the rows shown are one basic window, and those that leave are one basic window,
        unless `takes_several`. Either may be empty.
        """

    @abstractmethod
    def rows_of(self, nodes: I32) -> tuple[I64, I64]:
        """The rows of some nodes that can be seen: how many each has, and their arrival numbers.

        They come node by node, the newest first.
        """

    @abstractmethod
    def forget(self, nodes: I32) -> None:
        """Forget the rings of nodes that were purged. None of their rows can be seen any more."""

    @abstractmethod
    def grow(self, capacity: int) -> None:
        """Make room for so many rows, a power of two. More room than that may be kept.

        REQUIRES: there is room for the rows from `oldest` up to `linked`. Raises TooLarge.
        """

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes it takes."""
