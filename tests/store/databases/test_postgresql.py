"""Sub-indexes in tables of a real PostgreSQL server.

It is stopped, restarted and refused along the way.
"""

from __future__ import annotations

import gc
import itertools
import json
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as fs
import pytest

import wavedex as wx
from kit.crashing import crash_numbers
from kit.matrix import RUNS_ALL
from kit.postgresql_server import Server, missing
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.files.names import DATA
from wavedex.files.remote import RemoteFiles
from wavedex.index import held as held_index
from wavedex.store.databases import sql
from wavedex.store.databases.server import Session
from wavedex.store.databases.server_address import Address
from wavedex.testing.disks import Crash, CrashingDisk
from wavedex.testing.oracle import Oracle, same_rows
from wavedex.testing.package_rows import KEY_TYPES, SCHEMA, VALUES, rows_of, table
from wavedex.testing.package_trials import (
    check,
    create,
    oracle,
    walk,
)
from wavedex.testing.packages import GROWING, contract

pytest.importorskip("adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed")
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

NUMBERS = itertools.count()
CLAUSES = [str(clause) for clause in contract("postgresql:///", thorough=RUNS_ALL)]
CHOSEN = [name for name in CLAUSES if RUNS_ALL or name.endswith(("in-place", "runs"))]
"""By day one technique that adds to tables and one that does not. SQLite is held to all clauses."""


@pytest.fixture
def place(server) -> str:
    """An address with a schema of its own."""
    return f"{server.uri}#waves_{next(NUMBERS)}"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(sql, "PIECE_ROWS", 3)


def schema_of(place: str) -> str:
    return place.partition("#")[2]


def markers(path: Path) -> set[str]:
    names = Files(path).list(DATA)
    return {name.removesuffix(".pg") for name in names if name.endswith(".pg")}


def filled(path: Path, place: str, update: str, last: int = 8) -> tuple[wx.WaveIndex, Oracle]:
    index, truth = create(path, place, "wata", update, shards=1), oracle()
    for slot in range(1, last + 1):
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
    return index, truth


@pytest.mark.parametrize("name", CHOSEN)
def test_the_contract_of_a_package_holds(tmp_path, server, name):
    clauses = {str(clause): clause for clause in contract(server.uri, thorough=RUNS_ALL)}
    clauses[name](tmp_path)


def test_every_type_is_kept_and_none_refused(tmp_path, server):
    how = {"window": 3, "format": server.uri, "update": "in-place"}
    wx.WaveIndex.create(tmp_path / "values", VALUES, key=["who", "where"], time="at", **how)
    for kind, (arrow_type, _) in KEY_TYPES.items():
        schema = pa.schema([("k", arrow_type)])
        wx.WaveIndex.create(tmp_path / kind, schema, key="k", **how)


@pytest.mark.parametrize("update", TECHNIQUES if RUNS_ALL else ["in-place", "runs"])
def test_in_the_end_there_is_a_table_for_each_marker_and_no_other(tmp_path, server, place, update):
    index = create(tmp_path / "x", place, "wata", update)
    walk(index, every=15)
    del index
    gc.collect()
    wx.open(tmp_path / "x").vacuum()
    assert server.tables(schema_of(place)) == markers(tmp_path / "x") != set()


@pytest.mark.parametrize("update", GROWING)
def test_a_scheme_that_deletes_is_refused(tmp_path, place, update):
    with pytest.raises(errors.BadDefinition, match="'postgresql' cannot delete"):
        create(tmp_path / "x", place, "del", update)


def test_the_example_of_the_page_runs(tmp_path, server):
    schema = pa.schema([("who", pa.string()), ("at", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="who", time="at", slot=1, window=7, scheme="wata",
        update="in-place", format=server.uri,
    )  # fmt: skip
    index.append(pa.table({"who": ["ann", "bob"], "at": [1, 1]}))
    assert index.probe("ann").num_rows == 1
    kept = json.loads((tmp_path / "x" / "index.json").read_text())["file_format"]
    assert kept.startswith(f"{server.uri}#wavedex_")
    assert server.tables(schema_of(kept)) == markers(tmp_path / "x")
    assert index.describe()["format"] == kept


def test_the_folder_of_an_index_need_not_be_on_a_local_disk(tmp_path, server, place):
    tree = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    around = wx.Surroundings(files=lambda path: RemoteFiles(tree, str(path), str(path)))
    index = wx.WaveIndex.create(
        "x", SCHEMA, key="k", time="t", slot=10, window=3, format=place, surroundings=around
    )
    for slot in range(1, 6):
        index.append(table(rows_of(slot)))
    expected = [row for slot in (3, 4, 5) for row in rows_of(slot)]
    assert same_rows(index.scan().read_all().to_pylist(), expected)
    index.verify()
    del index
    gc.collect()
    wx.open("x", surroundings=around).vacuum()
    assert server.tables(schema_of(place)) == markers(tmp_path / "x")


# -- readers, vacuum and sweep ---------------------------------------------------------------------


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_table_that_a_reader_holds_is_dropped_only_after_it(tmp_path, server, place, update):
    index, truth = filled(tmp_path / "x", place, update)
    snapshot = index.snapshot()
    tables = server.tables(schema_of(place))
    for slot in range(9, 30):
        index.append(table(rows_of(slot)))
    index.vacuum()
    check(snapshot, truth)
    held = {Path(path).stem for path in snapshot.files()}
    assert held <= tables & server.tables(schema_of(place))
    del snapshot
    gc.collect()
    index.vacuum()
    assert not held & server.tables(schema_of(place))
    assert server.tables(schema_of(place)) == markers(tmp_path / "x")


def test_a_vacuum_waits_for_a_reader_that_is_leaving(tmp_path, server, place, monkeypatch):
    monkeypatch.setattr(held_index, "PATIENCE_S", 60)
    index, _ = filled(tmp_path / "x", place, "runs")
    held, is_over = [index.snapshot()], threading.Event()
    for slot in range(9, 16):
        index.append(table(rows_of(slot)))

    def leave_once_it_waits():
        while not is_over.is_set():
            if server.ask("select 1 from pg_locks where not granted"):
                held.clear()
                gc.collect()
                return

    reader = threading.Thread(target=leave_once_it_waits)
    reader.start()
    index.vacuum()
    is_over.set()
    reader.join()
    assert not held
    assert server.tables(schema_of(place)) == markers(tmp_path / "x")


def test_rows_that_are_added_are_in_the_same_table_and_unseen_before(tmp_path, server, place):
    index, truth = filled(tmp_path / "x", place, "in-place", last=2)
    snapshot = index.snapshot()
    before = server.tables(schema_of(place))
    index.append(table(rows_of(3)))
    assert server.tables(schema_of(place)) <= before | markers(tmp_path / "x")
    assert set(map(Path, snapshot.files())) <= set(map(Path, index.files()))
    check(snapshot, truth)
    assert index.scan().read_all().num_rows > snapshot.scan().read_all().num_rows


@pytest.mark.parametrize("update", ["in-place", "runs"])
def test_a_crash_leaves_the_old_window_or_the_new_one_and_no_table(tmp_path, server, place, update):
    for number in crash_numbers():
        path = tmp_path / str(number)
        schema = f"{schema_of(place)}_{number}"
        index, truth = filled(path, f"{place}_{number}", update, last=7)
        old = truth.rows()
        del index
        truth.append(rows_of(8), 8)
        broken = CrashingDisk(path, number, torn=bool(number % 2))
        around = wx.Surroundings(files=lambda _, broken=broken: broken)
        try:
            wx.open(path, surroundings=around).append(table(rows_of(8)))
        except Crash:
            pass
        else:
            if not broken.is_down:
                break
        gc.collect()
        survivor = wx.open(path)
        survivor.verify()
        found = survivor.scan().read_all().to_pylist()
        assert same_rows(found, old) or same_rows(found, truth.rows()), number
        survivor.append(table(rows_of(8)))
        survivor.verify()
        check(survivor, truth)
        survivor = wx.open(path)
        gc.collect()
        survivor.vacuum()
        assert server.tables(schema) == markers(path)
        survivor.verify()
    assert number > 8


# -- a server that is away -------------------------------------------------------------------------


@pytest.fixture
def another():
    started = Server()
    yield started
    started.remove()


def test_while_the_server_is_away_everything_says_so_and_afterwards_all_goes_on(tmp_path, another):
    index, truth = filled(tmp_path / "x", another.uri, "in-place", last=3)
    held = index.snapshot()
    check(held, truth)
    commit = held.commit
    another.stop()
    try:
        for use in (
            lambda: index.append(table(rows_of(4))),
            lambda: held.probe(3),
            lambda: index.scan().read_all(),
            lambda: wx.open(tmp_path / "x").probe(3),
            lambda: index.verify(),
            lambda: index.vacuum(),
            lambda: create(tmp_path / "new", another.uri, "wata", "runs"),
        ):
            with pytest.raises(errors.PackageFailed, match=r"See that it runs"):
                use()
    finally:
        another.start()
    assert not (tmp_path / "new").exists()
    assert index.snapshot().commit == commit
    check(held, truth)
    index.append(table(rows_of(4)))
    truth.append(rows_of(4), 4)
    check(index, truth)
    index.verify()


def test_threads_that_come_and_go_do_not_confuse_the_driver(server):
    address = Address(server.uri, "nothing")
    refused: list[Exception] = []

    def come_and_go() -> None:
        try:
            for _ in range(60):
                with Session(address) as session:
                    session.fetch("select 1 as one")
        except Exception as error:
            refused.append(error)

    threads = [threading.Thread(target=come_and_go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not refused


def test_a_table_that_went_while_the_server_was_away_is_said_to_be_gone(tmp_path, another):
    index, _ = filled(tmp_path / "x", f"{another.uri}#gone", "runs", last=3)
    held = index.snapshot()
    another.stop()
    another.start()
    another.ask("drop schema gone cascade")
    with pytest.raises(errors.CommitGone, match="Take a new snapshot"):
        held.probe(3)
    with pytest.raises(errors.Damaged, match="missing"):
        wx.open(tmp_path / "x").verify()
    with pytest.raises(errors.Damaged, match="missing"):
        wx.open(tmp_path / "x").probe(3)


# -- what is refused and what is found -------------------------------------------------------------


def test_text_that_the_server_cannot_keep_is_refused_and_nothing_changes(tmp_path, place):
    index, truth = filled(tmp_path / "x", place, "in-place", last=2)
    with pytest.raises(errors.WriteFailed, match="nothing was changed"):
        index.append(table([{"k": 1, "t": 31, "v": "a\0b"}]))
    check(index, truth)
    index.append(table(rows_of(3)))
    index.verify()


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            pa.schema([("k", pa.int64()), ("v", pa.list_(pa.int64()))]),
            "cannot be kept in PostgreSQL",
        ),
        (pa.schema([("k", pa.int64()), ("v" * 64, pa.int64())]), "at most 63"),
        (pa.schema([("k", pa.int64()), ("__row", pa.int64())]), "its name is taken"),
    ],
)
def test_what_postgresql_cannot_keep_is_refused(tmp_path, place, schema, said):
    with pytest.raises(errors.BadDefinition, match=said):
        wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=3, format=place)
    assert not (tmp_path / "x").exists()


def test_a_database_in_another_encoding_is_refused(tmp_path, server):
    server.ask("create database narrow encoding 'LATIN1' template template0 locale 'C'")
    with pytest.raises(errors.BadDefinition, match="UTF8"):
        create(tmp_path / "x", server.uri.replace("/postgres?", "/narrow?"), "wata", "runs")


def test_a_user_who_may_not_write_is_told_so(tmp_path, server):
    server.ask("create role guest login")
    with pytest.raises(errors.ReadOnly, match="does not allow"):
        filled(tmp_path / "x", server.uri.replace("user=tester", "user=guest"), "runs", last=1)


def test_a_schema_has_a_plain_name(tmp_path, server):
    with pytest.raises(errors.BadDefinition, match="no name for a schema"):
        create(tmp_path / "x", f'{server.uri}#a"; drop', "wata", "runs")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("update {} set v = 'forged' where __row = 0", "other rows"),
        ("delete from {} where __row = 0", "rows, not"),
        ("drop index {}", "lost an index"),
    ],
)
def test_what_was_done_to_a_table_is_found(tmp_path, server, place, harm, said):
    index, _ = filled(tmp_path / "x", place, "runs", last=2)
    name = sorted(server.tables(schema_of(place)) & {Path(f).stem for f in index.files()})[0]
    del index
    gc.collect()
    if "index" in harm:
        (name,) = server.ask(
            f"select indexname::text from pg_indexes where tablename = '{name}' "
            "and indexname not like '%_pkey'"
        )[0]
    server.ask(harm.format(f'{schema_of(place)}."{name}"'))
    with pytest.raises(errors.Damaged, match=said):
        wx.open(tmp_path / "x").verify()


def test_a_marker_that_says_something_else_is_found(tmp_path, place):
    index, _ = filled(tmp_path / "x", place, "runs", last=2)
    victim = Path(index.files()[0])
    del index
    victim.write_text(victim.read_text().replace('"table": "0', '"table": "1'))
    for act in (
        lambda index: index.verify(),
        lambda index: index.probe(3),
        lambda index: index.erase([3]),
        lambda index: index.migrate(shards=3),
    ):
        with pytest.raises(errors.Damaged, match=victim.name):
            act(wx.open(tmp_path / "x"))


def test_a_row_that_was_changed_on_the_server_is_never_copied(tmp_path, server, place):
    index, _ = filled(tmp_path / "x", place, "runs", last=2)
    name = sorted(server.tables(schema_of(place)) & {Path(f).stem for f in index.files()})[0]
    del index
    gc.collect()
    server.ask(f"update {schema_of(place)}.\"{name}\" set v = 'forged' where __row = 0")
    with pytest.raises(errors.Damaged, match="other rows"):
        wx.open(tmp_path / "x").migrate(shards=3)
    with pytest.raises(errors.Damaged, match="other rows"):
        wx.open(tmp_path / "x", check=True).probe(3)


def test_parts_are_small_files_and_tables_are_in_the_schema_of_the_index(tmp_path, server, place):
    index, _ = filled(tmp_path / "x", place, "packed-shadow", last=3)
    for path in index.files():
        said = json.loads(Path(path).read_text())
        assert said == {"server": server.uri, "schema": schema_of(place), "table": Path(path).stem}
    assert SCHEMA.names == ["k", "t", "v"]
    columns = server.ask(
        "select distinct column_name::text from information_schema.columns "
        f"where table_schema = '{schema_of(place)}'"
    )
    assert {name for (name,) in columns} == {"__row", "k", "t", "v"}


def test_an_index_moves_out_and_its_tables_go(tmp_path, server, place):
    index, truth = filled(tmp_path / "x", place, "runs")
    index.migrate(format="arrow")
    check(index, truth)
    gc.collect()
    index.vacuum()
    assert server.tables(schema_of(place)) == set()
    index.migrate(format=place, update="in-place", strategy="drain")
    index.append(table(rows_of(9)))
    truth.append(rows_of(9), 9)
    check(index, truth)
    index.verify()
    assert server.tables(schema_of(place))


@pytest.mark.parametrize("update", ["in-place", "runs"])
def test_what_is_erased_is_in_no_table_once_no_reader_holds_one(tmp_path, server, place, update):
    index, truth = filled(tmp_path / "x", place, update)
    doomed = truth.rows()[0]["k"]
    snapshot = index.snapshot()
    with pytest.raises(errors.EraseUnfinished, match="Close that snapshot"):
        index.erase([doomed])
    check(snapshot, truth)
    del snapshot
    gc.collect()
    index.vacuum()
    schema = schema_of(place)
    assert server.tables(schema) == markers(tmp_path / "x") != set()
    assert all(
        not server.ask(f'select 1 from "{schema}"."{name}" where k = {doomed!r}')
        for name in server.tables(schema)
    )
    assert same_rows(
        index.scan().read_all().to_pylist(), truth.rows(lambda row: row["k"] != doomed)
    )


@pytest.mark.parametrize("update", ["packed-shadow", "runs"])
def test_another_address_gets_all_tables_though_the_layout_stays(tmp_path, server, place, update):
    index = create(tmp_path / "x", place, "del", update, shards=1)
    index.migrate(indexes=1)
    for slot in range(1, 9):
        index.append(table(rows_of(slot)))
    rows = index.scan().read_all().to_pylist()
    other = f"{server.uri}#moved_{next(NUMBERS)}"
    index.migrate(format=other)
    gc.collect()
    index.vacuum()
    assert server.tables(schema_of(place)) == set()
    assert server.tables(schema_of(other)) == markers(tmp_path / "x") != set()
    assert same_rows(index.scan().read_all().to_pylist(), rows)
