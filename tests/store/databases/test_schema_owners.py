"""A schema of PostgreSQL belongs to one index.

Nothing is dropped that it did not make, and a copy changes nothing.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
from pathlib import Path

import pytest

import wavedex as wx
from kit.postgresql_server import missing
from wavedex import errors
from wavedex.testing.oracle import Oracle
from wavedex.testing.package_rows import rows_of, table
from wavedex.testing.package_trials import check, create, oracle

pytest.importorskip("adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed")
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

NUMBERS = itertools.count()


@pytest.fixture
def schema() -> str:
    return f"owned_{next(NUMBERS)}"


def filled(path: Path, place: str, update: str, last: int = 4) -> tuple[wx.WaveIndex, Oracle]:
    index, truth = create(path, place, "wata", update, shards=1), oracle()
    for slot in range(1, last + 1):
        append(index, truth, slot)
    return index, truth


def append(index: wx.WaveIndex, truth: Oracle, slot: int) -> None:
    index.append(table(rows_of(slot)))
    truth.append(rows_of(slot), slot)


def test_a_schema_that_is_there_already_is_refused_and_left_as_it_is(tmp_path, server, schema):
    server.ask(f"create schema {schema} create table payroll (n int)")
    for name in (schema, "public"):
        with pytest.raises(errors.SchemaTaken, match=r"no index has made it.*leave the # out"):
            create(tmp_path / "x", f"{server.uri}#{name}", "wata", "runs")
    assert not (tmp_path / "x").exists()
    assert server.tables(schema) == {"payroll"}


def test_a_schema_that_came_to_be_since_is_refused_by_the_first_write(tmp_path, server, schema):
    index = create(tmp_path / "x", f"{server.uri}#{schema}", "wata", "runs")
    server.ask(f"create schema {schema} create table payroll (n int)")
    with pytest.raises(errors.SchemaTaken, match="no index has made it"):
        index.append(table(rows_of(1)))
    index.vacuum()
    assert server.tables(schema) == {"payroll"}
    assert index.scan().read_all().num_rows == 0


def test_a_comment_that_another_wrote_makes_nobody_the_owner(tmp_path, server, schema):
    index = create(tmp_path / "x", f"{server.uri}#{schema}", "wata", "runs")
    server.ask(f"create schema {schema} create table payroll (n int)")
    for comment in ("accounts", '{"wavedex": 1}', "[" * 100_000):
        server.ask(f"comment on schema {schema} is '{comment}'")
        with pytest.raises(errors.SchemaTaken, match="no index has made it"):
            index.append(table(rows_of(1)))
    assert server.tables(schema) == {"payroll"}


def test_two_indexes_cannot_have_one_schema(tmp_path, server, schema):
    place = f"{server.uri}#{schema}"
    second = create(tmp_path / "y", place, "wata", "runs")
    first, truth = filled(tmp_path / "x", place, "runs", last=2)
    tables = server.tables(schema)
    with pytest.raises(errors.SchemaTaken, match=rf"another index, which was made in {first.path}"):
        second.append(table(rows_of(1)))
    with pytest.raises(errors.SchemaTaken, match="drop schema"):
        create(tmp_path / "z", place, "wata", "runs")
    second.vacuum()
    assert server.tables(schema) == tables
    first.verify()
    for slot in range(3, 7):
        append(first, truth, slot)
    check(first, truth)


@pytest.mark.parametrize("update", ["in-place", "simple-shadow", "runs"])
def test_a_copy_changes_no_table_and_gets_tables_of_its_own(tmp_path, server, schema, update):
    index, truth = filled(tmp_path / "x", f"{server.uri}#{schema}", update)
    gc.collect()
    index.vacuum()
    shutil.copytree(tmp_path / "x", tmp_path / "y")
    copy, copied = wx.open(tmp_path / "y"), oracle()
    for slot in range(1, 5):
        copied.append(rows_of(slot), slot)
    check(copy, copied)
    tables = server.tables(schema)
    for write in (lambda: copy.append(table(rows_of(5))), lambda: copy.erase([3])):
        with pytest.raises(errors.SchemaTaken, match=r"is a copy.*migrate") as refusal:
            write()
    copy.vacuum()
    assert server.tables(schema) == tables
    assert f"migrate(format={server.uri!r})" in str(refusal.value)
    copy.migrate(format=server.uri)
    for slot in range(5, 9):
        append(copy, copied, slot)
    copy.vacuum()
    assert server.tables(schema) == tables
    check(index, truth)
    index.verify()
    for slot in range(5, 20):
        append(index, truth, slot)
    for each, expected in ((index, truth), (copy, copied)):
        each.verify()
        check(each, expected)


def test_a_folder_that_was_moved_goes_on(tmp_path, server, schema):
    index, truth = filled(tmp_path / "x", f"{server.uri}#{schema}", "in-place")
    del index
    os.rename(tmp_path / "x", tmp_path / "y")
    moved = wx.open(tmp_path / "y")
    append(moved, truth, 5)
    check(moved, truth)
    moved.verify()


def test_a_table_that_the_index_did_not_make_is_never_dropped(tmp_path, server, schema):
    index, truth = filled(tmp_path / "x", f"{server.uri}#{schema}", "runs", last=2)
    strange = {"payroll", "0000000001-0000beef-00000-0"}
    for name in strange:
        server.ask(f'create table {schema}."{name}" (n int)')
    for slot in range(3, 20):
        append(index, truth, slot)
    index.vacuum()
    assert strange <= server.tables(schema)
    check(index, truth)


def test_erasing_and_moving_out_clear_away_all_that_the_index_has_made(tmp_path, server, schema):
    index, _ = filled(tmp_path / "x", f"{server.uri}#{schema}", "in-place")
    server.ask(f"create table {schema}.payroll (n int)")
    index.erase([3])
    assert index.probe(3).num_rows == 0
    index.migrate(format="arrow")
    gc.collect()
    index.vacuum()
    assert server.tables(schema) == {"payroll"}
