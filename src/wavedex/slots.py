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
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.clock import (
    CYCLE_DAYS,
    DAY_NS,
    DAY_S,
    EPOCH_DAY,
    SECOND_NS,
    Moment,
    column_ns,
    day_number,
    first_instant,
    iso_date,
    offset_at,
    read_time,
)
from wavedex.errors import BadDefinition, BadTime

Ordinals = npt.NDArray[np.int64]

_MIN, _MAX = -(2**63), 2**63 - 1
_COLUMN_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND_NS, "day": DAY_NS}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNITS = [*_SECONDS, *_DAYS, *_MONTHS]
_SLOT = re.compile(rf"(?:(\d{{1,9}})\s*)?({'|'.join(_UNITS)})s?", re.IGNORECASE)
_LISTED_DAYS_MAX = (
    4096  # so many days or slots of a batch are rather all listed than found by sorting its rows
)


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

    def stop(self, slot: int) -> int:
        """Return the first ordinal after the slot, which may be one past all that the column can hold."""
        return min(self._begin(int(slot) + 1), _MAX + 1)

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

    def asked(self, ordinal: int) -> int:
        """Return the number that `since` or `until` must be to mean an ordinal, or the slot that holds it."""
        return int(self.slots_of(np.array([ordinal]))[0])

    def number(self, slot: object) -> int:
        """Return the number of the slot that a number, a date or a datetime means. Raises BadTime."""
        start, stop = self.bounds(slot, slot)
        if start is None or stop is None or start >= stop:
            raise BadTime(f"slot={slot!r} is out of range. Give the number of a slot.")
        first, last = self.slots_of(np.array([start, stop - 1])).tolist()
        if first != last:
            raise BadTime(f"slot={slot!r} spans the slots {first} to {last}. Give one of them.")
        return int(first)

    @abstractmethod
    def length(self, duration: object) -> int:
        """Return how many ordinals a duration is, rounded up: a timedelta or a text; a number for slots of numbers.

        >>> slotting(pa.timestamp("ms"), "1 day").length("10 minutes")
        600000
        """

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
            when = read_time(value)
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
    def _span(self, when: date | Moment) -> tuple[int, int]: ...
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

    def length(self, duration: object) -> int:
        text = str(duration).strip()
        if not text.isdecimal() or isinstance(duration, bool):
            raise BadTime(
                f"Cannot read {duration!r}: the slots of this index are numbers, so give a number."
            )
        return int(text)

    def _span(self, when: date | Moment) -> tuple[int, int]:
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

    def length(self, duration: object) -> int:
        return -(-duration_ns(duration) // _COLUMN_NS[self.column])

    def _span(self, when: date | Moment) -> tuple[int, int]:
        if not isinstance(when, Moment):
            return self._midnight(day_number(when)), self._midnight(day_number(when) + 1)
        first, last = column_ns(when, self.aware, self.zone)
        return -(-first // _COLUMN_NS[self.column]), last // _COLUMN_NS[self.column] + 1

    def _midnight(self, day: int) -> int:
        """Return where a day begins, which is counted from 1970-01-01."""
        begin_s = first_instant(self._clock, day * DAY_S)[0] if self._clock else day * DAY_S
        return begin_s * SECOND_NS // _COLUMN_NS[self.column]


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
        return self.every * _SECONDS[self.unit] * SECOND_NS // _COLUMN_NS[self.column]

    def _slots(self, ordinals: Ordinals) -> Ordinals:
        return _count(ordinals, self.origin, self._width)

    def _begin(self, slot: int) -> int:
        return self.origin + slot * self._width

    def _name(self, slot: int) -> str:
        wall_s = self._begin(slot) * _COLUMN_NS[self.column] // SECOND_NS
        day, second = divmod(wall_s + (offset_at(self._clock, wall_s) if self._clock else 0), DAY_S)
        tail = f":{second % 60:02}" if self.unit == "second" or second % 60 else ""
        return f"{iso_date(day)} {second // 3600:02}:{second // 60 % 60:02}{tail}"


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
        days = ordinals // (DAY_NS // _COLUMN_NS[self.column])
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
            return _count(days, day_number(self.origin), self.every * _DAYS[self.unit])
        shifted = (days - (self.origin.day - 1)).astype("M8[D]")
        months = shifted.astype("M8[M]").astype(np.int64)
        return _count(months, self._origin_month, self.every * _MONTHS[self.unit])

    def _begin(self, slot: int) -> int:
        return self._midnight(self._first_day(slot))

    def _first_day(self, slot: int) -> int:
        if self.unit in _DAYS:
            return day_number(self.origin) + slot * self.every * _DAYS[self.unit]
        months = self._origin_month + slot * self.every * _MONTHS[self.unit]
        cycles, month = divmod(months, 400 * 12)
        first = date(1970 + month // 12, month % 12 + 1, self.origin.day)
        return day_number(first) + cycles * CYCLE_DAYS

    @property
    def _origin_month(self) -> int:
        return (self.origin.year - 1970) * 12 + self.origin.month - 1

    def _name(self, slot: int) -> str:
        name = iso_date(self._first_day(slot))
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
    check_zone(zone)
    if zone != "UTC" and (time_type is None or pa.types.is_integer(time_type)):
        raise BadDefinition(
            f"zone={zone!r} is for an index whose time is a timestamp or a date; here slots are numbers. Leave it out: "
            "times without a zone in other columns then mean UTC."
        )
    try:
        given = None if origin is None else read_time(origin)
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
    moment = given if isinstance(given, Moment) else Moment(day_number(given) * DAY_NS)
    at, rest = divmod(column_ns(moment, aware, zone)[0], _COLUMN_NS[column])
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
            check_zone(fields["zone"])
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


def duration_ns(duration: object) -> int:
    """Return the nanoseconds of a timedelta, or of a text of a number and a unit from second to week.

    >>> duration_ns("15 minutes")
    900000000000
    """
    if isinstance(duration, timedelta) and duration >= timedelta():
        return duration // timedelta(microseconds=1) * 1000
    match = _SLOT.fullmatch(duration.strip()) if isinstance(duration, str) else None
    seconds = {**_SECONDS, **{unit: days * DAY_S for unit, days in _DAYS.items()}}
    if match is None or match[2].lower() not in seconds:
        raise BadTime(
            f"Cannot read {duration!r} as a duration: give a number and one of "
            f"{', '.join(seconds)}, such as '10 minutes'."
        )
    return int(match[1] or 1) * seconds[match[2].lower()] * SECOND_NS


def distinct(slots: Ordinals) -> tuple[Ordinals, Ordinals]:
    """Return the slots that there are, ascending, and for each given one its place among them.

    COST: a few passes where they lie close together, as those of a batch do; a sort otherwise.

    >>> distinct(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1]))
    """
    if not slots.size:
        return slots, slots
    first, last = int(slots.min()), int(slots.max())
    if last - first >= _LISTED_DAYS_MAX:
        found, places = np.unique(slots, return_inverse=True)
        return found, places
    offsets = slots - first
    there = np.bincount(offsets, minlength=last - first + 1) > 0
    return np.flatnonzero(there) + first, (np.cumsum(there) - 1)[offsets]


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
        longs = array.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BadTime("The time column has values of 2**63 or more: give smaller ones.") from error
    # Arrow's own to_numpy imports pandas where it is installed, which takes longer than most appends.
    numbers = np.frombuffer(longs.buffers()[1] or b"", np.int64)
    return numbers[longs.offset : longs.offset + len(longs)]


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


def _origin_date(given: date | Moment, unit: str, zone: str) -> date:
    if isinstance(given, Moment):
        days, rest = divmod(column_ns(given, False, zone)[0], DAY_NS)
        if rest or not 0 < days + EPOCH_DAY <= date.max.toordinal():
            raise BadDefinition(f"A {unit} begins at midnight in {zone}: give a date as origin.")
        given = date.fromordinal(days + EPOCH_DAY)
    if unit in _MONTHS and given.day > 28:
        raise BadDefinition(
            f"Not all months have a day {given.day}: give an origin on day 1 to 28."
        )
    return given


def check_zone(name: str) -> None:
    """Raise BadDefinition where there is no such zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError) as error:
        raise BadDefinition(f"There is no zone {name!r}: give one like 'Europe/Berlin'.") from error


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
