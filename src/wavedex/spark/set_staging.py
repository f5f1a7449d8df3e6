"""Events that tasks write before they go into a set over time: files below `staged/`.

A set is one thing in one process, so tasks cannot put anything into it. They write their events as
Arrow files, each small enough to be read at once, and say what they wrote. Whoever has the set
reads the files one by one. No commit ever names them, and they are removed in the end.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import xxhash
from pyspark import TaskContext
from pyspark.sql.types import StructType

from wavedex.errors import Damaged
from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import STAGED, brought_stem, staged_stem
from wavedex.rows import compute as pc
from wavedex.rows.arrays import read_batch, write_batch
from wavedex.spark.types import arrow_schema
from wavedex.temporal.events import Columns, Names, columns_of, events_of
from wavedex.temporal.ids.catalogue import ids_of
from wavedex.temporal.ids.contract import Ids
from wavedex.temporal.instants import Instants

PORTION_BYTES = 1 << 26
"""A task writes a file when it has so many bytes of events, and the loader has as many in hand."""


@dataclass(frozen=True, order=True)
class Portion:
    """Some events that a task has written. Portions are sorted as the rows of their frame are."""

    task: int
    """The partition."""
    number: int
    """Which one of the partition it is."""
    name: str
    """The file."""
    bytes: int
    """Its size."""
    checksum: str
    """XXH64 of its content."""

    def to_json(self) -> dict[str, Any]:
        """As a task sends it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Portion:
        """What a task sent."""
        return cls(**data)


@dataclass
class _Kept:
    """What events must fit."""

    columns: Columns
    ids: Ids
    instants: Instants


def check_events(frame: StructType, names: Names, held: pa.Schema | None) -> pa.Schema:
    """The columns of a frame of events as Arrow has them, times in UTC.

    `held` are the columns of the set, if they are known. Raises SchemaMismatch and its kin where
    the frame does not fit.
    """
    schema = arrow_schema(frame)
    nothing = schema.empty_table()
    columns = columns_of(nothing, names) if held is None else Columns(held)
    kept = _Kept(columns, ids_of(columns.ids), Instants(columns.times))
    events_of(nothing, names, kept, counted=False)
    return pa.schema([field.with_nullable(True) for field in schema])


def stage_events(
    path: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, prefix: str
) -> Iterator[Portion]:
    """Write the events that a task has, in their order, with columns as they stand in `schema`."""
    context = TaskContext.get()
    assert context is not None
    files = files_at(path)
    if not files.exists(STAGED):
        files.make_folder(STAGED)
    stem = staged_stem(prefix, context.taskAttemptId(), secrets.token_hex(4))
    for number, rows in enumerate(in_portions(batches, PORTION_BYTES)):
        table = pa.Table.from_batches(rows).rename_columns(schema.names).cast(schema)
        name = f"{brought_stem(stem, number)}.events"
        ref = _write(files, name, table)
        yield Portion(context.partitionId(), number, name, ref.bytes, ref.checksum)


def _write(files: AnyFiles, name: str, table: pa.Table) -> FileRef:
    [batch] = table.combine_chunks().to_batches()
    return files.create(name, lambda sink: write_batch(sink, batch))


def in_portions(
    batches: Iterable[pa.RecordBatch], bytes_least: int
) -> Iterator[list[pa.RecordBatch]]:
    """Batches one after the other, together until they have so many bytes."""
    rows: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            rows.append(batch)
            size += batch.nbytes
        if size >= bytes_least:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def read_events(files: AnyFiles, portions: Iterable[Portion]) -> Iterator[pa.Table]:
    """The events of all portions, one portion after the other. Raises Damaged."""
    for each in sorted(portions):
        content = files.map(FileRef(each.name, each.bytes, each.checksum))
        if xxhash.xxh64_hexdigest(content) != each.checksum:
            raise Damaged(f"{each.name} is not as the task wrote it. Load the events again.")
        yield pa.Table.from_batches([read_batch(content, each.name)])


def whole_instants(tables: Iterable[pa.Table], time: str) -> Iterator[pa.Table]:
    """The same events in the same order, and those of one time together in one table.

    Where ids are counted, what comes and goes at one time has not changed. REQUIRES: they are in
    the order of their times.
    """
    kept: pa.Table | None = None
    for table in tables:
        whole = table if kept is None else pa.concat_tables([kept, table])
        times = whole.column(time)
        start = max(0, pc.index(times, times[-1]).as_py())  # There is no place of a null.
        kept = whole.slice(start)
        if start:
            yield whole.slice(0, start)
    if kept is not None:
        yield kept


@contextmanager
def clearing_events(files: AnyFiles, prefix: str) -> Iterator[None]:
    """Remove what was staged under a prefix, whatever comes of it."""
    try:
        yield
    finally:
        clear_events(files, prefix)


def clear_events(files: AnyFiles, prefix: str) -> None:
    """Remove what was staged under a prefix."""
    for name in files.list(STAGED):
        if f"{STAGED}/{name}".startswith(prefix):
            files.remove(f"{STAGED}/{name}")
