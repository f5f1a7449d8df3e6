"""The pace of a window: when a basic window is complete, and which rows are in it.

Basic windows are numbered. A count-based window has the same number of rows in each. A time-based
one has a span of time in each, the slots of `wavedex.slots`, so that they are counted from the same
origin as the slots of an index.

Rows of a time-based window come in any order within a bounded delay d. The *watermark* is the
latest instant that was seen. Once it is d past the end of a basic window, all rows of that have
come (003, Section 3.3). So with basic windows of a length b, a row is seen no sooner than d after
its own instant. Where time is told as it goes on (`Window.advance`), it is seen no later than b + d
after it, and a query that is evaluated before the next basic window is complete tells of it at
2 b + d at the latest. Where only rows tell the time, and all of them are late, the watermark is
late too, by up to d more.
"""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime
from wavedex.slots import Slotting, slotting
from wavedex.slots.contract import ORDINAL_MAX
from wavedex.slots.widths import read_width

Clock = Callable[[], dt.datetime]
"""Says what time it is, with a zone."""

IMPLICIT = pa.timestamp("us", "UTC")
"""The type of the instants at which rows arrived, where they do not say one."""


@dataclass(frozen=True)
class CountPace:
    """Basic windows of so many rows."""

    rows: int
    """The rows of a basic window."""
    count: int
    """How many basic windows there are."""

    @property
    def said(self) -> str:
        """What basic windows are, for others to compare."""
        return f"{self.rows} rows"

    def __str__(self) -> str:
        return f"{self.rows * self.count:,} rows in basic windows of {self.rows:,}"


@dataclass(frozen=True)
class TimePace:
    """Basic windows of a length of time."""

    slotting: Slotting
    """What cuts time into basic windows."""
    count: int
    """How many basic windows there are."""
    delay: int
    """How late a row may come, in ordinals."""
    kind: pa.DataType
    """The type of the times."""
    time: str | None
    """The column that says them; None where it is the instant of the arrival."""

    @property
    def said(self) -> str:
        """What basic windows are, for others to compare."""
        return json.dumps(self.slotting.to_json(), sort_keys=True)

    def instant(self, now: object) -> int:
        """What somebody says that it is, as a time of the window. Raises BadTime."""
        if pa.types.is_integer(self.kind):
            is_whole = hasattr(now, "__index__") and not isinstance(now, bool)
            if not is_whole or not abs(operator.index(now)) < ORDINAL_MAX // 2:  # type: ignore[arg-type]
                raise BadTime(
                    f"now={now!r}: the times of the window are whole numbers; give one below 2**62."
                )
            return operator.index(now)  # type: ignore[arg-type]
        start, stop = self.slotting.bounds(now, now)
        if start is None or stop is None or start >= stop:
            raise BadTime(f"now={now!r} is out of the reach of the times, {self.kind}.")
        return start

    def complete_before(self, watermark: int) -> int:
        """The first basic window that is not complete at a watermark."""
        return int(self.slotting.slots_of(np.array([watermark - self.delay]))[0])

    def __str__(self) -> str:
        said = self.slotting.to_json()
        unit = f" {said['unit']}" if "unit" in said else ""
        return f"{self.count:,} basic windows of {said['every']}{unit}"


Pace = CountPace | TimePace


def pace_of(
    schema: pa.Schema,
    *,
    rows: int | None,
    span: object,
    basic: object,
    time: str | None,
    delay: object,
    origin: object,
    zone: str,
) -> Pace:
    """The pace that somebody asks for. Raises BadDefinition.

    >>> schema = pa.schema([("src", pa.int64()), ("ts", pa.timestamp("s"))])
    >>> nothing = {"delay": None, "origin": None, "zone": "UTC"}
    >>> str(pace_of(schema, rows=None, span="1 hour", basic="1 minute", time="ts", **nothing))
    '60 basic windows of 1 minute'
    """
    if (rows is None) == (span is None):
        raise BadDefinition(
            "A window has a number of rows or a span of time: give rows=100_000 with basic=1_000, "
            'or span="1 hour" with basic="1 minute".'
        )
    if time is not None and time not in schema.names:
        raise BadDefinition(f"There is no column {time!r} for time=. There are {schema.names}.")
    if rows is not None:
        if delay is not None or origin is not None:
            raise BadDefinition("delay= and origin= go with span=: rows are counted as they come.")
        return _counted(rows, basic)
    kind = IMPLICIT if time is None else schema.field(time).type
    if pa.types.is_integer(kind):
        return _numbered(kind, span, basic, time, delay, origin)
    slots = slotting(kind, basic, zone, origin)  # type: ignore[arg-type]
    if read_width(span) is None:
        raise BadDefinition(f'span={span!r}: give a length of time, such as "1 hour".')
    late = 0 if delay is None else slots.length(delay)
    return TimePace(slots, _count(slots, span, basic), late, kind, time)


def _counted(rows: object, basic: object) -> CountPace:
    for name, value in (("rows", rows), ("basic", basic)):
        if not _is_count(value):
            raise BadDefinition(f"{name}={value!r}: give a whole number of rows above 0.")
    assert isinstance(rows, int)
    assert isinstance(basic, int)
    if basic > rows or rows % basic:
        raise BadDefinition(
            f"A window of {rows:,} rows is not a whole number of basic windows of {basic:,}. Give "
            f"basic={_near(rows, basic):,}, say."
        )
    return CountPace(basic, rows // basic)


def _numbered(
    kind: pa.DataType, span: object, basic: object, time: str | None, delay: object, origin: object
) -> TimePace:
    """The pace of a window whose times are whole numbers."""
    for name, value in (("span", span), ("basic", basic)):
        if not _is_count(value):
            raise BadDefinition(
                f"{name}={value!r}: the times are whole numbers, so give a number above 0."
            )
    is_whole = isinstance(delay, int) and not isinstance(delay, bool)
    if delay is not None and not (is_whole and 0 <= delay < 2**62):  # type: ignore[operator]
        raise BadDefinition(f"delay={delay!r}: the times are whole numbers, so give one from 0 on.")
    assert isinstance(span, int)
    assert isinstance(basic, int)
    if basic > span or span % basic:
        raise BadDefinition(
            f"A window of {span:,} is not a whole number of basic windows of {basic:,}. Give "
            f"basic={_near(span, basic):,}, say."
        )
    slots = slotting(kind, basic, origin=origin)  # type: ignore[arg-type]
    late = delay if isinstance(delay, int) else 0
    return TimePace(slots, span // basic, late, kind, time)


def _count(slots: Slotting, span: object, basic: object) -> int:
    try:
        count = slots.slots_in(span)
    except BadDefinition as error:
        raise BadDefinition(
            f"A window of {span} is not a whole number of basic windows of {basic}. "
            f"{str(error).replace('window=', 'span=').replace('slots', 'basic windows')}"
        ) from error
    if count < 1:
        raise BadDefinition(f"Basic windows of {basic} are longer than the window, {span}.")
    return count


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**62


def _near(whole: int, part: int) -> int:
    """The length next to `part`, below it if there is one, of which `whole` has a whole number."""
    return next(each for each in range(min(part, whole), 0, -1) if not whole % each)
