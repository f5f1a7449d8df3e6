"""ClickHouse in the process, by chdb: a MergeTree with a partition a slot, sorted by key and time.

The oldest partition is dropped. New parts and their folder are synced (`fsync_after_insert`,
`fsync_part_directory`), which ClickHouse does not do by itself. The sparse index has an entry for
each 1,024 rows instead of 8,192, since a probe reads whole granules; labels are of low cardinality
and are declared so. `settle` merges each partition into one part. Answers are asked for as Arrow
tables. A probe of one key has nothing to share out among threads, so it gets one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from chdb.session import Session

from bench.race.contestant import Contestant, Sums, listed, start_date, start_text, sums_of
from bench.workload import SCHEMA

TABLE = """
create table race.entries (
  key Int64, at DateTime64(6, 'UTC'), amount Float64, units Int32, label LowCardinality(String)
) engine = MergeTree partition by toDate(at) order by (key, at)
settings fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 1024
"""
ONE_THREAD = " settings max_threads = 1"


class ClickHouse(Contestant):
    name = "clickhouse"

    def reopen(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._session = Session(str(folder / "race.chdb"))
        self._run = self._session.query

    def create(self, folder: Path, window: int) -> None:
        self.reopen(folder, window)
        self._run("create database race engine = Atomic")
        self._run(TABLE)

    def load(self, tables: Sequence[pa.Table]) -> None:
        self._insert(pa.concat_tables(tables))

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._insert(table)
        self._run(f"alter table race.entries drop partition '{start_date(old_slot)}'")

    def _insert(self, arriving: pa.Table) -> None:
        """Insert a table, which chdb finds by the name of the variable."""
        # chdb takes columns of one piece only.
        arriving = arriving.combine_chunks()
        self._run("insert into race.entries select * from Python(arriving)")

    def settle(self) -> None:
        self._run("optimize table race.entries final settings optimize_skip_merged_partitions = 1")

    def probe(self, key: int) -> pa.Table:
        return self._ask(f"select * from race.entries where key = {key}{ONE_THREAD}")

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        since = f"toDateTime64('{start_text(since_slot)[:19]}', 6, 'UTC')"
        select = f"select * from race.entries where key = {key} and at >= {since}{ONE_THREAD}"
        return self._ask(select)

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        return self._ask(f"select * from race.entries where key in ({listed(keys)})")

    def grouped_sum(self) -> Sums:
        return sums_of(
            self._ask("select label, sum(units), sum(amount) from race.entries group by label")
        )

    def count_rows(self) -> int:
        # The number that is kept for each part would answer without a look at the rows.
        counted = self._ask("select count() from race.entries where units >= 0")
        return counted.column(0)[0].as_py()

    def version(self) -> str:
        return self._ask("select version()").column(0)[0].as_py()

    def close(self) -> None:
        self._session.close()

    def _ask(self, select: str) -> pa.Table:
        found = self._run(select, "ArrowTable")
        return found if found.num_columns else SCHEMA.empty_table()
