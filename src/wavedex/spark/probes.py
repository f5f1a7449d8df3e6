"""Probing from Spark: a frame of keys is joined with an index by probing, without a scan.

The keys are brought together by shard, as the rows of an append are. Each task opens its own
shards' files and looks its keys up. Nothing of the index is shuffled, and shards without a key are
not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from wavedex.errors import MissingColumn, SchemaMismatch
from wavedex.index.core.arrival import family
from wavedex.index.core.definition import Definition
from wavedex.index.opening import AnyIndex, open_index
from wavedex.index.reading.snapshot import Snapshot
from wavedex.log.manifest import Manifest
from wavedex.rows.arrow import to_arrow, to_numpy
from wavedex.rows.entries import EntrySpec
from wavedex.rows.order import spread_ranges, stable_order
from wavedex.spark.frames import by_shard, column, shard_column
from wavedex.spark.held_commit import HeldCommit, hold_newest
from wavedex.spark.opening import Path
from wavedex.spark.types import arrow_schema, for_spark, spark_schema, spark_type
from wavedex.store.databases.server_address import Trust
from wavedex.store.shard import shard_of


def probe(
    path: Path,
    keys: DataFrame,
    *,
    on: str | Sequence[str] | None = None,
    since: Any = None,
    until: Any = None,
    columns: Sequence[str] | None = None,
    how: str = "inner",
    shorten: Any = None,
) -> DataFrame:
    """The rows of a frame, each with every entry that the index has for its key.

    `on` is the column of keys in the frame, or the columns; if not given, the index's own.
    `columns` are those of the index that are added; if not given, all but the key.
    With how="left" a row without an entry stays, with nulls.
    The window is that of the newest commit when this is called, and the frame stays at it.
    `shorten` is as in `LifetimeIndex.probe`.
    """
    index = open_index(path)
    newest, held = hold_newest(index)
    snapshot = index.at(newest).seen(shorten)
    definition = snapshot.definition
    names = _columns_of_keys(on, definition)
    for name in names:
        if name not in keys.columns:
            raise MissingColumn(
                f"The frame has no column {name!r}. It has {', '.join(keys.columns)}."
            )
    if how not in ("inner", "left"):
        raise SchemaMismatch(f"how={how!r} is none of 'inner', 'left'.")
    if columns is None:
        columns = [name for name in definition.schema.names if name not in definition.key_names]
    columns = snapshot.names(columns)
    for name, own in zip(names, definition.key_names, strict=True):
        _check_key(definition.schema.field(own), keys.schema[name])
    added = spark_schema(pa.schema([definition.schema.field(name) for name in columns]))
    both = set(added.names) & set(keys.columns)
    if both:
        raise SchemaMismatch(
            f"The frame and the index both have the column {min(both)!r}. "
            "Rename one, or choose columns=."
        )
    definition.slotting.bounds(since, until)
    schema = StructType([*keys.schema.fields, *added.fields])
    shard = shard_column(definition, [*map(column, names)])
    asked = {"since": since, "until": until, "shorten": shorten}
    task = _probe_task(index.path, held, names, asked, columns, how, schema)
    return by_shard(keys, sf.coalesce(shard, sf.lit(0)), definition.shards).mapInArrow(task, schema)


def _columns_of_keys(on: str | Sequence[str] | None, definition: Definition) -> list[str]:
    """The columns of the frame that are the key's, in their order. Raises SchemaMismatch."""
    names = definition.key_names if on is None else (on,) if isinstance(on, str) else tuple(on)
    if len(names) != len(definition.key_names):
        raise SchemaMismatch(
            f"on={on!r}: the keys of the index are ({', '.join(definition.key_names)}). "
            "Name as many columns."
        )
    return list(names)


def _check_key(field: pa.Field, given: StructField) -> None:
    """Raise SchemaMismatch if no value of the frame's column could be a key, or a part of one."""
    kind = arrow_schema(StructType([given])).field(0).type
    shown = pt.is_uint64(field.type) and given.dataType == spark_type(field)
    if family(kind) != family(field.type) and not shown:
        raise SchemaMismatch(
            f"Column {given.name!r} is of type {kind}, and the keys of the index are of type "
            f"{field.type}. Cast it before you probe."
        )


def _probe_task(
    path: str,
    held: HeldCommit,
    on: list[str],
    asked: dict[str, Any],
    columns: list[str],
    how: str,
    schema: StructType,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    trust = Trust.mine()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        trust.extend()
        snapshots: dict[int, Snapshot] = {}
        index = open_index(path)
        whole = held.manifest(index)
        spec = index.definition_at(whole).spec
        own = list(spec.key_names)
        read = [*own, *(name for name in columns if name not in own)]
        for batch in batches:
            rows = pa.Table.from_batches([batch]).rename_columns(schema.names[: batch.num_columns])
            given = [
                _as_keys(rows.column(name).combine_chunks(), spec.schema.field(mine).type)
                for name, mine in zip(on, own, strict=True)
            ]
            has_key = to_numpy(reduce(pc.and_, map(pc.is_valid, given)))
            keys = spec.key_of([column.filter(to_arrow(has_key)) for column in given])
            with held.reading(index):
                found = _probe_shards(index, whole, snapshots, keys, asked, read)
            yield from for_spark(_joined(rows, has_key, keys, found, spec, columns, how), schema)

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
    index: AnyIndex,
    manifest: Manifest,
    snapshots: dict[int, Snapshot],
    keys: pa.Array,
    asked: dict[str, Any],
    columns: list[str],
) -> pa.Table:
    """The entries of the keys, from the shards that can have them."""
    definition = index.definition_at(manifest)
    owners = shard_of(definition.spec.key_type.hash_array(keys), definition.shards)
    answers = [definition.schema.empty_table().select(columns)]
    for shard in np.unique(owners).tolist():
        if shard not in snapshots:
            snapshots[shard] = index.at(manifest.only(shard)).seen(asked["shorten"])
        mine = keys.filter(to_arrow(owners == shard))
        answers.append(snapshots[shard].probe_many(mine, asked["since"], asked["until"], columns))
    return pa.concat_tables(answers)


def _joined(
    rows: pa.Table,
    has_key: npt.NDArray[np.bool_],
    keys: pa.Array,
    found: pa.Table,
    spec: EntrySpec,
    columns: list[str],
    how: str,
) -> pa.Table:
    """Each row beside each entry of its key; `keys` are those of the rows that have one."""
    own = spec.key_of([found.column(name).combine_chunks() for name in spec.key_names])
    ranks = spec.key_type.ranks(pa.concat_arrays([own, keys]))
    distinct, places = np.unique(ranks, return_inverse=True)
    order = stable_order(places[: len(own)])
    counts = np.bincount(places[: len(own)], minlength=len(distinct))
    starts = np.cumsum(counts) - counts
    mine = np.full(rows.num_rows, -1)
    mine[has_key] = places[len(own) :]
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
