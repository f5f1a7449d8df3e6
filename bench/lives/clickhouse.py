"""ClickHouse as somebody would set it up who wants rows gone when they are over.

Rows are in partitions that are dropped. Either with a partition for each slot and slot of
expiration, so that nothing is ever merged and the partitions that are over are dropped in one
statement; or with one for each slot of expiration, of which one is dropped. New parts and their
folder are synced, as the lifetime index syncs its own; the sparse index has an entry for each 1,024
rows, since a probe reads whole granules. Both are tables of one session, of which a process can
have only one.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
from chdb.session import Session

from bench.lives.course import SCHEMA, Course
from bench.workload import first_slot

DEATH = "toDate(until - interval 1 microsecond)"
BIRTH = "toDate(at - interval 1 microsecond)"
"""A slot ends with the instant of its refresh."""
PARTITIONS = {"slot and expiration": f"({BIRTH}, {DEATH})", "expiration": DEATH}
TABLE = """
create table life.{table} (
  key Int64, at DateTime64(6, 'UTC'), until DateTime64(6, 'UTC'), amount Float64, units Int32,
  label LowCardinality(String)
) engine = MergeTree partition by {partition} order by (key, at)
settings fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 1024
"""


class Server:
    """The session of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "life.chdb"
        self._session = Session(str(self.folder))
        self.run = self._session.query
        self.run("create database life engine = Atomic")

    def version(self) -> str:
        return self.run("select version()", "ArrowTable").column(0)[0].as_py()

    def close(self) -> None:
        self._session.close()


class ClickHouse:
    """One table."""

    def __init__(self, server: Server, course: Course, partition: str) -> None:
        self.name = f"clickhouse by {partition}"
        self._course, self._run = course, server.run
        self._by_both = partition == "slot and expiration"
        self._table = f"life.by_{partition.split()[0]}"
        named = {"table": self._table.removeprefix("life."), "partition": PARTITIONS[partition]}
        self._run(TABLE.format(**named))

    def load(self, slot: int) -> None:
        """The rows that live at the end of a slot, a slot of births at a time."""
        for each in range(slot - self._course.slots + 1, slot + 1):
            born = self._course.made[each]
            lives = born["until"].cast(pa.int64()).to_numpy() > self._course.now_us(slot)
            self._insert(born.filter(pa.array(lives)))

    def refresh(self, slot: int, rows: pa.Table | None) -> None:
        if rows is not None:
            self._insert(rows)
        over = date_of(slot)
        if self._by_both:
            born = range(slot - self._course.slots, slot)
            drops = ", ".join(f"drop partition ('{date_of(each)}', '{over}')" for each in born)
        else:
            drops = f"drop partition '{over}'"
        self._run(f"alter table {self._table} {drops}")

    def settle(self) -> None:
        """Merge the parts of each partition, which it would do by and by."""
        skip = "settings optimize_skip_merged_partitions = 1"
        self._run(f"optimize table {self._table} final {skip}")

    def probe(self, key: int, slot: int) -> pa.Table:
        now = f"fromUnixTimestamp64Micro({self._course.now_us(slot)}, 'UTC')"
        where = f"where key = {key} and until > {now} settings max_threads = 1"
        found = self._run(f"select * from {self._table} {where}", "ArrowTable")
        return found if found.num_columns else SCHEMA.empty_table()

    @property
    def disk_bytes(self) -> int:
        """What its parts take, those included that are not active any more and still there."""
        database, table = self._table.split(".")
        where = f"where database = '{database}' and table = '{table}'"
        asked = f"select sum(bytes_on_disk) from system.parts {where}"
        return self._run(asked, "ArrowTable").column(0)[0].as_py() or 0

    def _insert(self, arriving: pa.Table) -> None:
        """Insert a table, which chdb finds by the name of the variable."""
        # chdb takes columns of one piece only.
        arriving = arriving.combine_chunks()
        self._run(f"insert into {self._table} select * from Python(arriving)")


def date_of(slot: int) -> str:
    return (dt.date(1970, 1, 1) + dt.timedelta(days=first_slot() + slot)).isoformat()
