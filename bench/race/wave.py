"""Wavedex itself: two schemes, two update techniques, and Parquet files.

Four sub-indexes, which is the default. `slide` is the plain call, which returns when the slot lasts
and can be queried; a thread then prepares for the next one. `settle` waits for it and removes the
files of the commit before. The grouped sum is DuckDB over the three columns of a scan, grouped by
the codes of the text, and then joined with its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa

import wavedex as wx
from bench.grouping import connect, grouped_sum
from bench.race.contestant import Contestant, Sums
from bench.workload import SCHEMA

INDEXES = 4


class Wave(Contestant):
    """An index with one scheme, update technique and format."""

    scheme: str
    update: str
    format = "arrow"

    def reopen(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._idx = wx.open(folder / "race.wx")

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return connect()

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
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
        )

    def load(self, tables: Sequence[pa.Table]) -> None:
        self._idx.append(pa.concat_tables(tables))

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._idx.append(table, prepare="background")

    def settle(self) -> None:
        self._idx.close()
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
        self._idx.close()
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
