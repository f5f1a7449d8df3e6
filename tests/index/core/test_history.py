"""The history of an index: which keys were in its window at every past time."""

from __future__ import annotations

import datetime as dt
import random
import shutil
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from kit.set_events import all_bytes
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.below import FilesBelow
from wavedex.files.contract import AnyFiles
from wavedex.files.local import Files
from wavedex.files.names import LOG
from wavedex.files.wrapped import WrappedFiles
from wavedex.log.manifest import Log
from wavedex.plan import SCHEMES
from wavedex.temporal import TemporalSet
from wavedex.testing.crashes import DISKS, LocalWalk

ROWS = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.int64())])
LIVES = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64())])
COUNTED = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])
NEEDED = {
    "wata-bounded": {"max_size": 400}, "rata-bounded": {"max_size": 400},
    "wata-offline": {"sizes": dict.fromkeys(range(60), 12)},
    "rata-offline": {"sizes": dict.fromkeys(range(60), 12)},
}  # fmt: skip


def make(path, **options) -> wx.WaveIndex:
    wanted = {"key": "k", "time": "t", "slot": 10, "window": 4, "indexes": 2, "history": "pph-s"}
    return wx.WaveIndex.create(path, ROWS, **{**wanted, **options})


def rows_of(slot: int, seed: int = 0) -> pa.Table:
    rng = random.Random(f"{seed}-{slot}")
    keys = [f"k{rng.randrange(15)}" for _ in range(rng.randrange(1, 12))]
    times = [10 * slot + rng.randrange(10) for _ in keys]
    return pa.table({"k": keys, "t": times, "v": [slot] * len(keys)}, ROWS)


def check(index: Any) -> None:
    """At the instant of each commit that is kept, who was there is who its snapshot has."""
    history, definition, instants = index.history, index.definition, {}
    for commit in index.commits:
        reached = definition.reached(Log(index.storage).read(commit))
        if reached is not None:
            instants[reached] = commit
    for reached, commit in instants.items():
        with index.snapshot(commit) as snapshot:
            keys = {*snapshot.scan(columns=["k"]).read_all()["k"].to_pylist()}
        found = history.snapshot(reached)["oid"].to_pylist()
        assert sorted(found) == sorted(keys), (commit, reached)
    assert history.verify() == []


@pytest.mark.parametrize("update", [name for name in TECHNIQUES if name != "toy"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_history_is_that_of_every_commit_of_a_wave(tmp_path, scheme, update):
    index = make(
        tmp_path / "a", scheme=scheme, update=update, keep_commits=500, **NEEDED.get(scheme, {})
    )
    for slot in range(12):
        index.append(rows_of(slot))
    index.append(rows_of(14))
    check(index)


@pytest.mark.parametrize("seed", range(5, 8))
def test_whatever_happens_to_a_wave(tmp_path, seed):
    rng = random.Random(seed)
    index = make(tmp_path / "a", keep_commits=500, window=6, indexes=3)
    slot = 0
    for turn in range(40):
        what = rng.choice("aaaaaalmevo")
        if what == "a":
            slot += rng.choice([1, 1, 1, 2, 4])
            index.append(rows_of(slot))
        elif what == "l" and slot:
            index.amend(rows_of(rng.randrange(max(0, slot - 4), slot + 1), seed=rng.random()))
        elif what == "m" and slot:
            index.migrate(window=rng.choice([4, 6, 7]), strategy=rng.choice(["rebuild", "drain"]))
        elif what == "v":
            index.vacuum(rng.choice([3, 500]))
        elif what == "o":
            index = wx.open(index.path)
        elif what == "e" and slot:
            gone = f"k{rng.randrange(15)}"
            index.erase([gone])
            assert index.history.lifespans(gone).num_rows == 0
        if slot and (turn % 6 == 0 or what == "e"):
            check(index)
    check(index)
    assert len(index.history.lifespans()) > 25


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_history_is_that_of_every_commit_of_lives(tmp_path, method):
    index = wx.LifetimeIndex.create(
        tmp_path / "a", LIVES, key="k", inserted="b", expires="e", max_lifetime=16, refresh=2,
        method=method, history="pph-s", keep_commits=500,
    )  # fmt: skip
    rng, spans = random.Random(3), []
    for now in range(2, 60, 2):
        rows = [
            {"k": rng.randrange(9), "b": now - rng.randrange(2), "e": now + rng.randrange(1, 15)}
            for _ in range(rng.randrange(5))
        ]
        index.update(now, pa.Table.from_pylist(rows, LIVES))
        spans += rows
        if now % 10 == 0 and rows:
            index.retract(now, pa.Table.from_pylist(rows[:1], LIVES))
            spans.remove(rows[0])
        if now % 18 == 0:
            check(index)
    check(index)
    history = index.history
    # Between refreshes, too: a row goes at its own end.
    for time in range(20, 40):
        there = {
            each["k"]
            for each in spans
            if each["b"] <= time < each["e"] and (each["b"] % 2 == 0 or each["b"] + 1 <= time)
        }
        assert {*history.snapshot(time)["oid"].to_pylist()} >= there


def test_history_of_counted_windows(tmp_path):
    index = wx.LifetimeIndex.create(
        tmp_path / "a", COUNTED, key="k", inserted="b", counts={"n": 12}, max_lifetime=16,
        refresh=2, method="count-rebuild", history="pph-s", keep_commits=500,
    )  # fmt: skip
    position = 0
    for now in range(2, 40, 2):
        rows = [{"k": (position + each) % 5, "b": now, "n": position + each} for each in range(3)]
        position += 3
        index.update(now, pa.Table.from_pylist(rows, COUNTED), arrived={"n": position})
    check(index)


def test_keys_of_several_columns_and_of_dates(tmp_path):
    schema = pa.schema([("a", pa.string()), ("b", pa.date32()), ("t", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "a", schema, key=["a", "b"], time="t", slot=10, window=2, history="pph-s"
    )
    days = [18_000, 18_001]
    for slot in range(6):
        rows = {"a": [f"x{slot % 3}"] * 2, "b": pa.array(days, pa.date32()), "t": [10 * slot] * 2}
        index.append(pa.table(rows, schema))
    history = index.history
    key = ("x1", pa.scalar(18_001, pa.date32()).as_py())
    assert history.contains(key, 25)
    spans = history.lifespans(key).to_pylist()
    assert [(each["start"], each["end"]) for each in spans] == [(20, 40), (50, None)]


def test_a_history_that_begins_later(tmp_path):
    index = make(tmp_path / "a", history=None, keep_commits=500)
    for slot in range(6):
        index.append(rows_of(slot))
    assert index.history is None
    index.keep_history()
    for slot in range(6, 15):
        index.append(rows_of(slot))
    index = wx.open(index.path)
    assert index.describe()["history"]["method"] == "pph-s"
    assert index.definition.history == "pph-s"
    history = index.history
    for slot in range(6, 15):
        window = pa.concat_tables([rows_of(each) for each in range(slot - 3, slot + 1)])
        keys = {*window["k"].to_pylist()}
        assert {*history.snapshot(10 * slot + 10)["oid"].to_pylist()} == keys
    with pytest.raises(errors.BadDefinition, match="kept by 'pph-s'"):
        index.keep_history("mvbt")


def test_histories_that_cannot_be(tmp_path):
    with pytest.raises(errors.BadDefinition, match="history"):
        make(tmp_path / "a", history="diary")
    assert not (tmp_path / "a").exists()
    index = make(tmp_path / "a", history=None)
    with pytest.raises(errors.BadDefinition, match="history"):
        index.keep_history("diary")
    assert index.history is None


def test_only_the_index_feeds_its_history(tmp_path):
    index = make(tmp_path / "a")
    index.append(rows_of(1))
    history = index.history
    for change in (
        lambda: history.add("x", 99),
        lambda: history.remove("k1", 99),
        lambda: history.load({"oid": ["x"], "time": [99], "op": [1]}),
    ):
        with pytest.raises(errors.ReadOnly, match="is fed by"):
            change()
    alone = TemporalSet.open(tmp_path / "a" / "history")
    with pytest.raises(errors.ReadOnly, match="is fed by"):
        alone.add("x", 99)


def test_a_history_may_be_forgotten_while_it_goes_on(tmp_path):
    index = make(tmp_path / "a", keep_commits=3)
    for slot in range(12):
        index.append(rows_of(slot))
    assert index.history.forget(60) > 0
    for slot in range(12, 20):
        index.append(rows_of(slot))
    check(index)
    with pytest.raises(errors.Forgotten):
        index.history.contains("k1", 59)


def test_erased_keys_leave_no_byte_of_the_history(tmp_path):
    index = make(tmp_path / "a", keep_commits=3)
    index.append(pa.table({"k": ["secret-name", "k1"], "t": [1, 2], "v": [0, 0]}, ROWS))
    for slot in range(1, 12):
        index.append(rows_of(slot))
    assert index.history.contains("secret-name", 12)
    assert index.probe("secret-name").num_rows == 0
    index.erase(["secret-name"])
    assert index.history.lifespans("secret-name").num_rows == 0
    assert b"secret-name" not in all_bytes(tmp_path)


def test_what_was_not_fed_in_time_is_named_and_mended(tmp_path):
    index = make(tmp_path / "a")
    for slot in range(4):
        index.append(rows_of(slot))
    shutil.copytree(tmp_path / "a" / "history", tmp_path / "old")
    for slot in range(4, 9):
        index.append(rows_of(slot))
    index.close()
    shutil.rmtree(tmp_path / "a" / "history")
    shutil.copytree(tmp_path / "old", tmp_path / "a" / "history")
    index = wx.open(index.path)
    with pytest.raises(errors.CommitGone, match="keep_history"):
        _ = index.history
    with pytest.raises(errors.PreparationOwed, match="keep_history"):
        index.append(rows_of(9), prepare="now")
    index.keep_history()
    for slot in range(10, 14):
        index.append(rows_of(slot), prepare="now")
        window = pa.concat_tables([rows_of(each) for each in range(slot - 3, slot + 1)])
        found = {*index.history.snapshot(10 * slot + 10)["oid"].to_pylist()}
        assert found == {*window["k"].to_pylist()}
    assert index.history.verify() == []


class HistoryWalk(LocalWalk):
    """A walk that looks at the history alone."""

    def answers(self, index: Any) -> list[dict[str, Any]]:
        return index.history.lifespans().to_pylist()

    def left_over(self, files: AnyFiles, index: Any) -> set[str]:
        return set()


@pytest.mark.crash
@pytest.mark.parametrize("disk", DISKS)
def test_crashes_before_every_change_to_the_disk(tmp_path, disk):
    origin = tmp_path / "a"
    index = make(origin)
    for slot in range(5):
        index.append(rows_of(slot))
    old = index.history.lifespans().to_pylist()
    index.close()
    after = shutil.copytree(origin, tmp_path / "after")
    with wx.open(after) as done:
        done.append(rows_of(5))
        new = done.history.lifespans().to_pylist()

    def act(index: Any) -> None:
        try:
            index.append(rows_of(5), prepare="now")
        except errors.PreparationOwed:
            index.prepare()

    walk = HistoryWalk(origin, tmp_path / "scratch")
    assert walk.crash_everywhere(DISKS[disk], act, old, new) > 15


def test_rows_as_of_a_past_time(tmp_path):
    index = make(tmp_path / "a", keep_commits=9)
    for slot in range(20):
        index.append(rows_of(slot))
    for time in range(13, 205, 4):
        slots = range(max(0, time // 10 - 4), time // 10)
        window = pa.concat_tables([rows_of(slot) for slot in slots])
        for key in ("k1", "k2"):
            expected = [each for each in window.to_pylist() if each["k"] == key]
            if time < 160:
                with pytest.raises(errors.RowsGone) as raised:
                    index.probe(key, as_of=time)
                assert raised.value.contains == bool(expected)
                continue
            found = index.probe(key, as_of=time)
            assert sorted(found.to_pylist(), key=str) == sorted(expected, key=str)
            assert index.probe(key, as_of=time, columns=["v"]).column_names == ["v"]
    with pytest.raises(errors.BadCondition, match="as_of"):
        index.probe("k1", as_of=200, limit=3)
    with index.snapshot() as snapshot, pytest.raises(errors.BadCondition, match="as_of"):
        snapshot.probe("k1", as_of=200)
    plain = make(tmp_path / "b", history=None)
    for slot in range(9):
        plain.append(rows_of(slot))
    with pytest.raises(errors.CommitGone, match="history="):
        plain.probe("k1", as_of=20)


def test_rows_of_lives_as_of_a_past_time(tmp_path):
    index = wx.LifetimeIndex.create(
        tmp_path / "a", LIVES, key="k", inserted="b", expires="e", max_lifetime=16, refresh=2,
        history="pph-s", keep_commits=50,
    )  # fmt: skip
    rng, rows = random.Random(4), []
    for now in range(2, 40, 2):
        new = [{"k": 1, "b": now, "e": now + rng.randrange(1, 15)} for _ in range(2)]
        index.update(now, pa.Table.from_pylist(new, LIVES))
        rows += new
    for time in range(4, 38, 3):
        expected = [each for each in rows if each["b"] <= time < each["e"]]
        found = index.probe(1, as_of=time).to_pylist()
        assert sorted(found, key=str) == sorted(expected, key=str), time


def test_dates_and_local_times_as_of_which_rows_are_asked_for(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    index = wx.WaveIndex.create(
        tmp_path / "a", schema, key="k", time="t", window=3, zone="Europe/Berlin",
        keep_commits=50, history="pph-s",
    )  # fmt: skip
    for day in range(1, 8):
        noon = dt.datetime(2026, 1, day, 12, tzinfo=dt.UTC)
        index.append(pa.table({"k": [1, day], "t": [noon, noon]}, schema))
    assert index.probe(2, as_of="2026-01-02").num_rows == 0  # Its slot is over at midnight.
    for told in ("2026-01-03", dt.date(2026, 1, 3), "2026-01-03T00:00", "2026-01-02T23:00Z"):
        assert index.probe(2, as_of=told).num_rows == 1
    assert index.probe(2, as_of="2026-01-02T23:59:59").num_rows == 0
    assert index.probe(2, as_of=dt.datetime(2026, 1, 6, tzinfo=dt.UTC)).num_rows == 0
    assert index.probe(1, as_of="2026-01-09").num_rows == 3
    for bad in (5, "soon", 1.5):
        with pytest.raises(errors.BadTime):
            index.probe(1, as_of=bad)


def test_a_folder_of_files_is_a_root_of_its_own(tmp_path):
    (tmp_path / "in").mkdir()
    below = FilesBelow(Files(tmp_path), "in")
    below.create("a", lambda sink: sink.write(b"x"))
    below.publish("b", b"y", "draft")
    assert sorted(below.list("")) == ["a", "b"]
    assert (tmp_path / "in" / "b").read_bytes() == b"y"
    assert str(below.root) == str(tmp_path / "in")
    with below.lock("lock"):
        assert below.remove_unpinned("a")
    below.sync_folder("..")


class Overtaken(WrappedFiles):
    """Files of a reader: something happens after it has read the history and before the log."""

    def __init__(self, files: AnyFiles, happen: Any) -> None:
        super().__init__(files)
        self._happen, self._has_read = happen, False

    def read(self, name: str) -> bytes:
        self._has_read = self._has_read or name.startswith("history/")
        return super().read(name)

    def list(self, folder: str) -> list[str]:
        if folder == LOG and self._has_read:
            self._happen()
        return super().list(folder)


def test_a_reader_that_is_overtaken_by_a_writer_looks_again(tmp_path):
    path, history = tmp_path / "a.wx", tmp_path / "a.wx" / "history"
    writer = make(path)
    writer.append(rows_of(1))
    shutil.copytree(history, tmp_path / "before")
    for slot in range(2, 9):
        writer.append(rows_of(slot))
    shutil.copytree(history, tmp_path / "after")

    def be(name: str) -> None:
        shutil.rmtree(history)
        shutil.copytree(tmp_path / name, history)

    for name, around in (("after", lambda: be("after")), ("before", lambda: None)):
        be("before")
        files = Overtaken(Files(path), around)
        reader = wx.open(path, surroundings=wx.Surroundings(files=lambda _, files=files: files))
        if name == "after":
            check(reader)
        else:
            with pytest.raises(errors.CommitGone, match="keep_history"):
                reader.history.snapshot(20)
