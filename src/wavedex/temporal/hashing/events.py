"""What happens to buckets: changes of a set as those of its buckets, moves among buckets included.

A move is a removal from one bucket and an addition to another at the same version (Section 4.1).
So the history of each bucket is that of a set of its own, and whoever keeps it knows nothing of
hashing.
"""

from __future__ import annotations

import numpy as np

from wavedex.temporal.changes import I8, I32, I64

ADD, REMOVE, MOVE_IN, MOVE_OUT = 1, -1, 2, -2
"""Kinds of events. Those of a move follow each other: out of one bucket, into another."""
EVENTS = 1 << 16
"""How many events are planned at a time, unless one change has more."""


class Events:
    """Room for events, and those that are in it, in the order in which they happen."""

    def __init__(self, room: int = EVENTS) -> None:
        self.count = 0
        self.make_room(room)

    def make_room(self, room: int) -> None:
        """Have room for so many. REQUIRES: there are none."""
        self.buckets: I32 = np.empty(room, np.int32)
        self.ids: I64 = np.empty(room, np.int64)
        self.versions: I32 = np.empty(room, np.int32)
        self.kinds: I8 = np.empty(room, np.int8)
        self.entries: I32 = np.empty(room, np.int32)
        """The place of each id among those that are alive."""
        self.pointers: I32 = np.empty(room, np.int32)
        """The row that an added id carries. What is moved keeps the one it has."""

    @property
    def room(self) -> int:
        """How many events there can be."""
        return len(self.ids)
