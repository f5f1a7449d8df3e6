"""Appending and amending data frames: rows staged by one Spark job, and the plan carried out over the shards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from wavedex.engine.base import Engine
from wavedex.engine.local import LocalEngine
from wavedex.engine.shard import Workshop
from wavedex.engine.spark import SparkEngine
from wavedex.errors import SchemaMismatch
from wavedex.index import appending
from wavedex.index.appending import Appended
from wavedex.index.surroundings import Surroundings
from wavedex.index.wave import WaveIndex
from wavedex.spark.frames import bring_frame
from wavedex.spark.sessions import session

Path = str | os.PathLike[str]


def append(
    path: Path | WaveIndex,
    frame: DataFrame,
    slot: Any = None,
    *,
    marks: Mapping[str, str] | None = None,
) -> Appended:
    """Append the rows of a data frame, of any number of slots, as `WaveIndex.append` does.

    A column of lists where the index has single keys is exploded. `marks` are noted in the same commit. Raises what
    `WaveIndex.append` raises, and SparkFailed; the index is then as it was.
    """
    index = on_spark(path, frame.sparkSession)
    number = None if slot is None else index.slot_number(slot)
    bring = bring_frame(index, frame, number)
    return appending.append(index.writer, bring, number, marks)


def amend(path: Path | WaveIndex, frame: DataFrame, slot: Any = None) -> Appended:
    """Add late rows to slots that are still in the window, as `WaveIndex.amend` does."""
    index = on_spark(path, frame.sparkSession)
    number = None if slot is None else index.slot_number(slot)
    bring = bring_frame(index, frame, number)
    return appending.amend(index.writer, bring)


def open(path: Path, spark: SparkSession | None = None) -> WaveIndex:  # noqa: A001 - as wavedex.open
    """The index at a path, whose plans are carried out by Spark: for a migration or an erase of many rows, say.

    The session is the one that `session` makes, if none is given.
    """
    return on_spark(path, spark or session())


def on_spark(path: Path | WaveIndex, spark: SparkSession) -> WaveIndex:
    """The index, with its plans carried out by Spark.

    Files that are updated in place are left to this process: a task that everybody has given up may still write, and in
    place it would write into what others have published since.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise SchemaMismatch(
            "This data frame is one of Spark Connect, whose tasks cannot write here. Use a classic session, or "
            "write it with df.write.format('wavedex')."
        )
    if isinstance(path, WaveIndex):
        path = path.path
    engine = partial(_engine, spark)
    return WaveIndex.open(path, surroundings=Surroundings(engine=engine))


def _engine(spark: SparkSession, workshop: Workshop, shards: int) -> Engine:
    if workshop.technique.writes_into_files:
        return LocalEngine(workshop, shards)
    return SparkEngine(workshop, shards, spark.sparkContext)
