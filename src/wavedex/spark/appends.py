"""Data frames into an index: one Spark job stages the rows, and the shards carry out the plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from wavedex.errors import BadDefinition
from wavedex.index.kinds import kind_of
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.index.lifetime.retraction import Matching
from wavedex.index.opening import AnyIndex
from wavedex.index.wave.append import Appended
from wavedex.spark.engine import spark_errors
from wavedex.spark.frames import FrameDelivery
from wavedex.spark.opening import Path, on_spark, open_on


def append(
    path: Path | AnyIndex,
    frame: DataFrame,
    slot: Any = None,
    *,
    marks: Mapping[str, str] | None = None,
    wait: Any = None,
    prepare: str | None = None,
) -> Appended | Refreshed:
    """Append the rows of a data frame, of any number of slots, as `WaveIndex.append` does.

    A column of lists where the index has single keys is exploded. `marks` are noted in the same
    commit. `wait` and `prepare` are as there. What is prepared in the background stays owed where
    the session is stopped before it is done. Raises what `WaveIndex.append` raises, and
    SparkFailed; the index is then as it was.

    A lifetime index is refreshed with the rows. Its instant is then the latest insertion time among
    them, or that of the last refresh if that is later. With counted windows each stream has come to
    the largest position among them. Raises GapTooLarge where that would be further ahead than
    anything in it lives: `update` takes an instant of one's own.
    """
    index = _opened(path, frame)
    rows = FrameDelivery(frame, marks)
    return kind_of(index).append(index, rows, slot, wait=wait, prepare=prepare)


def amend(
    path: Path | AnyIndex,
    frame: DataFrame,
    slot: Any = None,
    *,
    wait: Any = None,
    prepare: str | None = None,
) -> Appended:
    """Add late rows to slots that are still in the window, as `WaveIndex.amend` does."""
    index = _opened(path, frame)
    return kind_of(index).amend(index, FrameDelivery(frame), slot, wait=wait, prepare=prepare)


def update(
    path: Path | AnyIndex,
    now: Any,
    frame: DataFrame,
    arrived: Mapping[str, int] | None = None,
    *,
    wait: Any = None,
    prepare: str | None = None,
) -> Refreshed:
    """One refresh with the rows of a data frame, as `LifetimeIndex.update` does.

    A column of lists where the index has single keys is exploded. Raises what
    `LifetimeIndex.update` raises, NotAnIndex where it is of another kind, and SparkFailed. The
    index is then as it was.
    """
    index = _opened(path, frame)
    rows = FrameDelivery(frame)
    return kind_of(index).update(index, rows, now, arrived, wait=wait, prepare=prepare)


def apply(
    path: Path | AnyIndex,
    now: Any,
    *,
    insert: DataFrame | None = None,
    retract: DataFrame | Matching | None = None,
    prolong: DataFrame | None = None,
    rows: DataFrame | None = None,
    by: str | None = None,
    arrived: Mapping[str, int] | None = None,
    stream: str | None = None,
    number: int | None = None,
    takeover: bool = False,
    wait: Any = None,
    prepare: str | None = None,
) -> Refreshed:
    """One refresh in one commit, as `LifetimeIndex.apply` does.

    The rows of `insert` are staged by a job of Spark's. Those that are retracted or get another end
    are collected, since each is looked up. For all living rows that agree with those of a frame,
    give `retract=wavedex.matching(frame)`.

    Instead of these three, `rows` may have all of them, where the column `by` says of each what is
    to be done: "insert", "retract" or "prolong", or 1 and -1.

    Raises what `LifetimeIndex.apply` raises, NotAnIndex where the index is of another kind,
    BadDefinition where there is no frame, and SparkFailed. The index is then as it was.
    """
    meant = retract.rows if isinstance(retract, Matching) else retract
    frames = (insert, meant, prolong, rows)
    frame = next((each for each in frames if isinstance(each, DataFrame)), None)
    if frame is None:
        raise BadDefinition(
            "No data frame of Spark is given. Use wavedex.open(path).apply for other rows."
        )
    index = _opened(path, frame)
    with spark_errors(f"looking at rows for {index.path}"):
        done: Refreshed = kind_of(index).apply(
            index,
            now,
            insert=insert,
            retract=retract,
            prolong=prolong,
            rows=rows,
            by=by,
            arrived=arrived,
            stream=stream,
            number=number,
            takeover=takeover,
            wait=wait,
            prepare=prepare,
        )
    return done


def _opened(path: Path | AnyIndex, frame: DataFrame) -> AnyIndex:
    """The index, with its plans carried out by Spark."""
    spark = frame.sparkSession
    return open_on(path, spark) if isinstance(path, str | os.PathLike) else on_spark(path, spark)
