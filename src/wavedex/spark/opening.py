"""Opening an index of any kind with Spark to carry out its plans."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from wavedex.engine.base import Engine
from wavedex.engine.local import LocalEngine
from wavedex.engine.workshop import Workshop
from wavedex.errors import SchemaMismatch
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.opening import AnyIndex, open_index
from wavedex.index.wave.index import WaveIndex
from wavedex.spark.engine import SparkEngine
from wavedex.spark.sessions import session

Path = str | os.PathLike[str]


def open(path: Path, spark: SparkSession | None = None) -> Any:  # noqa: A001 - as wavedex.open
    """The index at a path, whose plans are carried out by Spark: for a migration or an erase of many rows, say.

    It is a WaveIndex or a LifetimeIndex, as it was created. The session is the one that `session` makes, if none is given.
    """
    return on_spark(path, spark or session())


def on_spark(path: Path | AnyIndex, spark: SparkSession) -> AnyIndex:
    """The index, with its plans carried out by Spark.

    Files that are updated in place are left to this process: a task that everybody has given up may still write, and in
    place it would write into what others have published since.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise SchemaMismatch(
            "This data frame is one of Spark Connect, whose tasks cannot write here. Use a classic session, or "
            "write it with df.write.format('wavedex')."
        )
    if isinstance(path, WaveIndex | LifetimeIndex):
        path = path.path
    engine = partial(_engine, spark)
    return open_index(path, surroundings=Surroundings(engine=engine))


def _engine(spark: SparkSession, workshop: Workshop, shards: int) -> Engine:
    if workshop.technique.writes_into_files:
        return LocalEngine(workshop, shards)
    return SparkEngine(workshop, shards, spark.sparkContext)
