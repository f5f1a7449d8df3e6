"""The wave index: what users hold. It ties slots, plans, engine, stores and log together.

A write goes one way. The batch is checked, the plan is drawn, the engine writes new files, and one
manifest is committed. Then what the plan left for later is prepared in a commit of its own.
Everything that can be refused is refused before a file is touched. Reads go through a snapshot of
the newest commit.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from wavedex.errors import BadTime
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.creation import offered_by
from wavedex.index.core.delivery import delivery_of
from wavedex.index.core.manner import manner_of
from wavedex.index.core.migration import Migrated
from wavedex.index.core.staged import read_rows
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.turns import turn_of
from wavedex.index.held import Held
from wavedex.index.reading.pointers import read_records
from wavedex.index.wave import append as appending
from wavedex.index.wave import feed as feeding
from wavedex.index.wave import migration as migrating
from wavedex.index.wave.answers import define, redefine
from wavedex.index.wave.append import Appended
from wavedex.index.wave.changes import WaveChanges
from wavedex.index.wave.definition import WaveDefinition
from wavedex.index.wave.feed import Batch, Fed
from wavedex.index.wave.writer import WaveWriter


class WaveIndex(Held[WaveDefinition]):
    """An index over the last W slots of some data, in plain files below one folder.

    Create one with `WaveIndex.create`, open one with `wavedex.open`. Any number of processes may
    read it while one writes.
    """

    definition_kind = WaveDefinition
    changes_kind = WaveChanges()
    writer_kind = WaveWriter
    _writer: WaveWriter

    @property
    def writer(self) -> WaveWriter:
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
        position: str | None = None,
        pointer: Sequence[str] | None = None,
        time: str | None = None,
        slot: str | int | dt.timedelta | None = "1 day",
        zone: str = "UTC",
        origin: Any = None,
        window: int | str | dt.timedelta,
        indexes: int | None = None,
        scheme: str = "wata",
        update: str = "runs",
        include: Sequence[str] | None = None,
        shards: int = 2,
        format: str = "arrow",  # noqa: A002 - the contract's name
        nulls: str = "error",
        late: str = "error",
        max_gap: int | None = None,
        max_size: int | None = None,
        sizes: Mapping[Any, int] | None = None,
        growth: float = 2.0,
        first_room: int = 4,
        spread: bool = True,
        keep_commits: int = 2,
        keep_for: str | dt.timedelta | None = None,
        keep_followed: int | str | dt.timedelta | None = None,
        history: str | None = None,
        roots: Sequence[str | os.PathLike[str]] | None = None,
        rows: bool = False,
        surroundings: Surroundings | None = None,
    ) -> WaveIndex:
        """Create an index in a new folder. Raises BadDefinition, AlreadyExists and their kin.

        - `schema` has its columns: a pyarrow.Schema, or whatever has one, such as a table, a reader
          or a data frame of pandas, Polars or Spark. With `rows=True` its rows are appended too,
          and where they cannot be, there is no index.
        - `path` is a folder or a URI, such as s3://bucket/sales.wx (docs/filesystems.md).
        - `key` is a column, or several. With several, keys are tuples. Where a key column is one of
          lists, a row becomes an entry for each value of its list.
        - `position` names a new column that says where in the list the value stood.
        - `include` are the columns to keep beside key and time, all if not given.
        - `pointer` names two new columns that say in which file and row the whole record lies, for
          `probe(..., follow=True)` to fetch (see `read_records`).
        - `time` names the column that says which slot a row belongs to. Without it each append says
          so itself.
        - `slot` is how long a slot is: "1 day", "15 minutes", "6h", "month", a timedelta, or a
          number where times are numbers.
        - `window` is how many slots are kept, or how much time: 30, "30 days", a timedelta.
        - `indexes` is the number of sub-indexes over which they are spread, 4 if not given.
        - `scheme` and `update`: docs/schemes.md helps to choose. The defaults suit most.
        - `keep_commits` is how many commits stay when a write clears up: the newest, one for
          readers that are just opening it, and more for readers of `changes` and for long Spark
          jobs. With one, a scheme with a hard window has no row that is over in any file when an
          append returns (docs/schemes.md has the exception).
        - `keep_for`, such as "2 days", keeps all commits of that time too. They can be opened as
          they were.
        - `keep_followed` is how far followers may fall behind before what they have not read goes
          (see `follow`): a number of commits, or a time, "7 days" if not given, but nothing where
          `keep_commits` is 1.
        - `history`, such as "pph-s", keeps for ever which keys were in the window when (see
          `history`), by that method.
        - `max_size` is the most rows that a window will ever have. `wata-bounded` and
          `rata-bounded` need it.
        - `sizes` are the rows of the slots that are to come. `wata-offline` and `rata-offline` need
          them.
        - `roots` is a list of new folders on as many disks. The sub-indexes then lie there, each as
          a whole on one of them.
        """
        columns, first = offered_by(schema, rows)
        definition = define(
            columns,
            key=key,
            position=position,
            pointer=pointer,
            time=time,
            slot=slot,
            zone=zone,
            origin=origin,
            window=window,
            indexes=indexes,
            scheme=scheme,
            update=update,
            include=include,
            shards=shards,
            format=format,
            nulls=nulls,
            late=late,
            max_gap=max_gap,
            growth=growth,
            first_room=first_room,
            spread=spread,
            keep_commits=keep_commits,
            keep_for=keep_for,
            keep_followed=keep_followed,
            history=history,
            max_size=max_size,
            sizes=sizes,
            roots=roots,
        )
        return cls._create(path, definition, surroundings, first)

    # -- writing --------------------------------------------------------------------------------

    def append(
        self, batch: Any, slot: Any = None, *, wait: Any = None, prepare: str | None = None
    ) -> Appended:
        """Append the rows of the next slot or slots, and let what is older than the window go.

        `batch` is a pyarrow Table, RecordBatch, RecordBatchReader or list of batches, or a data
        frame of pandas, Polars or Spark. `slot` says which slot it is where there is no time
        column. With an empty batch it passes an empty slot through. A slot that was appended before
        with the same rows is passed over, so that an append can be repeated.

        It returns when the rows last and can be queried. `prepare` says when to work ahead for the
        next slot: in the "background", by a thread of this process for which the next write waits
        (the usual way), "now", before it returns, or "later", by the next write. `wait`, such as
        "30 s", is how long to wait for another writer instead of raising ConcurrentWrite at once.
        All writes take these two.

        Raises SchemaMismatch, MissingColumn, NullKeys, NullTimes, BadTime, SlotBackwards,
        SlotConflict, GapTooLarge, OutsideWindow, ConcurrentWrite, DiskFull or ReadOnly; the index
        is then as it was.
        """
        manner = manner_of(wait, prepare)
        rows = delivery_of(batch)
        index = rows.working(self)
        number = None if slot is None else self.slot_number(slot)
        bring = rows.ready(index, number)
        return self._write(
            index.writer,
            lambda: appending.append(index.writer, bring, number, rows.marks),
            manner,
        )

    def read_records(self, path: str | os.PathLike[str]) -> pa.Table:
        """What the index keeps of the records in a Parquet or Arrow file, ready to be appended.

        The rows have pointers to the records. Raises BadDefinition where the index keeps no
        pointers, RecordGone where the file cannot be read, MissingColumn or SchemaMismatch where it
        is not one of such records.
        """
        return read_records(self.definition, path)

    def amend(
        self, batch: Any, slot: Any = None, *, wait: Any = None, prepare: str | None = None
    ) -> Appended:
        """Add late rows to slots that are still in the window.

        They reach every sub-index and every temporary that holds their slot. Raises OutsideWindow
        for rows of other slots. (Older ones are dropped and counted where the index was created
        with late="drop".)
        """
        manner = manner_of(wait, prepare)
        rows = delivery_of(batch)
        index = rows.working(self)
        number = None if slot is None else self.slot_number(slot)
        bring = rows.ready(index, number)
        return self._write(index.writer, lambda: appending.amend(index.writer, bring), manner)

    def migrate(
        self,
        *,
        scheme: str | None = None,
        indexes: int | None = None,
        window: int | str | dt.timedelta | None = None,
        update: str | None = None,
        format: str | None = None,  # noqa: A002 - the contract's name
        shards: int | None = None,
        max_size: int | None = None,
        sizes: Mapping[Any, int] | None = None,
        strategy: str = "rebuild",
        wait: Any = None,
    ) -> Migrated:
        """Change how the index is kept; what is not given stays as it is. Readers notice nothing.

        With strategy="rebuild" the new layout is made at once. With "drain" the old sub-indexes
        stay until their slots are over, and only what arrives is kept in the new way. A longer
        window starts to fill: rows that had left it do not come back. A shorter one forgets at
        once.

        Raises BadDefinition where the index cannot be kept so, ConcurrentWrite, DiskFull and what
        `append` raises; the index is then as it was.
        """
        wanted = partial(
            redefine,
            scheme=scheme,
            indexes=indexes,
            window=window,
            update=update,
            format=format,
            shards=shards,
            max_size=max_size,
            sizes=sizes,
        )
        return self._write(
            self._writer,
            lambda: migrating.migrate(self._writer, wanted, strategy),
            manner_of(wait),
        )

    def feed(
        self,
        batch: Any,
        *,
        stream: str,
        number: int,
        delay: Any,
        takeover: bool = False,
        set_aside: Callable[[pa.Table], object] | None = None,
        wait: Any = None,
        prepare: str | None = None,
    ) -> Fed:
        """Take the next batch of a stream, each of them once however often it is sent.

        A batch that comes again is passed over: the last one by its number alone, those before it
        by their rows.

        Rows can be queried at once, in slots that stay open until the watermark has passed them.
        The watermark follows the latest time by `delay`: "10 minutes", a timedelta, or a number for
        slots of numbers. `number` counts the batches of `stream` from 0.

        Rows that come later than that, or are older than the window, are counted and left out.
        `set_aside` gets them as a table before the batch is committed. It gets them again where the
        commit fails and the batch is sent again.

        Raises AnotherStream, StreamOutOfStep, GapTooLarge and what `append` raises; the index is
        then as it was. Raises PreparationOwed where the batch is in and only what follows failed.
        It may be sent again after any of them.
        """
        manner = manner_of(wait, prepare)
        if self._definition.time is None:
            raise BadTime(
                "A stream goes by the times of its rows, and this index has no time column. Use "
                "append."
            )
        turn = turn_of(stream, number, takeover)
        rows = delivery_of(batch)
        index = rows.working(self)
        bring = rows.ready(index, None)
        delayed = self._definition.slotting.length(delay)
        taken = Batch(turn.stream, turn.number, delayed, takeover, rows.marks)
        aside = self._aside(set_aside)
        return self._write(
            index.writer, lambda: feeding.feed(index.writer, bring, taken, aside), manner
        )

    def _aside(
        self, take: Callable[[pa.Table], object] | None
    ) -> Callable[[Arriving], object] | None:
        """Hands over rows that came too late as a table."""
        if take is None:
            return None
        return lambda late: take(read_rows(self._files, self._definition, late))
