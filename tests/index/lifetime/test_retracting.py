"""Rows that cease to hold before their time, and rows that get another end."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from kit.life_rows import LAST, SCHEMA, make, rows_at, table
from wavedex import errors
from wavedex.store.sifted import HidingShard
from wavedex.testing.life_oracle import BIRTH, END, KEY
from wavedex.testing.oracle import same_rows

METHODS = ["rebuild", "no-rebuild", "lazy-rebuild"]


def create(path, method="rebuild", grid=(2, 2), **options):
    return wx.LifetimeIndex.create(
        path, SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2,
        grid=grid, method=method, **options,
    )  # fmt: skip


def hidden_rows(life):
    return life.describe()["rows_hidden"]


@pytest.mark.parametrize("method", METHODS)
def test_a_retraction_hides_that_row_at_once_and_a_later_one_of_the_same_key_not(tmp_path, method):
    life = create(tmp_path / "index", method)
    row = {KEY: 7, BIRTH: 17, END: 30, "v": "a"}
    other = {**row, "v": "b"}
    life.update(18, table([row, other]))
    life.retract(19, table([row]))
    for asked in (life, life.snapshot(), wx.open(tmp_path / "index")):
        assert asked.probe(7).to_pylist() == [other]
        assert asked.probe_many([7]).to_pylist() == [other]
        assert asked.probe_range(7, 7).to_pylist() == [other]
        assert asked.scan().read_all().to_pylist() == [other]
        assert asked.probe(7, expired=True).to_pylist() == [other]
    life.update(20, table([row]))
    assert same_rows(life.probe(7).to_pylist(), [row, other])


@pytest.mark.parametrize("method", METHODS)
def test_the_row_goes_with_the_next_turn_of_its_sub_index_and_not_before(tmp_path, method):
    life = create(tmp_path / "index", method, (4, 2), shards=1)
    for now in range(2, 18, 2):
        life.update(now, table([{KEY: 1, BIRTH: now, END: now + 15, "v": str(now)}]))
    row = {KEY: 1, BIRTH: 16, END: 31, "v": "16"}
    (home,) = [name for name, rows in living(life).items() if row in rows]
    life.retract(16, table([row]))
    assert hidden_rows(life) == 1
    for now in range(18, 34, 2):
        done = life.update(now)
        assert row not in life.scan().read_all().to_pylist()
        if home in done.touched:
            assert hidden_rows(life) == 0
            break
        assert hidden_rows(life) == 1
    else:
        raise AssertionError("its turn never came")
    life.verify()


def living(life):
    """The rows of each sub-index."""
    snapshot = life.snapshot()
    return {
        name: [
            row
            for shard in range(snapshot.definition.shards)
            for owner, opened, _ in snapshot.parts_of(shard)
            if owner == name
            for row in opened.scan(None).to_pylist()
        ]
        for name in snapshot.manifest.indexes
    }


def test_rows_that_were_retracted_may_come_again_at_the_same_instant(tmp_path):
    life = create(tmp_path / "index")
    rows = table([{KEY: 1, BIRTH: 1, END: 9, "v": "a"}])
    life.update(2, rows)
    life.retract(2, rows)
    assert not life.update(2, rows).repeated
    assert life.probe(1).num_rows == 1


@pytest.mark.parametrize("method", METHODS)
def test_of_rows_that_are_alike_as_many_are_retracted_as_are_given(tmp_path, method):
    life = create(tmp_path / "index", method)
    row = {KEY: 1, BIRTH: 1, END: 9, "v": "twin"}
    life.update(2, table([row] * 3))
    life.retract(2, table([row]))
    assert life.probe(1).num_rows == 2
    with pytest.raises(errors.RowNotThere):
        life.retract(2, table([row] * 3))
    assert life.probe(1).num_rows == 2
    life.retract(2, table([row] * 2))
    assert life.probe(1).num_rows == 0
    life.update(4)
    assert life.probe(1).num_rows == 0


@pytest.mark.parametrize(
    "change",
    [{"v": "other"}, {END: 10}, {BIRTH: 2}, {KEY: 2}],
    ids=lambda change: next(iter(change)),
)
def test_a_row_that_differs_anywhere_is_not_there_and_nothing_changes(tmp_path, change):
    life = create(tmp_path / "index")
    row = {KEY: 1, BIRTH: 1, END: 9, "v": "a"}
    good = {**row, "v": "good"}
    life.update(2, table([row, good]))
    commit = life.snapshot().commit
    with pytest.raises(errors.RowNotThere, match="1 of the rows"):
        life.retract(2, table([good, {**row, **change}]))
    assert life.snapshot().commit == commit
    assert life.probe(1).num_rows == 2


def test_a_row_that_is_over_cannot_be_retracted(tmp_path):
    life = create(tmp_path / "index", "wata", (2, 1))
    row = {KEY: 1, BIRTH: 1, END: 3, "v": "a"}
    life.update(2, table([row]))
    with pytest.raises(errors.RowNotThere):
        life.retract(3, table([row]))
    assert life.probe(1).num_rows == 1


@pytest.mark.parametrize("options", [{}, {"format": "parquet"}, {"method": "no-rebuild"}], ids=str)
def test_a_part_hides_rows_by_their_positions_and_the_others_hide_none(tmp_path, options):
    life = create(tmp_path / "index", grid=(2, 2), shards=1, **options)
    for now in range(2, 18, 2):
        life.update(now, table(rows_at(now)))
    (victim,) = life.scan().read_all().slice(0, 1).to_pylist()
    life.retract(16, table([victim]))
    hiding = [shard for _, shard, _ in life.snapshot().parts_of(0) if len(shard.gone)]
    assert len(hiding) == 1
    (shard,) = hiding
    assert shard.rows_at(shard.gone).select(SCHEMA.names).to_pylist() == [victim]
    assert (shard.part.hidden.store, shard.part.hidden.rows) == ("positions", 1)
    assert len(life.snapshot().parts_of(0)) > 2


def test_what_lies_around_hidden_rows_is_handed_over_without_a_copy(tmp_path):
    life = create(tmp_path / "index", grid=(2, 2), shards=1)
    life.update(2, table([{KEY: 1, BIRTH: 1, END: 9, "v": str(n)} for n in range(100)]))
    rows = life.probe(1).to_pylist()
    life.retract(2, table([rows[10], rows[11], rows[50]]))
    snapshot = life.snapshot()
    found = snapshot.probe(1)
    assert found["v"].num_chunks == 3
    (shard,) = (shard for _, shard, _ in snapshot.parts_of(0) if shard.part.rows)
    mapped = shard.batch.column(0).buffers()[1].address
    assert {chunk.buffers()[1].address for chunk in found[KEY].chunks} == {mapped}
    life.retract(2, table(rows[51:91:2]))
    assert life.probe(1).num_rows == 77
    assert life.probe(1)["v"].num_chunks == 1  # of so many slices a copy is made
    life.retract(2, life.probe(1))
    assert life.probe(1).num_rows == 0


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_positions_that_are_damaged_or_of_other_rows_are_found(tmp_path, method):
    life = create(tmp_path / "index", method, shards=1)
    rows = [{KEY: key, BIRTH: 1, END: 9, "v": "a"} for key in range(20)]
    life.update(2, table(rows))
    life.retract(2, table(rows[3:5]))
    life.verify()
    (path,) = (tmp_path / "index").glob("data/*.hidden")
    good = path.read_bytes()
    spoiled = bytearray(good)
    spoiled[len(good) // 2] ^= 1
    path.write_bytes(spoiled)
    with pytest.raises(errors.Damaged, match="hidden"):
        wx.open(tmp_path / "index").verify()
    path.write_bytes(good)
    wx.open(tmp_path / "index").verify()


def test_a_package_without_positions_compares_rows(tmp_path):
    life = create(tmp_path / "index", grid=(2, 2), shards=1, format="sqlite")
    row = {KEY: 1, BIRTH: 1, END: 7, "v": "a"}
    life.update(2, table([row, row, {**row, "v": "b"}]))
    life.retract(2, table([row]))
    life.retract(2, table([{**row, "v": "b"}]))
    assert life.probe(1).to_pylist() == [row]
    hiding = [s for _, s, _ in life.snapshot().parts_of(0) if isinstance(s, HidingShard)]
    assert [shard.part.hidden.store for shard in hiding] == ["packed"]
    life.verify()


def test_null_values_and_values_that_are_no_numbers_are_matched_too(tmp_path):
    schema = pa.schema(
        [("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("x", pa.float64())]
    )
    life = wx.LifetimeIndex.create(
        tmp_path / "index", schema, key="k", inserted="b", expires="e", max_lifetime=8, refresh=2
    )
    rows = pa.table(
        {"k": [1, 1, 1], "b": [1] * 3, "e": [7] * 3, "x": [None, float("nan"), 0.5]}, schema
    )
    life.update(2, rows)
    life.retract(2, rows.slice(0, 2))
    assert life.probe(1)["x"].to_pylist() == [0.5]


@pytest.mark.parametrize("method", METHODS)
def test_a_prolonged_row_lives_on_and_nobody_elses_rows_are_written(tmp_path, method):
    life = create(tmp_path / "index", method, (2, 2), shards=1)
    for now in range(2, 18, 2):
        life.update(now, table(rows_at(now)))
    row = {KEY: 9, BIRTH: 16, END: 20, "v": "hold"}
    life.update(16, table([row]))
    life.update(18)
    before = files_of(life)
    life.prolong(18, table([{**row, END: 34}]))
    after = files_of(life)
    assert before <= after  # Beside what was there only the row itself and what hides it have come.
    assert life.probe(9).to_pylist() == [{**row, END: 34}]
    for now in range(18, 40):
        life.update(now)
        assert life.probe(9).num_rows == (1 if now < 34 else 0), now
    life.verify()


@pytest.mark.parametrize("method", METHODS)
def test_a_row_gets_the_longest_life_while_a_refresh_is_overdue(tmp_path, method):
    """The end lies farther ahead than the cells have room for at the refresh that is made next."""
    life = create(tmp_path / "index", method)
    row = {KEY: 1, BIRTH: 18, END: 30, "v": ""}
    life.update(18, table([row]))
    life.prolong(21, table([{**row, END: 37}]))
    for now in range(21, 39):
        life.update(now)
        assert life.probe(1).num_rows == (1 if now < 37 else 0), now
        life.verify()


def test_a_row_is_prolonged_beside_many_that_wait_and_those_are_not_written(tmp_path):
    life = create(tmp_path / "index", "rebuild", shards=1)
    row = {KEY: 9, BIRTH: 18, END: 30, "v": "hold"}
    life.update(18, table([row]))
    life.update(19, table([{**row, KEY: key, BIRTH: 19} for key in range(2_000)]))
    before = files_of(life)
    life.prolong(19, table([{**row, END: 34}]))
    assert before < files_of(life)
    assert len(files_of(life) - before) == 1
    assert life.probe(9).num_rows == 2


def files_of(life):
    return {
        ref.name
        for sub in life.snapshot().manifest.shown.values()
        for part in sub.parts
        for role, ref in part.files.items()
        if role == "rows"
    }


def test_an_end_may_also_come_nearer_and_may_be_now(tmp_path):
    life = create(tmp_path / "index")
    rows = [{KEY: key, BIRTH: 1, END: 15, "v": ""} for key in (1, 2)]
    life.update(2, table(rows))
    life.prolong(4, table([{**rows[0], END: 5}, {**rows[1], END: 4}]))
    assert [life.probe(key).num_rows for key in (1, 2)] == [1, 0]
    life.update(5)
    assert life.scan().read_all().num_rows == 0


def test_a_prolonged_row_survives_whatever_the_grid_becomes(tmp_path):
    life = create(tmp_path / "index", "lazy-rebuild", (2, 2))
    row = {KEY: 1, BIRTH: 2, END: 6, "v": ""}
    life.update(2, table([row]))
    for now, end in ((4, 20), (18, 34), (32, 48)):
        row = {**row, END: end}
        life.prolong(now, table([row]))
        life.update(now + 2)
        life.migrate(method="lazy-no-rebuild", grid=(8, 2))
        life.migrate(method="lazy-rebuild", grid=(4, 2))
        for later in range(now + 3, end - 2):
            life.update(later)
            assert life.probe(1).to_pylist() == [row], later
    life.update(48)
    assert life.probe(1).num_rows == 0


def test_what_was_retracted_and_prolonged_is_the_same_in_every_other_tool(tmp_path):
    oracle = make(tmp_path / "index", "rebuild")
    life = wx.open(tmp_path / "index")
    connection = duckdb.connect()
    for shorten in (None, 3):
        view = life.to_duckdb(connection, "entries", shorten=shorten)
        assert same_rows(view.to_arrow_table().to_pylist(), oracle.live(shorten or 0))
        frame = life.to_polars(shorten=shorten).collect()
        assert same_rows(frame.to_dicts(), oracle.live(shorten or 0))
    late = life.to_polars().filter(pl.col(BIRTH) > LAST - 2).collect()
    assert same_rows(late.to_dicts(), [row for row in oracle.live() if row[BIRTH] > LAST - 2])


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_an_erase_reaches_hidden_rows_too(tmp_path, method):
    life = create(tmp_path / "index", method, shards=1)
    secret = {KEY: 1, BIRTH: 1, END: 15, "v": "a secret that must not stay"}
    life.update(2, table([secret, {**secret, KEY: 2, "v": "harmless"}]))
    life.retract(2, table([secret]))
    life.erase([1])
    data = b"".join(file.read_bytes() for file in (tmp_path / "index" / "data").iterdir())
    assert b"a secret" not in data
    assert life.probe(2).num_rows == 1
    life.verify()


def test_a_row_with_times_that_is_not_there_is_named_as_people_write_it(tmp_path):
    times = pa.timestamp("s", "UTC")
    schema = pa.schema([("k", pa.int64()), ("b", times), ("e", times)])
    life = wx.LifetimeIndex.create(
        tmp_path / "x", schema, key="k", inserted="b", expires="e", max_lifetime="16 minutes",
        refresh="2 minutes",
    )  # fmt: skip
    life.update("2026-01-05T12:04Z")
    row = pa.table({"k": [1], "b": [1767614520], "e": [1767615000]}).cast(schema)
    said = r"\{'k': 1, 'b': '2026-01-05 12:02:00\+00:00', 'e': '2026-01-05 12:10:00\+00:00'\}"
    with pytest.raises(errors.RowNotThere, match=said):
        life.retract("2026-01-05T12:04Z", row)
