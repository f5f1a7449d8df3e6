"""DuckDB: one table in a database file, with an index (an adaptive radix tree) on the key.

Rows are kept in time order, so that slots lie in row groups of their own and a delete, or a probe
of the last slots, passes over all others by their smallest and largest times. Answers are asked for
as relations, which hand over Arrow without a further copy; many keys are joined as a table, which
was three times as fast as `in`. A transition is one transaction, which is synced when it commits; a
checkpoint follows in `settle`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from bench.measure import GROUPED_SUM
from bench.race.contestant import Contestant, Sums, start_text

PROBE = "select * from entries where key = {}"


class DuckDb(Contestant):
    name = "duckdb"

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._connection = duckdb.connect(folder / "race.duckdb")
        self._run = self._connection.execute
        self._run("set timezone = 'UTC'")

    def reopen(self, folder: Path, window: int) -> None:
        self.create(folder, window)

    def load(self, tables: Sequence[pa.Table]) -> None:
        self._connection.register("arriving", pa.concat_tables(tables))
        self._run("create table entries as from arriving")
        self._run("create index entries_key on entries (key)")
        self._connection.unregister("arriving")

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._connection.register("arriving", table)
        self._run("begin")
        self._run(f"delete from entries where \"at\" < timestamptz '{start_text(old_slot + 1)}'")
        self._run("insert into entries from arriving")
        self._run("commit")
        self._connection.unregister("arriving")

    def settle(self) -> None:
        self._run("checkpoint")

    def probe(self, key: int) -> pa.Table:
        return self._ask(PROBE.format(key))

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        since = f"timestamptz '{start_text(since_slot)}'"
        return self._ask(f'{PROBE.format(key)} and "at" >= {since}')

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        self._connection.register("wanted", pa.table({"wanted": keys}))
        return self._ask("select entries.* from entries join wanted on key = wanted")

    def grouped_sum(self) -> Sums:
        return self._run(GROUPED_SUM).fetchall()

    def count_rows(self) -> int:
        return self._run("select count(*) from entries").fetchall()[0][0]

    def version(self) -> str:
        return duckdb.__version__

    def close(self) -> None:
        self._connection.close()

    def _ask(self, select: str) -> pa.Table:
        return self._connection.sql(select).to_arrow_table()
