"""Writing through the data source: tasks stage runs, and one commit applies the plan.

The tasks of Spark's writer have rows of every shard and hold no lock. So they write below
`staged/`, where the vacuum of another writer leaves fresh files alone. `commit` runs in a process
without Spark and carries the plan out itself. For large batches `wavedex.spark.append` and `sink`
are the faster way.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pyarrow as pa
import xxhash
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from wavedex.errors import AlreadyExists, BadDefinition, NotAnIndex, WavedexError
from wavedex.files.names import STAGED, staged_prefix, staged_stem
from wavedex.index.core.arrival import Arriving, Bring, arrive, settle
from wavedex.index.core.definition import Definition
from wavedex.index.core.delivery import Delivery, Holder, Instructed, largest_in
from wavedex.index.core.instructions import sort_out
from wavedex.index.core.manner import NOW
from wavedex.index.core.staged import Staged, clearing, gather, read_rows
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.turns import Turn
from wavedex.index.kind import Lateness
from wavedex.index.kinds import DEFAULT, find_kind, kind_of
from wavedex.index.opening import AnyIndex, open_index
from wavedex.log.manifest import Log, Manifest
from wavedex.spark.frames import stage_at
from wavedex.spark.source.index_options import creation_options
from wavedex.spark.stream import dead_letters
from wavedex.spark.types import arrow_schema
from wavedex.store.databases.server_address import Trust


@dataclass
class Said(WriterCommitMessage):
    """What a task has staged, as JSON: the rows that come, go, or get another end."""

    staged: dict[str, dict[str, Any]]


class _Stager:
    """What both writers share: how a task stages, and how the messages become rows that arrive."""

    def __init__(self, path: str, schema: StructType, token: str, by: str | None) -> None:
        """`by` is the column that says what is to be done with each row, if there is one."""
        self.path = path
        self.by = by
        self.trust = Trust.mine()
        self.prefix = staged_prefix(token)
        definition = self.index.definition
        kind_of(self.index).check_applied(by)
        come, named = definition.unguessed, definition.only_named
        ats = {"insert": come, "retract": named, "prolong": named}
        self.ats = {what: definition.at_to_json(at) for what, at in ats.items()}
        rows = arrow_schema(schema).empty_table()
        arrive(rows if by is None else sort_out(rows, by).insert, definition, come)

    @property
    def index(self) -> AnyIndex:
        """The index, opened in whichever process this is."""
        self.trust.extend()
        return open_index(self.path)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Said:
        batches = [batch for batch in iterator if batch.num_rows]
        if not batches:
            return Said({})
        context = TaskContext.get()
        assert context is not None
        storage = self.index.storage
        if not storage.exists(STAGED):
            storage.make_folder(STAGED)
            storage.sync_folder("")
        table, staged = pa.Table.from_batches(batches), {}
        pieces = {"insert": table} if self.by is None else sort_out(table, self.by)._asdict()
        for what, rows in pieces.items():
            if rows.num_rows:
                stem = staged_stem(self.prefix, context.taskAttemptId(), secrets.token_hex(4))
                staged[what] = stage_at(self.path, rows, self.ats[what], stem)
        storage.sync_folder(STAGED)
        return Said(staged)

    @contextmanager
    def bring(self, messages: list[Any], manifest: Manifest) -> Iterator[Arriving]:
        """The rows of the tasks that succeeded; whatever else was staged for them is removed."""
        index = self.index
        with clearing(index.storage, partial(self._staged, index), manifest.commit + 1):
            yield self.gathered(messages, "insert", index.definition_at(manifest))

    def gathered(self, messages: list[Any], what: str, definition: Definition) -> Arriving:
        """What the tasks have staged of one sort of rows."""
        staged = (said.staged for said in messages if said)
        return gather(definition, [Staged.from_json(each[what]) for each in staged if what in each])

    def read(self, messages: list[Any], what: str) -> pa.Table:
        """The rows of one sort themselves."""
        index = self.index
        definition = index.definition
        return read_rows(index.storage, definition, self.gathered(messages, what, definition))

    def clear(self, index: AnyIndex) -> None:
        """Remove what was staged and is not named by any commit."""
        Log(index.storage).remove_unnamed(self._staged(index))

    def _staged(self, index: AnyIndex) -> Iterator[str]:
        names = (f"{STAGED}/{name}" for name in index.storage.list(STAGED))
        return (name for name in names if name.startswith(self.prefix))


class StagedDelivery(Delivery):
    """Rows that tasks of the data source have staged.

    The tasks do not know when rows of counted windows will be over: how far the streams have come
    is known only when all rows are there. Those rows are read and guessed again. Others are named
    as they lie.
    """

    def __init__(self, stager: _Stager, messages: list[Any]) -> None:
        self._stager, self._messages = stager, messages
        self._bring: Bring = partial(stager.bring, messages)
        self._read: tuple[pa.Table, int] | None = None

    def ready(self, index: Holder, at: Any) -> Bring:
        return self._bring

    def waiting(self, index: Holder, at: Callable[[Manifest], Any]) -> Bring:
        if self._read is None:
            return self._bring
        table, null_keys = self._read

        def guessed(manifest: Manifest) -> AbstractContextManager[Arriving]:
            definition = index.definition_at(manifest)
            return nullcontext(settle(table, null_keys, definition, at(manifest)))

        return guessed

    @contextmanager
    def held(self, index: Holder) -> Iterator[None]:
        held = cast(AnyIndex, index)
        manifest = held.manifest
        with self._bring(manifest) as staged:
            table = read_rows(held.storage, held.definition_at(manifest), staged)
            self._read = table, staged.null_keys
            yield

    @contextmanager
    def sorted_out(self, index: Holder, by: str) -> Iterator[Instructed]:
        """As the tasks have sorted them out."""
        read = partial(self._stager.read, self._messages)
        yield Instructed(self, read("retract"), read("prolong"))

    def largest(self, index: Holder, names: Sequence[str]) -> list[int] | None:
        assert self._read is not None
        return largest_in(self._read[0], index.created, names)


class WindowWriter(DataSourceArrowWriter):
    """Appends a batch: the next slot or slots, or one refresh of a lifetime index."""

    def __init__(self, path: str, schema: StructType, options: Mapping[str, str]) -> None:
        _create_if_missing(path, schema, options)
        self.stager = _Stager(path, schema, secrets.token_hex(8), options.get("apply_by"))
        index = self.stager.index
        self.said_now = options.get("now")
        self.now = kind_of(index).read_instant(index, self.said_now)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Said:
        return self.stager.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        index, rows, by = self.stager.index, StagedDelivery(self.stager, messages), self.stager.by
        if by is None:
            kind_of(index).refresh(index, rows, self.now)
        else:
            kind_of(index).apply(index, self.said_now, rows=rows, by=by, prepare=NOW)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self.stager.clear(self.stager.index)


class StreamWriter(DataSourceStreamArrowWriter):
    """Takes the batches of a stream, each once."""

    def __init__(
        self, path: str, schema: StructType, options: Mapping[str, str], takeover: bool
    ) -> None:
        named = {name.lower(): value for name, value in options.items()}
        self.stream = named.get("stream") or query_id(named.get("checkpointlocation", ""))
        self.delay = named.get("delay")
        self.dead_letters = named.get("dead_letters")
        self.takeover = takeover
        find_kind(kind_at(path, options)).check_stream(self.delay, self.dead_letters)
        _create_if_missing(path, schema, options)
        token = xxhash.xxh64_hexdigest(self.stream.encode())
        self.stager = _Stager(path, schema, token, options.get("apply_by"))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Said:
        return self.stager.write(iterator)

    def commit(
        self,
        messages: list[WriterCommitMessage | None],
        batchId: int,  # noqa: N803 - Spark's
    ) -> None:
        index = self.stager.index
        turn = Turn(self.stream, batchId, self.takeover)
        rows, by = StagedDelivery(self.stager, messages), self.stager.by
        if by is None:
            late = Lateness(self.delay, dead_letters(self.dead_letters, turn))
            kind_of(index).feed(index, rows, turn, late, prepare=NOW)
        else:
            kind_of(index).apply(index, None, rows=rows, by=by, **turn.given, prepare=NOW)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self.stager.clear(self.stager.index)


def query_id(checkpoint: str) -> str:
    """The id that Spark gave the query, as its checkpoint has it.

    Raises BadDefinition where it cannot be had.
    """
    try:
        metadata = Surroundings().files(checkpoint.removeprefix("file:")).read("metadata")
        return str(json.loads(metadata)["id"])
    except (OSError, WavedexError, ValueError, KeyError) as error:
        raise BadDefinition(
            f"A stream needs a name that stays the same when it is started again, and the "
            f"checkpoint {checkpoint!r} does not tell one ({error}). Give the option "
            "checkpointLocation, or stream."
        ) from error


def _create_if_missing(path: str, schema: StructType, options: Mapping[str, str]) -> None:
    """Create the index where there is none and the options say what it is to be."""
    try:
        open_index(path)
    except NotAnIndex:
        kind, by = find_kind(options.get("kind", DEFAULT)), options.get("apply_by")
        kind.check_applied(by)
        asked = creation_options(kind, options, schema.names)
        if not asked:
            raise
        try:
            columns = [field for field in arrow_schema(schema) if field.name != by]
            kind.create(path, pa.schema(columns), **asked)
        except AlreadyExists:
            # Another process was faster; if it made something else, that is said.
            open_index(path)


def kind_at(path: str, options: Mapping[str, str]) -> str:
    """The kind of the index that is there, or that is to be created."""
    try:
        return open_index(path).definition.kind
    except NotAnIndex:
        return options.get("kind", DEFAULT)
