"""A PostgreSQL server for tests.

Its data and socket are in temporary folders, without a port, and nothing is synced that need not
be.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

COMMANDS = ("initdb", "pg_ctl")
ROOT_RUNS_AS = ("postgres", "nobody")
"""The server refuses to run as root."""


class Server:
    """A server that is started and stopped at will."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wx-pg-"))
        self.folder.chmod(0o755)
        self._identity: dict[str, Any] = {}
        data, socket = self.folder / "data", self.folder / "socket"
        for made in (data, socket):
            made.mkdir(mode=0o700)
        if os.geteuid() == 0:
            known = {user.pw_name: user for user in pwd.getpwall()}
            user = next(known[name] for name in ROOT_RUNS_AS if name in known)
            self._identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            for made in (data, socket):
                os.chown(made, user.pw_uid, user.pw_gid)
        socket.chmod(0o755)
        self._data = data
        self.uri = f"postgresql:///postgres?host={socket}&user=tester"
        self._do(
            "initdb",
            "--username=tester",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
        )
        self._options = (
            f"-c listen_addresses='' -c unix_socket_directories='{socket}' -c max_connections=300"
        )
        self.start()

    def start(self) -> None:
        log = f"--log={self._data / 'log'}"
        self._do(
            "pg_ctl", "--wait", log, f"--options={self._options} -c shared_buffers=16MB", "start"
        )

    def stop(self, mode: str = "fast") -> None:
        self._do("pg_ctl", f"--mode={mode}", "--wait", "stop")

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder)

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []

    def tables(self, schema: str) -> set[str]:
        found = self.ask(f"select tablename::text from pg_tables where schemaname = '{schema}'")
        return {name for (name,) in found}

    def _do(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            [command, f"--pgdata={self._data}", *arguments], cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, check=False, **self._identity,
        )  # fmt: skip
        assert not done.returncode, f"{command} failed"


def missing() -> str:
    """Why there can be no server here; nothing where there can."""
    absent = [command for command in COMMANDS if shutil.which(command) is None]
    return (
        f"PostgreSQL is not installed: no {' and no '.join(absent)} on the path" if absent else ""
    )
