"""Who takes part, by name, and whether what they need is there.

A contestant's module is imported only when it runs, in its own process: nobody's libraries are in
the way of another's.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

from bench.race.contestant import Contestant

CATALOGUE = {
    "wata-runs": "wave:WataRuns",
    "wata-packed-shadow": "wave:WataPackedShadow",
    "rata-runs": "wave:RataRuns",
    "rata-packed-shadow": "wave:RataPackedShadow",
    "wata-runs-parquet": "wave:WataRunsParquet",
    "sqlite": "sqlite:SqliteOneTable",
    "sqlite-by-slot": "sqlite:SqliteBySlot",
    "lmdb": "lmdb:LmdbOneTree",
    "lmdb-by-slot": "lmdb:LmdbBySlot",
    "rocksdb": "rocksdb:RocksDb",
    "duckdb": "duckdb:DuckDb",
    "clickhouse": "clickhouse:ClickHouse",
    "postgresql": "postgres:PostgreSql",
    "lance": "lance:Lance",
    "delta": "delta:Delta",
}
WAVES = tuple(name for name, place in CATALOGUE.items() if place.startswith("wave:"))
PACKAGES = {
    "lmdb": "lmdb",
    "lmdb-by-slot": "lmdb",
    "rocksdb": "rocksdict",
    "clickhouse": "chdb",
    "postgresql": "adbc_driver_postgresql",
    "lance": "lance",
    "delta": "deltalake",
}
"""The module that each needs beyond those of Wavedex itself."""
COMMANDS = {"postgresql": ("initdb", "pg_ctl")}


def find(name: str) -> type[Contestant]:
    """The class of a contestant: one of the catalogue, or any other as `module:Class`."""
    place = CATALOGUE.get(name)
    module, _, kind = (f"bench.race.{place}" if place else name).partition(":")
    return getattr(import_module(module), kind)


def missing(names: Iterable[str]) -> list[str]:
    """What contestants lack, a line each that says how to get it."""
    lines = []
    for name in names:
        package = PACKAGES.get(name)
        if package and find_spec(package) is None:
            lines.append(f"{name} needs the package {package}: pip install 'wavedex[bench]'")
        absent = [command for command in COMMANDS.get(name, ()) if shutil.which(command) is None]
        if absent:
            lines.append(
                f"{name} needs {' and '.join(absent)} on the PATH: install the Debian package "
                "postgresql and put /usr/lib/postgresql/*/bin on the PATH"
            )
    return lines
