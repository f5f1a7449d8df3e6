"""The wave index: what users hold. It ties slots, plans, the engine, the stores and the log together.

A write goes one way: the batch is checked, the plan is drawn, the engine writes new files, one manifest is committed, and
then what the plan left for later is prepared in a commit of its own. Everything that can be refused is refused before a
file is touched. Reads go through a snapshot of the newest commit.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import operator
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import pyarrow as pa

from wavedex.errors import (
    BadDefinition,
    BadTime,
    CommitGone,
    Damaged,
    NotAnIndex,
)
from wavedex.index import appending, erasing, feeding, migrating
from wavedex.index.appending import Appended, Bring
from wavedex.index.arriving import Arriving, arrive
from wavedex.index.changes import ChangeFeed, change_schema
from wavedex.index.creating import DEFINITION, create_at
from wavedex.index.defining import define, redefine
from wavedex.index.definition import Definition
from wavedex.index.description import describe
from wavedex.index.erasing import Erased
from wavedex.index.feeding import Batch, Fed
from wavedex.index.following import read_records
from wavedex.index.html import to_html
from wavedex.index.migrating import Migrated
from wavedex.index.readable import Readable
from wavedex.index.roots import all_files, check_roots
from wavedex.index.snapshot import Snapshot
from wavedex.index.staging import read_rows
from wavedex.index.surroundings import Surroundings
from wavedex.index.verify import find_damage
from wavedex.index.writer import Writer
from wavedex.log import LOG, Log, Manifest, manifest_name
from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.reading import Shard

_ON_SPARK = "wavedex.spark.writing"
"""Who appends data frames of Spark; imported when one comes, so that nothing here knows Spark."""


class WaveIndex(Readable):
    """An index over the last W slots of some data, in plain files below one folder.

    Create one with `WaveIndex.create`, open one with `wavedex.open`. Any number of processes may read it while one
    writes.
    """

    def __init__(self, files: AnyFiles, definition: Definition, surroundings: Surroundings) -> None:
        """Use `WaveIndex.create` or `wavedex.open` instead."""
        self._files = files
        self._definition = definition
        self._log = Log(files)
        self._writer = Writer(files, definition, surroundings)
        self._cached: tuple[Hashable | None, Snapshot] | None = None
        self._migrated: tuple[Mapping[str, Any], Definition] = ({}, definition)

    # -- creating and opening -------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        key: str | Sequence[str],
        position: str | None = None,
        pointer: Sequence[str] | None = None,
        time: str | None = None,
        slot: str | int | None = "1 day",
        zone: str = "UTC",
        origin: Any = None,
        window: int,
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
        roots: Sequence[str | os.PathLike[str]] | None = None,
        surroundings: Surroundings | None = None,
    ) -> WaveIndex:
        """Create an empty index in a new folder. Raises BadDefinition, AlreadyExists and their kin.

        `path` is a folder or a URI, such as s3://bucket/sales.wx (docs/filesystems.md). `key` is a column, or several, whose
        keys are then tuples. Where a key column is one of lists, a row becomes an entry for each value of its list; `position`
        names a new column that says where in the list the value stood. `include` are the columns to keep beside key and
        time, all if not given; `pointer` names two new columns that say in which file and row the whole record lies, for
        `probe(..., follow=True)` to fetch (see `read_records`).
        `time` names the column that says which slot a row belongs to; without it each append says so itself. `window` is
        the number of slots kept, `indexes` over how many sub-indexes they are spread (4 if not given). docs/schemes.md helps to choose
        `scheme` and `update`; the defaults suit most. `keep_commits` is how many commits stay when a write clears up: the
        newest, one for readers that are just opening it, and more for readers of `changes` and for long Spark jobs. With
        `keep_for`, such as "2 days", all commits of that time stay too, and can be opened as they were.
        `wata-bounded` and `rata-bounded` need `max_size`, the most rows that a window will ever have; `wata-offline` and
        `rata-offline` need `sizes`, the rows of the slots that are to come. With `roots`, a list of new folders on as many disks,
        the sub-indexes lie there, each as a whole on one of them.
        """
        definition = define(
            schema,
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
            max_size=max_size,
            sizes=sizes,
            roots=roots,
        )
        around = surroundings or Surroundings()
        definition = replace(definition, identity=around.token())
        files = create_at(path, definition, around)
        return cls(files, definition, around)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, surroundings: Surroundings | None = None
    ) -> WaveIndex:
        """Open an index. Raises NotAnIndex, NewerFormat, OlderFormat or Damaged."""
        around = surroundings or Surroundings()
        files = around.files(path)
        try:
            content = files.read(DEFINITION)
        except (FileNotFoundError, NotADirectoryError):
            raise NotAnIndex(
                f"{path} is no index: it has no {DEFINITION}. Check the path, or create an index there "
                "with WaveIndex.create."
            ) from None
        definition = Definition.from_bytes(content, DEFINITION)
        return cls(all_files(files, definition, around), definition, around)

    # -- reading --------------------------------------------------------------------------------

    def snapshot(self, commit: int | None = None) -> Snapshot:
        """The window as the newest commit has it, or an earlier one, which never changes while it is held.

        Raises CommitGone where that commit is not kept any more (see `keep_commits` and `keep_for` of `create`).
        """
        if commit is None:
            return self._take(None)
        if isinstance(commit, bool) or not hasattr(commit, "__index__"):
            raise CommitGone(
                f"commit={commit!r} is no number of a commit. Give one of {self.commits}."
            )
        try:
            return self.at(self._log.read(commit))
        except FileNotFoundError:
            raise CommitGone(
                f"{self.path} has no commit {commit}, or not any more: it keeps {self.commits}. Ask for one of them, or "
                "create the index with a larger keep_commits or keep_for."
            ) from None

    def at(self, manifest: Manifest, opened: dict[FileRef, Shard] | None = None) -> Snapshot:
        """The window as a manifest has it.

        Raises FileNotFoundError where its files are not kept any more, RootMissing where a disk is not there.
        """
        check_roots(self._files, self._definition.slotting, manifest, reading=True)
        return Snapshot(self.definition_at(manifest), self._files, manifest, opened)

    def definition_at(self, manifest: Manifest) -> Definition:
        """What the index was when a commit was made."""
        settings, definition = self._migrated
        if settings != manifest.settings:
            definition = self._definition.at(manifest.settings)
            self._migrated = manifest.settings, definition
        return definition

    @property
    def commits(self) -> list[int]:
        """The numbers of the commits that are kept, oldest first."""
        return self._log.commits()

    def _take(self, earlier: Snapshot | None) -> Snapshot:
        """A snapshot of the newest commit: the earlier one if it still is that, or one that opens what it lacks."""
        opened = {} if earlier is None else earlier.opened()
        while True:
            manifest = self._log.latest()
            if earlier is not None and earlier.manifest == manifest:
                return earlier
            try:
                return self.at(manifest, opened)
            except FileNotFoundError as error:
                if self._log.commits()[-1] == manifest.commit:
                    raise Damaged(f"{error.filename} is missing") from error

    @property
    def schema(self) -> pa.Schema:
        """The columns of an entry."""
        return self._definition.schema

    @property
    def definition(self) -> Definition:
        """What it is: as it was created, and as it was migrated since."""
        return self.definition_at(self._log.latest())

    @property
    def path(self) -> str:
        """The folder it lives in, or its URI."""
        return str(self._files.root)

    @property
    def storage(self) -> AnyFiles:
        """The files below its folder."""
        return self._files

    @property
    def writer(self) -> Writer:
        """What commits to it."""
        return self._writer

    def describe(self) -> dict[str, Any]:
        """What is in it and what its scheme promises, as plain JSON."""
        manifest = self._log.latest()
        return {"path": self.path, **describe(self.definition_at(manifest), manifest)}

    def changes(
        self, since_commit: int | None, until_commit: int | None = None
    ) -> pa.RecordBatchReader:
        """The rows that entered and left the window after one commit and up to another, the newest if not given.

        Each has the columns of the schema, `_change`, which is +1 for a row that entered and -1 for one that left, and
        `_commit`, the commit with which it did. From None on, the whole window of `until_commit` has entered; backwards,
        from a later commit to an earlier one, there is nothing. Raises CommitGone where one of the two, or a commit
        between, is not kept any more (see `keep_commits` of `create`) or was never there.
        """
        check_roots(self._files, self._definition.slotting, self._log.latest())
        feed = self.change_feed
        batches = feed.read(feed.find(since_commit, until_commit))
        return pa.RecordBatchReader.from_batches(change_schema(self._definition), batches)

    @property
    def change_feed(self) -> ChangeFeed:
        """What finds and reads changes, in two steps."""
        return ChangeFeed(self._files, self._definition)

    def verify(self) -> None:
        """Read every byte of the newest commit, check every checksum and every rule. Raises Damaged.

        The commit is pinned meanwhile, so that a writer which goes on does not remove its files.
        """
        while True:
            manifest = self._log.latest()
            check_roots(self._files, self._definition.slotting, manifest)
            try:
                pin = self._files.pin(manifest_name(manifest.commit))
            except FileNotFoundError:
                continue
            try:
                findings = find_damage(self.definition_at(manifest), self._files, manifest)
            finally:
                pin.close()
            if not findings:
                return
            # Where nothing is pinned, a writer may have removed what was being read.
            if self._files.exists(manifest_name(manifest.commit)):
                raise Damaged(findings)

    # -- writing --------------------------------------------------------------------------------

    def append(self, batch: Any, slot: Any = None) -> Appended:
        """Append the rows of the next slot or slots, and let what is older than the window go.

        `batch` is a pyarrow Table, RecordBatch, RecordBatchReader or list of batches, or a data frame of pandas, Polars or Spark. `slot` says which slot it is where
        there is no time column; with an empty batch it passes an empty slot through. A slot that was appended before
        with the same rows is passed over, so that an append can be repeated.

        Raises SchemaMismatch, MissingColumn, NullKeys, NullTimes, BadTime, SlotBackwards, SlotConflict, GapTooLarge,
        OutsideWindow, ConcurrentWrite, DiskFull or ReadOnly; the index is then as it was.
        """
        self._let_go()
        if _is_of_spark(batch):
            return import_module(_ON_SPARK).append(self, batch, slot)
        number = None if slot is None else self.slot_number(slot)
        arriving = arrive(batch, self._definition, number)
        return appending.append(self._writer, _at_hand(arriving), number)

    def read_records(self, path: str | os.PathLike[str]) -> pa.Table:
        """What the index keeps of the records in a Parquet or Arrow file, with pointers to them, ready to be appended.

        Raises BadDefinition where it keeps no pointers, RecordGone where the file cannot be read, MissingColumn or
        SchemaMismatch where it is not one of such records.
        """
        return read_records(self.definition, path)

    def amend(self, batch: Any, slot: Any = None) -> Appended:
        """Add late rows to slots that are still in the window.

        They reach every sub-index and every temporary that holds their slot. Raises OutsideWindow for rows of other
        slots (older ones are dropped and counted where the index was created with late="drop").
        """
        self._let_go()
        if _is_of_spark(batch):
            return import_module(_ON_SPARK).amend(self, batch, slot)
        number = None if slot is None else self.slot_number(slot)
        arriving = arrive(batch, self._definition, number)
        return appending.amend(self._writer, _at_hand(arriving))

    def erase(self, keys: Iterable[Any]) -> Erased:
        """Erase all rows of these keys, from every file, before it returns; keys that are not there do no harm.

        Earlier commits go too, however many are kept otherwise: their files have the rows. A file that a reader has
        mapped has lost its name then, and its place on the disk once that reader lets go. Records that pointers lead
        to, and the source of the rows, are not touched.

        Raises BadKey, ConcurrentWrite and what `append` raises; the index is then as it was. Raises EraseUnfinished where
        no reader finds the rows any more and a file that has them could not be removed.
        """
        self._let_go()
        return erasing.erase(self._writer, self._files, keys)

    def migrate(
        self,
        *,
        scheme: str | None = None,
        indexes: int | None = None,
        window: int | None = None,
        update: str | None = None,
        format: str | None = None,  # noqa: A002 - the contract's name
        shards: int | None = None,
        max_size: int | None = None,
        sizes: Mapping[Any, int] | None = None,
        strategy: str = "rebuild",
    ) -> Migrated:
        """Change one's mind about how the index is kept; what is not given stays as it is. Readers notice nothing.

        With strategy="rebuild" the new layout is made at once. With "drain" the old sub-indexes stay until their slots
        are over, and only what arrives is kept in the new way. A longer window starts to fill: rows that had left it do
        not come back. A shorter one forgets at once.

        Raises BadDefinition where the index cannot be kept so, ConcurrentWrite, DiskFull and what `append` raises; the
        index is then as it was.
        """
        self._let_go()
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
        return migrating.migrate(self._writer, wanted, strategy)

    def feed(
        self,
        batch: Any,
        *,
        stream: str,
        number: int,
        delay: Any,
        takeover: bool = False,
        set_aside: Callable[[pa.Table], object] | None = None,
    ) -> Fed:
        """Take the next batch of a stream, each of them once however often it is sent.

        Rows can be queried at once, in slots that stay open until the watermark, which follows the latest time by
        `delay` ("10 minutes", a timedelta, or a number for slots of numbers), has passed them. `number` counts the
        batches of `stream` from 0. Rows that come later than that, or are older than the window, are counted and left
        out; `set_aside` gets them as a table before the batch is committed, so again where that fails and it is sent again.

        Raises AnotherStream, StreamOutOfStep, GapTooLarge and what `append` raises; the index is then as it was. Raises
        PreparationOwed where the batch is in and only what follows failed. It may be sent again after any of them.
        """
        self._let_go()
        if self._definition.time is None:
            raise BadTime(
                "A stream goes by the times of its rows, and this index has no time column. Use append."
            )
        if not isinstance(stream, str) or not _is_count(number):
            raise BadDefinition(
                f"stream={stream!r}, number={number!r}: give a name, and the number of the batch from 0 on."
            )
        arriving = arrive(batch, self._definition, None)
        delayed = self._definition.slotting.length(delay)
        turn = Batch(stream, operator.index(number), delayed, takeover)
        bring = _at_hand(arriving)
        return feeding.feed(self._writer, bring, turn, self._aside(set_aside))

    def _aside(
        self, take: Callable[[pa.Table], object] | None
    ) -> Callable[[Arriving], object] | None:
        """Hands over rows that came too late as a table."""
        if take is None:
            return None
        return lambda late: take(read_rows(self._files, self._definition, late))

    def vacuum(self, keep: int = 1) -> list[str]:
        """Remove all but the newest `keep` commits and every file that none of them names.

        Readers that hold an older snapshot go on reading it. Returns the names of the files that were removed.
        """
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise BadDefinition(f"keep={keep!r} is not a whole number of at least 1.")
        with self._writer.writing():
            removed = self._log.vacuum(keep)
            self._writer.sweep()
            return removed

    def prepare(self) -> bool:
        """Do the preparation that a crash or a full disk left undone. Returns whether there was any."""
        with self._writer.writing() as manifest:
            return self._writer.prepare(manifest).commit != manifest.commit

    def slot_number(self, slot: Any) -> int:
        """The number of the slot that a number, a date or a datetime means. Raises BadTime."""
        return self._definition.slotting.number(slot)

    def _let_go(self) -> None:
        """Before a write: let the room of what is mapped be used again. What was fetched from afar is worth keeping."""
        if self._files.is_local:
            self._cached = None

    def _current(self) -> Snapshot:
        """A snapshot of the newest commit, the same one for as long as nothing was committed."""
        try:
            version = self._files.version(LOG)
        except FileNotFoundError:
            version = None  # What is missing is said when the newest commit is looked for.
        cached = self._cached
        if cached is None or version is None or cached[0] != version:
            cached = version, self._take(None if cached is None else cached[1])
            self._cached = cached
        return cached[1]

    def _repr_html_(self) -> str:
        return to_html(self.describe(), self._definition.slotting.label)

    def __repr__(self) -> str:
        definition = self.definition
        return (
            f"<WaveIndex {self.path}: {definition.window} slots in {definition.indexes} sub-indexes, "
            f"{definition.scheme_name}, {definition.update}>"
        )


def _is_of_spark(batch: object) -> bool:
    """Whether it is a data frame of Spark, told without importing Spark."""
    return type(batch).__module__.startswith("pyspark.sql")


def _is_count(number: Any) -> bool:
    return hasattr(number, "__index__") and not isinstance(number, bool) and number >= 0


def _at_hand(arriving: Arriving) -> Bring:
    """Rows that need no bringing."""
    return lambda manifest: contextlib.nullcontext(arriving)
