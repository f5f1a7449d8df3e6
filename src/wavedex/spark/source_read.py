"""Reading the window: one partition for each shard and sub-index that can hold an answer.

Where they may be pushed down, filters on the key and on the time are turned into probes and spans of time, so that other
shards and sub-indexes are not opened; Spark evaluates whatever is left. A partition carries the parts that it reads, so
that all of them are of the one commit which was the newest when the query was planned. Spark keeps the partitions with the
frame, so that a later query over the same frame may see the commit of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from wavedex.errors import CommitGone
from wavedex.index.definition import Definition
from wavedex.index.life_snapshot import shortened
from wavedex.index.opening import open_index
from wavedex.index.snapshot import Snapshot
from wavedex.log import Manifest
from wavedex.spark.pushdown import Wanted, push
from wavedex.spark.types import for_spark
from wavedex.store.reading import shard_of_one


@dataclass
class Piece(InputPartition):
    """One sub-index of one shard, as a manifest of nothing else; `files` is how many files it opens."""

    manifest: bytes
    files: int


class WindowReader(DataSourceReader):
    """Reads the window of the newest commit; of a lifetime index also as a query with shorter windows sees it."""

    def __init__(
        self,
        path: str,
        schema: StructType,
        *,
        since: str | None,
        until: str | None,
        expired: bool,
        shorten: Any = None,
    ) -> None:
        self.path = path
        self.schema = schema
        self.expired = expired
        self.shorten = shorten
        self.wanted = Wanted(since=since, until=until)

    def partitions(self) -> list[Piece]:
        index = open_index(self.path)
        snapshot = index.snapshot()
        shards = self._shards(snapshot.definition)
        pieces = []
        for name in snapshot.manifest.shown:
            for shard in shards:
                piece = snapshot.manifest.only(shard, name)
                opened = shortened(index.at(piece), self.shorten)
                targets = opened.targets(shard, self.wanted.since, self.wanted.until, self.expired)
                if targets:
                    files = sum(len(target.part.files) for target, _ in targets)
                    pieces.append(Piece(piece.to_bytes(), files))
        return pieces

    def _shards(self, definition: Definition) -> Iterable[int]:
        if self.wanted.keys is None:
            return range(definition.shards)
        kind = definition.spec.key_type
        hashes = kind.hash_array(kind.array(self.wanted.keys)).tolist()
        return sorted({shard_of_one(hashed, definition.shards) for hashed in hashes})

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Piece):
            return  # Spark reads one partition of its own where there is none.
        index = open_index(self.path)
        manifest = Manifest.from_bytes(partition.manifest, "a partition")
        try:
            snapshot = shortened(index.at(manifest), self.shorten)
            for table in self._ask(snapshot):
                yield from for_spark(table, self.schema)
        except FileNotFoundError as error:
            raise CommitGone(
                f"Commit {manifest.commit} of {self.path}, which was the newest when the frame was first asked, is "
                "not kept any more. Load it again, or create the index with a larger keep_commits."
            ) from error

    def _ask(self, snapshot: Snapshot) -> Iterable[pa.Table | pa.RecordBatch]:
        wanted = self.wanted
        names = self.schema.names
        times: dict[str, Any] = {
            "since": wanted.since,
            "until": wanted.until,
            "expired": self.expired,
        }
        if wanted.keys is not None:
            return [snapshot.probe_many(wanted.keys, columns=names, **times)]
        if wanted.low is not None and wanted.high is not None:
            return [snapshot.probe_range(wanted.low, wanted.high, columns=names, **times)]
        return snapshot.scan(columns=names, **times)


class PushingReader(WindowReader):
    """The same for one query, whose filters choose what is opened."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's
        """Take the filters that narrow what is read, and hand back those that Spark must still evaluate."""
        definition = open_index(self.path).definition
        self.wanted, left = push(filters, definition, self.wanted)
        return left
