"""The change feed: each row with +1 when it comes and -1 when it goes, in any kind of index.

It is read in batch and as a stream. An offset of the stream is a commit. The stream begins with all
that is there as having come, or with what follows the newest commit (`starting` = "latest"). It
goes on for as long as the commits between two batches are kept. A task reads what one commit
changed in one shard, and has it in order; a stream that needs the order of all sorts by `_at`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from wavedex.errors import BadDefinition
from wavedex.index.core.changes import Position, Step
from wavedex.index.opening import open_index
from wavedex.log.manifest import Log
from wavedex.spark.types import for_spark
from wavedex.store.databases.server_address import Trust

_NOTHING = -1
"""The offset before the first commit."""


@dataclass
class Change(InputPartition):
    """What one commit changed in one shard."""

    since: int | None
    commit: int
    shard: int


class ChangeReader(DataSourceReader):
    """Reads the changes between two commits."""

    def __init__(
        self, path: str, schema: StructType, since: Position | None, until: Position | None
    ) -> None:
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
        return Log(open_index(self.path).storage).commits()[-1]


def _find(path: str, since: Position | None, until: Position | None) -> list[Change]:
    return [
        Change(each.since, each.commit, each.shards[0])
        for step in open_index(path).change_feed.find(since, until)
        for each in step.apart
    ]


def _read(path: str, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, Change):
        return  # Spark reads one partition of its own where there is none.
    step = Step(partition.since, partition.commit, (partition.shard,))
    for batch in open_index(path).change_feed.read([step]):
        yield from for_spark(batch, schema)
