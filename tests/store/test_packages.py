"""Any package that builds an index, answers and throws it away will do for sub-indexes.

Here SQLite, and a stranger's.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs
import pytest

import wavedex as wx
from kit import toy_package
from kit.matrix import RUNS_ALL
from kit.paths import KIT
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.remote import RemoteFiles
from wavedex.store.databases import sql
from wavedex.store.formats import FORMATS, register
from wavedex.store.package import Format
from wavedex.testing.crashes import unnamed_files
from wavedex.testing.disks import WatchedDisk
from wavedex.testing.oracle import same_rows
from wavedex.testing.package_rows import KEY_TYPES, SCHEMA, VALUES, rows_of, table
from wavedex.testing.package_trials import (
    check,
    check_keys,
    create,
    oracle,
)
from wavedex.testing.packages import GROWING, contract

pytestmark = pytest.mark.usefixtures("small_row_groups")

CLAUSES = [
    pytest.param(clause, id=f"{name}: {clause}", marks=pytest.mark.slow)
    for name in ("sqlite", *(["jsonl", "arrow"] if RUNS_ALL else []))
    for clause in contract(name, thorough=RUNS_ALL)
]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """A few rows are read in several pieces."""
    monkeypatch.setattr(sql, "PIECE_ROWS", 3)
    monkeypatch.setattr("wavedex.store.databases.sqlite.PIECE_ROWS", 3)
    monkeypatch.setattr("wavedex.store.databases.sqlite.KEYS_AT_ONCE", 2)


# -- the contract ---------------------------------------------------------------------------------


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_contract_holds(tmp_path, clause):
    clause(tmp_path)


@pytest.mark.parametrize("update", GROWING)
def test_a_scheme_that_deletes_is_refused_where_the_package_cannot(tmp_path, update):
    with pytest.raises(errors.BadDefinition, match=r"'sqlite' cannot delete.*'del'.*'runs' or"):
        create(tmp_path / "x", "sqlite", "del", update)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("update", GROWING)
def test_a_package_that_only_builds_is_not_added_to(tmp_path, update):
    with pytest.raises(errors.BadDefinition, match=r"'jsonl' cannot be changed.*'arrow', 'sqlite'"):
        create(tmp_path / "x", "jsonl", "wata", update)


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqlite", "chained", "arrow"])
def test_every_type_is_kept_and_none_refused(tmp_path, name):
    """The contract lets a package refuse types. Ours keep all of them."""
    how = {"window": 3, "format": name, "update": "in-place"}
    wx.WaveIndex.create(tmp_path / "values", VALUES, key=["who", "where"], time="at", **how)
    for kind, (arrow_type, _) in KEY_TYPES.items():
        schema = pa.schema([("k", arrow_type)])
        wx.WaveIndex.create(tmp_path / kind, schema, key="k", **how)


def test_text_with_a_zero_in_it_is_a_key_like_any_other(tmp_path):
    kind, keys = pa.string(), ["a", "a\0", "a\0b", "b"]
    check_keys(tmp_path / "x", kind, keys, format="sqlite", update="in-place")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.field("v", pa.list_(pa.int64())), "cannot be kept in SQLite"),
        (pa.field("v", pa.struct([("a", pa.int64())])), "cannot be kept in SQLite"),
        (pa.field("K", pa.int64()), "other letters"),
        (pa.field("__ROW", pa.int64()), "its name is taken"),
    ],
)
def test_what_sqlite_cannot_keep_is_refused_before_there_is_a_file(tmp_path, column, said):
    schema = pa.schema([pa.field("k", pa.int64()), column])
    with pytest.raises(errors.BadDefinition, match=said):
        wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=3, format="sqlite")
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_more_columns_than_sqlite_has_are_refused(tmp_path):
    schema = pa.schema([pa.field(f"c{place}", pa.int8()) for place in range(2100)])
    with pytest.raises(errors.BadDefinition, match="fewer columns"):
        wx.WaveIndex.create(tmp_path / "x", schema, key="c0", window=3, format="sqlite")


@pytest.mark.parametrize("update", TECHNIQUES)
def test_sqlite_needs_a_local_disk(tmp_path, update):
    tree = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    around = wx.Surroundings(files=lambda path: RemoteFiles(tree, str(path), str(path)))
    with pytest.raises(errors.BadDefinition, match=r"local disk.*format='sqlite'"):
        wx.WaveIndex.create(
            "x", SCHEMA, key="k", time="t", slot=10, window=3, format="sqlite", update=update,
            surroundings=around,
        )  # fmt: skip


# -- readers and writers ---------------------------------------------------------------------------


def test_a_scan_that_is_half_read_and_a_writer_do_not_wait_for_each_other(tmp_path):
    index = create(tmp_path / "x", "sqlite", "wata", "in-place", shards=1)
    truth = oracle()
    for slot in (1, 2):
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
    reader = wx.open(tmp_path / "x").scan()
    found = reader.read_next_batch().to_pylist()
    for slot in (3, 4, 5):
        index.append(table(rows_of(slot)))
    found += [row for batch in reader for row in batch.to_pylist()]
    assert same_rows(found, truth.rows())


def test_a_sub_index_that_is_added_to_stays_one_database(tmp_path):
    index = create(tmp_path / "x", "sqlite", "wata", "in-place", shards=1)
    index.append(table(rows_of(1)))
    (first,) = index.files()
    index.append(table(rows_of(2)))
    index.append(table(rows_of(3)))
    assert first in index.files()
    disk = WatchedDisk(tmp_path / "x")
    wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=lambda _: disk)).append(
        table(rows_of(4))
    )
    assert disk.changes["hand_over"] == 1


def test_several_threads_ask_one_snapshot(tmp_path):
    index = create(tmp_path / "x", "sqlite", "wata", "in-place")
    truth = oracle()
    for slot in (1, 2, 3):
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
    snapshot, wrong = index.snapshot(), []

    def ask() -> None:
        for key in list(range(9)) * 5:
            if not same_rows(snapshot.probe(key).to_pylist(), truth.probe(key)):
                wrong.append(key)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_snapshot_outlives_the_names_of_its_files(tmp_path, update):
    index = create(tmp_path / "x", "sqlite", "wata", update)
    truth = oracle()
    for slot in (1, 2, 3):
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
    with index.snapshot() as snapshot:
        shutil.rmtree(tmp_path / "x" / "data")
        check(snapshot, truth)


def test_other_tools_read_a_sub_index_with_sqlite_alone(tmp_path):
    index = create(tmp_path / "x", "sqlite", "reindex", "packed-shadow")
    for slot in (1, 2, 3):
        index.append(table(rows_of(slot)))
    found = []
    for path in index.files():
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            found += database.execute("select k, t, v from entries").fetchall()
            plan = "explain query plan select * from entries where k = 3 and t > 5"
            assert "entries_by_key (k=? AND t>?)" in str(database.execute(plan).fetchall())
    expected = [tuple(row.values()) for slot in (1, 2, 3) for row in rows_of(slot)]
    assert sorted(found) == sorted(expected)


# -- crashes ---------------------------------------------------------------------------------------


KILLED = """
import os, signal, sqlite3, sys
sys.path[:0] = {path!r}
from wavedex.testing.package_rows import rows_of, table
import wavedex as wx

connect, left = sqlite3.connect, [{steps}]

def dying(*arguments, **options):
    def step():
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    database = connect(*arguments, **options)
    if "mode=rw" in arguments[0]:
        database.execute("pragma cache_size = 1")  # so that pages are written before the commit
        database.execute("pragma cache_spill = 1")
        database.set_progress_handler(step, 50)
    return database

sqlite3.connect = dying
wx.open({index!r}).append(table([row for _ in range(60) for row in rows_of(3)]))
"""


@pytest.mark.parametrize("update", GROWING)
def test_a_process_that_is_killed_while_it_adds_leaves_no_trace(tmp_path, update):
    origin, scratch = tmp_path / "origin", tmp_path / "scratch"
    index, truth = create(origin, "sqlite", "wata", update, shards=1), oracle()
    for slot in (1, 2):
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
    del index
    ends = []
    for steps in (0, 5, 20, 60, 10**9):
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(origin, scratch)
        path = [str(Path(wx.__file__).parent.parent), str(KIT.parent)]
        code = KILLED.format(path=path, steps=steps, index=str(scratch))
        ended = subprocess.run([sys.executable, "-c", code], check=False).returncode
        ends.append(ended)
        if not ended:
            continue
        survivor, then = wx.open(scratch), oracle()
        survivor.verify()
        check(survivor, truth)
        for slot in (1, 2, 3):
            then.append(rows_of(slot), slot)
        survivor.append(table(rows_of(3)))
        survivor.verify()
        check(survivor, then)
        survivor.vacuum()
        survivor.verify()
        assert not unnamed_files(scratch)
    assert ends == [-signal.SIGKILL] * 4 + [0]


# -- damage ----------------------------------------------------------------------------------------


def damaged(path: Path, update: str, harm: Callable[[Path], object]) -> str:
    index = create(path, "sqlite", "wata", update, shards=1)
    for slot in (1, 2):
        index.append(table([row for _ in range(40) for row in rows_of(slot)]))
    victim = Path(index.files()[0])
    del index
    harm(victim)
    with pytest.raises(errors.Damaged) as caught:
        wx.open(path).verify()
    assert victim.name in str(caught.value)
    return str(caught.value)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def change_a_row(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("update entries set v = 'forged' where __row = 1")


def lose_the_last_row(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("delete from entries where __row = (select max(__row) from entries)")


def test_a_byte_that_has_turned_over_is_found(tmp_path):
    assert "checksum" in damaged(tmp_path / "x", "runs", flip)


def test_a_database_that_is_gone_is_found(tmp_path):
    assert "missing" in damaged(tmp_path / "x", "in-place", lambda path: path.unlink())


def test_a_row_that_was_changed_in_a_database_that_grows_is_found(tmp_path):
    assert "other rows" in damaged(tmp_path / "x", "in-place", change_a_row)


def test_a_row_that_is_gone_from_a_database_that_grows_is_found(tmp_path):
    assert "fewer than" in damaged(tmp_path / "x", "in-place", lose_the_last_row)


def make_it_no_database(path: Path) -> None:
    """Rows may still stand in the write-ahead log, from which they would be read all the same."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
    path.write_bytes(b"no" * 9999)


def test_what_is_no_database_is_found(tmp_path):
    assert "no good database" in damaged(tmp_path / "x", "in-place", make_it_no_database)


# -- a package of one's own ------------------------------------------------------------------------


def test_a_name_is_registered_once(tmp_path):
    register("jsonl", toy_package.JSONL)
    other = Format(toy_package.build, toy_package.check, {"other": toy_package.Lines})
    with pytest.raises(errors.BadDefinition, match="already"):
        register("jsonl", other)
    clash = Format(toy_package.build, toy_package.check, {"packed": toy_package.Lines})
    with pytest.raises(errors.BadDefinition, match="store 'packed' already"):
        register("jsonl2", clash)
    with pytest.raises(errors.BadDefinition, match="no name for a format"):
        register("a:b", toy_package.JSONL)
    assert not {"jsonl2", "a:b"} & set(FORMATS)


def test_a_process_that_has_not_registered_the_package_says_what_to_do(tmp_path):
    create(tmp_path / "x", "jsonl", "wata", "runs")
    code = f"import wavedex; wavedex.open({str(tmp_path / 'x')!r})"
    environment = {**os.environ, "PYTHONPATH": str(Path(wx.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert "the module that registers it" in done.stderr
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("orc", "none of 'arrow', 'parquet'"),
        (7, "format=7 is none of"),
        (["arrow"], "is none of"),
        ("sqlite:/x", "takes no address"),
        ("postgresql", "must say where"),
        ("postgresql:x", "must say where"),
    ],
)
def test_a_format_that_is_none_is_refused(tmp_path, given: Any, said):
    with pytest.raises(errors.BadDefinition, match=said):
        wx.WaveIndex.create(tmp_path / "x", VALUES, key="who", window=3, format=given)


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://ann:geheim@host/db",
        "postgresql:///db?password=geheim",
        "postgresql:///db?sslpassword=geheim",
        "postgresql:///db?pass%77ord=geheim",
        "postgres://ann:geheim@host/db",
        "sqlite://ann:geheim@host/db",
    ],
)
def test_no_password_is_kept_or_repeated(tmp_path, given):
    with pytest.raises(errors.BadDefinition) as caught:
        create(tmp_path / "x", given, "wata", "runs")
    assert "geheim" not in str(caught.value)
    assert not (tmp_path / "x").exists()
