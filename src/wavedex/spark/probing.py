"""Probing from Spark: a frame of keys joined with an index, by probing its shards and without scanning it.

The keys are brought together by shard, as the rows of an append are; each task opens its own shards' files and looks its
keys up. Nothing of the index is shuffled, and shards without a key are not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from wavedex.errors import CommitGone, MissingColumn, SchemaMismatch
from wavedex.index.arriving import family
from wavedex.index.definition import Definition
from wavedex.index.snapshot import Snapshot
from wavedex.index.wave import WaveIndex
from wavedex.log import Log
from wavedex.spark.frames import by_shard, column, shard_column
from wavedex.spark.types import arrow_schema, for_spark, spark_schema, spark_type
from wavedex.spark.writing import Path
from wavedex.store.arrow import to_arrow
from wavedex.store.order import spread_ranges, stable_order
from wavedex.store.reading import shard_of


def probe(
    path: Path,
    keys: DataFrame,
    *,
    on: str | None = None,
    since: Any = None,
    until: Any = None,
    columns: Sequence[str] | None = None,
    how: str = "inner",
) -> DataFrame:
    """The rows of a frame, each with every entry that the index has for its key.

    `on` is the column of keys in the frame, the index's own key if not given. `columns` are those of the index that are
    added; all but the key if not given. With how="left" a row without an entry stays, with nulls. The window is that of
    the newest commit when this is called.
    """
    index = WaveIndex.open(path)
    definition = index.definition
    on = on or definition.key
    if on not in keys.columns:
        raise MissingColumn(f"The frame has no column {on!r}. It has {', '.join(keys.columns)}.")
    if how not in ("inner", "left"):
        raise SchemaMismatch(f"how={how!r} is none of 'inner', 'left'.")
    if columns is None:
        columns = [name for name in definition.schema.names if name != definition.key]
    snapshot = index.snapshot()
    columns = snapshot.names(columns)
    _check_key(definition, keys.schema[on])
    added = spark_schema(pa.schema([definition.schema.field(name) for name in columns]))
    both = set(added.names) & set(keys.columns)
    if both:
        raise SchemaMismatch(
            f"The frame and the index both have the column {min(both)!r}. Rename one, or choose columns=."
        )
    definition.slotting.bounds(since, until)
    schema = StructType([*keys.schema.fields, *added.fields])
    shard = shard_column(definition, column(on))
    task = _probe_task(index.path, snapshot.commit, on, since, until, columns, how, schema)
    return by_shard(keys, sf.coalesce(shard, sf.lit(0)), definition.shards).mapInArrow(task, schema)


def _check_key(definition: Definition, given: StructField) -> None:
    """Raise SchemaMismatch where no value of the frame's column could be a key."""
    field = definition.schema.field(definition.key)
    kind = arrow_schema(StructType([given])).field(0).type
    shown = pt.is_uint64(field.type) and given.dataType == spark_type(field)
    if family(kind) != family(field.type) and not shown:
        raise SchemaMismatch(
            f"Column {given.name!r} is of type {kind}, and the keys of the index are of type {field.type}. Cast it "
            "before you probe."
        )


def _probe_task(
    path: str,
    commit: int,
    on: str,
    since: Any,
    until: Any,
    columns: list[str],
    how: str,
    schema: StructType,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        snapshots: dict[int, Snapshot] = {}
        index = WaveIndex.open(path)
        key = index.definition.schema.field(index.definition.key)
        read = [key.name, *(name for name in columns if name != key.name)]
        for batch in batches:
            rows = pa.Table.from_batches([batch]).rename_columns(schema.names[: batch.num_columns])
            keys = _as_keys(rows.column(on).combine_chunks(), key.type)
            found = _probe_shards(index, commit, snapshots, keys.drop_null(), since, until, read)
            yield from for_spark(_joined(rows, keys, found, key.name, columns, how), schema)

    return run


def _as_keys(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values as keys of the index; null where it cannot have such a key."""
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, kind)
        middle = len(values) // 2
        halves = values.slice(0, middle), values.slice(middle)
        return pa.concat_arrays([_as_keys(half, kind) for half in halves])


def _probe_shards(
    index: WaveIndex,
    commit: int,
    snapshots: dict[int, Snapshot],
    keys: pa.Array,
    since: Any,
    until: Any,
    columns: list[str],
) -> pa.Table:
    """The entries of the keys, from the shards that can have them."""
    definition = index.definition
    owners = shard_of(definition.spec.key_type.hash_array(keys), definition.shards)
    answers = [definition.schema.empty_table().select(columns)]
    for shard in np.unique(owners).tolist():
        if shard not in snapshots:
            snapshots[shard] = open_commit(index, commit, shard)
        mine = keys.filter(to_arrow(owners == shard))
        answers.append(snapshots[shard].probe_many(mine, since, until, columns))
    return pa.concat_tables(answers)


def open_commit(index: WaveIndex, commit: int, shard: int) -> Snapshot:
    """One shard of the index at a commit. Raises CommitGone."""
    try:
        manifest = Log(index.storage).read(commit).only(shard)
        return Snapshot(index.definition, index.storage, manifest)
    except FileNotFoundError as error:
        raise CommitGone(
            f"Commit {commit} of {index.path} was removed while it was read. Run the job again, or create the "
            "index with a larger keep_commits."
        ) from error


def _joined(
    rows: pa.Table, keys: pa.Array, found: pa.Table, key: str, columns: list[str], how: str
) -> pa.Table:
    """Each row beside each of the entries of its key."""
    distinct = pc.unique(keys.drop_null())
    places = pc.fill_null(pc.index_in(found.column(key), distinct), -1).to_numpy()
    order = stable_order(places)
    counts = (
        np.bincount(places, minlength=len(distinct))
        if len(places)
        else np.zeros(len(distinct), np.int64)
    )
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    mine = pc.fill_null(pc.index_in(keys, distinct), -1).to_numpy()
    # A row whose key is null has place -1, for which the last, made-up, place stands.
    counts, starts = np.append(counts, 0)[mine], np.append(starts, 0)[mine]
    entries = found.take(to_arrow(order[spread_ranges(starts, counts)])).select(columns)
    left = rows.take(to_arrow(np.repeat(np.arange(rows.num_rows), counts)))
    for name in columns:
        left = left.append_column(name, entries.column(name))
    if how == "inner":
        return left
    alone = rows.filter(to_arrow(counts == 0))
    for name in columns:
        alone = alone.append_column(name, pa.nulls(alone.num_rows, entries.column(name).type))
    return pa.concat_tables([left, alone])
