"""What every kind of slots can say: a row's slot, a slot's start, what `since` and `until` mean.

Each row has an *ordinal*, an int64: the raw value of its time column in the column's own unit,
or the slot number itself where there is no time column.
A slot is the interval of ordinals [start(slot), start(slot + 1)).

All of it is exact: Python integers for single values, int64 for rows, and nothing wraps.
A later ordinal never has an earlier slot, whatever a zone does to its clocks.
Never loops over rows, never reads the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from datetime import date
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.clock import (
    Moment,
    read_time,
)
from wavedex.errors import BadTime

Ordinals = npt.NDArray[np.int64]


ORDINAL_MIN, ORDINAL_MAX = -(2**63), 2**63 - 1


LISTED_MAX = 4096
"""If a batch spans fewer days or slots than this, all are listed. Otherwise its rows are sorted."""


class Slotting(ABC):
    """Time to slot numbers and back. Frozen, comparable, and fit to be sent to other processes."""

    kind: ClassVar[str]
    every: int

    def slots_of(self, ordinals: Ordinals) -> Ordinals:
        """Return the slot of each ordinal.

        COST: a few vector operations, and one step for each distinct day.
        """
        return self._slots(ordinals)

    def start(self, slot: int) -> int:
        """Return the first ordinal of the slot. Raises BadTime if an int64 cannot reach it.

        >>> from wavedex.slots import slotting
        >>> slotting(pa.date32(), "1 week").start(1)
        11
        """
        begin = self._begin(int(slot))
        if begin > ORDINAL_MAX:
            raise BadTime(f"Slot {slot} is past all times of the column: give an earlier one.")
        return max(begin, ORDINAL_MIN)

    def stop(self, slot: int) -> int:
        """Return the first ordinal after the slot; it may be one past all that the column holds."""
        return min(self._begin(int(slot) + 1), ORDINAL_MAX + 1)

    def bounds(self, since: object = None, until: object = None) -> tuple[int | None, int | None]:
        """Return the half-open range of ordinals of inclusive `since` and `until`.

        None is no bound. Slot numbers and dates mean their whole interval. A datetime is compared
        with the row's own time. Naive ones are local to the zone. One that the zone skipped lies
        between its neighbours. One that it had twice is told by its `fold`.

        >>> from wavedex.slots import slotting
        >>> hours = slotting(pa.timestamp("s"), "1 hour")
        >>> hours.bounds("1970-01-02", "1970-01-02"), hours.bounds("1970-01-01T00:00:09.5", 24)
        ((86400, 172800), (10, 90000))
        """
        start = None if since is None else self._range(since)[0]
        stop = None if until is None else self._range(until)[1]
        if (start is not None and start > ORDINAL_MAX) or (
            stop is not None and stop <= ORDINAL_MIN
        ):
            return 0, 0
        start = None if start is None or start <= ORDINAL_MIN else start
        stop = None if stop is None or stop > ORDINAL_MAX else stop
        return start, stop if start is None or stop is None else max(start, stop)

    def asked(self, ordinal: int) -> int:
        """Return the number that, as `since` or `until`, means an ordinal or the slot with it."""
        return int(self.slots_of(np.array([ordinal]))[0])

    def number(self, slot: object) -> int:
        """Return the number of the slot that a number, date or datetime means. Raises BadTime."""
        start, stop = self.bounds(slot, slot)
        if start is None or stop is None or start >= stop:
            raise BadTime(f"slot={slot!r} is out of range. Give the number of a slot.")
        first, last = self.slots_of(np.array([start, stop - 1])).tolist()
        if first != last:
            raise BadTime(f"slot={slot!r} spans the slots {first} to {last}. Give one of them.")
        return int(first)

    @abstractmethod
    def length(self, duration: object) -> int:
        """Return how many ordinals a duration is, rounded up.

        A duration is a timedelta or a text; for slots of numbers it is a number.

        >>> from wavedex.slots import slotting
        >>> slotting(pa.timestamp("ms"), "1 day").length("10 minutes")
        600000
        """

    @abstractmethod
    def slots_in(self, duration: object) -> int:
        """Return how many slots a duration is. Raises BadDefinition where that is not a number.

        >>> from wavedex.slots import slotting
        >>> slotting(pa.timestamp("ms"), "6h").slots_in("30 days")
        120
        """

    def moment(self, ordinal: int) -> str:
        """Return a name for people of an instant: the instant itself, or the number that it is."""
        return str(ordinal)

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


def distinct(slots: Ordinals) -> tuple[Ordinals, Ordinals]:
    """Return the slots that there are, ascending, and for each given one its place among them.

    COST: a few passes where they lie close together, as those of a batch do; a sort otherwise.

    >>> distinct(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1]))
    """
    if not slots.size:
        return slots, slots
    first, last = int(slots.min()), int(slots.max())
    if last - first >= LISTED_MAX:
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
    # Arrow's own to_numpy imports pandas if it is installed. That takes longer than most appends.
    numbers = np.frombuffer(longs.buffers()[1] or b"", np.int64)
    return numbers[longs.offset : longs.offset + len(longs)]


def from_ordinals(values: Ordinals, kind: pa.DataType) -> pa.Array:
    """Return a time column of ordinals. Those that the type cannot reach become its first or last.

    >>> from_ordinals(np.array([2]), pa.date32())
    <pyarrow.lib.Date32Array object at ...>
    [
      1970-01-03
    ]
    """
    sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
    plain = np.dtype(f"{sign}{kind.bit_width // 8}")
    reach = np.iinfo(plain)
    numbers = values.clip(max(reach.min, ORDINAL_MIN), min(reach.max, ORDINAL_MAX)).astype(plain)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def count_from(values: Ordinals, origin: int, every: int) -> Ordinals:
    """Return floor((values - origin) / every), with no step that could wrap."""
    whole, rest = divmod(origin, every)
    counts = values // every if every > 1 else values
    if rest:
        counts = counts - (values % every < rest)
    if not whole or not counts.size:
        return counts
    if int(counts.min()) - whole < ORDINAL_MIN or int(counts.max()) - whole > ORDINAL_MAX:
        raise BadTime("Rows are too far from the origin of the slots: choose a nearer origin.")
    return counts - whole
