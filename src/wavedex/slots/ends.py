"""Slots named by their ends: slot k is what lies after refresh k - 1, up to and with refresh k.

A refresh at time k * r inserts what came since the last one and expires what is over by now. A row
is over at the very instant of its end. So the slots of a lifetime index are open at their
beginnings and closed at their ends, the other way round from those of a wave index. A refresh deals
with exactly one of them.

All slots have one length, since the bound on lifetimes is a number of them. So days and weeks are
those of UTC. The zone of the index says what a time without a zone means, as for a wave index.

>>> import pyarrow as pa
>>> refreshes = ends(pa.int64(), 2)
>>> refreshes.slots_of(np.array([16, 17, 18])), refreshes.due(18), refreshes.due(19)
(array([8, 9, 9]), 9, 9)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.clock import Moment, read_time
from wavedex.errors import BadDefinition, BadTime
from wavedex.slots import reading
from wavedex.slots.calendar import Calendar
from wavedex.slots.contract import Ordinals, Slotting
from wavedex.slots.numbers import Numbers
from wavedex.slots.timed import Durations
from wavedex.slots.widths import Width

_MONTHLY = ("month", "quarter", "year")
_FAR = 2**62
"""Instants are below this, so that whatever is reckoned from one is a number of 64 bits."""


@dataclass(frozen=True)
class Ends(Slotting):
    """The slots of `base`, moved by one ordinal so that each holds its end, and numbered by it."""

    base: Slotting
    """The slots before they are moved."""
    zone: str = "UTC"
    """Times given without a zone are local to this one. It need not be that of the slots."""

    kind = "ends"

    @property
    def every(self) -> int:  # type: ignore[override]
        """How many units of the base a slot has."""
        return self.base.every

    @property
    def width(self) -> int:
        """How many ordinals a slot has."""
        return self.base.start(1) - self.base.start(0)

    @property
    def period(self) -> str:
        """The time from one refresh to the next, for people."""
        return self.said(1)

    def said(self, refreshes: int) -> str:
        """How long so many refreshes are, for people.

        >>> ends(pa.timestamp("s"), "2 minutes").said(8), ends(pa.int64(), 5).said(3)
        ('16 minutes', '15')
        """
        if isinstance(self.base, Calendar | Durations):
            return str(Width(refreshes * self.every, self.base.unit))
        return str(refreshes * self.every)

    def due(self, instant: int) -> int:
        """The slot of the last refresh that was due at an instant."""
        return int(self.base.slots_of(np.array([instant]))[0])

    def instant(self, now: object) -> int:
        """The ordinal that an instant means. Raises BadTime.

        An instant is a number for slots of numbers, else a datetime or a date. A datetime without a
        zone is local to that of the index.
        """
        counts = isinstance(self.base, Numbers)
        try:
            when = read_time(now)
        except (ValueError, TypeError) as error:
            wanted = "a whole number, as the times of this index are" if counts else "a datetime"
            raise BadTime(f"Cannot read now={now!r}: give {wanted}.") from error
        if isinstance(when, int) != counts:
            is_not = "no whole number" if counts else "a number"
            times = "are" if counts else "are not"
            raise BadTime(f"now={now!r} is {is_not}, and the times of this index {times}.")
        if isinstance(when, int):
            if not -_FAR < when < _FAR:
                raise BadTime(f"now={now!r} is too far away. Give a number between -2^62 and 2^62.")
            return when
        first, stop = self._span(when)
        # A moment between two ordinals counts as the earlier one.
        return first if first < stop else stop - 1

    def moment(self, ordinal: int) -> str:
        """An instant for people.

        >>> ends(pa.timestamp("ms", "UTC"), "1 hour").moment(90_061_500)
        '1970-01-02T01:01:01.500+00:00'
        """
        return self.base.moment(ordinal)

    def asked(self, ordinal: int) -> int:
        """Times that are numbers are asked for as they are."""
        return ordinal if isinstance(self.base, Numbers) else super().asked(ordinal)

    def length(self, duration: object) -> int:
        return self.base.length(duration)

    def slots_in(self, duration: object) -> int:
        return self.base.slots_in(duration)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "base": self.base.to_json(), "zone": self.zone}

    def _range(self, value: object) -> tuple[int, int]:
        """As of any slots. But where times are numbers, a number is a time, as for `instant`."""
        span = super()._range(value)
        if not isinstance(self.base, Numbers):
            return span
        time = self.instant(value)
        return time, time + 1

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        return self.base.slots_of(ordinals - 1) + 1

    def _begin(self, slot: int) -> int:
        return self.base._begin(slot - 1) + 1

    def _span(self, when: date | Moment) -> tuple[int, int]:
        if not isinstance(self.base, Calendar | Durations):
            raise BadTime("The times of this index are numbers: give since and until as numbers.")
        return replace(self.base, zone=self.zone)._span(when)

    def _name(self, slot: int) -> str:
        return self.base._name(slot)


def ends(time_type: pa.DataType, refresh: str | int, origin: Any = None, zone: str = "UTC") -> Ends:
    """The slots between refreshes of a column of this type, in a zone. Raises BadDefinition."""
    try:
        # A day of a zone may have 23 or 25 hours, and refreshes are equally far apart: days are
        # those of UTC.
        is_daily = isinstance(reading.slotting(time_type, refresh, zone), Calendar)
        base = reading.slotting(time_type, refresh, "UTC" if is_daily else zone, origin)
    except BadDefinition as error:
        # What is called a slot there is called a refresh here.
        raise BadDefinition(str(error).replace("slot=", "refresh=")) from None
    if getattr(base, "unit", None) in _MONTHLY:
        raise BadDefinition(
            f"refresh={refresh!r} is not always as long. "
            "Give weeks, days, hours, minutes or seconds."
        )
    return Ends(base) if isinstance(base, Numbers) else Ends(base, zone)


def from_json(data: dict[str, Any]) -> Ends:
    """The slots that `to_json` described. Raises BadDefinition."""
    if data.get("kind") != Ends.kind:
        raise BadDefinition(f"This does not describe slots of refreshes: {data!r}.")
    return Ends(reading.from_json(data["base"]), data["zone"])
