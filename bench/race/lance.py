"""Lance: one dataset with a fragment a slot and a scalar index (BTREE) on the key.

Rows of a slot are written in the order of keys, so that the rows of one key lie together. A
transition deletes the rows of the oldest slot, with which its fragment goes, and appends the new
one, in a commit each. Until the index has taken up the new fragment, which is left to `settle`, a
probe scans that one; answers are right either way. `settle` also compacts, in vain as long as each
slot is a fragment, and removes old versions.

Lance leaves its files to the system, so they are synced here. The grouped sum is DuckDB over a scan
of three columns.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import duckdb
import lance
import pyarrow as pa

from bench.measure import GROUPED_SUM
from bench.race.contestant import Contestant, Sums, listed, start_date
from bench.race.disk import Syncer

ROWS_MAX = 1 << 24
"""More than a slot has, so that a slot is one file."""


class Lance(Contestant):
    name = "lance"

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._path = folder / "race.lance"
        self._syncer = Syncer(folder)
        self._connection = duckdb.connect()

    def reopen(self, folder: Path, window: int) -> None:
        self.create(folder, window)
        self._dataset = lance.dataset(self._path)

    def load(self, tables: Sequence[pa.Table]) -> None:
        for place, table in enumerate(tables):
            self._write(table, "append" if place else "create")
        self._slot_rows = max(table.num_rows for table in tables)
        self._dataset.create_scalar_index("key", "BTREE")
        self._syncer.sync()

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._dataset.delete(f"at < {_timestamp(old_slot + 1)}")
        self._write(table, "append")
        self._syncer.sync()

    def _write(self, table: pa.Table, mode: str) -> None:
        rows = table.sort_by("key")
        self._dataset = lance.write_dataset(rows, self._path, mode=mode, max_rows_per_file=ROWS_MAX)

    def settle(self) -> None:
        self._dataset.optimize.compact_files(target_rows_per_fragment=self._slot_rows)
        self._dataset.optimize.optimize_indices()
        self._dataset.cleanup_old_versions(older_than=dt.timedelta(0))
        self._dataset = lance.dataset(self._path)
        self._syncer.sync()

    def probe(self, key: int) -> pa.Table:
        return self._find(f"key = {key}")

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        return self._find(f"key = {key} and at >= {_timestamp(since_slot)}")

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        return self._find(f"key in ({listed(keys)})")

    def grouped_sum(self) -> Sums:
        scanner = self._dataset.scanner(columns=["label", "units", "amount"])
        self._connection.register("entries", scanner.to_reader())
        return self._connection.sql(GROUPED_SUM).fetchall()

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self._dataset.to_batches(columns=["key"]))

    def version(self) -> str:
        return lance.__version__

    def close(self) -> None:
        self._connection.close()

    def _find(self, condition: str) -> pa.Table:
        # Narrow columns are read with the filter rather than after it.
        return self._dataset.scanner(filter=condition, late_materialization=False).to_table()


def _timestamp(slot: int) -> str:
    return f"timestamp '{start_date(slot)} 00:00:00'"
