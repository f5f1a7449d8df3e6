"""What clocks and calendars show: times as people write them, and what a zone's clock does at them.

Turns a date, a datetime or a text into a moment, and a moment into the nanoseconds of a column.
Times are counted from 1970-01-01 in Python integers, so that nothing wraps and no year is too far.
Never reads the clock.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

EPOCH, EPOCH_DAY = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
DAY_S, SECOND_NS, DAY_NS = 86_400, 10**9, 86_400 * 10**9
_NUMPY_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND_NS, "m": 60 * 10**9, "h": 3600 * 10**9}
# `datetime` ends with the year 9999. The calendar repeats after 400 years, and so do the rules of
# all zones outside of the years 400 to 9200. So times beyond are looked up whole cycles nearer.
CYCLE_DAYS = 146_097
_KNOWN_S = tuple((date(y, 1, 1).toordinal() - EPOCH_DAY) * DAY_S for y in (400, 9200))


class Moment(NamedTuple):
    """A datetime as given."""

    ns: int
    """Nanoseconds since 1970: of UTC where aware, of the wall clock where not."""
    aware: bool = False
    """Whether its distance from UTC is known."""
    fold: int = 0
    """Where the wall clock shows it twice: which time is meant, 0 or 1."""


def read_time(value: object) -> int | date | Moment:
    """Return what a user gave as a number, a date or a moment. Raises ValueError or TypeError."""
    if isinstance(value, str):
        return _parse(value.strip())
    if isinstance(value, datetime):
        if value != value:  # NaT of pandas is a datetime
            raise ValueError("not a time")
        ns = _ns(datetime(*value.timetuple()[:6], value.microsecond) - EPOCH)
        ns += getattr(value, "nanosecond", 0)  # as a Timestamp of pandas has
        offset = value.utcoffset()
        return Moment(ns, False, value.fold) if offset is None else Moment(ns - _ns(offset), True)
    if isinstance(value, np.datetime64) and not np.isnat(value):
        unit, count = np.datetime_data(value.dtype)
        if unit in _NUMPY_NS:
            return Moment(int(value.astype(np.int64)) * count * _NUMPY_NS[unit])
        day = value.item() if unit == "D" else None  # a number past the year 9999
        value = day if isinstance(day, date) else None
    if isinstance(value, date):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise TypeError("not a time")


def _parse(text: str) -> int | date | Moment:
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        moment = read_time(datetime.fromisoformat(text))
    # Python drops the digits after the sixth without a word.
    dropped = re.search(r"[.,]\d{6}(\d+)", text)
    digits = dropped[1].rstrip("0") if dropped else ""
    if not isinstance(moment, Moment) or len(digits) > 3:
        raise ValueError("finer than a nanosecond")
    return moment._replace(ns=moment.ns + int(digits.ljust(3, "0")))


def column_ns(moment: Moment, aware: bool, zone: str) -> tuple[int, int]:
    """Return the first and the last nanosecond at which a column's times are at `moment`.

    If the zone skipped it, the last is before the first.
    """
    second, rest = divmod(moment.ns, SECOND_NS)
    if moment.aware == aware:
        return moment.ns, moment.ns
    if moment.aware:
        wall = moment.ns + offset_at(ZoneInfo(zone), second) * SECOND_NS
        return wall, wall
    first, skipped = first_instant(ZoneInfo(zone), second, moment.fold)
    ns = first * SECOND_NS
    return (ns, ns - 1) if skipped else (ns + rest, ns + rest)


@lru_cache(maxsize=4096)  # ten years of midnights
def first_instant(zone: ZoneInfo, wall_s: int, fold: int = 0) -> tuple[int, bool]:
    """Return the first second of UTC at which the zone's clock shows `wall_s` or later.

    Also return whether the clock skips `wall_s`. Where it shows it twice, `fold` is the number of
    the time.
    """
    ahead = offset_at(zone, wall_s, fold)
    if offset_at(zone, wall_s - ahead) == ahead:
        return wall_s - ahead, False
    early, late = sorted((wall_s - ahead, wall_s - offset_at(zone, wall_s, 1 - fold)))
    while late - early > 1:  # the clock jumps over wall_s after `early`, and not after `late`
        middle = (early + late) // 2
        if middle + offset_at(zone, middle) < wall_s:
            early = middle
        else:
            late = middle
    return late, True


def offset_at(zone: ZoneInfo, second: int, fold: int | None = None) -> int:
    """Return by how many seconds the zone is ahead of UTC.

    That is at an instant or, with `fold`, at a wall-clock time.
    """
    low, high = _KNOWN_S
    cycle = CYCLE_DAYS * DAY_S
    if not low <= second < high:
        base = low if second < low else high - cycle
        second = base + (second - base) % cycle
    when = (EPOCH + timedelta(seconds=second)).replace(tzinfo=zone, fold=fold or 0)
    offset = (zone.fromutc(when) if fold is None else when).utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


def iso_date(day: int) -> str:
    """Return the date of a day, in any year."""
    cycles, rest = divmod(day, CYCLE_DAYS)
    known = date.fromordinal(rest + EPOCH_DAY)
    return f"{known.year + 400 * cycles:04}-{known:%m-%d}"


def day_number(when: date) -> int:
    """Return the number of a date, counted from 1970-01-01."""
    return when.toordinal() - EPOCH_DAY


def _ns(delta: timedelta) -> int:
    return delta // timedelta(microseconds=1) * 1000
