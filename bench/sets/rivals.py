"""What one would use instead of a set over time, as its users would set it up.

All are given changes in the order of their times, as sets are. None of them could answer by those:
they are paired to lifespans and put in order first (`paired`), which is part of a load. All but the
arrays are durable when `load` returns.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import duckdb
import lmdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.race.disk import bytes_kept
from bench.race.postgres import Server
from bench.sets.workloads import I64, OPEN
from wavedex.temporal import TemporalSet

Bools = npt.NDArray[np.bool_]
Ask = Callable[[int, int], Any]
"""Whether an id is there at a time, as anything that is true or not."""
LATE = (1 << 31) - 1
"""The end of a lifespan that goes on, where ends have 32 bits."""
CACHE_KIB = 256 * 1024


class Spans(NamedTuple):
    """Lifespans, by id and then by beginning."""

    ids: I64
    starts: I64
    ends: I64


def paired(changes: pa.Table) -> Spans:
    """The lifespans that changes make, `OPEN` where they go on."""
    ids, times, signs = (changes[name].to_numpy() for name in ("oid", "time", "op"))
    order = np.lexsort((times, ids))  # At one time, removals stand before additions.
    ids, times, added = ids[order], times[order], np.flatnonzero(signs[order] > 0)
    ends = np.append(times[1:], OPEN)
    ends[:-1][ids[1:] != ids[:-1]] = OPEN
    return Spans(ids[added], times[added], ends[added])


class Rival(ABC):
    """One way to answer who was there when. The calls come in the order in which they stand."""

    name: ClassVar[str]
    is_durable: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        """In an empty folder of its own."""
        self.folder = folder

    @abstractmethod
    def load(self, changes: pa.Table) -> None:
        """Take a history in."""

    @abstractmethod
    def ask(self) -> Ask:
        """What answers a single question."""

    @abstractmethod
    def contains_many(self, oids: I64, times: I64) -> Bools:
        """The answers to many questions."""

    @abstractmethod
    def snapshot(self, time: int) -> Any:
        """All ids at a time, as columns."""

    def bytes(self) -> int:
        """What it takes."""
        return bytes_kept(self.folder)

    def close(self) -> None:  # noqa: B027 - nothing to do for some
        """Let go of files and processes."""


class Ours(Rival):
    """A set on disk."""

    method: ClassVar[str]

    def load(self, changes: pa.Table) -> None:
        self._members = TemporalSet.create(self.folder / "members.wxt", method=self.method)
        self._members.load(changes)
        self._members.commit()

    def ask(self) -> Ask:
        return self._members.contains

    def contains_many(self, oids: I64, times: I64) -> Bools:
        return self._members.contains_many(oids, times)

    def snapshot(self, time: int) -> Any:
        return self._members.snapshot(time)["oid"]


def ours(method: str) -> type[Ours]:
    """A set of a method."""
    return type(f"Ours_{method}", (Ours,), {"name": method, "method": method})


class Lmdb(Rival):
    """Id and beginning, from the latest on, as big-endian keys; ends as values.

    The first key not before that of an id and a time is its lifespan that began last before it.
    """

    name = "LMDB"
    key = struct.Struct(">QQ")
    end = struct.Struct(">Q")
    LAST = (1 << 63) - 1

    def load(self, changes: pa.Table) -> None:
        spans = paired(changes)
        order = np.lexsort((-spans.starts, spans.ids))
        keys = np.empty((len(spans.ids), 2), ">u8")
        keys[:, 0], keys[:, 1] = spans.ids[order], self.LAST - spans.starts[order]
        packed, ends = keys.tobytes(), spans.ends[order].astype(">u8").tobytes()
        pairs = (
            (packed[16 * place : 16 * place + 16], ends[8 * place : 8 * place + 8])
            for place in range(len(spans.ids))
        )
        self._env = lmdb.open(str(self.folder / "lifespans.lmdb"), map_size=1 << 34)
        with self._env.begin(write=True) as writer:
            writer.cursor().putmulti(pairs, append=True)
        self._reader = self._env.begin()

    def ask(self) -> Ask:
        cursor = self._reader.cursor()
        key, end, last = self.key.pack, self.end.unpack, self.LAST

        def contains(oid: int, time: int) -> bool:
            sought = key(oid, last - time)
            if not cursor.set_range(sought):
                return False
            found, value = cursor.item()
            return found[:8] == sought[:8] and time < end(value)[0]

        return contains

    def contains_many(self, oids: I64, times: I64) -> Bools:
        return np.fromiter(map(self.ask(), oids.tolist(), times.tolist()), np.bool_, len(oids))

    def snapshot(self, time: int) -> Any:
        entries = np.frombuffer(b"".join(map(b"".join, self._reader.cursor())), ">u8").reshape(
            -1, 3
        )
        there = (self.LAST - entries[:, 1] <= time) & (time < entries[:, 2])
        return entries[there, 0].astype(np.int64)

    def close(self) -> None:
        self._reader.abort()
        self._env.close()


class Sorted(Rival):
    """NumPy: arrays in order, id and beginning in one number of 64 bits, ends in 32."""

    name = "NumPy"
    is_durable = False

    def load(self, changes: pa.Table) -> None:
        spans = paired(changes)
        self._keys = (spans.ids << 32) | spans.starts
        self._ends = np.where(spans.ends < OPEN, spans.ends, LATE).astype(np.int32)

    def ask(self) -> Ask:
        keys, ends, search = self._keys, self._ends, self._keys.searchsorted

        def contains(oid: int, time: int) -> bool:
            place = search((oid << 32) | time, "right") - 1
            return place >= 0 and keys.item(place) >> 32 == oid and time < ends.item(place)

        return contains

    def contains_many(self, oids: I64, times: I64) -> Bools:
        places = np.searchsorted(self._keys, (oids << 32) | times, "right") - 1
        return (places >= 0) & (self._keys[places] >> 32 == oids) & (times < self._ends[places])

    def snapshot(self, time: int) -> Any:
        there = (time < self._ends) & ((self._keys & 0xFFFFFFFF) <= time)
        return self._keys[there] >> 32

    def bytes(self) -> int:
        return int(self._keys.nbytes + self._ends.nbytes)


class Sqlite(Rival):
    """A table in the order of its key, written ahead and synced."""

    name = "SQLite"
    ONE = "select stop from lifespans where oid = ? and start <= ? order by start desc limit 1"
    MANY = (
        "select coalesce((select stop from lifespans l where l.oid = q.oid and l.start <= q.at "
        "order by l.start desc limit 1) > q.at, 0) from questions q order by q.rowid"
    )

    def load(self, changes: pa.Table) -> None:
        spans = paired(changes)
        self._connection = sqlite3.connect(self.folder / "lifespans.db", isolation_level=None)
        run = self._connection.execute
        run("pragma journal_mode=wal")
        run("pragma synchronous=full")
        run(f"pragma cache_size=-{CACHE_KIB}")
        run(
            "create table lifespans (oid integer, start integer, stop integer, "
            "primary key (oid, start)) without rowid"
        )
        run("begin")
        columns = spans.ids.tolist(), spans.starts.tolist(), spans.ends.tolist()
        rows = zip(*columns, strict=True)
        self._connection.executemany("insert into lifespans values (?, ?, ?)", rows)
        run("commit")
        run("pragma wal_checkpoint(truncate)")

    def ask(self) -> Ask:
        run, one = self._connection.execute, self.ONE

        def contains(oid: int, time: int) -> bool:
            found = run(one, (oid, time)).fetchone()
            return found is not None and time < found[0]

        return contains

    def contains_many(self, oids: I64, times: I64) -> Bools:
        run = self._connection.execute
        run("begin")
        run("create temp table questions (oid integer, at integer)")
        insert = "insert into questions values (?, ?)"
        self._connection.executemany(insert, zip(oids.tolist(), times.tolist(), strict=True))
        found = np.array(run(self.MANY).fetchall(), np.bool_).reshape(-1)
        run("rollback")
        return found

    def snapshot(self, time: int) -> Any:
        select = "select oid from lifespans where start <= ? and stop > ?"
        found = self._connection.execute(select, (time, time)).fetchall()
        return np.array(found, np.int64).reshape(-1)

    def close(self) -> None:
        self._connection.close()


class DuckDb(Rival):
    """A table in the order of ids and beginnings, joined by ASOF."""

    name = "DuckDB"

    def load(self, changes: pa.Table) -> None:
        spans = paired(changes)
        self._connection = duckdb.connect(self.folder / "lifespans.duckdb")
        self._run = self._connection.execute
        rows = pa.table({"oid": spans.ids, "start": spans.starts, "stop": spans.ends})
        self._connection.register("arriving", rows)
        self._run("create table lifespans as from arriving")
        self._connection.unregister("arriving")
        self._run("checkpoint")

    def ask(self) -> Ask:
        select = "select 1 from lifespans where oid = ? and start <= ? and stop > ?"
        return lambda oid, time: len(self._run(select, (oid, time, time)).fetchall()) > 0

    def contains_many(self, oids: I64, times: I64) -> Bools:
        questions = {"place": np.arange(len(oids)), "oid": oids, "at": times}
        self._connection.register("questions", pa.table(questions))
        found = self._run(
            "select q.place, coalesce(l.stop > q.at, false) as there from questions q "
            "asof left join lifespans l on q.oid = l.oid and q.at >= l.start"
        ).fetchnumpy()
        there = np.empty(len(oids), np.bool_)
        there[found["place"]] = found["there"]
        return there

    def snapshot(self, time: int) -> Any:
        select = "select oid from lifespans where start <= ? and stop > ?"
        found = self._connection.sql(select, params=(time, time))
        return found.to_arrow_table()["oid"]

    def close(self) -> None:
        self._connection.close()


class PostgreSql(Rival):
    """A table of ids and ranges, with a GiST over both."""

    name = "PostgreSQL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from adbc_driver_postgresql import dbapi

        with contextlib.ExitStack() as opened:
            self._server = Server(folder, is_new=True)
            opened.callback(self._server.stop)
            link = opened.enter_context(dbapi.connect(self._server.uri, autocommit=True))
            self._bulk = opened.enter_context(link.cursor())
            without = {"adbc.postgresql.use_copy": "false"}
            self._single = opened.enter_context(link.cursor(adbc_stmt_kwargs=without))
            self._bulk.execute("create extension btree_gist")
            self._opened = opened.pop_all()

    def load(self, changes: pa.Table) -> None:
        spans = paired(changes)
        rows = pa.table({"oid": spans.ids, "start": spans.starts, "stop": spans.ends})
        self._bulk.adbc_ingest("arriving", rows, mode="create")
        self._bulk.execute(
            "create table lifespans as select oid, int8range(start, stop) as life from arriving"
        )
        self._bulk.execute("drop table arriving")
        self._bulk.execute("create index on lifespans using gist (oid, life)")
        self._bulk.execute("vacuum analyze lifespans")
        self._bulk.execute("checkpoint")
        self._bulk.execute(
            "prepare one (bigint, bigint) as select 1 from lifespans where oid = $1 and life @> $2"
        )

    def ask(self) -> Ask:
        def contains(oid: int, time: int) -> bool:
            self._single.execute(f"execute one ({oid}, {time})")
            return self._single.fetch_arrow_table().num_rows > 0

        return contains

    def contains_many(self, oids: I64, times: I64) -> Bools:
        questions = {"place": np.arange(len(oids)), "oid": oids, "at": times}
        self._bulk.adbc_ingest("questions", pa.table(questions), mode="create", temporary=True)
        self._bulk.execute(
            "select place from questions q where exists "
            "(select from lifespans l where l.oid = q.oid and l.life @> q.at)"
        )
        there = np.zeros(len(oids), np.bool_)
        there[self._bulk.fetch_arrow_table()["place"].to_numpy()] = True
        self._bulk.execute("drop table questions")
        return there

    def snapshot(self, time: int) -> Any:
        self._bulk.execute(f"select oid from lifespans where life @> {time}::bigint")
        return self._bulk.fetch_arrow_table()["oid"]

    def bytes(self) -> int:
        self._bulk.execute("select pg_total_relation_size('lifespans')")
        return int(self._bulk.fetch_arrow_table().column(0)[0].as_py())

    def close(self) -> None:
        self._opened.close()


def rivals() -> list[type[Rival]]:
    """Those that can take part here."""
    found: list[type[Rival]] = [Lmdb, Sorted, Sqlite, DuckDb]
    if all(shutil.which(command) for command in ("initdb", "pg_ctl")):
        found.append(PostgreSql)
    return found
