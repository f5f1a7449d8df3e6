"""Slots of times: what all of them share, and those of equal length, from seconds to hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from wavedex.clock import (
    DAY_NS,
    DAY_S,
    SECOND_NS,
    Moment,
    column_ns,
    day_number,
    first_instant,
    iso_date,
    offset_at,
)
from wavedex.errors import BadDefinition, BadTime
from wavedex.slots.contract import (
    Ordinals,
    Slotting,
    count_from,
)
from wavedex.slots.widths import DAYS, MONTHS, SECONDS, Width, read_width, times

COLUMN_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND_NS, "day": DAY_NS}


@dataclass(frozen=True)
class Timed(Slotting):
    """Slots of a column of times, in a zone."""

    unit: str
    """The unit of slots: one of the UNITS."""
    every: int
    """How many units a slot has."""
    zone: str
    """The zone whose calendar and clock are meant."""
    column: str
    """The unit of the column: ns, us, ms, s or day."""
    aware: bool
    """Whether its times are instants. If not, they are wall-clock times as written."""

    @property
    def _clock(self) -> ZoneInfo | None:
        """The zone whose clock stands between the column and the calendar, if one does."""
        return ZoneInfo(self.zone) if self.aware and self.zone != "UTC" else None

    def length(self, duration: object) -> int:
        return -(-duration_ns(duration) // COLUMN_NS[self.column])

    def moment(self, ordinal: int) -> str:
        unit: Any = "D" if self.column == "day" else self.column
        said = str(np.datetime_as_string(np.datetime64(ordinal, unit), unit="auto"))
        clock = "T00:00" if "T" not in said and unit != "D" else ""
        return said + clock + ("+00:00" if self.aware else "")

    def slots_in(self, duration: object) -> int:
        whole, part = read_width(duration), Width(self.every, self.unit)
        if whole is None:
            raise BadDefinition(
                f"Cannot read window={duration!r}: give a number of slots, or a length of time "
                "such as '30 days'."
            )
        if (whole.unit in MONTHS) != (part.unit in MONTHS):
            raise BadDefinition(
                f"window={duration!r} is not always the same number of slots of {part}. Give the "
                "number of slots."
            )
        count, is_whole = times(whole, part)
        if is_whole:
            return count
        less, more = (Width(n * part.every, part.unit) for n in (count, count + 1))
        fitting = f"{more}" if not count else f"{less} or {more}"
        raise BadDefinition(
            f"window={duration!r} is not a whole number of slots of {part}. Give {fitting}, or the "
            "number of slots."
        )

    def _span(self, when: date | Moment) -> tuple[int, int]:
        if not isinstance(when, Moment):
            return self._midnight(day_number(when)), self._midnight(day_number(when) + 1)
        first, last = column_ns(when, self.aware, self.zone)
        return -(-first // COLUMN_NS[self.column]), last // COLUMN_NS[self.column] + 1

    def _midnight(self, day: int) -> int:
        """Return where a day begins, which is counted from 1970-01-01."""
        begin_s = first_instant(self._clock, day * DAY_S)[0] if self._clock else day * DAY_S
        return begin_s * SECOND_NS // COLUMN_NS[self.column]


@dataclass(frozen=True)
class Durations(Timed):
    """Slots of equal length from an origin on.

    >>> Durations("minute", 15, "UTC", column="ms", aware=False, origin=0).label(5)
    '1970-01-01 01:15'
    """

    kind = "durations"
    origin: int
    """The ordinal at which slot 0 begins."""

    @property
    def _width(self) -> int:
        return self.every * SECONDS[self.unit] * SECOND_NS // COLUMN_NS[self.column]

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        return count_from(ordinals, self.origin, self._width)

    def _begin(self, slot: int) -> int:
        return self.origin + slot * self._width

    def _name(self, slot: int) -> str:
        wall_s = self._begin(slot) * COLUMN_NS[self.column] // SECOND_NS
        day, second = divmod(wall_s + (offset_at(self._clock, wall_s) if self._clock else 0), DAY_S)
        tail = f":{second % 60:02}" if self.unit == "second" or second % 60 else ""
        return f"{iso_date(day)} {second // 3600:02}:{second // 60 % 60:02}{tail}"


def duration_ns(duration: object) -> int:
    """Return the nanoseconds of a timedelta, or of a text such as "15 minutes".

    A text is a number and a unit from second to week.

    >>> duration_ns("15 minutes")
    900000000000
    """
    if isinstance(duration, timedelta) and duration >= timedelta():
        return duration // timedelta(microseconds=1) * 1000
    width = read_width(duration) if isinstance(duration, str) else None
    if width is None or width.seconds is None:
        raise BadTime(
            f"Cannot read {duration!r} as a duration: give a number and one of "
            f"{', '.join([*SECONDS, *DAYS])}, such as '10 minutes'."
        )
    return width.seconds * SECOND_NS
