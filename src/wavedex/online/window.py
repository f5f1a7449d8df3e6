"""A window in memory: the newest rows of a stream, indexed as they come (003).

Rows are pushed. They cannot be seen until their basic window is complete; then it takes the place
of the oldest, and whoever waits for that is told. What is in the window is asked at any time.

1. Rows are checked, all of them before any is taken (`wavedex.online.intake`).
2. They fill basic windows, which slide in when they are complete (`wavedex.online.filling`).
3. After each slide watchers are told: archives, kept results, and the schedule of continuous
   queries (`wavedex.online.subscriptions`). Then values that are gone are purged.

Threads take turns (`wavedex.online.turns`).
"""

from __future__ import annotations

import datetime as dt
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime, WindowBroken, WindowBusy
from wavedex.online import warmup
from wavedex.online.archive import Archive, check_index, refill
from wavedex.online.askable import Askable
from wavedex.online.contents import Contents, Slide
from wavedex.online.domain import Domain
from wavedex.online.filling import Filling, Late, Refused
from wavedex.online.identity import Streams, check_batch
from wavedex.online.indexes.split import Split
from wavedex.online.intake import Intake, read_schema
from wavedex.online.layout import BUCKETS, STORAGE_BUCKETS, fill, layout_of
from wavedex.online.pace import CountPace, Pace, TimePace, pace_of
from wavedex.online.purging import ROWS, Purger, purging_of
from wavedex.online.queries.query import Query, check_query
from wavedex.online.recovery import recover
from wavedex.online.seen import Seen, Watcher
from wavedex.online.spill import Spill
from wavedex.online.subscriptions import (
    Schedule,
    Subscription,
    Timer,
    check_interval,
    pressure_of,
    system_timer,
)
from wavedex.online.turns import Turn, in_turn

Clock = Callable[[], dt.datetime]


def system_clock() -> dt.datetime:
    """What time it is."""
    return dt.datetime.now(dt.UTC)


class Window(Askable, Seen):
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
        shed: bool = False,
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

        With `keep_up` a window that goes by time asks its continuous queries less often where a
        basic window takes longer to work on than to come (`wavedex.online.load`). A number is how
        many seconds one takes to come, for a window that goes by rows. Where that is not enough and
        with `shed`, only a sample of the rows is taken in, drawn from `seed`.
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
        if not hasattr(seed, "__index__") or operator.index(seed) < 0:
            raise BadDefinition(f"seed={seed!r}: give a whole number from 0 on.")
        rule = purging_of(purge, self.pace)
        pressure = pressure_of(keep_up, self.pace, basic, sheds=shed)
        spill = None if disk is None else Spill(disk)
        self._clock = clock
        self._intake = Intake(self.schema)
        most = self.pace.rows * (self.pace.count + 1) if isinstance(self.pace, CountPace) else 0
        self._contents = Contents(self.schema, self.pace.count, most, spill)
        self.turn = Turn()
        """Threads take turns (`wavedex.online.turns`)."""
        self._share()
        if self._contents.attributes:
            warmup.begin()
        domains = [each.domain for each in self._contents.attributes.values()]
        self._purger = Purger(rule, self.pace, domains)
        self._filling = Filling(self._contents, self.pace, late, self._slid)
        self._watchers: list[Watcher] = []
        self._archives: list[Archive] = []
        self._is_busy = False
        self._broken: BaseException | None = None
        self._schemas: dict[Any, pa.Schema] = {}
        self._keeping = {}
        self.streams = Streams()
        """The streams that feed it, and how far they have come."""
        self.archived_rows = 0
        """How many rows an archive had before the first that came."""
        self.schedule = Schedule(pressure, timer, operator.index(seed), _lag(self.pace))
        """The continuous queries."""

    # -- rows come ---------------------------------------------------------------------------------

    @in_turn
    def push(self, rows: Any, *, stream: str | None = None, number: int | None = None) -> int:
        """Take rows. Returns how many basic windows were completed.

        Rows are an Arrow batch or table, a data frame, a dictionary of columns, or one row as a
        dictionary. As batch `number` of a `stream` they are taken once, however often they come.

        Raises SchemaMismatch, NullTimes, LateRows, StreamOutOfStep, WindowBusy, and what an archive
        raises that cannot take these rows, or what it is owed. No row was taken then. Whatever else
        goes wrong leaves the window in pieces: it raises WindowBroken from then on.
        """
        self._check_whole()
        self._check_idle()
        batch = self._intake.batch(rows)
        self._contents.check(batch)
        for archive in self._archives:
            archive.check(batch)
        if stream is None and number is None:
            return self._take(batch)
        stream, number = check_batch(stream, number)
        if not self.streams.is_new(stream, number):
            return 0
        had = self.streams.skip(stream, batch.num_rows)
        self.streams.begin(stream, number, self._arrived - had)
        try:
            done = self._take(batch.slice(had))
        except BaseException:
            self.streams.refuse()
            raise
        self.streams.end(self._filling.last)
        self.streams.forget(self.complete)
        return done

    @in_turn
    def advance(self, now: object = None) -> int:
        """Let time go on to an instant without rows. Returns how many basic windows were completed.

        Without `now` it is what the clock says. Raises BadTime where the window goes by rows.
        """
        if isinstance(self.pace, CountPace):
            raise BadTime("The window goes by rows, so time does not complete basic windows.")
        self._check_whole()
        self._check_idle()
        until = self.pace.instant(self._clock() if now is None else now)
        return self._work(self._filling.advance, until)

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
        check_query(query)
        self._tie(query)
        return self._subscribed(query, every, to, importance)

    @in_turn
    def _subscribed(self, query: Query, every: int, to: Any, importance: float) -> Subscription:
        query.explain(self)  # Raises where the window cannot answer it.
        subscription = Subscription(self, query.for_subscriber(), every, to, importance)
        self.schedule.add(subscription)
        self._filling.goes_singly = True
        return subscription

    @in_turn
    def archive(self, index: Any, stream: str, *, every: int = 1, delay: object = None) -> Archive:
        """Hand basic windows on to an index from now on, `every` so many as one batch of a stream.

        `delay` is that of the stream, for a window that counts rows: these may be in any order.
        Raises BadDefinition, Straddling, MissingColumn where the index does not fit.
        """
        self._check_whole()
        pressure = self.schedule.pressure
        if pressure is not None and pressure.sheds:
            raise BadDefinition(
                "A window that may leave rows out is no source of an archive, which would lack "
                "them. Make it with shed=False."
            )
        archive = Archive(self, index, stream, every, delay)
        self.watch(archive)
        self._archives.append(archive)
        return archive

    @in_turn
    def close(self) -> None:
        """End archives, subscriptions and watchers, and let go of indexes that it shares."""
        for archive in tuple(self._archives):
            archive.close()
        for subscription in self.schedule:
            subscription.close()
        self._watchers.clear()
        for attribute in self._contents.attributes.values():
            attribute.close()
        self._broken = WindowBroken("it was closed")

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
        check_index(index)
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

    def _share(self) -> None:
        """Make columns and structures, in turn with the windows whose indexes are shared."""
        for index in self.layout.index.values():
            if isinstance(index, Domain):
                self.turn.tie(index.shared_turn)
        held = self.turn.take()
        try:
            fill(self._contents, self.layout)
        finally:
            held.release()
        for attribute in self._contents.attributes.values():
            self.turn.tie(attribute.domain.shared_turn)

    def _take(self, batch: pa.RecordBatch) -> int:
        schedule = self.schedule
        has_pressure = schedule.pressure is not None
        self._filling.goes_singly = bool(self._watchers or schedule or has_pressure)
        kept = schedule.sampled_rows(batch.num_rows) if has_pressure else None
        return self._work(self._filling.take, batch, self._now, kept)

    def _work(self, call: Callable[..., int], *given: Any) -> int:
        """Take rows or let time go on. Whatever fails in the midst leaves the window in pieces."""
        self._is_busy = True
        try:
            if self.schedule.pressure is None:
                return call(*given)
            with self.schedule.working():
                return call(*given)
        except Refused:
            raise
        except BaseException as error:
            self._broken = error
            raise
        finally:
            self._is_busy = False

    def _check_idle(self) -> None:
        if self._is_busy:
            raise WindowBusy(
                "Somebody whom a window told of rows pushed others to it, in the midst of its own. "
                "Put them into a queue, and push them when its push has returned."
            )

    def _slid(self, slide: Slide) -> None:
        """A basic window became complete: tell everybody, and purge."""
        try:
            for watcher in tuple(self._watchers):
                watcher.slid(slide)
            self._purger.slid(slide.came)
            schedule = self.schedule
            if schedule or schedule.pressure is not None:
                schedule.slid(self.pace.count)
        except Refused as error:
            # Of another window, say: it is none of the rows that were pushed here.
            self._broken = error
            raise

    def _now(self) -> int:
        """What time it is. A clock that is put back does not make rows late."""
        assert isinstance(self.pace, TimePace)
        now, seen = self.pace.instant(self._clock()), self._filling.watermark
        return now if seen is None else max(now, seen)

    @property
    def _arrived(self) -> int:
        """One past the last row that came, by arrival number, from the first that ever did."""
        return self.archived_rows + self._contents.entered


def _lag(pace: Pace) -> int:
    """For how many basic windows rows may wait until theirs is complete, about."""
    if isinstance(pace, CountPace):
        return 1
    width = pace.slotting.stop(0) - pace.slotting.start(0)
    return 2 + pace.delay // max(width, 1)
