"""Which slots does somebody mean? From a type of column, a width, a zone and an origin to slots.

>>> import numpy as np
>>> days = slotting(pa.timestamp("s", tz="UTC"), "1 day", zone="Europe/Berlin")
>>> days.slots_of(np.array([0, 82_799, 82_800]))  # in Berlin it is midnight at 23:00 UTC
array([0, 0, 1])
>>> days.label(1), days.start(1)
('1970-01-02', 82800)
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from wavedex.clock import (
    DAY_NS,
    Moment,
    column_ns,
    day_number,
    read_time,
)
from wavedex.errors import BadDefinition
from wavedex.slots.calendar import Calendar, read_origin
from wavedex.slots.contract import (
    ORDINAL_MAX,
    ORDINAL_MIN,
    Slotting,
)
from wavedex.slots.numbers import Numbers, read_numbers
from wavedex.slots.timed import (
    COLUMN_NS,
    Durations,
)
from wavedex.slots.widths import SECONDS, UNITS, read_width


def slotting(
    time_type: pa.DataType | None,
    slot: str | int | timedelta | None = "1 day",
    zone: str = "UTC",
    origin: datetime | date | int | str | None = None,
) -> Slotting:
    """Return the slots of a time column of this type; None is for slots that are given as numbers.

    `slot` is a width for a column of integers. Otherwise it is a unit from second to year, with or
    without a number before it ("15 minutes", "1d", "month"), or a timedelta. Slot 0 starts at
    `origin`. If not given, that is 1970-01-01 in the zone, for weeks the Monday after it, for
    integers 0.
    """
    check_zone(zone)
    if zone != "UTC" and (time_type is None or pa.types.is_integer(time_type)):
        raise BadDefinition(
            f"zone={zone!r} is for an index whose time is a timestamp or a date; here slots are "
            "numbers. Leave it out: times without a zone in other columns then mean UTC."
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
        return read_numbers(slot, given)
    if not (pa.types.is_timestamp(time_type) or pa.types.is_date(time_type)):
        raise BadDefinition(
            f"A time column cannot be of type {time_type}: make it a timestamp, date or integer."
        )
    every, unit = read_width("day" if slot is None else slot) or (0, "")
    if every < 1:
        raise BadDefinition(
            f"Cannot read slot={slot!r}: give one of {', '.join(UNITS)}, with a whole number"
            " above 0 before it if need be, such as '15 minutes'."
        )
    if isinstance(given, int):
        raise BadDefinition(f"Origin {origin} is a number: give a date, as the column holds times.")
    given = given or date(1970, 1, 5 if unit == "week" else 1)
    dated = pa.types.is_date(time_type)
    column = time_type.unit if not dated else "day" if pa.types.is_date32(time_type) else "ms"
    aware = not dated and time_type.tz is not None
    if unit not in SECONDS:
        return Calendar(unit, every, zone, column, aware, read_origin(given, unit, zone))
    if dated:
        raise BadDefinition(f"Dates have no {unit}s: give a slot of days, or a timestamp column.")
    moment = given if isinstance(given, Moment) else Moment(day_number(given) * DAY_NS)
    at, rest = divmod(column_ns(moment, aware, zone)[0], COLUMN_NS[column])
    slots = Durations(unit, every, zone, column, aware, at)
    if rest or not ORDINAL_MIN <= at <= ORDINAL_MAX or slots._width > ORDINAL_MAX:
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


def check_zone(name: str) -> None:
    """Raise BadDefinition where there is no such zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError) as error:
        raise BadDefinition(f"There is no zone {name!r}: give one like 'Europe/Berlin'.") from error
