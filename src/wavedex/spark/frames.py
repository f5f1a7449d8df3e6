"""Data frames into staged parts: the one job of an append.

The rows are checked against the index before anything runs. One shuffle brings them together by
shard, and each task writes a packed part for every shard it has. What a task says of its parts
comes back as one line of JSON. What is wrong with its rows comes back the same way, by name, so
that Spark does not try them three more times.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any, cast

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import ArrayType

from wavedex import errors, slots
from wavedex.errors import WavedexError
from wavedex.files.names import DATA, base_of, stem_prefix
from wavedex.index.core.arrival import Arriving, Bring, arrive, cast_column
from wavedex.index.core.definition import Definition
from wavedex.index.core.delivery import H, Holder, Instructed, Offer
from wavedex.index.core.instructions import INSERT, check_instructions, sort_out
from wavedex.index.core.staged import Staged, clearing, gather, stage
from wavedex.index.opening import AnyIndex, open_index
from wavedex.log.manifest import Manifest
from wavedex.spark.batches import uncounted_bytes
from wavedex.spark.engine import spark_errors
from wavedex.spark.opening import on_spark
from wavedex.spark.types import arrow_schema, spark_type
from wavedex.store.databases.server_address import Trust


class FrameDelivery(Offer):
    """The rows of a data frame."""

    def __init__(self, frame: DataFrame, marks: Mapping[str, str] | None = None) -> None:
        self._frame = frame
        self.marks = marks or {}

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self._frame.schema)

    def check(self, created: Definition) -> None:
        check_frame(created, self._frame, created.unguessed)

    def working(self, index: H) -> H:
        return on_spark(index, self._frame.sparkSession)

    def ready(self, index: Holder, at: Any) -> Bring:
        frame = check_frame(_held(index).definition, self._frame, at)
        return lambda manifest: staging(_held(index), frame, at, manifest)

    def waiting(self, index: Holder, at: Callable[[Manifest], Any]) -> Bring:
        definition = _held(index).definition
        frame = check_frame(definition, self._frame, definition.unguessed)
        return lambda manifest: staging(_held(index), frame, at(manifest), manifest)

    @contextmanager
    def held(self, index: Holder) -> Iterator[None]:
        """The frame is kept, so that what is read then is what was looked at."""
        definition = _held(index).definition
        check_frame(definition, self._frame, definition.unguessed)
        self._frame.persist()
        try:
            yield
        finally:
            self._frame.unpersist()

    @contextmanager
    def sorted_out(self, index: Holder, by: str) -> Iterator[Instructed]:
        """The rows that come stay a frame; the others are collected, since each is looked up."""
        frame = self._frame
        check_instructions(by, frame.columns)
        comes = sf.coalesce(column(by).cast("string").isin(*INSERT), sf.lit(False))
        frame.persist()
        try:
            with spark_errors(f"looking at rows for {_held(index).path}"):
                others = frame.where(~comes).toArrow()
            _, retract, prolong = sort_out(others, by)
            insert = FrameDelivery(frame.where(comes).drop(by), self.marks)
            yield Instructed(insert, retract, prolong)
        finally:
            frame.unpersist()

    def largest(self, index: Holder, names: Sequence[str]) -> list[int] | None:
        held = _held(index)
        definition = held.definition
        has_key = reduce(and_, (column(name).isNotNull() for name in definition.key_names))
        tops = [sf.max(column(name)).alias(f"c{place}") for place, name in enumerate(names)]
        frame = check_frame(definition, self._frame, definition.unguessed)
        with spark_errors(f"looking at rows for {held.path}"):
            found = frame.where(has_key).agg(*tops).toArrow()
        if found.column(0).null_count:
            return None
        ends = (
            cast_column(
                found.column(place), definition.schema.field(name), definition.zone
            ).combine_chunks()
            for place, name in enumerate(names)
        )
        # Where no row has a position, the task that stages them says so.
        return [0 if each.null_count else int(slots.ordinals(each)[0]) for each in ends]


def _held(index: Holder) -> AnyIndex:
    """An index that somebody holds: Spark's rows go into no other."""
    return cast(AnyIndex, index)


@contextmanager
def staging(index: AnyIndex, frame: DataFrame, at: Any, manifest: Manifest) -> Iterator[Arriving]:
    """Stages the rows of a frame.

    `at` is what was said of their time, as the kind of index takes it.
    REQUIRES: `check_frame` has passed the frame, the writer's lock is held, and `manifest` is the
    newest.
    """
    files = index.storage
    definition = index.definition_at(manifest)
    prefix = stem_prefix(manifest.commit + 1, secrets.token_hex(4))

    def mine() -> Iterator[str]:
        return (name for name in files.names_in(DATA) if base_of(name).startswith(prefix))

    with clearing(files, mine, since=manifest.commit + 1):
        yield gather(definition, _run(index.path, definition, frame, at, f"{DATA}/{prefix}"))


def check_frame(definition: Definition, frame: DataFrame, at: Any) -> DataFrame:
    """The frame with one row a key.

    Raises SchemaMismatch, MissingColumn or BadTime where it does not fit.
    """
    arrive(arrow_schema(frame.schema).empty_table(), definition, at)
    for name in definition.key_names:
        if isinstance(frame.schema[name].dataType, ArrayType):
            frame = _exploded(frame, name, definition.position)
    return frame


def _exploded(frame: DataFrame, name: str, position: str | None) -> DataFrame:
    """A row for each value of a list, with its place there where that is kept."""
    if position is None:
        return frame.withColumn(name, sf.explode(column(name)))
    others = [column(other) for other in frame.columns if other != name]
    return frame.select(*others, sf.posexplode(column(name)).alias(position, name))


def column(name: str) -> Column:
    """The column of that very name, whatever is in it."""
    return sf.col("`{}`".format(name.replace("`", "``")))


def shard_column(definition: Definition, keys: Sequence[Column]) -> Column:
    """The shard of each key, as Python has it; any shard for a key that the index cannot have."""
    kinds = (spark_type(definition.schema.field(name)) for name in definition.key_names)
    hashed = sf.xxhash64(*(key.try_cast(kind) for key, kind in zip(keys, kinds, strict=True)))
    return sf.pmod(hashed, sf.lit(definition.shards)).cast("int")


def by_shard(frame: DataFrame, shard: Column, shards: int) -> DataFrame:
    """The rows of a shard in one task.

    Where Spark is set to fewer partitions, a task has several shards. The columns are named by
    their places: `mapInArrow` takes a name with a dot in it for a path.
    """
    wanted = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or shards)
    count = min(shards, wanted)
    together = frame.repartitionById(count, sf.pmod(shard, sf.lit(count)))
    return together.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def _run(path: str, definition: Definition, frame: DataFrame, at: Any, prefix: str) -> list[Staged]:
    shards = shard_column(definition, [*map(column, definition.key_names)])
    task = _stage_task(path, frame.columns, definition.at_to_json(at), prefix)
    with spark_errors(f"staging rows for {path}"), uncounted_bytes(frame.sparkSession):
        messages = (
            by_shard(frame, shards, definition.shards).mapInArrow(task, "said string").collect()
        )
    return [Staged.from_json(said) for said in map(heard, messages)]


def _stage_task(
    path: str, names: list[str], at: Any, prefix: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    trust = Trust.mine()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        trust.extend()
        rows = [batch for batch in batches if batch.num_rows]
        if rows:
            context = TaskContext.get()
            assert context is not None
            stem = f"{prefix}-{context.taskAttemptId():x}"
            table = pa.Table.from_batches(rows).rename_columns(names)
            yield said(lambda: stage_at(path, table, at, stem))

    return run


def stage_at(path: str, rows: pa.Table, at: Any, stem: str) -> dict[str, Any]:
    """Stage rows on whichever machine this is.

    `at` is what was said of their time, as plain JSON.
    """
    index = open_index(path)
    definition = index.definition
    return stage(index.storage, definition, rows, definition.at_from_json(at), stem).to_json()


def said(work: Callable[[], dict[str, Any]]) -> pa.RecordBatch:
    """What a task answers: what its work gave, or what is wrong, as one line."""
    try:
        answer = work()
    except WavedexError as error:
        answer = errors.tell(error)
    return pa.RecordBatch.from_pylist([{"said": json.dumps(answer)}])


def heard(row: Any) -> dict[str, Any]:
    """The answer of a task. Raises what was wrong there."""
    answer: dict[str, Any] = json.loads(row.said)
    if "error" in answer:
        raise errors.told(answer)
    return answer
