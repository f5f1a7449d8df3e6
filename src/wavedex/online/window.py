"""A window in memory: the newest rows of a stream, indexed as they come (003).

Rows are pushed. They cannot be seen until their basic window is complete; then it takes the place
of the oldest, and whoever waits for that is told. What is in the window is asked at any time.

1. Rows are checked, all of them before any is taken (`wavedex.online.intake`).
2. They fill basic windows, which slide in when they are complete (`wavedex.online.filling`).
3. After each slide watchers are told: archives, kept results, and the schedule of continuous
   queries (`wavedex.online.subscriptions`). Then values that are gone are purged.

One thread at a time uses a window.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime, MissingColumn
from wavedex.online import warmup
from wavedex.online.archive import Archive, refill
from wavedex.online.askable import Askable
from wavedex.online.attributes import Attribute
from wavedex.online.contents import BasicWindow, Contents, Slide
from wavedex.online.domain import Domain
from wavedex.online.filling import Filling, Late
from wavedex.online.identity import Streams
from wavedex.online.indexes.split import Split
from wavedex.online.intake import Intake, read_schema
from wavedex.online.layout import BUCKETS, STORAGE_BUCKETS, fill, layout_of
from wavedex.online.pace import CountPace, TimePace, pace_of
from wavedex.online.purging import ROWS, Purger, purging_of
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.recovery import recover
from wavedex.online.spill import Spill
from wavedex.online.steps import shown
from wavedex.online.subscriptions import (
    Answer,
    Pressure,
    Schedule,
    Subscription,
    Timer,
    check_interval,
    pressure_of,
    said_of_sample,
    system_timer,
)
from wavedex.rows.arrow import to_arrow
from wavedex.slots import from_ordinals

Clock = Callable[[], dt.datetime]


class Watcher(Protocol):
    """Somebody who is told of every basic window that becomes complete."""

    def slid(self, slide: Slide) -> None:
        """A basic window became complete. What left for it can still be read."""


def system_clock() -> dt.datetime:
    """What time it is."""
    return dt.datetime.now(dt.UTC)


class Window(Askable):
    """The newest rows of a stream, in memory.

    >>> w = Window({"src": pa.int64(), "bytes": pa.int64()}, rows=4, basic=2, ring=["src"])
    >>> w.push({"src": [1, 2, 1], "bytes": [10, 20, 30]})
    1
    >>> len(w), w.waiting
    (2, 1)
    >>> w.push({"src": 7, "bytes": 40})
    1
    >>> w.histogram("src").to_pylist()
    [{'src': 1, 'count': 2}, {'src': 2, 'count': 1}, {'src': 7, 'count': 1}]
    """

    def __init__(
        self,
        schema: Any,
        *,
        rows: int | None = None,
        span: object = None,
        basic: object = None,
        time: str | None = None,
        delay: object = None,
        origin: object = None,
        zone: str = "UTC",
        storage: str | Mapping[str, str] = "list",
        index: Mapping[str, str | Split | Domain] | Iterable[str] = (),
        ring: Mapping[str, str] | Iterable[str] = (),
        groups: Mapping[str, Sequence[object]] | None = None,
        buckets: int = BUCKETS,
        storage_buckets: int = STORAGE_BUCKETS,
        pointers: Literal["eager", "lazy"] = "eager",
        purge: object = ROWS,
        late: Late = "error",
        disk: str | os.PathLike[str] | None = None,
        keep_up: bool | float = True,
        clock: Clock = system_clock,
        timer: Timer = system_timer,
        seed: int = 0,
    ) -> None:
        """Make an empty window. Raises BadDefinition.

        It has so many `rows`, or a `span` of time; `basic` is the length of a basic window.
        `storage`, `index` and `ring` say by column how it is kept (`wavedex.online.layout`); names
        alone have the index `counts` and the ring `numbered`. `late` says what is done with rows
        that come after their basic window was complete: all are refused, or these are dropped.

        `disk` is a folder for the rows of complete basic windows, which are then not in memory; it
        has nothing to do with an archive, and nothing stays there (`wavedex.online.spill`).

        With `keep_up` a window that goes by time does less where a basic window takes longer to
        work on than to come (`wavedex.online.load`). A number is how many seconds one takes to
        come, for a window that goes by rows.
        """
        self.schema = read_schema(schema)
        if basic is None:
            raise BadDefinition('basic= is missing: give basic=1_000, or basic="1 minute", say.')
        self.pace = pace_of(
            self.schema,
            rows=rows,
            span=span,
            basic=basic,
            time=time,
            delay=delay,
            origin=origin,
            zone=zone,
        )
        if late not in ("error", "drop"):
            raise BadDefinition(f"late={late!r}: give 'error' or 'drop'.")
        self.layout = layout_of(
            storage, index, ring, groups or {}, buckets, storage_buckets, pointers
        )
        self.layout.check(self.schema)
        self._clock = clock
        self._intake = Intake(self.schema)
        most = self.pace.rows * (self.pace.count + 1) if isinstance(self.pace, CountPace) else 0
        spill = None if disk is None else Spill(disk)
        self._contents = Contents(self.schema, self.pace.count, most, spill)
        fill(self._contents, self.layout)
        if self._contents.attributes:
            warmup.begin()
        domains = [each.domain for each in self._contents.attributes.values()]
        self._purger = Purger(purging_of(purge, self.pace), self.pace, domains)
        self._filling = Filling(self._contents, self.pace, late, self._slid)
        self._watchers: list[Watcher] = []
        self._schemas: dict[Any, pa.Schema] = {}
        self._keeping = {}
        self.streams = Streams()
        """The streams that feed it, and how far they have come."""
        self.archived_rows = 0
        """How many rows an archive had before the first that came."""
        self.schedule = Schedule(pressure_of(keep_up, self.pace, basic), timer, seed)
        """The continuous queries."""

    # -- rows come ---------------------------------------------------------------------------------

    def push(self, rows: Any, *, stream: str | None = None, number: int | None = None) -> int:
        """Take rows. Returns how many basic windows were completed.

        Rows are an Arrow batch or table, a data frame, a dictionary of columns, or one row as a
        dictionary. As batch `number` of a `stream` they are taken once, however often they come.

        Raises SchemaMismatch, NullTimes, LateRows, StreamOutOfStep, and what an archive raises that
        cannot take what it is owed. No row was taken then.
        """
        batch = self._intake.batch(rows)
        for watcher in self._watchers:
            if isinstance(watcher, Archive):
                watcher.check()
        if stream is None:
            return self._take(self.schedule.sampling(batch))
        if number is None:
            raise BadDefinition(f"stream={stream!r} needs number=, which counts its batches.")
        if not self.streams.is_new(stream, number):
            return 0
        had = self.streams.skip(stream, batch.num_rows)
        rest = self.schedule.sampling(batch.slice(had))
        is_sampled = rest.num_rows < batch.num_rows - had
        self.streams.begin(stream, number, self._arrived - had, is_sampled)
        try:
            done = self._take(rest)
        except BaseException:
            self.streams.refuse()
            raise
        self.streams.end(self._filling.last)
        self.streams.forget(self.complete)
        return done

    def advance(self, now: object = None) -> int:
        """Let time go on to an instant without rows. Returns how many basic windows were completed.

        Without `now` it is what the clock says. Raises BadTime where the window goes by rows.
        """
        if isinstance(self.pace, CountPace):
            raise BadTime("The window goes by rows, so time does not complete basic windows.")
        until = self._instant(self._clock() if now is None else now)
        with self.schedule.working():
            return self._filling.advance(until)

    def sink(self, stream: str = "spark") -> Callable[[Any, int], None]:
        """What `foreachBatch` of a Spark stream takes: each micro-batch is pushed, once."""

        def take(frame: Any, number: int) -> None:
            self.push(frame.toArrow(), stream=stream, number=number)

        return take

    def subscribe(
        self, query: Query, *, every: int = 1, to: Any = None, importance: float = 1.0
    ) -> Subscription:
        """Evaluate a query again each `every` basic windows, and hand the answer over.

        `to` is a function, a queue (of asyncio too), or a window to which answers are pushed; the
        last answer is `latest` in any case. Raises BadDefinition.
        """
        check_interval(every, importance)
        query.explain(self)  # Raises where the window cannot answer it.
        subscription = Subscription(self, query, every, to, importance)
        self.schedule.add(subscription)
        self._filling.goes_singly = True
        return subscription

    def ask(self, query: Query) -> Answer:
        """The answer of a query over what can be seen now."""
        return said_of_sample(query.answer(self), self.schedule.sampled)

    def news(self, query: Query, basics: int) -> Answer:
        """What a subscriber to a query is handed who was told so many basic windows ago."""
        return said_of_sample(query.news(self, basics), self.schedule.sampled)

    def explain(self, query: Query) -> Explanation:
        """What an answer takes: its mode, what it is answered from, what would save work."""
        return query.explain(self)

    def archive(self, index: Any, stream: str, *, every: int = 1, delay: object = None) -> Archive:
        """Hand basic windows on to an index from now on, `every` so many as one batch of a stream.

        `delay` is that of the stream, for a window that counts rows: these may be in any order.
        Raises BadDefinition, Straddling, MissingColumn where the index does not fit.
        """
        archive = Archive(self, index, stream, every, delay)
        self.watch(archive)
        return archive

    @classmethod
    def restore(
        cls,
        index: Any,
        stream: str | None = None,
        *,
        schema: Any = None,
        every: int = 1,
        archive_delay: object = None,
        **settings: Any,
    ) -> Window:
        """A window as it was, filled with the newest rows of an index. `settings` are its own.

        With `stream` the index is the archive of the window, which goes on where that stopped, and
        goes on to archive. `streams.position` says from which batch on the streams must be sent
        again that feed it. Of an index that has nothing of the stream yet, it is an empty window.

        Without it the index is fed by the streams themselves, and each batch goes to the index and
        then to the window. It goes on with the batch after the last that the index has. Rows of the
        basic window that is not complete wait again; what the index has left out, or has no more,
        is not there: rows without a key, those that came too late for it, those that are over.

        A window that counts rows is filled in the order of their times, so rows should come in that
        order. Raises BadDefinition where the index does not fit.
        """
        window = cls(index.schema if schema is None else schema, **settings)
        if stream is None:
            if every != 1 or archive_delay is not None:
                raise BadDefinition(
                    "every= and archive_delay= are of an archive: give its stream=."
                )
            recover(window, index)
            return window
        refill(window, index, stream)
        window.archive(index, stream, every=every, delay=archive_delay)
        return window

    def _take(self, batch: pa.RecordBatch) -> int:
        schedule = self.schedule
        is_measured = schedule.pressure is not None
        self._filling.goes_singly = bool(self._watchers or schedule or is_measured)
        if not is_measured:
            return self._filling.take(batch, self._now)
        with schedule.working():
            return self._filling.take(batch, self._now)

    def _slid(self, slide: Slide) -> None:
        """A basic window became complete: tell everybody, and purge."""
        for watcher in tuple(self._watchers):
            watcher.slid(slide)
        self._purger.slid(slide.came)
        schedule = self.schedule
        if schedule or schedule.pressure is not None:
            schedule.slid(self.pace.count)

    def _now(self) -> int:
        return self._instant(self._clock())

    def _instant(self, now: object) -> int:
        pace = self.pace
        assert isinstance(pace, TimePace)
        if pa.types.is_integer(pace.kind):
            if not isinstance(now, int) or isinstance(now, bool):
                raise BadTime(f"now={now!r}: the times of the window are whole numbers; give one.")
            return now
        start, _ = pace.slotting.bounds(now)
        return 0 if start is None else start

    @property
    def _arrived(self) -> int:
        """One past the last row that came, by arrival number, from the first that ever did."""
        return self.archived_rows + self._contents.entered

    # -- for queries -------------------------------------------------------------------------------

    @property
    def contents(self) -> Contents:
        """The rows and structures, for queries."""
        return self._contents

    def attribute(self, name: str) -> Attribute | None:
        """An attribute with a structure; None for a plain column. Raises MissingColumn."""
        found = self._contents.attributes.get(name)
        if found is None and name not in self.schema.names:
            raise MissingColumn(
                f"There is no column {name!r}. There are {', '.join(self.schema.names)}."
            )
        return found

    def schema_of(self, query: Any, make: Callable[[], pa.Schema]) -> pa.Schema:
        """The columns of a query's answers, made once."""
        found = self._schemas.get(query)
        if found is None:
            found = self._schemas[query] = make()
        return found

    # -- what is there -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many rows can be seen."""
        return self._contents.rows

    @property
    def waiting(self) -> int:
        """How many rows wait until their basic window is complete."""
        return self._filling.waiting

    @property
    def late_rows(self) -> int:
        """How many rows came too late and were dropped."""
        return self._filling.late_rows

    @property
    def repeated_rows(self) -> int:
        """How many rows came again that the archive had when the window was restored."""
        return self._filling.repeated_rows

    @property
    def load(self) -> Pressure | None:
        """How far the window keeps up; None where it does not ask itself."""
        return self.schedule.pressure

    @property
    def filling(self) -> Filling:
        """How rows fill basic windows."""
        return self._filling

    @property
    def complete(self) -> int | None:
        """The number of the newest basic window that is complete; None before the first."""
        circle = self._contents.circle
        return circle[-1].number if circle else None

    @property
    def since(self) -> Any:
        """When the oldest basic window begins; None before the first, or by rows."""
        oldest = next(self.basics(), None)
        return None if oldest is None else self._moment(oldest.number, after=False)

    @property
    def until(self) -> Any:
        """When the newest basic window ends; None before the first, or by rows."""
        return None if self.complete is None else self._moment(self.complete, after=True)

    def _moment(self, number: int, *, after: bool) -> Any:
        """When a basic window begins or ends, in the type of the time."""
        pace = self.pace
        if isinstance(pace, CountPace):
            return None
        ordinal = pace.slotting.stop(number) if after else pace.slotting.start(number)
        return from_ordinals(np.array([ordinal]), pace.kind)[0].as_py()

    @property
    def steps(self) -> dict[str, dict[str, int]]:
        """How many nodes the structures of each attribute have visited (`wavedex.online.steps`)."""
        attributes = self._contents.attributes.items()
        return {name: shown(attribute.steps) for name, attribute in attributes}

    @property
    def nbytes(self) -> int:
        """How many bytes rows and structures take."""
        attributes = self._contents.attributes.values()
        indexes = {id(each.index): each.index.nbytes for each in attributes if each.index}
        return self._contents.nbytes + sum(indexes.values())

    def index(self, name: str) -> Domain:
        """The index of an attribute, for another window to share: `index={"src": w.index("src")}`.

        Raises MissingColumn where it has none.
        """
        return self._attribute(name).domain

    def rows(self, columns: Sequence[str] | None = None, *, newest: bool = False) -> pa.RecordBatch:
        """The rows that can be seen, in the order in which they came; the newest first if asked."""
        contents = self._contents
        names = None if columns is None else [self.check_column(name) for name in columns]
        found = contents.span(contents.oldest, contents.shown, names)
        return found.take(to_arrow(np.arange(len(self))[::-1])) if newest else found

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for Arrow's C interface: DuckDB, Polars and pandas read a window by its name."""
        return pa.Table.from_batches([self.rows()]).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Window of {self.pace}: {len(self):,} rows, {self.waiting:,} waiting>"

    def basics(self) -> Iterator[BasicWindow]:
        """The basic windows that can be seen, the oldest first."""
        return iter(tuple(self._contents.circle))

    def watch(self, watcher: Watcher) -> None:
        """Have somebody told of every basic window from now on."""
        self._watchers.append(watcher)

    @property
    def watchers(self) -> tuple[Watcher, ...]:
        """Those who are told of every basic window."""
        return tuple(self._watchers)

    def unwatch(self, watcher: Watcher) -> None:
        """Tell somebody no more."""
        self._watchers.remove(watcher)

    def check_column(self, name: str) -> str:
        """See that rows have values of a column, and return its name. Raises MissingColumn."""
        if name not in self._contents.columns:
            if name in self.schema.names:
                storage = self.layout.storage_of(name)
                raise MissingColumn(
                    f"Rows have no {name!r}: its storage is {storage!r}, which keeps counts only. "
                    "Store it as 'list'."
                )
            raise MissingColumn(
                f"There is no column {name!r}. There are {', '.join(self.schema.names)}."
            )
        return name

    def _attribute(self, name: str) -> Attribute:
        attribute = self._contents.attributes.get(name)
        if attribute is None:
            having = ", ".join(self._contents.attributes) or "none"
            raise MissingColumn(
                f"The window has no index on {name!r}; columns with one: {having}. Make it with "
                f"index=[{name!r}]."
            )
        return attribute
