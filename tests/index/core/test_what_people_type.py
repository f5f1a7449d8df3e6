"""What people type without looking it up: len, in, with, last, to_pandas, pickle, Tab."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadKey, BadTime, CommitGone
from wavedex.slots import NamedSlots

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])
LIFE = pa.schema([("k", pa.string()), ("begun", pa.int64()), ("until", pa.int64())])


def rows_of(day: int) -> pa.Table:
    """A row for each of two users, at six in the morning and in the evening."""
    times = [dt.datetime(2026, 1, day, hour, tzinfo=dt.UTC) for hour in (6, 18)]
    return pa.table({"user": ["ann", "bob"], "at": times, "n": [day, -day]}, SCHEMA)


@pytest.fixture
def idx(tmp_path: Path) -> wx.WaveIndex:
    made = wx.WaveIndex.create(tmp_path / "i.wx", SCHEMA, key="user", time="at", window=5)
    for day in range(1, 9):
        made.append(rows_of(day))
    return made


@pytest.fixture
def life(tmp_path: Path) -> wx.LifetimeIndex:
    made = wx.LifetimeIndex.create(
        tmp_path / "l.wx", LIFE, key="k", inserted="begun", expires="until",
        max_lifetime=16, refresh=2,
    )  # fmt: skip
    for now in range(2, 13, 2):
        rows = {"k": ["a", "b"], "begun": [now - 1, now], "until": [now + 3, now + 9]}
        made.update(now, pa.table(rows, LIFE))
    return made


def test_an_index_has_a_length_and_keys(idx: wx.WaveIndex, life: wx.LifetimeIndex) -> None:
    assert len(idx) == len(idx.snapshot()) == 10
    assert "ann" in idx
    assert "eve" not in idx
    with pytest.raises(BadKey):
        _ = 7 in idx
    assert len(life) == life.scan().read_all().num_rows > 0
    life.retract(12, life.probe("b").slice(0, 1))
    assert len(life) == life.scan().read_all().num_rows
    idx.erase(["ann"])
    assert len(idx) == 5
    assert "ann" not in idx


def test_an_empty_index_is_there(tmp_path: Path) -> None:
    idx = wx.WaveIndex.create(tmp_path / "i", SCHEMA, key="user", time="at", window=5)
    assert len(idx) == 0
    assert idx
    assert "[]" in repr(idx)
    assert len(idx.last(3)) == 0


@pytest.mark.parametrize("scheme", ["del", "wata", "reindex"])
@pytest.mark.parametrize("update", ["runs", "packed-shadow", "in-place"])
def test_a_length_is_what_a_scan_finds(tmp_path: Path, scheme: str, update: str) -> None:
    idx = wx.WaveIndex.create(
        tmp_path / "i", SCHEMA, key="user", time="at", window=5, scheme=scheme, update=update
    )
    for day in range(1, 15):
        idx.append(rows_of(day))
        assert len(idx) == idx.scan().read_all().num_rows == 2 * min(day, 5)


def test_it_is_its_own_context(idx: wx.WaveIndex) -> None:
    with idx as same, idx.snapshot() as seen:
        assert same is idx
        assert len(seen) == 10
    assert len(idx) == 10  # It is opened again.


def test_others_read_it_through_arrow(idx: wx.WaveIndex) -> None:
    wanted = idx.to_arrow(order="time")
    assert pa.table(idx).sort_by("at").equals(wanted)
    assert pa.schema(idx) == SCHEMA
    assert pl.DataFrame(idx).sort("at")["n"].to_list() == wanted["n"].to_pylist()
    assert len(pl.from_arrow(idx)) == 10  # Polars makes a series of structs of it.
    assert pl.DataFrame(idx.last(1)).height == 2
    assert duckdb.sql("select count(*), sum(n) from idx").fetchall() == [(10, 0)]
    found = idx.to_pandas(order="time", columns=["n"])
    assert isinstance(found, pd.DataFrame)
    assert found["n"].tolist() == wanted["n"].to_pylist()
    snapshot = idx.snapshot()
    assert pa.table(snapshot).num_rows == 10


def test_the_last_part_is_read_as_all_of_it_is(idx: wx.WaveIndex) -> None:
    for span in (2, "2 days", "48 hours", dt.timedelta(days=2), "2d"):
        recent = idx.last(span)
        assert recent.probe("ann")["n"].to_pylist() == [7, 8]
        assert len(recent) == 4
        assert [*recent.slots] == idx.slots[-2:]
        assert recent.scan(since="2026-01-08").read_all().num_rows == 2
        assert recent.probe_many(["ann", "bob"], until="2026-01-07").num_rows == 2
    half = idx.last("36 hours")  # From noon of the seventh on.
    assert sorted(half.to_arrow()["n"].to_pylist()) == [-8, -7, 8]
    assert len(half) == 3
    assert idx.last(100).to_arrow().num_rows == 10
    assert len(idx.last(0)) == 0
    assert duckdb.sql("select count(*) from half").fetchall() == [(3,)]
    assert half.to_polars().collect().height == 3
    with duckdb.connect() as connection:
        half.to_duckdb(connection, "half")
        assert connection.execute("select count(*) from half").fetchall() == [(3,)]


def test_the_last_part_of_an_index_moves_on_and_that_of_a_snapshot_does_not(
    idx: wx.WaveIndex,
) -> None:
    moving, still = idx.last(1), idx.snapshot().last(1)
    idx.append(rows_of(9))
    assert moving.probe("ann")["n"].to_pylist() == [9]
    assert still.probe("ann")["n"].to_pylist() == [8]


def test_the_last_part_of_a_lifetime_index_goes_by_insertion(life: wx.LifetimeIndex) -> None:
    rows = life.to_arrow()
    wanted = sorted(begun for begun in rows["begun"].to_pylist() if begun > 12 - 4)
    assert sorted(life.last(4).to_arrow()["begun"].to_pylist()) == wanted
    assert len(life.last(4)) == len(wanted)
    life.update(14)
    assert life.last(1).to_arrow().num_rows == 0


@pytest.mark.parametrize("span", ["soon", 1.5, None, True, "1 month"])
def test_what_is_no_span_is_refused(idx: wx.WaveIndex, span: object) -> None:
    with pytest.raises(BadTime):
        idx.last(span)


def test_commits_are_counted(idx: wx.WaveIndex) -> None:
    assert idx.commit == idx.snapshot().commit == idx.commits[-1]
    before = idx.commit
    idx.append(rows_of(9))
    assert idx.commit > before


def test_a_repeated_append_says_so(idx: wx.WaveIndex) -> None:
    again = idx.append(rows_of(8))
    assert again.repeated
    assert again.rows == 0
    assert not idx.append(rows_of(9)).repeated
    assert idx.append(pa.concat_tables([rows_of(8), rows_of(9)])).repeated
    assert not idx.append(rows_of(9).slice(0, 0)).repeated


def test_they_are_sent_to_other_processes(idx: wx.WaveIndex, life: wx.LifetimeIndex) -> None:
    things = [idx, life, idx.snapshot(), idx.last("2 days"), life.snapshot()]
    program = (
        "import pickle, sys\n"
        "for each in pickle.load(sys.stdin.buffer): print(len(each), len(each.to_arrow()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(things), capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == [f"{len(each)} {len(each)}" for each in things]


def test_a_snapshot_that_is_gone_is_not_sent(idx: wx.WaveIndex) -> None:
    sent = pickle.dumps(idx.snapshot())
    for day in range(9, 14):
        idx.append(rows_of(day))
    with pytest.raises(CommitGone):
        pickle.loads(sent)
    with pytest.raises(TypeError, match="Send the index itself"):
        pickle.dumps(idx.snapshot().since(1))


def names(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


READING = {
    *("files", "last", "probe", "probe_many", "probe_range", "scan", "slots", "sub_indexes"),
    *("to_arrow", "to_duckdb", "to_pandas", "to_polars"),
}
HELD = READING | {
    *("append", "close", "commit", "commits", "create", "describe", "erase", "feed", "follow"),
    *(
        "followers",
        "history",
        "keep_history",
        "migrate",
        "open",
        "path",
        "prepare",
        "schema",
        "snapshot",
        "vacuum",
        "verify",
    ),
}


def test_tab_shows_what_users_call(idx: wx.WaveIndex, life: wx.LifetimeIndex) -> None:
    assert names(idx) == HELD | {"amend", "changes", "read_records"}
    assert names(life) == HELD | {"apply", "changes", "prolong", "retract", "update"}
    assert names(idx.snapshot()) == READING | {"close", "commit"}
    assert names(life.snapshot()) == READING | {"close", "commit"}
    assert names(idx.last(1)) == READING
    assert names(wx) == {*wx.__all__}


def test_slots_are_shown_by_their_dates(idx: wx.WaveIndex, life: wx.LifetimeIndex) -> None:
    assert repr(idx.slots) == "[2026-01-04 to 2026-01-08]"
    assert idx.slots == [*range(idx.slots[0], idx.slots[0] + 5)]
    assert idx.slots.names[0] == "2026-01-04"
    assert repr(idx) == (
        f"<WaveIndex {idx.path}: [2026-01-04 to 2026-01-08], 5 slots in 4 sub-indexes by wata, "
        f"commit {idx.commit}>"
    )
    assert "2026-01-04" in repr(idx.snapshot())
    assert repr(idx.last("2 days")).startswith("<the last 2 days of <WaveIndex")
    assert "by rebuild" in repr(life)
    assert "slots=[2026-01-09]" in repr(idx.append(rows_of(9)))
    assert len(repr(idx.append(pa.concat_tables(map(rows_of, range(10, 31)))))) < 200


def test_an_index_that_is_gone_can_still_be_shown(idx: wx.WaveIndex) -> None:
    (Path(idx.path) / "log").rename(Path(idx.path) / "gone")
    assert "cannot be read" in repr(idx)


def some_slots() -> Iterator[tuple[list[int], str]]:
    yield [], "[]"
    yield [3], "[3]"
    yield [1, 2, 3], "[1, 2, 3]"
    yield [*range(100)], "[0 to 99]"
    yield [1, 2, 5, 9], "[1, 2, 5, 9]"
    yield [*range(0, 40, 2)], "[0, 2, 4, ..., 34, 36, 38]"


@pytest.mark.parametrize(("slots", "shown"), [*some_slots()])
def test_long_lists_of_slots_are_short(slots: list[int], shown: str) -> None:
    assert repr(NamedSlots(slots)) == shown
    assert pickle.loads(pickle.dumps(NamedSlots(slots))) == slots
