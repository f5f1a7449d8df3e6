"""The wave index: what users hold. It ties slots, plans, the engine, the stores and the log together.

A write goes one way: the batch is checked, the plan is drawn, the engine writes new files, one manifest is committed, and
then what the plan left for later is prepared in a commit of its own. Everything that can be refused is refused before a
file is touched. Reads go through a snapshot of the newest commit.
"""

from __future__ import annotations

import contextlib
import operator
import os
import re
from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import (
    AlreadyExists,
    BadDefinition,
    BadTime,
    Damaged,
    NotAnIndex,
    NotThereYet,
)
from wavedex.index import appending, feeding
from wavedex.index.appending import Appended, Bring
from wavedex.index.arriving import Arriving, arrive
from wavedex.index.changes import ChangeFeed, change_schema
from wavedex.index.definition import Definition, define
from wavedex.index.description import describe
from wavedex.index.feeding import Batch, Fed
from wavedex.index.readable import Readable
from wavedex.index.snapshot import Snapshot
from wavedex.index.staging import read_rows
from wavedex.index.surroundings import Surroundings
from wavedex.index.verify import find_damage
from wavedex.index.writer import Writer
from wavedex.log import DATA, LOCK, LOG, Log, Manifest, manifest_name
from wavedex.store.access import AnyFiles

DEFINITION = "index.json"
_ON_SPARK = "wavedex.spark.writing"
"""Who appends data frames of Spark; imported when one comes, so that nothing here knows Spark."""
_CREATED = re.compile(r"0{20}\.json|0{20}\..*\.tmp|index\.json\.tmp")
"""What `create` may leave in the log when it crashes."""


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

    # -- creating and opening -------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        key: str,
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
        growth: float = 2.0,
        first_room: int = 4,
        spread: bool = True,
        keep_commits: int = 2,
        roots: Sequence[str] | None = None,
        surroundings: Surroundings | None = None,
    ) -> WaveIndex:
        """Create an empty index in a new folder. Raises BadDefinition, AlreadyExists and their kin.

        `path` is a folder or a URI, such as s3://bucket/sales.wx (docs/filesystems.md).
        `time` names the column that says which slot a row belongs to; without it each append says so itself. `window` is
        the number of slots kept, `indexes` over how many sub-indexes they are spread (4 if not given). docs/schemes.md helps to choose
        `scheme` and `update`; the defaults suit most. `keep_commits` is how many commits stay when a write clears up: the
        newest, one for readers that are just opening it, and more for readers of `changes` and for long Spark jobs.
        """
        for name, value in (("max_size", max_size), ("roots", roots)):
            if value is not None:
                raise NotThereYet(f"{name}= is planned and not there yet. Leave it out.")
        definition = define(
            schema,
            key=key,
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
        )
        around = surroundings or Surroundings()
        files = around.files(path)
        definition.check_place(files)
        _check_free(files)
        files.make_folder("")
        with files.lock(LOCK):
            _check_free(files)
            for folder in (DATA, LOG):
                files.make_folder(folder)
            for leftover in files.list(LOG):
                files.remove(f"{LOG}/{leftover}")
            Log(files).commit(Manifest(0, "create", around.now().isoformat()), around.token())
            draft = f"{LOG}/{DEFINITION}.tmp"
            files.create(draft, lambda sink: sink.write(definition.to_bytes()))
            files.sync(draft)
            try:
                files.link(draft, DEFINITION)
            except FileExistsError:
                raise _taken(files) from None
            files.sync_folder("")
            files.sync_folder("..")
            files.remove(draft)
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
        return cls(files, Definition.from_bytes(content, DEFINITION), around)

    # -- reading --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The window as the newest commit has it, which never changes while it is held."""
        return self._take(None)

    def _take(self, earlier: Snapshot | None) -> Snapshot:
        """A snapshot of the newest commit: the earlier one if it still is that, or one that opens what it lacks."""
        opened = {} if earlier is None else earlier.opened()
        while True:
            manifest = self._log.latest()
            if earlier is not None and earlier.manifest == manifest:
                return earlier
            try:
                return Snapshot(self._definition, self._files, manifest, opened)
            except FileNotFoundError as error:
                if self._log.commits()[-1] == manifest.commit:
                    raise Damaged(f"{error.filename} is missing") from error

    @property
    def schema(self) -> pa.Schema:
        """The columns of an entry."""
        return self._definition.schema

    @property
    def definition(self) -> Definition:
        """What it was created as."""
        return self._definition

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
        return {"path": self.path, **describe(self._definition, self._log.latest())}

    def changes(
        self, since_commit: int | None, until_commit: int | None = None
    ) -> pa.RecordBatchReader:
        """The rows that entered and left the window after one commit and up to another, the newest if not given.

        Each has the columns of the schema, `_change`, which is +1 for a row that entered and -1 for one that left, and
        `_commit`, the commit with which it did. From None on, the whole window of `until_commit` has entered; backwards,
        from a later commit to an earlier one, there is nothing. Raises CommitGone where one of the two, or a commit
        between, is not kept any more (see `keep_commits` of `create`) or was never there.
        """
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
            try:
                pin = self._files.pin(manifest_name(manifest.commit))
            except FileNotFoundError:
                continue
            try:
                findings = find_damage(self._definition, self._files, manifest)
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

        `batch` is a pyarrow Table or RecordBatch, or a data frame of pandas, Polars or Spark. `slot` says which slot it is where
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
        return appending.append(self._writer, self._definition, _at_hand(arriving), number)

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
        return appending.amend(self._writer, self._definition, _at_hand(arriving))

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
        return feeding.feed(self._writer, self._definition, bring, turn, self._aside(set_aside))

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
        with self._files.lock(LOCK):
            return self._log.vacuum(keep)

    def prepare(self) -> bool:
        """Do the preparation that a crash or a full disk left undone. Returns whether there was any."""
        with self._writer.writing() as manifest:
            return self._writer.prepare(manifest).commit != manifest.commit

    def slot_number(self, slot: Any) -> int:
        """The number of the slot that a number, a date or a datetime means. Raises BadTime."""
        start, stop = self._definition.slotting.bounds(slot, slot)
        if start is None or stop is None or start >= stop:
            raise BadTime(f"slot={slot!r} is out of range. Give the number of a slot.")
        first, last = self._definition.slotting.slots_of(np.array([start, stop - 1])).tolist()
        if first != last:
            raise BadTime(f"slot={slot!r} spans the slots {first} to {last}. Give one of them.")
        return int(first)

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

    def __repr__(self) -> str:
        definition = self._definition
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


def _check_free(files: AnyFiles) -> None:
    """Raise AlreadyExists unless there is nothing, or only what a `create` that crashed has left."""
    try:
        there = set(files.list(""))
        begun = there <= {DATA, LOG, LOCK} and (LOCK in there or not files.is_local)
        is_leftover = (
            begun and not files.list(DATA) and all(map(_CREATED.fullmatch, files.list(LOG)))
        )
    except NotADirectoryError:
        raise _taken(files) from None
    if there and not is_leftover:
        raise _taken(files)


def _taken(files: AnyFiles) -> AlreadyExists:
    return AlreadyExists(
        f"There is something at {files.root} already. Choose another path, or use wavedex.open "
        "if it is an index."
    )
