"""Appending and amending data frames: rows staged by one Spark job, and the plan carried out over the shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from wavedex.errors import BadDefinition, BadTime
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.index.opening import AnyIndex
from wavedex.index.wave import append as appending
from wavedex.index.wave.append import Appended
from wavedex.spark import refresh as refreshing
from wavedex.spark.frames import bring_frame
from wavedex.spark.opening import Path, on_spark


def append(
    path: Path | AnyIndex,
    frame: DataFrame,
    slot: Any = None,
    *,
    marks: Mapping[str, str] | None = None,
) -> Appended | Refreshed:
    """Append the rows of a data frame, of any number of slots, as `WaveIndex.append` does.

    A column of lists where the index has single keys is exploded. `marks` are noted in the same commit. Raises what
    `WaveIndex.append` raises, and SparkFailed; the index is then as it was.

    A lifetime index is refreshed with the rows. Its instant is then the latest insertion time among them, or that of the
    last refresh if that is later; with counted windows each stream has come to the largest position among them. Raises
    GapTooLarge where that would be further ahead than anything in it lives: `update` takes an instant of one's own.
    """
    index = on_spark(path, frame.sparkSession)
    if isinstance(index, LifetimeIndex):
        if slot is not None:
            raise BadTime(
                "slot= is for wave indexes. Leave it out, or use update(path, now, frame)."
            )
        return refreshing.append(index, frame, marks)
    number = None if slot is None else index.slot_number(slot)
    bring = bring_frame(index, frame, number)
    return appending.append(index.writer, bring, number, marks)


def amend(path: Path | AnyIndex, frame: DataFrame, slot: Any = None) -> Appended:
    """Add late rows to slots that are still in the window, as `WaveIndex.amend` does."""
    index = on_spark(path, frame.sparkSession)
    if isinstance(index, LifetimeIndex):
        raise BadDefinition(
            "Rows of a lifetime index may come late without more ado. Use append, or update(path, now, frame)."
        )
    number = None if slot is None else index.slot_number(slot)
    bring = bring_frame(index, frame, number)
    return appending.amend(index.writer, bring)
