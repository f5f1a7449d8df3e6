"""Time to slot numbers and back: which slot is a row's, where does a slot start, what do `since` and `until` mean.

Each row has an *ordinal*, an int64: the raw value of its time column in the column's own unit, or the slot number itself
where there is no time column. A slot is the interval of ordinals [start(slot), start(slot + 1)). Slots are counted
(`Numbers`), measured (`Durations`: seconds, minutes, hours from an origin) or read off a calendar (`Calendar`: days to
years in a zone, so that a day of 23 or 25 hours is one slot). `slotting` chooses, `bounds` turns what people ask for into
ordinals. All of it is exact: Python integers for single values, int64 for rows, and nothing wraps. A later ordinal never
has an earlier slot, whatever a zone does to its clocks. Never loops over rows, never reads the clock.

>>> days = slotting(pa.timestamp("s", tz="UTC"), "1 day", zone="Europe/Berlin")
>>> days.slots_of(np.array([0, 82_799, 82_800]))  # in Berlin it is midnight at 23:00 UTC
array([0, 0, 1])
>>> days.label(1), days.start(1)
('1970-01-02', 82800)
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime

Ordinals = npt.NDArray[np.int64]

_MIN, _MAX = -(2**63), 2**63 - 1
_EPOCH, _EPOCH_DAY = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
_DAY_S, _SECOND_NS, _DAY_NS = 86_400, 10**9, 86_400 * 10**9
_COLUMN_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": _SECOND_NS, "day": _DAY_NS}
_NUMPY_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": _SECOND_NS, "m": 60 * 10**9, "h": 3600 * 10**9}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNITS = [*_SECONDS, *_DAYS, *_MONTHS]
_SLOT = re.compile(rf"(?:(\d{{1,9}})\s*)?({'|'.join(_UNITS)})s?", re.IGNORECASE)
# `datetime` ends with the year 9999. The calendar repeats after 400 years, and so do the rules of all zones outside of
# the years 400 to 9200, so that times beyond are looked up whole cycles nearer.
_CYCLE_DAYS = 146_097
_KNOWN_S = tuple((date(y, 1, 1).toordinal() - _EPOCH_DAY) * _DAY_S for y in (400, 9200))
_LISTED_DAYS_MAX = (
    4096  # so many days of a batch are rather all listed than found by sorting its rows
)


class _Moment(NamedTuple):
    """A datetime as given: nanoseconds since 1970, of UTC where aware, of the wall clock where not."""

    ns: int
    aware: bool = False
    fold: int = 0


class Slotting(ABC):
    """Time to slot numbers and back. Frozen, comparable, and plain enough to be sent to other processes."""

    kind: ClassVar[str]
    every: int

    def slots_of(self, ordinals: Ordinals) -> Ordinals:
        """Return the slot of each ordinal. COST: a few vector operations, and one step for each distinct day."""
        return self._slots(ordinals)

    def start(self, slot: int) -> int:
        """Return the first ordinal of the slot. Raises BadTime if an int64 cannot reach it.

        >>> slotting(pa.date32(), "1 week").start(1)
        11
        """
        begin = self._begin(int(slot))
        if begin > _MAX:
            raise BadTime(f"Slot {slot} is past all times of the column: give an earlier one.")
        return max(begin, _MIN)

    def bounds(self, since: object = None, until: object = None) -> tuple[int | None, int | None]:
        """Return the half-open range of ordinals of an inclusive `since` and `until`; None is no bound.

        Slot numbers and dates mean their whole interval; a datetime is compared with the row's own time. Naive ones are
        local to the zone: one that it skipped lies between its neighbours, one that it had twice is told by its `fold`.

        >>> hours = slotting(pa.timestamp("s"), "1 hour")
        >>> hours.bounds("1970-01-02", "1970-01-02"), hours.bounds("1970-01-01T00:00:09.5", 24)
        ((86400, 172800), (10, 90000))
        """
        start = None if since is None else self._range(since)[0]
        stop = None if until is None else self._range(until)[1]
        if (start is not None and start > _MAX) or (stop is not None and stop <= _MIN):
            return 0, 0
        start = None if start is None or start <= _MIN else start
        stop = None if stop is None or stop > _MAX else stop
        return start, stop if start is None or stop is None else max(start, stop)

    def label(self, slot: int) -> str:
        """Return a name for people: "2013-01-05", "2013-01-05 10:15", "2013-01", "2013" or "17"."""
        return self._name(int(slot))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON of which `from_json` makes an equal one."""
        fields = asdict(self)  # type: ignore[call-overload]
        return {
            "kind": self.kind,
            **{k: v.isoformat() if isinstance(v, date) else v for k, v in fields.items()},
        }

    def _range(self, value: object) -> tuple[int, int]:
        try:
            when = _read(value)
        except (ValueError, TypeError) as error:
            raise BadTime(
                f"Cannot read {value!r} as a time: give a slot number, a date such as 2013-01-05,"
                " or a datetime such as 2013-01-05T10:15."
            ) from error
        if isinstance(when, int):
            return self._begin(when), self._begin(when + 1)
        return self._span(when)

    # What a kind adds. `_begin` and `_span` reach beyond int64 where they have to.
    @abstractmethod
    def _slots(self, ordinals: Ordinals) -> Ordinals: ...
    @abstractmethod
    def _begin(self, slot: int) -> int: ...
    @abstractmethod
    def _span(self, when: date | _Moment) -> tuple[int, int]: ...
    @abstractmethod
    def _name(self, slot: int) -> str: ...


@dataclass(frozen=True)
class Numbers(Slotting):
    """Slots of `every` whole numbers from `origin` on; by default each number is its own slot.

    >>> slotting(pa.int32(), 10).slots_of(np.array([-1, 0, 9, 10]))
    array([-1, 0, 0, 1])
    """

    kind = "numbers"
    every: int = 1
    origin: int = 0

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        return _count(ordinals, self.origin, self.every)

    def _begin(self, slot: int) -> int:
        return self.origin + slot * self.every

    def _span(self, when: date | _Moment) -> tuple[int, int]:
        raise BadTime("The slots of this index are numbers: give since and until as slot numbers.")

    def _name(self, slot: int) -> str:
        return str(slot)


@dataclass(frozen=True)
class _Timed(Slotting):
    """A column of times, which are instants (`aware`) or wall-clock times as written, and a zone."""

    unit: str
    every: int
    zone: str
    column: str  # the unit of the column: ns, us, ms, s or day
    aware: bool

    @property
    def _clock(self) -> ZoneInfo | None:
        """The zone whose clock stands between the column and the calendar, if one does."""
        return ZoneInfo(self.zone) if self.aware and self.zone != "UTC" else None

    def _span(self, when: date | _Moment) -> tuple[int, int]:
        if not isinstance(when, _Moment):
            return self._midnight(_day(when)), self._midnight(_day(when) + 1)
        first, last = _column_ns(when, self.aware, self.zone)
        return -(-first // _COLUMN_NS[self.column]), last // _COLUMN_NS[self.column] + 1

    def _midnight(self, day: int) -> int:
        """Return where a day begins, which is counted from 1970-01-01."""
        begin_s = _first_instant(self._clock, day * _DAY_S)[0] if self._clock else day * _DAY_S
        return begin_s * _SECOND_NS // _COLUMN_NS[self.column]


@dataclass(frozen=True)
class Durations(_Timed):
    """Slots of equal length from an origin on, which is an ordinal.

    >>> slotting(pa.timestamp("ms"), "15 minutes").label(5)
    '1970-01-01 01:15'
    """

    kind = "durations"
    origin: int

    @property
    def _width(self) -> int:
        return self.every * _SECONDS[self.unit] * _SECOND_NS // _COLUMN_NS[self.column]

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        return _count(ordinals, self.origin, self._width)

    def _begin(self, slot: int) -> int:
        return self.origin + slot * self._width

    def _name(self, slot: int) -> str:
        wall_s = self._begin(slot) * _COLUMN_NS[self.column] // _SECOND_NS
        day, second = divmod(wall_s + (_offset(self._clock, wall_s) if self._clock else 0), _DAY_S)
        tail = f":{second % 60:02}" if self.unit == "second" or second % 60 else ""
        return f"{_iso(day)} {second // 3600:02}:{second // 60 % 60:02}{tail}"


@dataclass(frozen=True)
class Calendar(_Timed):
    """Slots of days, weeks, months, quarters or years.

    A slot begins at the first instant at which the zone's clock shows midnight of its first date or later. So a date
    that the zone skipped is an empty slot, and an hour that it had twice, around midnight, belongs to the later date.

    >>> months = slotting(pa.date32(), "1 month")
    >>> months.label(517), months.bounds(517, 517)
    ('2013-02', (15737, 15765))
    """

    kind = "calendar"
    origin: date

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        days = ordinals // (_DAY_NS // _COLUMN_NS[self.column])
        if not self._clock or not days.size:
            return self._slots_of_dates(days)
        first, last = int(days.min()), int(days.max())
        listed = last - first < min(days.size, _LISTED_DAYS_MAX)
        days = np.arange(first, last + 1) if listed else np.unique(days)
        # No zone is a whole day from UTC, so that the local date is the one of UTC or next to it.
        slots = np.unique(self._slots_of_dates(np.concatenate([days - 1, days, days + 1])))
        begins = [self._begin(slot) for slot in slots.tolist()]
        starts = np.array([max(begin, _MIN) for begin in begins if begin <= _MAX], np.int64)
        return slots[np.searchsorted(starts, ordinals, side="right") - 1]

    def _slots_of_dates(self, days: Ordinals) -> Ordinals:
        if self.unit in _DAYS:
            return _count(days, _day(self.origin), self.every * _DAYS[self.unit])
        shifted = (days - (self.origin.day - 1)).astype("M8[D]")
        months = shifted.astype("M8[M]").astype(np.int64)
        return _count(months, self._origin_month, self.every * _MONTHS[self.unit])

    def _begin(self, slot: int) -> int:
        return self._midnight(self._first_day(slot))

    def _first_day(self, slot: int) -> int:
        if self.unit in _DAYS:
            return _day(self.origin) + slot * self.every * _DAYS[self.unit]
        months = self._origin_month + slot * self.every * _MONTHS[self.unit]
        cycles, month = divmod(months, 400 * 12)
        first = date(1970 + month // 12, month % 12 + 1, self.origin.day)
        return _day(first) + cycles * _CYCLE_DAYS

    @property
    def _origin_month(self) -> int:
        return (self.origin.year - 1970) * 12 + self.origin.month - 1

    def _name(self, slot: int) -> str:
        name = _iso(self._first_day(slot))
        if self.unit in _DAYS or self.origin.day != 1:
            return name
        return name.rsplit("-", 2 if self.unit == "year" and self.origin.month == 1 else 1)[0]


def slotting(
    time_type: pa.DataType | None,
    slot: str | int | None = "1 day",
    zone: str = "UTC",
    origin: datetime | date | int | str | None = None,
) -> Slotting:
    """Return the slots of a time column of this type; None is for slots that are given as numbers.

    `slot` is a width for a column of integers, else a unit from second to year with or without a number before it. Slot 0
    starts at `origin`: 1970-01-01 in the zone if not given, for weeks the Monday after it, for integers 0.
    """
    _check_zone(zone)
    try:
        given = None if origin is None else _read(origin)
    except (ValueError, TypeError) as error:
        raise BadDefinition(
            f"Cannot read origin={origin!r}: give a date like 2013-01-05."
        ) from error
    if time_type is None:
        if given is not None:
            raise BadDefinition("Slots that are given as numbers have no origin: leave it out.")
        return Numbers()
    if pa.types.is_integer(time_type):
        return _numbers(slot, given)
    if not (pa.types.is_timestamp(time_type) or pa.types.is_date(time_type)):
        raise BadDefinition(
            f"A time column cannot be of type {time_type}: make it a timestamp, date or integer."
        )
    match = _SLOT.fullmatch("day" if slot is None else str(slot).strip())
    every, unit = (int(match[1] or 1), match[2].lower()) if match else (0, "")
    if every < 1:
        raise BadDefinition(
            f"Cannot read slot={slot!r}: give one of {', '.join(_UNITS)}, with a whole number"
            " above 0 before it if need be, such as '15 minutes'."
        )
    if isinstance(given, int):
        raise BadDefinition(f"Origin {origin} is a number: give a date, as the column holds times.")
    given = given or date(1970, 1, 5 if unit == "week" else 1)
    dated = pa.types.is_date(time_type)
    column = time_type.unit if not dated else "day" if pa.types.is_date32(time_type) else "ms"
    aware = not dated and time_type.tz is not None
    if unit not in _SECONDS:
        return Calendar(unit, every, zone, column, aware, _origin_date(given, unit, zone))
    if dated:
        raise BadDefinition(f"Dates have no {unit}s: give a slot of days, or a timestamp column.")
    moment = given if isinstance(given, _Moment) else _Moment(_day(given) * _DAY_NS)
    at, rest = divmod(_column_ns(moment, aware, zone)[0], _COLUMN_NS[column])
    slots = Durations(unit, every, zone, column, aware, at)
    if rest or not _MIN <= at <= _MAX or slots._width > _MAX:
        raise BadDefinition(
            f"A column of {time_type} cannot hold slot={slot!r} with origin={origin!r}:"
            " give a shorter slot, or an origin in the unit and range of the column."
        )
    return slots


def from_json(data: dict[str, Any]) -> Slotting:
    """Return the slots that `to_json` described.

    >>> from_json(slotting(pa.int64(), 5).to_json())
    Numbers(every=5, origin=0)
    """
    fields = dict(data)
    try:
        kind = {k.kind: k for k in (Numbers, Durations, Calendar)}[fields.pop("kind")]
        if kind is not Numbers:
            _check_zone(fields["zone"])
        if kind is Calendar:
            fields["origin"] = date.fromisoformat(fields["origin"])
        slots = kind(**fields)
        if slots.every < 1 or not slots.label(slots.start(0)):  # which need every field
            raise ValueError("no slots")
    except (KeyError, TypeError, ValueError) as error:
        raise BadDefinition(
            f"This does not describe slots: {data!r}. Restore it, or use the version that wrote it."
        ) from error
    return slots


def ordinals(array: pa.Array | pa.ChunkedArray) -> Ordinals:
    """Return the ordinals of a time column, without a copy where it is one chunk of 64-bit values.

    REQUIRES: the column has no nulls, and a type that `slotting` takes.

    >>> ordinals(pa.array([date(1970, 1, 3)]))
    array([2])
    """
    assert not array.null_count
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    try:
        result: Ordinals = array.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise BadTime("The time column has values of 2**63 or more: give smaller ones.") from error
    return result


def _numbers(slot: object, origin: object) -> Numbers:
    width = int(slot) if isinstance(slot, str) and slot.strip().isdecimal() else slot
    if not isinstance(width, (int, np.integer)) or isinstance(width, bool) or not 0 < width <= _MAX:
        raise BadDefinition(
            f"slot={slot!r} does not fit a time column of integers: give slot=N, a number of units."
        )
    origin = 0 if origin is None else origin
    if not isinstance(origin, int) or not _MIN <= origin <= _MAX:
        raise BadDefinition("A time column of integers needs a 64-bit integer as its origin.")
    return Numbers(int(width), origin)


def _origin_date(given: date | _Moment, unit: str, zone: str) -> date:
    if isinstance(given, _Moment):
        days, rest = divmod(_column_ns(given, False, zone)[0], _DAY_NS)
        if rest or not 0 < days + _EPOCH_DAY <= date.max.toordinal():
            raise BadDefinition(f"A {unit} begins at midnight in {zone}: give a date as origin.")
        given = date.fromordinal(days + _EPOCH_DAY)
    if unit in _MONTHS and given.day > 28:
        raise BadDefinition(
            f"Not all months have a day {given.day}: give an origin on day 1 to 28."
        )
    return given


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError) as error:
        raise BadDefinition(f"There is no zone {name!r}: give one like 'Europe/Berlin'.") from error


def _read(value: object) -> int | date | _Moment:
    """Return what a user gave as a number, a date or a moment. Raises ValueError or TypeError."""
    if isinstance(value, str):
        return _parse(value.strip())
    if isinstance(value, datetime):
        if value != value:  # NaT of pandas is a datetime
            raise ValueError("not a time")
        ns = _ns(datetime(*value.timetuple()[:6], value.microsecond) - _EPOCH)
        ns += getattr(value, "nanosecond", 0)  # as a Timestamp of pandas has
        offset = value.utcoffset()
        return _Moment(ns, False, value.fold) if offset is None else _Moment(ns - _ns(offset), True)
    if isinstance(value, np.datetime64) and not np.isnat(value):
        unit, count = np.datetime_data(value.dtype)
        if unit in _NUMPY_NS:
            return _Moment(int(value.astype(np.int64)) * count * _NUMPY_NS[unit])
        day = value.item() if unit == "D" else None  # a number past the year 9999
        value = day if isinstance(day, date) else None
    if isinstance(value, date):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise TypeError("not a time")


def _parse(text: str) -> int | date | _Moment:
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        moment = _read(datetime.fromisoformat(text))
    # Python drops the digits after the sixth without a word.
    dropped = re.search(r"[.,]\d{6}(\d+)", text)
    digits = dropped[1].rstrip("0") if dropped else ""
    if not isinstance(moment, _Moment) or len(digits) > 3:
        raise ValueError("finer than a nanosecond")
    return moment._replace(ns=moment.ns + int(digits.ljust(3, "0")))


def _column_ns(moment: _Moment, aware: bool, zone: str) -> tuple[int, int]:
    """Return from when on, and up to when, a column's times are at `moment`; the end first if the zone skipped it."""
    second, rest = divmod(moment.ns, _SECOND_NS)
    if moment.aware == aware:
        return moment.ns, moment.ns
    if moment.aware:
        wall = moment.ns + _offset(ZoneInfo(zone), second) * _SECOND_NS
        return wall, wall
    first, skipped = _first_instant(ZoneInfo(zone), second, moment.fold)
    ns = first * _SECOND_NS
    return (ns, ns - 1) if skipped else (ns + rest, ns + rest)


@lru_cache(maxsize=4096)  # ten years of midnights
def _first_instant(zone: ZoneInfo, wall_s: int, fold: int = 0) -> tuple[int, bool]:
    """Return the first second of UTC at which the zone's clock shows `wall_s` or later, and whether it skips `wall_s`.

    Where the clock shows it twice, `fold` is the number of the time.
    """
    ahead = _offset(zone, wall_s, fold)
    if _offset(zone, wall_s - ahead) == ahead:
        return wall_s - ahead, False
    early, late = sorted((wall_s - ahead, wall_s - _offset(zone, wall_s, 1 - fold)))
    while late - early > 1:  # the clock jumps over wall_s after `early`, and not after `late`
        middle = (early + late) // 2
        if middle + _offset(zone, middle) < wall_s:
            early = middle
        else:
            late = middle
    return late, True


def _offset(zone: ZoneInfo, second: int, fold: int | None = None) -> int:
    """Return by how many seconds the zone is ahead of UTC, at an instant or, with `fold`, at a wall-clock time."""
    low, high = _KNOWN_S
    cycle = _CYCLE_DAYS * _DAY_S
    if not low <= second < high:
        base = low if second < low else high - cycle
        second = base + (second - base) % cycle
    when = (_EPOCH + timedelta(seconds=second)).replace(tzinfo=zone, fold=fold or 0)
    offset = (zone.fromutc(when) if fold is None else when).utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


def _count(values: Ordinals, origin: int, every: int) -> Ordinals:
    """Return floor((values - origin) / every), with no step that could wrap."""
    whole, rest = divmod(origin, every)
    counts = values // every if every > 1 else values
    if rest:
        counts = counts - (values % every < rest)
    if not whole or not counts.size:
        return counts
    if int(counts.min()) - whole < _MIN or int(counts.max()) - whole > _MAX:
        raise BadTime("Rows are too far from the origin of the slots: choose a nearer origin.")
    return counts - whole


def _iso(day: int) -> str:
    cycles, rest = divmod(day, _CYCLE_DAYS)
    known = date.fromordinal(rest + _EPOCH_DAY)
    return f"{known.year + 400 * cycles:04}-{known:%m-%d}"


def _day(when: date) -> int:
    return when.toordinal() - _EPOCH_DAY


def _ns(delta: timedelta) -> int:
    return delta // timedelta(microseconds=1) * 1000
