"""Lengths of time as people say them: "15 minutes", "1d", "month", or a timedelta.

>>> read_width("1d"), read_width("15 minutes"), read_width(timedelta(hours=36))
(Width(every=1, unit='day'), Width(every=15, unit='minute'), Width(every=36, unit='hour'))
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import NamedTuple

from wavedex.clock import DAY_S

SECONDS = {"second": 1, "minute": 60, "hour": 3600}
DAYS = {"day": 1, "week": 7}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = [*SECONDS, *DAYS, *MONTHS]

_SHORT = {
    "second": ("s", "sec"),
    "minute": ("m", "min"),
    "hour": ("h", "hr"),
    "day": ("d",),
    "week": ("w", "wk"),
    "month": ("mo", "mon"),
    "quarter": ("q",),
    "year": ("y", "yr"),
}
_UNIT_OF = {
    word: unit
    for unit, short in _SHORT.items()
    for word in (unit, unit + "s", *short, *(each + "s" for each in short if len(each) > 1))
}
_WORDS = "|".join(sorted(_UNIT_OF, key=len, reverse=True))
_WIDTH = re.compile(rf"(?:(\d{{1,9}})\s*)?({_WORDS})", re.IGNORECASE)


class Width(NamedTuple):
    """So many of a unit."""

    every: int
    unit: str
    """One of the UNITS."""

    @property
    def seconds(self) -> int | None:
        """How long it is, None where that depends on the month. A day has 24 hours."""
        if self.unit in MONTHS:
            return None
        return self.every * (SECONDS.get(self.unit) or DAYS[self.unit] * DAY_S)

    def __str__(self) -> str:
        return f"{self.every} {self.unit}{'s' * (self.every != 1)}"


def read_width(said: object) -> Width | None:
    """What a text or a timedelta says; None where it says no length in whole seconds.

    Whole days of a timedelta are days, as those of a text are.
    """
    if isinstance(said, timedelta):
        return _of_timedelta(said)
    match = _WIDTH.fullmatch(said.strip()) if isinstance(said, str) else None
    if match is None:
        return None
    return Width(int(match[1] or 1), _UNIT_OF[match[2].lower()])


def times(whole: Width, part: Width) -> tuple[int, bool]:
    """How often one length goes into another, and whether it does so with nothing left.

    REQUIRES: both are of months, quarters and years, or neither is.

    >>> times(Width(1, "year"), Width(1, "quarter")), times(Width(10, "day"), Width(1, "week"))
    ((4, True), (1, False))
    """
    long, short = (
        each.every * MONTHS[each.unit] if each.seconds is None else each.seconds
        for each in (whole, part)
    )
    count, rest = divmod(long, short)
    return count, not rest


def _of_timedelta(said: timedelta) -> Width | None:
    seconds, rest = divmod(said, timedelta(seconds=1))
    if rest or seconds < 0:
        return None
    for unit, length in (("day", DAY_S), ("hour", 3600), ("minute", 60)):
        if not seconds % length:
            return Width(seconds // length, unit)
    return Width(seconds, "second")
