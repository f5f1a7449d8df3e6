"""Small rows for the tests of Spark, and what must stay as it was when something is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from wavedex.log.manifest import Log

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


def create(path: Path, schema: pa.Schema = SCHEMA, **options: Any) -> wx.WaveIndex:
    """An index of five slots of ten."""
    wanted = {"key": "k", "time": "t", "slot": 10, "window": 5, "indexes": 2, **options}
    return wx.WaveIndex.create(path, schema, **wanted)


def rows(*slots: int, keys: int = 7) -> pa.Table:
    """A row for each key in each slot."""
    found = [
        {"k": key, "t": slot * 10 + key % 10, "v": f"{slot}-{key}"}
        for slot in slots
        for key in range(keys)
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows as a data frame, in two partitions."""
    return spark.createDataFrame(table).repartition(2)


def scanned(index: wx.WaveIndex, **asked: Any) -> list[dict[str, Any]]:
    """All rows of the window."""
    return index.scan(**asked).read_all().to_pylist()


def collected(frame: DataFrame) -> list[dict[str, Any]]:
    """All rows of a frame."""
    return [row.asDict() for row in frame.collect()]


def state(index: wx.WaveIndex) -> tuple[Any, ...]:
    """What a change that is refused must leave alone."""
    fresh = wx.open(index.path)
    found = sorted(map(repr, scanned(fresh)))
    return Log(fresh.storage).commits(), fresh.sub_indexes, found


def unnamed(index: wx.WaveIndex) -> set[str]:
    """The files of rows that no kept commit names."""
    log = Log(index.storage)
    named = {name for commit in log.commits() for name in log.read(commit).files}
    lying = {f"{folder}/{n}" for folder in ("data", "staged") for n in index.storage.list(folder)}
    return lying - named


class Source:
    """A folder of files that Spark follows as a stream.

    Each file is a batch, in the order in which they were sent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True)
        self.sent = 0

    def send(self, table: pa.Table) -> None:
        """Put a file there, a second younger than the one before: Spark sorts them by time.

        It appears whole and with its time: once a stream has seen a file of today, it passes over
        those that are a week older.
        """
        self.sent += 1
        path = self.folder / f"{self.sent:03d}.parquet"
        hidden = self.folder / f".{path.name}"
        pq.write_table(table, hidden)
        os.utime(hidden, (1_700_000_000 + self.sent,) * 2)
        hidden.rename(path)

    def stream(self, spark: SparkSession, ddl: str = "k bigint, t bigint, v string") -> DataFrame:
        """The rows of all files, one after the other."""
        return (
            spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1).parquet(str(self.folder))
        )
