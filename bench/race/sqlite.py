"""SQLite, by the module that comes with Python.

One table with an index on the key, and a table a slot. Both write ahead (WAL) and sync every commit
(`synchronous=full`), with 256 MB of page cache. A transition is one transaction; the log is emptied
into the database afterwards, in `settle`.

- *One table.* Slots are deleted by ranges of row numbers, the cheapest way there is, since rows are
  inserted in time order.
- *A table a slot.* Rows are inserted in the order of keys and the index is made afterwards, which
  is several times as fast as to insert into one; the oldest table is dropped. A probe is one
  prepared `union all` over all tables, which was faster than a statement for each.

SQLite knows no Arrow. Rows go in and come out as Python's tuples, and that is what most of its
times are.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.race.contestant import Contestant, Sums, listed, slot_of, start_us
from bench.workload import SCHEMA

COLUMNS = '(key int, "at" int, amount real, units int, label text)'
CACHE_KIB = 256 * 1024
SUMS = "select label, sum(units), sum(amount) from ({}) group by label"


class Sqlite(Contestant):
    """What both layouts have in common."""

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        # Without a check of threads, as all calls come from one.
        # Transactions begin where it says so.
        self._connection = sqlite3.connect(folder / "race.db", isolation_level=None)
        self._run = self._connection.execute
        self._run("pragma journal_mode=wal")
        self._run("pragma synchronous=full")
        self._run(f"pragma cache_size=-{CACHE_KIB}")

    @abstractmethod
    def _rows(self, columns: str, since_slot: int | None = None) -> str:
        """A query for columns of all rows, ready for a condition where it has `{}`."""

    def settle(self) -> None:
        self._run("pragma wal_checkpoint(truncate)")

    def probe(self, key: int) -> pa.Table:
        return self._ask(self._whole, key)

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        # Keys stand in the text: SQLite allows a few hundred parameters only.
        select = self._rows("*").format(f"key in ({listed(keys)})")
        return to_table(self._run(select).fetchall())

    def grouped_sum(self) -> Sums:
        return self._run(SUMS.format(self._rows("label, units, amount").format("true"))).fetchall()

    def count_rows(self) -> int:
        select = f"select sum(n) from ({self._rows('count(*) as n').format('true')})"
        return self._run(select).fetchone()[0]

    def version(self) -> str:
        return sqlite3.sqlite_version

    def close(self) -> None:
        self._connection.close()

    def _ask(self, select: str, key: int) -> pa.Table:
        return to_table(self._run(select, {"key": key}).fetchall())

    def _insert(self, name: str, table: pa.Table) -> None:
        place = SCHEMA.get_field_index("at")
        plain = table.set_column(place, "at", table["at"].cast(pa.int64()))
        columns = [column.to_pylist() for column in plain.columns]
        insert = f"insert into {name} values (?, ?, ?, ?, ?)"
        self._connection.executemany(insert, zip(*columns, strict=True))


class SqliteOneTable(Sqlite):
    name = "sqlite"

    def create(self, folder: Path, window: int) -> None:
        self.reopen(folder, window)
        self._run(f"create table entries {COLUMNS}")

    def reopen(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._whole = self._rows("*").format("key = :key")

    def _rows(self, columns: str, since_slot: int | None = None) -> str:
        recent = "" if since_slot is None else f' and "at" >= {start_us(since_slot)}'
        return f"select {columns} from entries where {{}}{recent}"

    def load(self, tables: Sequence[pa.Table]) -> None:
        self._run("begin")
        for table in tables:
            self._insert("entries", table)
        self._run("create index entries_key on entries (key)")
        self._run("commit")
        self._run("analyze")
        self._counts = [table.num_rows for table in tables]
        self._first_row = 1

    def slide(self, table: pa.Table, old_slot: int) -> None:
        until = self._first_row + self._counts.pop(0)
        self._run("begin")
        self._run("delete from entries where rowid >= ? and rowid < ?", (self._first_row, until))
        self._insert("entries", table)
        self._run("commit")
        self._counts.append(table.num_rows)
        self._first_row = until

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        return self._ask(self._rows("*", since_slot).format("key = :key"), key)


class SqliteBySlot(Sqlite):
    name = "sqlite-by-slot"

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._slots: list[int] = []

    def reopen(self, folder: Path, window: int) -> None:
        self.create(folder, window)
        tables = self._run("select name from sqlite_master where type = 'table'").fetchall()
        self._slots = sorted(int(name.removeprefix("slot_")) for (name,) in tables)
        self._note()

    def _rows(self, columns: str, since_slot: int | None = None) -> str:
        slots = (slot for slot in self._slots if since_slot is None or slot >= since_slot)
        return " union all ".join(
            f"select {columns} from slot_{slot} where {{0}}" for slot in slots
        )

    def load(self, tables: Sequence[pa.Table]) -> None:
        self._run("begin")
        for table in tables:
            self._add(table)
        self._run("commit")
        self._note()

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._run("begin")
        self._run(f"drop table slot_{old_slot}")
        self._slots.remove(old_slot)
        self._add(table)
        self._run("commit")
        self._note()

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        return self._ask(self._recent[since_slot], key)

    def _add(self, table: pa.Table) -> None:
        slot = slot_of(table)
        self._run(f"create table slot_{slot} {COLUMNS}")
        self._insert(f"slot_{slot}", table.sort_by("key"))
        self._run(f"create index slot_{slot}_key on slot_{slot} (key)")
        self._slots.append(slot)

    def _note(self) -> None:
        """Make the statements of probes once, since they are long."""
        self._whole = self._rows("*").format("key = :key")
        self._recent = {slot: self._rows("*", slot).format("key = :key") for slot in self._slots}


def to_table(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Tuples as columns."""
    if not rows:
        return SCHEMA.empty_table()
    columns = [
        pa.array(values, kind)
        for values, kind in zip(zip(*rows, strict=True), SCHEMA.types, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
