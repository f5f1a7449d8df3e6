"""The times at which a set changed, numbered in their order: the number is a *version*.

Between two changes nothing is different. So whoever asks for a time is told of the last version
that is not after it. Times are kept as the whole numbers that Arrow stores for them, *ticks*, and
cut into spans of equal width, so that a search begins among few of them: where there is a change at
almost every tick, at the version itself.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, BadKey, BadTime
from wavedex.rows.arrow import number_view
from wavedex.rows.keys import NumberKey
from wavedex.temporal.changes import I32, I64
from wavedex.temporal.growing import Growing
from wavedex.temporal.shares import in_shares
from wavedex.temporal.soundness import are_in, demand

TICK_MAX = 2**62
"""Times are numbers below this, and above its negative, so that they can be subtracted."""
SPANS_A_VERSION = 2
"""There are at most as many spans for each version, and some more."""
BEHIND_MIN = 64
"""So many versions may be behind the spans before these are made again."""


def check_time_type(kind: pa.DataType) -> None:
    """Raise BadDefinition for a type that times cannot have."""
    if pt.is_signed_integer(kind) or pt.is_date(kind) or pt.is_timestamp(kind):
        return
    raise BadDefinition(
        f"A time cannot be of type {kind}. Use a column of whole numbers with a sign, dates or "
        "timestamps."
    )


class Instants:
    """The times of one type at which a set changed."""

    def __init__(self, kind: pa.DataType) -> None:
        check_time_type(kind)
        self.kind = kind
        self._key = NumberKey(kind)
        self._is_integer = pt.is_integer(kind)
        self._ticks = Growing(np.int64)
        self._see()

    def __len__(self) -> int:
        return self._ticks.count

    @property
    def ticks(self) -> I64:
        """The ticks of all versions, in their order."""
        return self._ticks.used

    # -- what is kept -------------------------------------------------------------------------

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that is kept."""
        return {"ticks": self.ticks}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""
        self._ticks.restore(arrays["ticks"])
        self._see()

    def check(self) -> None:
        """Raise Damaged where the times are not in order."""
        ticks = self.ticks
        demand((ticks[1:] > ticks[:-1]).all(), "its times are not in order")
        demand(are_in(ticks, 1 - TICK_MAX, TICK_MAX), "a time is further off than any can be")

    def number(self, ticks: I64) -> I32:
        """The versions of ticks that are in order and not before the last one: new where they are.

        REQUIRES: the same as what it says.
        """
        is_new = np.ones(len(ticks), np.bool_)
        is_new[1:] = ticks[1:] != ticks[:-1]
        if len(ticks) and self._ticks.count and ticks[0] == self._ticks.used[-1]:
            is_new[0] = False
        before = self._ticks.count
        fresh = ticks[is_new]
        self._ticks.reserve(before + len(fresh))
        self._ticks.room[before : before + len(fresh)] = fresh
        self._ticks.count += len(fresh)
        if len(self) - self._seen > max(BEHIND_MIN, self._seen >> 2):
            self._see()
        else:
            self._look_again()
        return (before - 1 + np.cumsum(is_new)).astype(np.int32)

    def _see(self) -> None:
        """Make the spans for the versions that there are."""
        ticks = self.ticks
        self._seen, self._shift = len(ticks), 0
        self._bounds: I32 = np.zeros(1, np.int32)
        if len(ticks):
            width = int(ticks[-1]) - int(ticks[0]) + 1
            most = SPANS_A_VERSION * len(ticks) + BEHIND_MIN
            while width >> self._shift > most:
                self._shift += 1
            starts = int(ticks[0]) + (
                np.arange((width >> self._shift) + 1, dtype=np.int64) << self._shift
            )
            self._bounds = ticks.searchsorted(starts).astype(np.int32)
        self._bounds_look, self._spans = self._bounds.data, len(self._bounds) - 1
        self._look_again()

    def _look_again(self) -> None:
        """Have at hand what a single search looks at."""
        self._look = self.ticks.data
        self._first, self._last = (self._look[0], self._look[-1]) if len(self) else (0, -TICK_MAX)

    # -- asking -------------------------------------------------------------------------------

    def tick_of(self, time: Any) -> int:
        """The tick of a time that a user gave. Raises BadTime."""
        if self._is_integer and time.__class__ is int:
            return int(time)
        if isinstance(time, str):
            time = self._parsed(time)
        elif isinstance(time, pa.Scalar):
            time = time.as_py()
        try:
            return self._key.plain(time)  # type: ignore[return-value]
        except BadKey:
            raise BadTime(
                f"{time!r} ({type(time).__name__}) is no time of this set, whose times are of type "
                f"{self.kind}. Pass a time of that type{self._hint}."
            ) from None

    def _parsed(self, text: str) -> Any:
        try:
            return self._key.parse(text)
        except BadKey:
            raise BadTime(
                f"{text!r} is no time of this set, whose times are of type {self.kind}. Write it "
                f"as ISO 8601 does, or as a whole number{self._hint}."
            ) from None

    @property
    def _hint(self) -> str:
        zoned = pt.is_timestamp(self.kind) and self.kind.tz is not None
        return ", with its zone" if zoned else ""

    def ticks_of(self, times: Any) -> I64:
        """The ticks of times that a user gave: a column of Arrow's or NumPy's, or a list of them.

        Raises BadTime.
        """
        if isinstance(times, np.ndarray) and times.dtype.kind in "iu" and self._is_integer:
            return times.astype(np.int64, copy=False)
        if isinstance(times, pa.ChunkedArray):
            times = times.combine_chunks()
        if isinstance(times, pa.Array):
            return number_view(self._cast(times)).astype(np.int64, copy=False)
        return np.array([self.tick_of(time) for time in times], np.int64)

    def _cast(self, times: pa.Array) -> pa.Array:
        try:
            cast = times if times.type == self.kind else times.cast(self.kind)
        except pa.ArrowException as error:
            raise BadTime(
                f"Times of type {times.type} are none of this set, whose times are of type "
                f"{self.kind} ({error}). Cast them first."
            ) from error
        zoned = [getattr(each.type, "tz", None) is not None for each in (times, cast)]
        if zoned[0] != zoned[1] or pt.is_date(times.type) != pt.is_date(self.kind):
            raise BadTime(
                f"Times of type {times.type} are none of this set, whose times are of type "
                f"{self.kind}. Cast them first."
            )
        if cast.null_count:
            raise BadTime(f"{cast.null_count} of the times are null. Leave those rows out.")
        return cast

    def version_at(self, tick: int) -> int:
        """The version that holds at a tick; -1 before the first."""
        if tick >= self._last:
            return len(self) - 1
        if tick < self._first:
            return -1
        span = (tick - self._first) >> self._shift
        if span >= self._spans:
            return bisect_right(self._look, tick, self._bounds_look[-1]) - 1
        high = self._bounds_look[span + 1]
        if not self._shift:
            return high - 1
        return bisect_right(self._look, tick, self._bounds_look[span], high) - 1

    def version_before(self, tick: int) -> int:
        """The last version before a tick; -1 if there is none."""
        return self.version_at(tick - 1)

    def versions_at(self, ticks: I64) -> I32:
        """The version that holds at each tick."""
        from wavedex.temporal.instants_kernels import versions_at

        found = np.empty(len(ticks), np.int32)
        ticks = np.ascontiguousarray(ticks)

        def look(share: slice) -> None:
            versions_at(self.ticks, self._shift, self._bounds, ticks[share], found[share])

        in_shares(len(ticks), look)
        return found

    def times(self, versions: I32) -> pa.Array:
        """The times of versions, and null where a version is none."""
        return self.times_of(self.ticks[np.minimum(versions, len(self) - 1)], versions < len(self))

    def times_of(self, ticks: I64, there: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Ticks as times, and null where there is none."""
        width = self.kind.bit_width // 8
        values = pa.py_buffer(np.ascontiguousarray(ticks.astype(f"<i{width}")))
        bits = None
        if there is not None and not there.all():
            bits = pa.py_buffer(np.packbits(there, bitorder="little"))
        return pa.Array.from_buffers(self.kind, len(ticks), [bits, values])

    def time(self, tick: int) -> Any:
        """A tick as a Python value: a number, a date or a datetime."""
        return self.times_of(np.array([tick]))[0].as_py()


def type_of_time(value: Any) -> pa.DataType:
    """The type of times of which a user gave one. Raises BadTime."""
    if isinstance(value, dt.datetime):
        return pa.timestamp("us", None if value.tzinfo is None else "UTC")
    if isinstance(value, dt.date):
        return pa.date32()
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return pa.int64()
    if isinstance(value, np.datetime64):
        found = pa.scalar(value).type
        return found if pt.is_timestamp(found) else pa.date32()
    raise BadTime(
        f"{value!r} ({type(value).__name__}) is no time. Pass a whole number, a date or a datetime."
    )
