"""PostgreSQL: a server of its own, a partition a slot, an index on the key.

Arrow goes in and out by ADBC. The new partition is made as a table, filled by COPY in the order of
keys, indexed, and attached; the oldest is detached and dropped; all in one transaction.
`wal_level=minimal` lets a table that is made in its own transaction be synced instead of written
twice; with it, and fsync on as always, a commit is durable. A gigabyte of shared buffers holds the
window. `settle` vacuums what is new, gathers statistics and makes a checkpoint, so that pages that
are only in memory are written and counted.

A probe executes a statement that was prepared on the server with a plan for any key, and without
COPY, which was twice as fast as all else that ADBC offers. Many keys are joined as a list, which
was four times as fast as `in`.

The server refuses to run as root. Then it runs as the user `postgres`, or as `nobody` where there
is none. It listens on a socket in a folder of its own and on nothing else. Its bytes are those of
its first process and of all the children of that.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from bench.race.contestant import Contestant, Sums, listed, slot_of, start_text, sums_of
from bench.race.disk import children_of

COLUMNS = "key, at, amount, units, label"
TABLE = (
    "create table entries (key bigint not null, at timestamptz not null, amount float8, units int, "
    "label text) partition by range (at)"
)
OPTIONS = {
    "listen_addresses": "''",
    "shared_buffers": "1GB",
    "maintenance_work_mem": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "plan_cache_mode": "force_generic_plan",
}
ROOT_USERS = ("postgres", "nobody")
NO_COPY = {"adbc.postgresql.use_copy": "false"}


class Server:
    """A PostgreSQL server with its own data and its own socket."""

    def __init__(self, folder: Path, is_new: bool) -> None:
        self._data = folder / "data"
        self._is_new = is_new
        if is_new:
            self._data.mkdir()
        self._identity: dict[str, Any] = {}
        # Not in the folder, whose path may be longer than that of a socket is allowed to be.
        self._socket = Path(tempfile.mkdtemp(prefix="race-"))
        self.uri = f"postgresql:///postgres?host={self._socket}&user=race"
        try:
            self._start()
        except BaseException:
            shutil.rmtree(self._socket)
            raise

    def _start(self) -> None:
        if os.geteuid() == 0:
            self._become_somebody()
        if self._is_new:
            self._do("initdb", "--username=race", "--auth=trust", "--encoding=UTF8", "--no-locale")
        options = {**OPTIONS, "unix_socket_directories": str(self._socket)}
        given = " ".join(f"-c {name}={value}" for name, value in options.items())
        self._do("pg_ctl", "--wait", f"--log={self._data / 'log'}", f"--options={given}", "start")

    def _become_somebody(self) -> None:
        users = {entry.pw_name: entry for entry in pwd.getpwall()}
        user = next(users[name] for name in ROOT_USERS if name in users)
        self._identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        for folder in (self._data, self._socket):
            os.chown(folder, user.pw_uid, user.pw_gid)
        reach = subprocess.run(["test", "-w", self._data], cwd="/", check=False, **self._identity)
        if reach.returncode:
            raise PermissionError(
                f"PostgreSQL does not run as root, and the user {user.pw_name} cannot reach "
                f"{self._data}. Give a folder that all may pass through with --folder, "
                "or run the race as another user."
            )

    def _do(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            [command, f"--pgdata={self._data}", *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
            **self._identity,
        )
        if done.returncode:
            log = self._data / "log"
            raise RuntimeError(f"{command} failed: {log.read_text() if log.exists() else ''}")

    def processes(self) -> list[int]:
        first = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        return [first, *children_of(first)]

    def stop(self) -> None:
        self._do("pg_ctl", "--mode=fast", "--wait", "stop")
        shutil.rmtree(self._socket)


class PostgreSql(Contestant):
    name = "postgresql"

    def create(self, folder: Path, window: int) -> None:
        self._open(folder, window, is_new=True)

    def reopen(self, folder: Path, window: int) -> None:
        self._open(folder, window, is_new=False)

    def _open(self, folder: Path, window: int, is_new: bool) -> None:
        super().create(folder, window)
        self._unsettled: list[str] = []
        with contextlib.ExitStack() as opened:
            self._server = Server(folder, is_new)
            opened.callback(self._server.stop)
            self._writer = opened.enter_context(dbapi.connect(self._server.uri))
            self._readers = opened.enter_context(dbapi.connect(self._server.uri, autocommit=True))
            self._bulk = opened.enter_context(self._readers.cursor())
            self._single = opened.enter_context(self._readers.cursor(adbc_stmt_kwargs=NO_COPY))
            if is_new:
                self._bulk.execute(TABLE)
                self._bulk.execute("create index on entries (key)")
            self._begin()
            # From here on `close` closes them; until here whatever goes wrong does.
            self._opened = opened.pop_all()

    def _begin(self) -> None:
        select = f"select {COLUMNS} from entries where key = $1"
        self._bulk.execute(f"prepare probe (bigint) as {select}")
        self._bulk.execute(f"prepare recent (bigint, timestamptz) as {select} and at >= $2")

    def load(self, tables: Sequence[pa.Table]) -> None:
        with self._writer.cursor() as cursor:
            for table in tables:
                self._add(cursor, table)
        self._writer.commit()

    def slide(self, table: pa.Table, old_slot: int) -> None:
        with self._writer.cursor() as cursor:
            self._add(cursor, table)
            cursor.execute(f"alter table entries detach partition slot_{old_slot}")
            cursor.execute(f"drop table slot_{old_slot}")
        self._writer.commit()

    def _add(self, cursor: dbapi.Cursor, table: pa.Table) -> None:
        slot = slot_of(table)
        name, since, until = f"slot_{slot}", start_text(slot), start_text(slot + 1)
        cursor.execute(f"create table {name} (like entries)")
        cursor.adbc_ingest(name, table.sort_by("key"), mode="append")
        cursor.execute(f"create index on {name} (key)")
        # With this constraint the rows are not looked at again when they are attached.
        inside = f"check (at >= '{since}' and at < '{until}')"
        cursor.execute(f"alter table {name} add constraint {name}_at {inside}")
        bounds = f"for values from ('{since}') to ('{until}')"
        cursor.execute(f"alter table entries attach partition {name} {bounds}")
        self._unsettled.append(name)

    def settle(self) -> None:
        while self._unsettled:
            self._bulk.execute(f"vacuum (analyze) {self._unsettled.pop()}")
        self._bulk.execute("checkpoint")

    def probe(self, key: int) -> pa.Table:
        return _ask(self._single, f"execute probe ({key})")

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        return _ask(self._single, f"execute recent ({key}, '{start_text(since_slot)}')")

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        wanted = f"unnest('{{{listed(keys)}}}'::bigint[]) as wanted"
        select = f"select {COLUMNS} from {wanted} join entries on key = wanted"
        return _ask(self._bulk, select)

    def grouped_sum(self) -> Sums:
        select = "select label, sum(units), sum(amount) from entries group by label"
        return sums_of(_ask(self._bulk, select))

    def count_rows(self) -> int:
        return _ask(self._bulk, "select count(*) from entries").column(0)[0].as_py()

    def version(self) -> str:
        return _ask(self._bulk, "select current_setting('server_version')").column(0)[0].as_py()

    def server_processes(self) -> list[int]:
        return self._server.processes()

    def close(self) -> None:
        self._opened.close()


def _ask(cursor: dbapi.Cursor, select: str) -> pa.Table:
    cursor.execute(select)
    return cursor.fetch_arrow_table()
