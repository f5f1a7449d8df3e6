"""Slots that are counted: a fixed count of whole numbers each, or each number a slot of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from wavedex.clock import (
    Moment,
)
from wavedex.errors import BadDefinition, BadTime
from wavedex.slots.contract import (
    ORDINAL_MAX,
    ORDINAL_MIN,
    Ordinals,
    Slotting,
    count_from,
)
from wavedex.slots.widths import read_width


@dataclass(frozen=True)
class Numbers(Slotting):
    """Slots of `every` whole numbers from `origin` on; by default each number is its own slot.

    >>> Numbers(10).slots_of(np.array([-1, 0, 9, 10]))
    array([-1, 0, 0, 1])
    """

    kind = "numbers"
    every: int = 1
    origin: int = 0

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        return count_from(ordinals, self.origin, self.every)

    def _begin(self, slot: int) -> int:
        return self.origin + slot * self.every

    def length(self, duration: object) -> int:
        text = str(duration).strip()
        if not text.isdecimal() or isinstance(duration, bool):
            raise BadTime(
                f"Cannot read {duration!r}: the slots of this index are numbers, so give a number."
            )
        return int(text)

    def slots_in(self, duration: object) -> int:
        if read_width(duration) is None:
            raise BadDefinition(f"Cannot read window={duration!r}: give a number of slots.")
        raise BadDefinition(
            f"window={duration!r} is a length of time, and the slots of this index are numbers. "
            "Give the number of slots."
        )

    def _span(self, when: date | Moment) -> tuple[int, int]:
        raise BadTime("The slots of this index are numbers: give since and until as slot numbers.")

    def _name(self, slot: int) -> str:
        return str(slot)


def read_numbers(slot: object, origin: object) -> Numbers:
    """The slots of a column of integers. Raises BadDefinition."""
    width = int(slot) if isinstance(slot, str) and slot.strip().isdecimal() else slot
    if (
        not isinstance(width, (int, np.integer))
        or isinstance(width, bool)
        or not 0 < width <= ORDINAL_MAX
    ):
        raise BadDefinition(
            f"slot={slot!r} does not fit a time column of integers: give slot=N, a number of units."
        )
    origin = 0 if origin is None else origin
    if not isinstance(origin, int) or not ORDINAL_MIN <= origin <= ORDINAL_MAX:
        raise BadDefinition("A time column of integers needs a 64-bit integer as its origin.")
    return Numbers(int(width), origin)
