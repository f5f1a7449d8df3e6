"""What can be asked of a set over time, whoever may change it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, Forgotten
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.show.picture import Picture
from wavedex.temporal.changes import I32, I64, NOW, Bools, Lifespans
from wavedex.temporal.counted import Counted
from wavedex.temporal.drawing import draw_bucket, draw_sizes
from wavedex.temporal.instants import TICK_MAX
from wavedex.temporal.io import Io
from wavedex.temporal.rebuilding import overlaps, sizes_of
from wavedex.temporal.state import State

_NOT_THERE = -2


class Asking(ABC):
    """A set over time that is asked.

    An id is in the set from the time of its addition on, and at the time of its removal it is not.
    Before the first change nobody was in it. After the last one it is as it was then.
    """

    @abstractmethod
    def _ready(self) -> State | None:
        """All that is known; None while nothing ever was. Raises SetBroken."""

    @property
    @abstractmethod
    def horizon(self) -> Any:
        """The time before which the history was forgotten; None where it is whole."""

    @property
    @abstractmethod
    def _horizon(self) -> int | None: ...

    # -- one id -------------------------------------------------------------------------------

    def contains(self, oid: Any, time: Any) -> bool:
        """Whether an id was in the set at a time. COST: about two pages, however long it is.

        Raises BadKey, BadTime and Forgotten.
        """
        state = self._ready()
        return state is not None and state.find(oid, self._tick(state, time)) > _NOT_THERE

    def row(self, oid: Any, time: Any) -> dict[str, Any] | None:
        """The row that an id carried at a time; None where it was not in the set."""
        state = self._ready()
        if state is None or (place := state.find(oid, self._tick(state, time))) == _NOT_THERE:
            return None
        found: list[dict[str, Any]] = state.rows.take(np.array([place], np.int32)).to_pylist()
        return found[0] if found else {}

    def contains_during(self, oid: Any, since: Any, until: Any) -> bool:
        """Whether an id was in the set at some time from `since` to `until`, both included."""
        state = self._ready()
        if state is None:
            return False
        return state.was_alive(oid, self._tick(state, since), self._tick(state, until))

    def lifespans(self, oid: Any = None) -> pa.Table:
        """When an id was in the set: columns `start`, `end` (null while it is), and its rows.

        Without an id, those of all ids, with a column `oid`. Those of an id stand together, in the
        order of their beginnings.
        """
        state = self._ready()
        if state is None:
            return pa.table({"oid": pa.nulls(0), "start": pa.nulls(0), "end": pa.nulls(0)})
        spans = state.method.everything() if oid is None else state.lifespans(oid)
        columns = {"start": state.instants.times(spans.starts), "end": _ends(state, spans)}
        if oid is None:
            columns = {"oid": state.ids.values(spans.ids), **columns}
        return _with_rows(state, columns, spans.pointers)

    # -- many ---------------------------------------------------------------------------------

    def contains_many(self, oids: Any, times: Any) -> Bools:
        """Whether each id was in the set at its time: arrays of Arrow's or NumPy's, or lists.

        Instead of as many times there may be one for all. Raises BadKey, BadTime and Forgotten.
        COST: batches of ten thousands and more are shared among all cores.
        """
        state = self._ready()
        if state is None:
            return np.zeros(len(oids), np.bool_)
        return state.contains_many(oids, self._ticks(state, times))

    def snapshot(self, time: Any) -> pa.Table:
        """All ids that were in the set at a time, in no order: a column `oid`, and their rows."""
        state = self._ready()
        if state is None:
            return pa.table({"oid": pa.nulls(0)})
        ids, pointers = state.snapshot(self._tick(state, time))
        return _with_rows(state, {"oid": ids}, pointers)

    def range(self, low: Any, high: Any, time: Any) -> pa.Table:
        """The ids from `low` to `high`, both included, at a time, in order, with their rows.

        COST: what it returns with method `mvbt` and whole numbers; otherwise a snapshot.
        """
        state = self._ready()
        if state is None:
            return pa.table({"oid": pa.nulls(0)})
        ids, pointers = state.between(low, high, self._tick(state, time))
        return _with_rows(state, {"oid": ids}, pointers)

    def join(self, other: Asking) -> pa.Table:
        """Which ids were in both sets, and when: columns `oid`, `start` and `end`.

        The sets have ids and times of the same types. `end` is null while an id is in both.
        """
        mine, theirs = self._ready(), other._ready()
        if mine is None or theirs is None:
            return pa.table({"oid": pa.nulls(0), "start": pa.nulls(0), "end": pa.nulls(0)})
        mine.check_like(theirs)
        sides = [(state.method.everything(), state) for state in (mine, theirs)]
        flat: list[Any] = []
        for spans, state in sides:
            flat += [state.ids.values(spans.ids), *_ticks_of(state, spans)]
        ids, starts, ends = overlaps(mine.ids, *flat)
        times = mine.instants
        return pa.table(
            {
                "oid": ids,
                "start": times.times_of(starts),
                "end": times.times_of(np.where(ends < TICK_MAX, ends, 0), ends < TICK_MAX),
            }
        )

    # -- its history --------------------------------------------------------------------------

    def sizes(self) -> pa.Table:
        """How many ids were in the set from each change on: columns `time` and `size`.

        Where the history was forgotten, it begins with the horizon. COST: all lifespans.
        """
        state = self._ready()
        if state is None or not state.changes:
            return pa.table({"time": pa.nulls(0), "size": pa.nulls(0, pa.int64())})
        sizes, ticks = (
            sizes_of(state.method.everything(), len(state.instants)),
            state.instants.ticks,
        )
        if (horizon := self._horizon) is not None:
            first = max(state.instants.version_at(horizon), 0)
            sizes, ticks = sizes[first:], np.maximum(ticks[first:], horizon)
        return pa.table({"time": state.instants.times_of(ticks), "size": to_arrow(sizes)})

    @property
    def buckets(self) -> int:
        """How many buckets it has, numbered from 0; none with a method that does not hash."""
        state = self._ready()
        return 0 if state is None else state.method.buckets

    def bucket(self, bucket: int) -> pa.Table:
        """The pages of a bucket, in the order in which they accepted records.

        Columns `page`, `start`, `end` (when the page ceased to be useful, null while it is),
        `records`, and `copies`: how many of those are copies from other pages.
        Raises BadDefinition.
        """
        state = self._with_bucket(bucket)
        found, times = state.method.pages_of(bucket), state.instants.times
        return pa.table(
            {
                "page": to_arrow(found.pages),
                "start": times(found.starts),
                "end": times(found.ends),
                "records": to_arrow(found.records),
                "copies": to_arrow(found.copies),
            }
        )

    def draw(self, bucket: int | None = None) -> Picture:
        """A picture of how large the set was over time, or of the pages of a bucket.

        A notebook shows it, `print` prints it, and its `save` writes it to an SVG file.
        Raises BadDefinition where there is no such bucket.
        """
        if bucket is None:
            return draw_sizes(self._ready(), self.sizes())
        return draw_bucket(self._with_bucket(bucket), bucket)

    def _with_bucket(self, bucket: int) -> State:
        """All that is known. Raises BadDefinition where there is no such bucket."""
        state = self._ready()
        if state is None or not 0 <= bucket < state.method.buckets:
            there = f"They are 0 to {self.buckets - 1}" if self.buckets else "It has none"
            raise BadDefinition(f"The set has no bucket {bucket}. {there}.")
        return state

    # -- about itself -------------------------------------------------------------------------

    @property
    def io(self) -> Io:
        """How many pages were read and written so far, as the paper counts them."""
        state = self._ready()
        return Io() if state is None else state.method.io

    @property
    def schema(self) -> pa.Schema | None:
        """The types of ids (`oid`), of times (`time`) and of the rows that ids carry.

        None while nobody has said them.
        """
        state = self._ready()
        return None if state is None else state.columns.schema

    def parse_id(self, text: str) -> Any:
        """The id that a person typed. Raises BadKey."""
        state = self._ready()
        return text if state is None else state.ids.parse(text)

    @property
    def pages(self) -> int:
        """How many pages are in use."""
        state = self._ready()
        return 0 if state is None else state.method.pages

    @property
    def changes(self) -> int:
        """How many changes it was told of."""
        state = self._ready()
        return 0 if state is None else state.changes

    @property
    def first(self) -> Any:
        """The time of the first change; None without one."""
        state = self._ready()
        return (
            state.instants.time(int(state.instants.ticks[0]))
            if state and len(state.instants)
            else None
        )

    @property
    def last(self) -> Any:
        """The time of the last change; None without one."""
        state = self._ready()
        last = None if state is None else state.last
        return None if last is None else state.instants.time(last)  # type: ignore[union-attr]

    @property
    def last_tick(self) -> int:
        """The last change as the number that Arrow stores for its time; 0 without one."""
        state = self._ready()
        return 0 if state is None else state.last or 0

    def counts(self) -> pa.Table:
        """How often each id is there now, where ids are counted: columns `oid` and `n`."""
        state = self._ready()
        if state is None or not isinstance(state.alive, Counted):
            return pa.table({"oid": pa.nulls(0), "n": pa.nulls(0, pa.int32())})
        ids = state.alive.ids
        counts = to_arrow(state.alive.counts_of(ids))
        return pa.table({"oid": state.ids.values(ids), "n": counts})

    def __len__(self) -> int:
        """How many ids are in it now."""
        state = self._ready()
        return 0 if state is None else len(state.alive)

    # -- times --------------------------------------------------------------------------------

    def _tick(self, state: State, time: Any) -> int:
        tick = state.instants.tick_of(time)
        horizon = self._horizon
        if horizon is not None and tick < horizon:
            raise self._forgotten(time)
        return tick

    def _ticks(self, state: State, times: Any) -> I64:
        is_one = isinstance(times, str | pa.Scalar) or not hasattr(times, "__len__")
        ticks = state.instants.ticks_of([times] if is_one else times)
        horizon = self._horizon
        if horizon is not None and len(ticks) and int(ticks.min()) < horizon:
            raise self._forgotten(state.instants.time(int(ticks.min())))
        return ticks

    def _forgotten(self, time: Any) -> Forgotten:
        return Forgotten(
            f"{time} is before {self.horizon}, and the history of the set was forgotten up to then."
        )


def _ticks_of(state: State, spans: Lifespans) -> tuple[I64, I64]:
    """From when to when, as ticks: one that is later than all others while they go on."""
    ticks = state.instants.ticks
    ends = np.where(spans.ends == NOW, TICK_MAX, ticks[np.minimum(spans.ends, len(ticks) - 1)])
    return ticks[spans.starts], ends


def _ends(state: State, spans: Lifespans) -> pa.Array:
    return state.instants.times(spans.ends)


def _with_rows(state: State, columns: dict[str, Any], pointers: I32) -> pa.Table:
    rows = state.rows.take(pointers) if state.carries else empty_batch(state.columns.rows)
    for name in rows.schema.names:
        columns[name if name not in columns else f"{name}_carried"] = rows.column(name)
    return pa.table(columns)
