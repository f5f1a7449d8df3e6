"""The lifetime index: rows that have lifetimes of their own, by key, in a grid of sub-indexes.

It is what a wave index is, for rows that do not leave in the order in which they came. It shares
the files, engines, log and reading path of wave indexes. What is its own is the planner, which
deals rows out by insertion and by expiration. So is the clock, which is handed in with every
refresh.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.index.core.creation import offered_by
from wavedex.index.core.delivery import InMemory, delivery_of
from wavedex.index.core.manner import Manner, manner_of
from wavedex.index.core.migration import Migrated
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.turns import Turn, turn_of
from wavedex.index.held import Held
from wavedex.index.lifetime import application as applying
from wavedex.index.lifetime import migration as life_migrating
from wavedex.index.lifetime.answers import define_life, redefine_life
from wavedex.index.lifetime.application import Application
from wavedex.index.lifetime.changes import LifeChanges
from wavedex.index.lifetime.counted import check_counted
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.moments import When
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.index.lifetime.retraction import Matching, Retracted
from wavedex.index.lifetime.snapshot import LifeSnapshot
from wavedex.index.lifetime.writer import LifeWriter


class LifetimeIndex(Held[LifeDefinition]):
    """An index over rows that have lifetimes of their own, in plain files below one folder.

    Create one with `LifetimeIndex.create`, open one with `wavedex.open`. A row lives from its
    insertion up to its end, and is over at that instant. Any number of processes may read the index
    while one writes.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> schema = pa.schema([("caller", pa.string()), ("begun", pa.int64()), ("until", pa.int64())])
    >>> folder = tempfile.TemporaryDirectory()
    >>> life = LifetimeIndex.create(
    ...     f"{folder.name}/calls.wx",
    ...     schema,
    ...     key="caller",
    ...     inserted="begun",
    ...     expires="until",
    ...     max_lifetime=16,
    ...     refresh=2,
    ...     grid=(2, 2),
    ... )
    >>> calls = pa.table({"caller": ["A", "A"], "begun": [1, 2], "until": [3, 9]}, schema)
    >>> life.update(2, calls).rows, life.update(4).expires
    (2, ['I2', 'I4'])
    >>> life.probe("A").to_pylist()
    [{'caller': 'A', 'begun': 2, 'until': 9}]
    >>> life.probe("A", shorten=5).num_rows
    0
    >>> folder.cleanup()
    """

    definition_kind = LifeDefinition
    changes_kind = LifeChanges()
    writer_kind = LifeWriter
    snapshot_kind = LifeSnapshot
    _writer: LifeWriter

    @property
    def writer(self) -> LifeWriter:
        """What commits to it."""
        return self._writer

    # -- creating and opening -------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        schema: Any,
        *,
        key: str | Sequence[str],
        inserted: str,
        expires: str | None = None,
        lifetime: str | None = None,
        counts: Mapping[str, int] | None = None,
        spans: Mapping[str, Any] | None = None,
        max_lifetime: Any,
        refresh: str | int | dt.timedelta,
        zone: str = "UTC",
        origin: Any = None,
        grid: str | Sequence[int] = (2, 2),
        method: str = "rebuild",
        partition: Sequence[str] | None = None,
        seed: int = 0,
        reach: Sequence[int] = (1, 1),
        buckets: float = 2.5,
        include: Sequence[str] | None = None,
        position: str | None = None,
        shards: int = 2,
        format: str | None = None,  # noqa: A002 - as of the wave index
        nulls: str = "error",
        growth: float = 2.0,
        first_room: int = 1,
        keep_commits: int = 2,
        keep_for: str | dt.timedelta | None = None,
        keep_followed: int | str | dt.timedelta | None = None,
        history: str | None = None,
        roots: Sequence[str | os.PathLike[str]] | None = None,
        rows: bool = False,
        surroundings: Surroundings | None = None,
    ) -> LifetimeIndex:
        """Create an index in a new folder. Raises BadDefinition, AlreadyExists and their kin.

        - `schema` has its columns: a pyarrow.Schema, or whatever has one, such as a table, a reader
          or a data frame of pandas, Polars or Spark. With `rows=True` its rows are appended too, as
          of their last insertion, and where they cannot be, there is no index.
        - `inserted` is the column of insertion times.
        - `expires` is the column of ends. Instead, `lifetime` may be a column of how long a row
          lives: a duration, or a number where times are numbers.
        - `max_lifetime` is the bound: no row lives longer. It is a whole number of times `refresh`.
        - `refresh` is the time from one refresh to the next.
        - `zone` is where times that are given without a zone are local, as of a wave index.
        - `grid` has the partitions of insertions and of expirations, as (2, 2) or "2x2". Neither is
          more than the number of refreshes in `max_lifetime`.
        - `method` and `partition`: docs/lifetimes.md helps to choose. The partition is that of
          insertions and that of expirations: round-robin, chronological, or random, drawn by
          `seed`.
        - `counts` is for windows that are counted in rows, with the methods count-rebuild and
          count-no-rebuild. It has the columns of base positions, each with the rows of its window,
          in place of an end. `max_lifetime` is then about how long the shortest of them lasts.
        - `reach` is how many slots before and after the present one a refresh examines, with
          counted windows.
        - `spans` are columns with the times of base rows, each with its window, for `shorten=` to
          tell them apart.
        - `buckets` is how many chained buckets a key has on average where nothing is reclustered.

        The others are as for a wave index.
        """
        columns, first = offered_by(schema, rows)
        definition = define_life(
            columns,
            key=key,
            inserted=inserted,
            expires=expires,
            lifetime=lifetime,
            counts=counts,
            spans=spans,
            max_lifetime=max_lifetime,
            refresh=refresh,
            zone=zone,
            origin=origin,
            grid=grid,
            method=method,
            partition=partition,
            seed=seed,
            reach=reach,
            buckets=buckets,
            include=include,
            position=position,
            shards=shards,
            format=format,
            nulls=nulls,
            growth=growth,
            first_room=first_room,
            keep_commits=keep_commits,
            keep_for=keep_for,
            keep_followed=keep_followed,
            history=history,
            roots=roots,
        )
        return cls._create(path, definition, surroundings, first)

    # -- writing --------------------------------------------------------------------------------

    def update(
        self,
        now: Any,
        batch: Any = None,
        *,
        arrived: Mapping[str, int] | None = None,
        wait: Any = None,
        prepare: str | None = None,
    ) -> Refreshed:
        """One refresh: insert what is new, expire what is over at `now`.

        `batch` is a table of any kind that a wave index takes, or a data frame of Spark, or
        nothing. Rows that are over already are left out and counted. Rows that come late are as
        good as others. With counted windows `arrived` says how far each stream has come, by the
        name of the column of positions. The same update again is passed over. `wait` and `prepare`
        are as for `append` of a wave index, here and for all other writes.

        Raises RefreshBackwards, FromTheFuture, LifetimeTooLong, EndBeforeBeginning and what reading
        the batch raises; the index is then as it was.
        """
        when = When(self.instant(now), check_counted(self._definition, arrived))
        return self._apply(Application(delivery_of(batch)), when, manner_of(wait, prepare))

    def append(self, batch: Any, *, wait: Any = None, prepare: str | None = None) -> Refreshed:
        """One refresh with rows that say themselves what the time is.

        It is at the latest insertion time that was seen, in these rows or before. With counted
        windows each stream has come to the largest position that was seen.

        Raises GapTooLarge where a row is further ahead than anything lives, and what `update`
        raises; the index is then as it was.
        """
        return self._apply(Application(delivery_of(batch)), When(), manner_of(wait, prepare))

    def feed(
        self,
        batch: Any,
        *,
        stream: str,
        number: int,
        takeover: bool = False,
        wait: Any = None,
        prepare: str | None = None,
    ) -> Refreshed:
        """Take the next batch of a stream, each of them once however often it is sent.

        A batch that comes again is passed over: the last one by its number alone, those before it
        by their rows.

        It is a refresh at the latest insertion time that was seen. With counted windows each stream
        has come to the largest position that was seen. `number` counts the batches of `stream` from
        0. A batch without rows is only noted.

        Raises AnotherStream, StreamOutOfStep, GapTooLarge where a row is further ahead than
        anything lives, and what `update` raises; the index is then as it was. Raises
        PreparationOwed where the batch is in and only what follows failed. It may be sent again
        after any of them.
        """
        turn = turn_of(stream, number, takeover)
        manner = manner_of(wait, prepare)
        return self._apply(Application(delivery_of(batch)), When(), manner, turn)

    def _apply(
        self, given: Application, when: When, manner: Manner, turn: Turn | None = None
    ) -> Refreshed:
        """Do all of it, by whoever should carry out plans for such rows."""
        index = given.insert.working(self)
        return self._write(index.writer, lambda: applying.apply(index, given, when, turn), manner)

    def apply(
        self,
        now: Any,
        *,
        insert: Any = None,
        retract: Any = None,
        prolong: Any = None,
        rows: Any = None,
        by: str | None = None,
        arrived: Mapping[str, int] | None = None,
        stream: str | None = None,
        number: int | None = None,
        takeover: bool = False,
        wait: Any = None,
        prepare: str | None = None,
    ) -> Refreshed:
        """One refresh in one commit: rows that come, rows that go, rows that get another end.

        `insert` is as the batch of `update`, `retract` and `prolong` as those of these calls. What
        is retracted or prolonged lived before: rows that come with the same call are not meant. A
        row that is retracted is not there to be prolonged. Instead of these three, `rows` may have
        all of them, where the column `by` says of each what is to be done: "insert", "retract" or
        "prolong", or 1 and -1.

        With None for `now`, the rows say what the time is, as for `append`: it is the latest
        insertion time that was seen, in the rows that come or before. With counted windows each
        stream has then come to the largest position that was seen, if `arrived` does not say it.

        With `stream` and `number` it is the next batch of a stream, as of `feed`, and passed over
        when it is repeated. Where there are no rows and nobody says anything of time, it is only
        noted. A table without rows is as good as none.

        Raises what `update`, `retract`, `prolong` and `feed` raise; nothing is changed then.
        """
        counted = (
            None if now is None and arrived is None else check_counted(self._definition, arrived)
        )
        when = When(None if now is None else self.instant(now), counted)
        turn = None
        if stream is not None or number is not None or takeover:
            turn = turn_of(stream, number, takeover)
        manner = manner_of(wait, prepare)
        if rows is None and by is None:
            self._check_prolonging(prolong)
            given = Application(delivery_of(insert), _meant(retract), _rows(prolong))
            return self._apply(given, when, manner, turn)
        if rows is None or by is None or (insert, retract, prolong) != (None, None, None):
            raise BadDefinition(
                "Give either insert=, retract= and prolong=, or rows= with by=, the column that "
                "says what is to be done with each row."
            )
        with delivery_of(rows).sorted_out(self, by) as sorted_out:
            self._check_prolonging(sorted_out.prolong if sorted_out.prolong.num_rows else None)
            given = Application(
                sorted_out.insert, _some(sorted_out.retract), _some(sorted_out.prolong)
            )
            return self._apply(given, when, manner, turn)

    def retract(
        self, now: Any, batch: Any, *, wait: Any = None, prepare: str | None = None
    ) -> Retracted:
        """Let rows cease to hold before their time: negative tuples, matched on all columns.

        They are hidden from every probe and scan at once, and taken out of their sub-indexes with
        the next refresh that writes those. If several rows are alike, as many are retracted as are
        given. With `wavedex.matching(rows)` instead, all living rows are retracted that agree with
        one of these in the columns that these have, such as all rows of a key.

        Raises RowNotThere where one is not there; nothing is changed then.
        """
        instant = self.instant(now)
        rows = _meant(batch) or InMemory(None)
        manner = manner_of(wait, prepare)
        return self._write(self._writer, lambda: applying.retract(self, instant, rows), manner)

    def prolong(
        self, now: Any, batch: Any, *, wait: Any = None, prepare: str | None = None
    ) -> Retracted:
        """Give rows another end, matched on all columns but the end.

        The new end is later, at most `max_lifetime` from now, or earlier. Nobody else's rows are
        written. Where several rows differ only in their ends, the one that ends first is meant.
        Raises RowNotThere where one is not there, LifetimeTooLong; nothing is changed then.
        """
        self._check_prolonging(batch)
        instant = self.instant(now)
        rows = InMemory(batch)
        manner = manner_of(wait, prepare)
        return self._write(self._writer, lambda: applying.prolong(self, instant, rows), manner)

    def migrate(
        self,
        *,
        method: str | None = None,
        grid: str | Sequence[int] | None = None,
        partition: Sequence[str] | None = None,
        shards: int | None = None,
        format: str | None = None,  # noqa: A002 - as of the wave index
        strategy: str = "rebuild",
        wait: Any = None,
    ) -> Migrated:
        """Change how the index is kept; what is not given stays as it is. Readers notice nothing.

        With strategy="rebuild" the new grid is made at once. With "drain" the old sub-indexes stay
        until their rows are over, and only what arrives is kept in the new way.

        Raises BadDefinition, BadGrid, ConcurrentWrite, DiskFull and what `update` raises; the index
        is then as it was.
        """
        wanted = partial(
            redefine_life,
            method=method,
            grid=grid,
            partition=partition,
            shards=shards,
            format=format,
        )
        return self._write(
            self._writer,
            lambda: life_migrating.migrate(self._writer, wanted, strategy),
            manner_of(wait),
        )

    # -- reading --------------------------------------------------------------------------------

    def instant(self, now: Any) -> int:
        """The ordinal that an instant means. Raises BadTime."""
        return self._definition.slotting.instant(now)

    def _check_prolonging(self, rows: Any) -> None:
        if rows is not None and self._definition.counts:
            raise BadDefinition("Rows of counted windows have no ends that could be changed.")


def _meant(rows: Any) -> InMemory | Matching | None:
    """Rows that are to go, as somebody gives them."""
    return rows if isinstance(rows, Matching) else _rows(rows)


def _rows(rows: Any) -> InMemory | None:
    return None if rows is None else InMemory(rows)


def _some(rows: pa.Table) -> InMemory | None:
    return InMemory(rows) if rows.num_rows else None
