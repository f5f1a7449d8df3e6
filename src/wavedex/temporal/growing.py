"""Arrays that grow at their end, as kernels need them: room first, then what is used of it.

A kernel cannot ask for memory. So whoever calls it makes room first. A kernel that runs out of room
stops before the change that would need it, and says how far it came.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.temporal.soundness import demand

ROOM_MIN = 16


class Growing:
    """An array with room at its end. Rows beyond `count` hold nothing yet, and are `fill`."""

    def __init__(self, dtype: Any, width: int | None = None, fill: int = 0) -> None:
        """With `width`, each row is an array of that many values."""
        self._fill = fill
        shape = (0,) if width is None else (0, width)
        self.room: npt.NDArray[Any] = np.empty(shape, dtype)
        self.count = 0

    @property
    def used(self) -> npt.NDArray[Any]:
        """What is used, as a view."""
        return self.room[: self.count]

    def restore(self, values: npt.NDArray[Any]) -> None:
        """Hold these values. They are not copied before there must be more room.

        Raises Damaged for values that are not of its type and width.
        """
        like = self.room
        demand(
            values.dtype == like.dtype and (not values.size or values.shape[1:] == like.shape[1:]),
            "an array of it is of another type or width",
        )
        self.room = values if values.size else like[:0]
        self.count = len(self.room)

    def reserve(self, count: int) -> None:
        """Have room for `count` rows in all. COST: over time, a copy or two of each row."""
        if count <= len(self.room):
            return
        size = max(count, 2 * len(self.room), ROOM_MIN)
        larger = np.full((size, *self.room.shape[1:]), self._fill, self.room.dtype)
        larger[: len(self.room)] = self.room
        self.room = larger
