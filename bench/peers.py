"""The same rows in SQLite and DuckDB, in the same run, so that the figures can be read as ratios.

SQLite keeps the window in one table with an index on the key, in WAL mode and with every commit synced, and replaces the
oldest slot by the newest in one transaction; the old rows are deleted by their row numbers, which is the cheapest way it
has. DuckDB keeps the window in one table of a database file. Their answers are checked like those of an index.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.measure import (
    GROUPED_SUM,
    check_sums,
    expect,
    measure_probes,
    repeat,
    spread,
)
from bench.workload import SCHEMA, Workload

TRANSITIONS_MAX = 2
"""The peers begin later and so end with the same window as an index; a transition of SQLite takes seconds."""
SQLITE_SUM = GROUPED_SUM.replace("::bigint", "")


def measure_sqlite(path: Path, work: Workload, window: int) -> dict[str, Any]:
    """Transitions, probes and a grouped sum."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        run = connection.execute
        run("pragma journal_mode=wal")
        run("pragma synchronous=full")
        run("create table entries (key int, at int, amount real, units int, label text)")
        run("begin")
        slots = work.slots[-window - TRANSITIONS_MAX :]
        for table in slots[:window]:
            _insert(connection, table)
        run("create index entries_key on entries (key)")
        run("commit")
        rows = work.slots[0].num_rows
        laps = []
        for place, table in enumerate(slots[window:]):
            begun = time.perf_counter()
            run("begin")
            run(
                "delete from entries where rowid between ? and ?",
                (place * rows + 1, (place + 1) * rows),
            )
            _insert(connection, table)
            run("commit")
            laps.append((time.perf_counter() - begun) * 1e3)
        answers = work.window(len(work.slots) - 1, window)
        select = "select * from entries where key = ?"
        probes = measure_probes(
            lambda key: run(select, (key,)).fetchall(), work.probes, answers, _to_table
        )
        scan, sums = repeat(lambda: run(SQLITE_SUM).fetchall())
        check_sums(sums, answers)
        run("pragma wal_checkpoint(truncate)")
    return {
        "peer": "sqlite",
        "workload": work.name,
        "transition_ms": spread(laps),
        "probe_us": probes,
        "scan_ms": scan,
        "disk_per_raw": path.stat().st_size / answers.rows.nbytes,
        "checked": True,
    }


def measure_duckdb(path: Path, work: Workload, window: int) -> dict[str, Any]:
    """Transitions and a grouped sum."""
    with duckdb.connect(path) as connection:
        slots = work.slots[-window - TRANSITIONS_MAX :]
        connection.register("arriving", pa.concat_tables(slots[:window]))
        connection.execute("create table entries as from arriving")
        laps = []
        for old, table in zip(slots, slots[window:], strict=False):
            begun = time.perf_counter()
            connection.register("arriving", table)
            connection.execute("begin")
            connection.execute('delete from entries where "at" <= ?', [old["at"][-1].as_py()])
            connection.execute("insert into entries from arriving")
            connection.execute("commit")
            laps.append((time.perf_counter() - begun) * 1e3)
        answers = work.window(len(work.slots) - 1, window)
        count = connection.sql("select count(*) from entries").fetchall()[0][0]
        expect(count == answers.rows.num_rows, "duckdb's transitions")
        scan, sums = repeat(lambda: connection.sql(GROUPED_SUM).fetchall())
        check_sums(sums, answers)
        connection.execute("checkpoint")
    return {
        "peer": "duckdb",
        "workload": work.name,
        "transition_ms": spread(laps),
        "scan_ms": scan,
        "disk_per_raw": path.stat().st_size / answers.rows.nbytes,
        "checked": True,
    }


def _insert(connection: sqlite3.Connection, table: pa.Table) -> None:
    columns = [column.to_pylist() for column in _plain(table).columns]
    insert = "insert into entries values (?, ?, ?, ?, ?)"
    connection.executemany(insert, zip(*columns, strict=True))


def _plain(table: pa.Table) -> pa.Table:
    """With times as the numbers that SQLite stores."""
    place = SCHEMA.get_field_index("at")
    return table.set_column(place, "at", table["at"].cast(pa.int64()))


def _to_table(rows: list[tuple[Any, ...]]) -> pa.Table:
    if not rows:
        return SCHEMA.empty_table()
    columns = [
        pa.array(values, kind)
        for values, kind in zip(zip(*rows, strict=True), SCHEMA.types, strict=True)
    ]
    return pa.table(columns, schema=SCHEMA)
