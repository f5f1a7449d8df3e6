"""Delta Lake by delta-rs.

A partition a slot, files sorted by key, queries by its own engine (DataFusion). A transition is one
commit that overwrites the partitions of the oldest and of the newest slot with the new rows: the
old file goes without being read. Files are sorted by key before they are written, as Z-ordering by
one column would leave them, and have row groups of 8,192 rows, whose smallest and largest keys let
a probe pass over nearly all of them. The table's own QueryBuilder answered probes and sums faster
than pyarrow's dataset did.

Delta-rs leaves its files to the system, so they are synced here. `settle` removes files that are no
longer named and makes a checkpoint of the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, WriterProperties, write_deltalake

from bench.race.contestant import Contestant, Sums, listed, slot_of, start_date, sums_of
from bench.race.disk import Syncer

COLUMNS = "key, at, amount, units, label"
WRITER = WriterProperties(max_row_group_size=8192, compression="ZSTD", compression_level=3)


class Delta(Contestant):
    name = "delta"

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._path = folder / "race.delta"
        self._syncer = Syncer(folder)

    def reopen(self, folder: Path, window: int) -> None:
        self.create(folder, window)
        self._see()

    def load(self, tables: Sequence[pa.Table]) -> None:
        for table in tables:
            self._write(table, mode="append")
        self._see()

    def slide(self, table: pa.Table, old_slot: int) -> None:
        days = (start_date(old_slot), start_date(slot_of(table)))
        replaced = " or ".join(f"day = '{day}'" for day in days)
        self._write(table, mode="overwrite", predicate=replaced)
        self._see()

    def _write(self, table: pa.Table, **options: Any) -> None:
        rows = table.append_column("day", table["at"].cast(pa.date32())).sort_by("key")
        options |= {"partition_by": ["day"], "writer_properties": WRITER}
        write_deltalake(self._path, rows, **options)

    def _see(self) -> None:
        """Sync, and have the next query see the newest commit."""
        self._syncer.sync()
        self._table = DeltaTable(self._path)
        self._builder = QueryBuilder().register("entries", self._table)

    def settle(self) -> None:
        self._table.create_checkpoint()
        self._table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
        self._see()

    def probe(self, key: int) -> pa.Table:
        return self._ask(f"select {COLUMNS} from entries where key = {key}")

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        since = f"day >= date '{start_date(since_slot)}'"
        return self._ask(f"select {COLUMNS} from entries where key = {key} and {since}")

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        return self._ask(f"select {COLUMNS} from entries where key in ({listed(keys)})")

    def grouped_sum(self) -> Sums:
        return sums_of(
            self._ask("select label, sum(units), sum(amount) from entries group by label")
        )

    def count_rows(self) -> int:
        # The number that is kept for each file would answer without a look at the rows.
        return self._ask("select count(*) from entries where units >= 0").column(0)[0].as_py()

    def version(self) -> str:
        return version("deltalake")

    def _ask(self, select: str) -> pa.Table:
        return pa.table(self._builder.execute(select).read_all())
