"""Wavedex itself: two schemes, two update techniques, and Parquet files.

Four sub-indexes, which is the default. `append` commits the new slot and then prepares for the next
one in the same call. Other readers see the slot as soon as its commit is there, so `slide` runs
`append` in a thread and returns when the folder of the log has been synced for the first time;
`settle` waits for the rest and removes the files of the commit before. The grouped sum is DuckDB
over the three columns of a scan, grouped by the codes of the text, and then joined with its words.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa

import wavedex as wx
from bench.grouping import connect, grouped_sum
from bench.race.contestant import Contestant, Sums
from bench.workload import SCHEMA
from wavedex.files.local import Files
from wavedex.files.names import LOG

INDEXES = 4


class FilesThatTell(Files):
    """The disk, which says when a commit has become durable."""

    def __init__(self, root: str | os.PathLike[str], durable: threading.Event) -> None:
        super().__init__(root)
        self._durable = durable

    def sync_folder(self, name: str) -> None:
        super().sync_folder(name)
        if name == LOG:
            self._durable.set()


class Wave(Contestant):
    """An index with one scheme, update technique and format."""

    scheme: str
    update: str
    format = "arrow"

    def reopen(self, folder: Path, window: int) -> None:
        self._begin(folder, window)
        self._idx = wx.open(folder / "race.wx")

    def _begin(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._durable = threading.Event()
        self._appender = ThreadPoolExecutor(max_workers=1)
        self._append: Future[object] | None = None

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return connect()

    def create(self, folder: Path, window: int) -> None:
        self._begin(folder, window)
        self._idx = wx.WaveIndex.create(
            folder / "race.wx",
            SCHEMA,
            key="key",
            time="at",
            window=window,
            indexes=INDEXES,
            scheme=self.scheme,
            update=self.update,
            format=self.format,
            surroundings=wx.Surroundings(files=lambda root: FilesThatTell(root, self._durable)),
        )

    def load(self, tables: Sequence[pa.Table]) -> None:
        self._idx.append(pa.concat_tables(tables))

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._durable.clear()
        self._append = self._appender.submit(self._idx.append, table)
        # An append that fails is over without a commit.
        self._append.add_done_callback(lambda _: self._durable.set())
        self._durable.wait()
        if self._append.done():
            self._append.result()

    def settle(self) -> None:
        if self._append is not None:
            self._append.result()
        self._idx.vacuum()

    def probe(self, key: int) -> pa.Table:
        return self._idx.probe(key)

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        return self._idx.probe(key, since_slot)

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        return self._idx.probe_many(keys)

    def grouped_sum(self) -> Sums:
        return grouped_sum(self._idx, self._connection)

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self._idx.scan(columns=["key"]))

    def version(self) -> str:
        return wx.__version__

    def close(self) -> None:
        self._appender.shutdown()
        self._connection.close()


class WataRuns(Wave):
    name = "wata-runs"
    scheme, update = "wata", "runs"


class WataPackedShadow(Wave):
    name = "wata-packed-shadow"
    scheme, update = "wata", "packed-shadow"


class RataRuns(Wave):
    name = "rata-runs"
    scheme, update = "rata", "runs"


class RataPackedShadow(Wave):
    name = "rata-packed-shadow"
    scheme, update = "rata", "packed-shadow"


class WataRunsParquet(Wave):
    name = "wata-runs-parquet"
    scheme, update = "wata", "runs"
    format = "parquet"
