"""The change feed: each row with +1 when it enters the window and -1 when it leaves it.

It is read in batch and as a stream. An offset of the stream is a commit. The stream begins with the
whole window as entered, or with what comes after the newest commit (`starting` = "latest"). It goes
on for as long as the commits between two batches are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from wavedex.errors import BadDefinition
from wavedex.index.wave.changes import ShardChange
from wavedex.index.wave.index import WaveIndex
from wavedex.log.manifest import Log
from wavedex.spark.types import for_spark
from wavedex.store.databases.server_address import Trust
from wavedex.store.part import Part

_NOTHING = -1
"""The offset before the first commit."""


@dataclass
class Change(InputPartition):
    """What one commit changed in one shard."""

    since: int | None
    commit: int
    shard: int
    entered: list[dict[str, Any]]
    left: list[dict[str, Any]]


class ChangeReader(DataSourceReader):
    """Reads the changes between two commits."""

    def __init__(self, path: str, schema: StructType, since: int | None, until: int | None) -> None:
        self.path = path
        self.trust = Trust.mine()
        self.schema = schema
        self.since = since
        self.until = until

    def partitions(self) -> list[Change]:
        self.trust.extend()
        return _find(self.path, self.since, self.until)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        self.trust.extend()
        return _read(self.path, self.schema, partition)


class ChangeStream(DataSourceStreamReader):
    """Follows the changes."""

    def __init__(self, path: str, schema: StructType, starting: str) -> None:
        if starting not in ("window", "latest"):
            raise BadDefinition(f"The option starting is {starting!r}. Say window or latest.")
        self.path = path
        self.trust = Trust.mine()
        self.schema = schema
        self.starting = starting

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's
        """Nothing seen, or all that is there."""
        return {"commit": _NOTHING if self.starting == "window" else self._newest()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The newest commit."""
        return {"commit": self._newest()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Change]:
        self.trust.extend()
        since = None if start["commit"] == _NOTHING else start["commit"]
        return _find(self.path, since, end["commit"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        self.trust.extend()
        return _read(self.path, self.schema, partition)

    def _newest(self) -> int:
        return Log(WaveIndex.open(self.path).storage).commits()[-1]


def _find(path: str, since: int | None, until: int | None) -> list[Change]:
    return [
        Change(
            change.since,
            change.commit,
            change.shard,
            [part.to_json() for part in change.entered],
            [part.to_json() for part in change.left],
        )
        for change in WaveIndex.open(path).change_feed.find(since, until)
    ]


def _read(path: str, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, Change):
        return  # Spark reads one partition of its own where there is none.
    change = ShardChange(
        partition.since,
        partition.commit,
        partition.shard,
        tuple(map(Part.from_json, partition.entered)),
        tuple(map(Part.from_json, partition.left)),
    )
    for batch in WaveIndex.open(path).change_feed.read([change]):
        yield from for_spark(batch, schema)
