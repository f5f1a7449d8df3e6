"""Refreshing lifetime indexes with data frames: rows staged by one Spark job, and the grid's plan carried out over the shards.

Where windows are counted, the frame is looked at before: how far the streams have come must be known to the tasks that
guess when rows end. It is kept meanwhile, so that what is read then is what was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from wavedex import slots
from wavedex.errors import NotAnIndex
from wavedex.index.core.arrival import Bring, cast_column
from wavedex.index.core.turns import Turn
from wavedex.index.lifetime import feed as life_feeding
from wavedex.index.lifetime import refresh as refreshing
from wavedex.index.lifetime.counted import at_instant, check_counted, follow
from wavedex.index.lifetime.definition import At, LifeDefinition
from wavedex.index.lifetime.feed import Seen, at_seen
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.log.manifest import Manifest
from wavedex.spark.engine import spark_errors
from wavedex.spark.frames import check_frame, column, staging
from wavedex.spark.opening import Path, on_spark


def update(
    path: Path | LifetimeIndex,
    now: Any,
    frame: DataFrame,
    arrived: Mapping[str, int] | None = None,
) -> Refreshed:
    """One refresh with the rows of a data frame, as `LifetimeIndex.update` does.

    A column of lists where the index has single keys is exploded. Raises what `LifetimeIndex.update` raises, NotAnIndex
    where it is of another kind, and SparkFailed; the index is then as it was.
    """
    index = on_spark(path, frame.sparkSession)
    if not isinstance(index, LifetimeIndex):
        raise NotAnIndex(f"{index.path} is no lifetime index. Use append.")
    instant = index.instant(now)
    counted = check_counted(index.definition, arrived)
    frame = check_frame(index.definition, frame, index.definition.unguessed)

    def at(manifest: Manifest) -> At:
        definition = index.definition_at(manifest)
        return at_instant(definition, instant, follow(definition, manifest, instant, counted))

    return refreshing.update(index.writer, instant, _bring(index, frame, at), counted)


def append(
    index: LifetimeIndex, frame: DataFrame, marks: Mapping[str, str] | None = None
) -> Refreshed:
    """One refresh with rows that say what the time is. REQUIRES: Spark carries out the plans of the index."""
    with _looked_at(index, frame) as (rows, seen):
        return life_feeding.append(index.writer, _bring_seen(index, rows, seen), seen, marks)


def feed(index: LifetimeIndex, frame: DataFrame, turn: Turn) -> Refreshed:
    """The next batch of a stream. REQUIRES: Spark carries out the plans of the index."""
    with _looked_at(index, frame) as (rows, seen):
        return life_feeding.feed(index.writer, _bring_seen(index, rows, seen), turn, seen)


def _bring_seen(index: LifetimeIndex, frame: DataFrame, seen: Seen | None) -> Bring:
    return _bring(index, frame, lambda m: at_seen(index.definition_at(m), m, seen))


def _bring(index: LifetimeIndex, frame: DataFrame, at: Callable[[Manifest], At]) -> Bring:
    """Stages the rows of a frame while the writer's lock is held."""
    return lambda manifest: staging(index, frame, at(manifest), manifest)


@contextmanager
def _looked_at(index: LifetimeIndex, frame: DataFrame) -> Iterator[tuple[DataFrame, Seen | None]]:
    """The frame with one row a key, and where windows are counted what its rows say. Raises SchemaMismatch and its kin."""
    definition = index.definition
    frame = check_frame(definition, frame, definition.unguessed)
    if not definition.counts:
        yield frame, None
        return
    frame.persist()
    try:
        with spark_errors(f"looking at rows for {index.path}"):
            seen = _look(definition, frame)
        yield frame, seen
    finally:
        frame.unpersist()


def _look(definition: LifeDefinition, frame: DataFrame) -> Seen:
    """What those rows of a frame say of time that have a key."""
    names = [definition.time, *definition.counts]
    has_key = reduce(and_, (column(name).isNotNull() for name in definition.key_names))
    largest = [sf.max(column(name)).alias(f"c{place}") for place, name in enumerate(names)]
    found = frame.where(has_key).agg(*largest).toArrow()
    if found.column(0).null_count:
        return Seen(None)
    # Where no row has a position, the task that stages them says so.
    ends = (
        cast_column(
            found.column(place), definition.schema.field(name), definition.zone
        ).combine_chunks()
        for place, name in enumerate(names)
    )
    latest, *positions = (0 if each.null_count else int(slots.ordinals(each)[0]) for each in ends)
    return Seen(latest, dict(zip(definition.counts, positions, strict=True)))
