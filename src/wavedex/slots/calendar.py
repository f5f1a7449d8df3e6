"""Slots that are read off a calendar: days to years in a zone.

A day of 23 or 25 hours is one slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from wavedex.clock import (
    CYCLE_DAYS,
    DAY_NS,
    EPOCH_DAY,
    Moment,
    column_ns,
    day_number,
    iso_date,
)
from wavedex.errors import BadDefinition
from wavedex.slots.contract import (
    LISTED_MAX,
    ORDINAL_MAX,
    ORDINAL_MIN,
    Ordinals,
    count_from,
)
from wavedex.slots.timed import (
    COLUMN_NS,
    Timed,
)
from wavedex.slots.widths import DAYS, MONTHS


@dataclass(frozen=True)
class Calendar(Timed):
    """Slots of days, weeks, months, quarters or years.

    A slot begins at the first instant at which the zone's clock shows midnight of its first date or
    later. So a date that the zone skipped is an empty slot. An hour that it had twice, around
    midnight, belongs to the later date.

    >>> months = Calendar("month", 1, "UTC", column="day", aware=False, origin=date(1970, 1, 1))
    >>> months.label(517), months.bounds(517, 517)
    ('2013-02', (15737, 15765))
    """

    kind = "calendar"
    origin: date
    """The first day of slot 0."""

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        days = ordinals // (DAY_NS // COLUMN_NS[self.column])
        if not self._clock or not days.size:
            return self._slots_of_dates(days)
        first, last = int(days.min()), int(days.max())
        listed = last - first < min(days.size, LISTED_MAX)
        days = np.arange(first, last + 1) if listed else np.unique(days)
        # No zone is a whole day from UTC, so that the local date is the one of UTC or next to it.
        slots = np.unique(self._slots_of_dates(np.concatenate([days - 1, days, days + 1])))
        begins = [self._begin(slot) for slot in slots.tolist()]
        starts = np.array(
            [max(begin, ORDINAL_MIN) for begin in begins if begin <= ORDINAL_MAX], np.int64
        )
        return slots[np.searchsorted(starts, ordinals, side="right") - 1]

    def _slots_of_dates(self, days: Ordinals) -> Ordinals:
        if self.unit in DAYS:
            return count_from(days, day_number(self.origin), self.every * DAYS[self.unit])
        shifted = (days - (self.origin.day - 1)).astype("M8[D]")
        months = shifted.astype("M8[M]").astype(np.int64)
        return count_from(months, self._origin_month, self.every * MONTHS[self.unit])

    def _begin(self, slot: int) -> int:
        return self._midnight(self._first_day(slot))

    def _first_day(self, slot: int) -> int:
        if self.unit in DAYS:
            return day_number(self.origin) + slot * self.every * DAYS[self.unit]
        months = self._origin_month + slot * self.every * MONTHS[self.unit]
        cycles, month = divmod(months, 400 * 12)
        first = date(1970 + month // 12, month % 12 + 1, self.origin.day)
        return day_number(first) + cycles * CYCLE_DAYS

    @property
    def _origin_month(self) -> int:
        return (self.origin.year - 1970) * 12 + self.origin.month - 1

    def _name(self, slot: int) -> str:
        name = iso_date(self._first_day(slot))
        if self.unit in DAYS or self.origin.day != 1:
            return name
        return name.rsplit("-", 2 if self.unit == "year" and self.origin.month == 1 else 1)[0]


def read_origin(given: date | Moment, unit: str, zone: str) -> date:
    """The first day of slot 0. Raises BadDefinition where no slot can begin then."""
    if isinstance(given, Moment):
        days, rest = divmod(column_ns(given, False, zone)[0], DAY_NS)
        if rest or not 0 < days + EPOCH_DAY <= date.max.toordinal():
            raise BadDefinition(f"A {unit} begins at midnight in {zone}: give a date as origin.")
        given = date.fromordinal(days + EPOCH_DAY)
    if unit in MONTHS and given.day > 28:
        raise BadDefinition(
            f"Not all months have a day {given.day}: give an origin on day 1 to 28."
        )
    return given
