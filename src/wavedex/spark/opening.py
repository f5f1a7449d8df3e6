"""Opening an index of any kind with Spark to carry out its plans."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from pyspark.sql import SparkSession

from wavedex.engine.base import Engine
from wavedex.engine.local import LocalEngine
from wavedex.engine.workshop import Workshop
from wavedex.errors import SchemaMismatch
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.opening import AnyIndex, open_index
from wavedex.spark.engine import SparkEngine
from wavedex.spark.sessions import session

Path = str | os.PathLike[str]
Index = TypeVar("Index")


def open(path: Path, spark: SparkSession | None = None) -> AnyIndex:  # noqa: A001 - as wavedex.open
    """The index at a path, whose plans are carried out by Spark.

    Use it for a migration or an erase of many rows, say. It is a WaveIndex or a LifetimeIndex, as
    it was created. If no session is given, it is the one that `session` makes.
    """
    return open_on(path, spark or session())


@dataclass(frozen=True)
class Engines:
    """Makes engines that run on a session of Spark.

    Files that are updated in place are left to this process. A task that everybody has given up may
    still write, and in place it would write into what others have published since.
    """

    spark: SparkSession

    def __call__(self, workshop: Workshop, shards: int) -> Engine:
        """The engine for an index."""
        if workshop.technique.writes_into_files:
            return LocalEngine(workshop, shards)
        return SparkEngine(workshop, shards, self.spark)


def open_on(path: Path, spark: SparkSession, around: Surroundings | None = None) -> AnyIndex:
    """The index at a path, with its plans carried out by Spark. All else is as in `around`."""
    check_classic(spark)
    around = replace(around or Surroundings(), engine=Engines(spark))
    return open_index(path, surroundings=around)


def check_classic(spark: SparkSession) -> None:
    """Raise SchemaMismatch for a session of Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise SchemaMismatch(
            "This data frame is one of Spark Connect, whose tasks cannot write here. Use a classic "
            "session, or write it with df.write.format('wavedex')."
        )


def on_spark(index: Index, spark: SparkSession) -> Index:
    """The same index with its plans carried out by Spark."""
    held = cast(AnyIndex, index)
    if held.surroundings.engine == Engines(spark):
        return index
    return cast(Index, open_on(held.path, spark, held.surroundings))
