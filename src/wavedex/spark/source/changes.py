"""The change feed: each row with +1 when it comes and -1 when it goes, in any kind of index.

It is read in batch and as a stream. An offset of the stream is a commit. The stream begins with all
that is there as having come, or with what follows the newest commit or another one (`starting`). It
goes on for as long as the commits between two batches are kept: with the name of a follower, until
they were read. A task reads what some commits changed in one shard, and has it in order; a stream
that needs the order of all sorts by `_commit` and `_at`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from wavedex.errors import BadDefinition, BadPosition
from wavedex.index.core.changes import Position, Step, read_position
from wavedex.index.core.follower import Follower
from wavedex.index.opening import open_index
from wavedex.log.manifest import Log
from wavedex.spark.types import for_spark
from wavedex.store.databases.server_address import Trust

RUNS_MAX = 64
"""How many tasks read one shard. A stream that is far behind has a run of commits in each."""
_NOTHING = -1
"""The offset before the first commit."""


@dataclass
class Change(InputPartition):
    """What some commits changed, one after the other, in one shard."""

    commits: list[tuple[int | None, int]]
    """Each commit, after the one before it."""
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

    def __init__(
        self, path: str, schema: StructType, starting: str, follower: str | None = None
    ) -> None:
        """`follower` is the name under which the index keeps what was not read."""
        self.since = None if starting in ("window", "latest") else _position(starting)
        self.path = path
        self.trust = Trust.mine()
        self.schema = schema
        self.starting = starting
        self.follower = follower

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's
        """Nothing seen, or all that is there, or all up to some commit."""
        if self.since is not None:
            return {"commit": self._begin_after(self.since)}
        return {"commit": _NOTHING if self.starting == "window" else self._begin()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The newest commit. With the first of them a follower begins."""
        begins = start["commit"] == _NOTHING
        return {"commit": self._begin() if begins else self._newest()}

    def commit(self, end: dict[str, int]) -> None:
        """All up to there is done with."""
        reader = self._reader()
        if reader is not None and (reader.position is None or reader.position < end["commit"]):
            reader.advance(end["commit"])

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Change]:
        self.trust.extend()
        since = None if start["commit"] == _NOTHING else start["commit"]
        return _find(self.path, since, end["commit"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        self.trust.extend()
        return _read(self.path, self.schema, partition)

    def _newest(self) -> int:
        return Log(open_index(self.path).storage).commits()[-1]

    def _begin(self) -> int:
        """The newest commit, which a follower has kept from then on."""
        reader = self._reader()
        return self._newest() if reader is None else reader.reach()

    def _begin_after(self, since: Position) -> int:
        """The commit that is meant, which a follower goes on from. Raises CommitGone."""
        reader = self._reader()
        feed = open_index(self.path).change_feed
        if reader is None:
            feed.find(since, None)  # Raises where it cannot be followed from there.
        else:
            reader.move(since)
        return feed.commit_of(since)

    def _reader(self) -> Follower | None:
        self.trust.extend()
        return None if self.follower is None else open_index(self.path).follow(self.follower)


def _position(starting: str) -> Position:
    """Where a stream is to begin. Raises BadDefinition."""
    try:
        return read_position(starting)
    except BadPosition:
        raise BadDefinition(
            f"The option starting is {starting!r}. Say window, latest, the number of a commit, "
            "such as 41, or a stream and the number of a batch, such as orders:17."
        ) from None


def _find(path: str, since: Position | None, until: Position | None) -> list[Change]:
    """The tasks: each has a run of commits, so that there are not too many of them."""
    steps = open_index(path).change_feed.find(since, until)
    run = -(-len(steps) // RUNS_MAX)
    found = []
    for first in range(0, len(steps), max(run, 1)):
        shards: defaultdict[int, list[tuple[int | None, int]]] = defaultdict(list)
        for step in steps[first : first + run]:
            for shard in step.shards:
                shards[shard].append((step.since, step.commit))
        found += [Change(commits, shard) for shard, commits in sorted(shards.items())]
    return found


def _read(path: str, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    if not isinstance(partition, Change):
        return  # Spark reads one partition of its own where there is none.
    steps = [Step(since, commit, (partition.shard,)) for since, commit in partition.commits]
    for batch in open_index(path).change_feed.read(steps):
        yield from for_spark(batch, schema)
