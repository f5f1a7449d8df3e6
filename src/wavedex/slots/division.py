"""Does one clock divide another? Slots, refreshes and basic windows must not straddle one another.

One divides another where every boundary of the other is one of its own. Lengths are compared, and
the origins from which they are counted. For a calendar that goes by the clock of a zone, every
offset from UTC counts that the zone has ever had: an hour of UTC divides the days of Berlin, and
not those of Kolkata.

For months and years that is more than it takes in a zone whose clock is the same whenever one
begins.

Slots of ends (`wavedex.slots.ends`) have the boundaries of those that they are made of: which of
two slots has the boundary itself is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd
from typing import NamedTuple
from zoneinfo import ZoneInfo

from wavedex.clock import DAY_S, SECOND_NS, offset_at
from wavedex.errors import Straddling
from wavedex.slots.calendar import Calendar
from wavedex.slots.contract import Slotting
from wavedex.slots.ends import Ends
from wavedex.slots.numbers import Numbers
from wavedex.slots.timed import COLUMN_NS, Durations, Timed
from wavedex.slots.widths import DAYS, MONTHS, SECONDS, Width

_SAMPLED = range(0, 140 * 366 * DAY_S, 14 * DAY_S)
"""The instants at which a zone is asked for its offset: each two weeks, from 1970 on.

No zone changes its clock for less, but for Ramadan in some, by offsets that it has anyway.
"""
_MONTH_DAYS = 1
"""Months begin on any day: what divides them divides a day."""


class _Comb(NamedTuple):
    """Boundaries that are equally far apart, as numbers."""

    width: int
    origin: int


def divides(part: Slotting, whole: Slotting) -> bool:
    """Whether every boundary of `whole` is one of `part`.

    >>> import pyarrow as pa
    >>> from wavedex.slots import slotting
    >>> time = pa.timestamp("s", "UTC")
    >>> hour, day = slotting(time, "1 hour"), slotting(time, "1 day")
    >>> divides(hour, day), divides(day, hour)
    (True, False)
    >>> divides(hour, slotting(time, "1 day", zone="Asia/Kolkata"))
    False
    """
    part, whole = _base(part), _base(whole)
    if isinstance(part, Numbers) or isinstance(whole, Numbers):
        both = isinstance(part, Numbers) and isinstance(whole, Numbers)
        return both and all(map(_is_tooth, [_comb(part)] * 2, _teeth(whole)))
    if not isinstance(part, Timed) or not isinstance(whole, Timed) or part.aware != whole.aware:
        return False
    if isinstance(part, Calendar) and _of_months(part):
        return isinstance(whole, Calendar) and _divides_months(part, whole)
    if isinstance(part, Calendar) and part._clock is not None:
        return isinstance(whole, Calendar) and _divides_dates(part, whole)
    comb = _comb(part)
    return all(_is_tooth(comb, tooth) for tooth in _teeth(whole))


def check_divides(part: Slotting, whole: Slotting, named: tuple[str, str]) -> None:
    """Raise Straddling where one clock does not divide another, with what would.

    `named` says what they are, such as ("basic windows", "slots").
    """
    if not divides(part, whole):
        raise Straddling(_said(part, whole, named))


def check_nested(one: Slotting, other: Slotting, named: tuple[str, str]) -> None:
    """Raise Straddling where neither of two clocks divides the other."""
    if not divides(one, other) and not divides(other, one):
        raise Straddling(_said(one, other, named))


def _base(slots: Slotting) -> Slotting:
    return slots.base if isinstance(slots, Ends) else slots


def _of_months(slots: Calendar) -> bool:
    return slots.unit in MONTHS


def _divides_months(part: Calendar, whole: Calendar) -> bool:
    """Whether months of some sort divide others."""
    if not _of_months(whole) or _zone(part) != _zone(whole):
        return False
    count = part.every * MONTHS[part.unit]
    between = whole._origin_month - part._origin_month
    is_whole = not whole.every * MONTHS[whole.unit] % count and not between % count
    return is_whole and part.origin.day == whole.origin.day


def _divides_dates(part: Calendar, whole: Calendar) -> bool:
    """Whether dates of a zone divide others of that zone."""
    if _zone(part) != _zone(whole):
        return False
    days = part.every * DAYS[part.unit]
    if _of_months(whole):
        return days == _MONTH_DAYS
    between = (whole.origin - part.origin).days
    return not whole.every * DAYS[whole.unit] % days and not between % days


def _zone(slots: Timed) -> str | None:
    return None if slots._clock is None else slots.zone


def _comb(slots: Slotting) -> _Comb:
    """The boundaries of slots that are equally far apart: numbers, or nanoseconds."""
    if isinstance(slots, Numbers):
        return _Comb(slots.every, slots.origin)
    if isinstance(slots, Durations):
        width = slots.every * SECONDS[slots.unit] * SECOND_NS
        return _Comb(width, slots.origin * COLUMN_NS[slots.column])
    assert isinstance(slots, Calendar)
    day = DAY_S * SECOND_NS
    origin = slots.start(0) * COLUMN_NS[slots.column]
    days = _MONTH_DAYS if _of_months(slots) else slots.every * DAYS[slots.unit]
    return _Comb(days * day, origin)


def _teeth(slots: Slotting) -> Iterator[_Comb]:
    """The boundaries of any slots, as some combs that together have them all."""
    comb = _comb(slots)
    if not isinstance(slots, Calendar) or slots._clock is None:
        yield comb
        return
    offsets = _offsets(slots.zone)
    first = offset_at(slots._clock, comb.origin // SECOND_NS)
    for offset in offsets:
        yield _Comb(comb.width, comb.origin + (first - offset) * SECOND_NS)


def _is_tooth(part: _Comb, whole: _Comb) -> bool:
    """Whether every boundary of one comb is one of another."""
    return not whole.width % part.width and not (whole.origin - part.origin) % part.width


@lru_cache(64)
def _offsets(zone: str) -> frozenset[int]:
    """The seconds by which a zone is ahead of UTC, at some time or other since 1970."""
    clock = ZoneInfo(zone)
    return frozenset(offset_at(clock, second) for second in _SAMPLED)


# -- what would ------------------------------------------------------------------------------------


def _said(part: Slotting, whole: Slotting, named: tuple[str, str]) -> str:
    """What does not divide what, and what would."""
    lengths = _length(part), _length(whole)
    text = (
        f"The {named[0]} of {lengths[0]} straddle the {named[1]} of {lengths[1]}: some of these "
        f"begin in the middle of one of those."
    )
    part, whole = _base(part), _base(whole)
    if isinstance(part, Numbers) != isinstance(whole, Numbers):
        return f"{text} One is counted in numbers and the other in time. Count both the same way."
    if isinstance(part, Timed) and isinstance(whole, Timed) and part.aware != whole.aware:
        return (
            f"{text} One goes by instants and the other by times without a zone. Use one of them."
        )
    fitting = _fitting(part, whole)
    if fitting is None:
        return f"{text} Give both the same length, or days of the same zone."
    zone = f" in {whole.zone}" if isinstance(whole, Calendar) and whole._clock else ""
    if lengths[0] in fitting:
        return f"{text} Their lengths would fit: count both from the same origin{zone}."
    return f"{text} Give {' or '.join(fitting)}, counted from the same origin{zone}."


def _length(slots: Slotting) -> str:
    slots = _base(slots)
    return str(Width(slots.every, slots.unit)) if isinstance(slots, Timed) else str(slots.every)


def _fitting(part: Slotting, whole: Slotting) -> list[str] | None:
    """The lengths next to that of `part` that would divide `whole`; None where none is near."""
    if isinstance(part, Calendar) and _of_months(part):
        return None
    teeth = [*_teeth(whole)]
    common = gcd(*(each.width for each in teeth), *(e.origin - teeth[0].origin for e in teeth))
    unit = 1 if isinstance(part, Numbers) else SECOND_NS
    count, own = common // unit, _comb(part).width // unit
    if not count:
        return None
    divisors = _divisors(count)
    if isinstance(part, Timed) and (step := Width(1, part.unit).seconds):
        # Whole minutes, say, where the length was given in minutes.
        divisors = [each for each in divisors if not each % step] or divisors
    near = {
        max((each for each in divisors if each <= own), default=divisors[0]),
        min((each for each in divisors if each >= own), default=divisors[-1]),
    }
    return [str(each) if unit == 1 else str(_width(each)) for each in sorted(near)]


def _divisors(count: int) -> list[int]:
    small = [each for each in range(1, min(count, 10**6) + 1) if each * each <= count]
    found = [each for each in small if not count % each]
    return sorted({*found, *(count // each for each in found)})


def _width(seconds: int) -> Width:
    for unit, length in (("day", DAY_S), ("hour", 3600), ("minute", 60)):
        if not seconds % length:
            return Width(seconds // length, unit)
    return Width(seconds, "second")
