"""Reading the window: one partition for each shard and sub-index that can hold an answer.

What is to be read is said by options: keys, spans of time, columns. Filters are evaluated by Spark
alone. It would hand them over (`pushFilters`), but Spark 4.3 keeps the reader that has them with
the relation, for all scans of it. Two branches of a union would both get the filters of the second,
and rows would be missing.

A partition carries the parts that it reads, so all of them are of one commit. Spark plans each
mention of a frame in a query in a process of its own, even at the same time. So the commit is
chosen before: when the frame is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from wavedex.index.core.definition import Definition
from wavedex.index.opening import AnyIndex, open_index
from wavedex.index.reading.asked import Asked
from wavedex.index.reading.snapshot import Snapshot
from wavedex.log.manifest import Manifest
from wavedex.spark.held_commit import HeldCommit, hold_newest
from wavedex.spark.types import for_spark
from wavedex.store.databases.server_address import Trust
from wavedex.store.shard import shard_of_one


@dataclass(frozen=True)
class Wanted:
    """What is asked of the window, as `scan` and `probe_many` take it."""

    keys: tuple[Any, ...] | None = None
    """None for all."""
    since: str | None = None
    until: str | None = None
    expired: bool = False
    shorten: Any = None


@dataclass
class WindowPiece(InputPartition):
    """One sub-index of one shard."""

    manifest: bytes
    """A manifest of nothing else."""
    files: int
    """How many files it opens."""
    held: HeldCommit


class WindowReader(DataSourceReader):
    """Reads the window of the newest commit.

    For a lifetime index, it can also answer as if the windows were shorter.
    """

    def __init__(
        self, path: str, schema: StructType, wanted: Wanted, held: HeldCommit | None = None
    ) -> None:
        """`held` is the commit at which the frame stays.

        Without it, the newest is read each time it is planned.
        """
        self.held = held
        self.path = path
        self.trust = Trust.mine()
        self.schema = schema
        self.wanted = wanted

    def _open(self) -> AnyIndex:
        """The index, in whichever process this is."""
        self.trust.extend()
        return open_index(self.path)

    def partitions(self) -> list[WindowPiece]:
        index = self._open()
        if self.held is None:
            return self._pieces(index, *hold_newest(index))
        with self.held.reading(index):
            return self._pieces(index, self.held.manifest(index), self.held)

    def _pieces(self, index: AnyIndex, manifest: Manifest, held: HeldCommit) -> list[WindowPiece]:
        wanted = self.wanted
        asked = Asked(wanted.since, wanted.until, expired=wanted.expired)
        pieces = []
        for name in manifest.shown:
            for shard in self._shards(index.definition_at(manifest)):
                piece = manifest.only(shard, name)
                opened = index.at(piece).seen(wanted.shorten)
                targets = opened.targets(shard, asked)
                if targets:
                    files = sum(len(target.part.files) for target, _ in targets)
                    pieces.append(WindowPiece(piece.to_bytes(), files, held))
        return pieces

    def _shards(self, definition: Definition) -> Iterable[int]:
        if self.wanted.keys is None:
            return range(definition.shards)
        kind = definition.spec.key_type
        hashes = kind.hash_array(kind.array(self.wanted.keys)).tolist()
        return sorted({shard_of_one(hashed, definition.shards) for hashed in hashes})

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, WindowPiece):
            return  # Spark reads one partition of its own where there is none.
        index = self._open()
        manifest = Manifest.from_bytes(partition.manifest, "a partition")
        with partition.held.reading(index):
            snapshot = index.at(manifest).seen(self.wanted.shorten)
            for table in self._ask(snapshot):
                yield from for_spark(table, self.schema)

    def _ask(self, snapshot: Snapshot) -> Iterable[pa.Table | pa.RecordBatch]:
        wanted = self.wanted
        names = self.schema.names
        times: dict[str, Any] = {
            "since": wanted.since,
            "until": wanted.until,
            "expired": wanted.expired,
        }
        if wanted.keys is not None:
            return [snapshot.probe_many(wanted.keys, columns=names, **times)]
        return snapshot.scan(columns=names, **times)
