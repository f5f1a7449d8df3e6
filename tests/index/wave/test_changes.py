"""Between two commits, exactly the rows that entered the window and those that left it.

What stayed is not looked at.
"""

from __future__ import annotations

import zlib
from collections import Counter

import pyarrow as pa
import pytest

import wavedex as wx
from kit.folding import Folding, check_order
from kit.stream_oracle import EVERY, SCHEMA, StreamOracle, bag, rows, table
from kit.stream_walk import Walk
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.index.core.changes import ChangeFeed
from wavedex.log.manifest import Log, Manifest

WINDOW, MAX_GAP, STEPS = 4, 5, 18
CASES = [(scheme, update) for scheme in ("wata", "rata", "del") for update in TECHNIQUES]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def make(path, **options) -> wx.WaveIndex:
    options = {"window": WINDOW, "indexes": 2, "max_gap": MAX_GAP, "keep_commits": 200, **options}
    return wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=EVERY, **options)


def balance(changes: pa.Table) -> Counter:
    """The rows with the number by which each became more, or less."""
    found: Counter = Counter()
    for row in changes.to_pylist():
        assert row["_change"] in (1, -1)
        found[row["k"], row["t"], row["v"]] += row["_change"]
    return Counter({row: count for row, count in found.items() if count})


def entries(index: wx.WaveIndex, since: int | None, until: int | None = None) -> list[tuple]:
    """The changes themselves: the time of each row, and its sign."""
    found = index.changes(since, until).read_all().to_pylist()
    return sorted((row["t"], row["_change"]) for row in found)


def newest(index: wx.WaveIndex) -> int:
    return index.describe()["commit"]


def log_of(index: wx.WaveIndex) -> Log:
    return Log(Files(index.path))


# -- against the dictionary ------------------------------------------------------------------------


class KeepingWalk(Walk):
    """Looks on after each step, so that no more may be cleared away than what was seen."""

    def vacuum(self) -> None:
        self.index.vacuum(self.random.choice([10, 20]))


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "update"), CASES)
def test_the_changes_add_up_to_the_window(tmp_path, scheme, update):
    seed = zlib.crc32(f"changes {scheme} {update}".encode())
    index = make(tmp_path / "x", scheme=scheme, update=update, shards=1 + seed % 2, first_room=1)
    walk = KeepingWalk(index, StreamOracle(WINDOW, MAX_GAP), seed)
    reader = wx.open(tmp_path / "x")
    before, sum_so_far, operations = 0, Counter(), Counter()
    folding = Folding()
    for _ in range(STEPS):
        walk.step()
        folding.read(reader)
        after = newest(index)
        step = balance(reader.changes(before).read_all())
        sum_so_far.update(step)
        assert min(sum_so_far.values(), default=0) >= 0
        assert +sum_so_far == bag(walk.oracle.rows())
        assert +sum_so_far == balance(reader.changes(None).read_all())
        by_commit = Counter()
        for commit in range(before + 1, after + 1):
            alone = reader.changes(commit - 1, commit).read_all()
            assert set(alone["_commit"].to_pylist()) <= {commit}
            operation = log_of(index).read(commit).operation
            operations[operation] += 1
            assert not (alone.num_rows and operation == "prepare")
            by_commit.update(balance(alone))
        assert {row: n for row, n in by_commit.items() if n} == step
        before = after
    assert operations["feed"]
    assert operations["seal"]
    assert operations["prepare"] or (scheme != "rata" and update != "runs")


# -- what a commit changed -------------------------------------------------------------------------


def test_a_change_has_the_columns_of_the_schema_its_sign_and_its_commit(tmp_path):
    index = make(tmp_path / "x", window=2)
    for slot in (10, 11, 12):
        index.append(rows(slot * EVERY))
    last = newest(index)
    found = index.changes(0)
    assert found.schema.names == ["k", "t", "v", "_change", "_at", "_commit"]
    table_of_all = found.read_all()
    assert table_of_all.schema.field("_change").type == pa.int32()
    commits = {row["t"]: row["_commit"] for row in table_of_all.to_pylist() if row["_change"] > 0}
    assert list(commits) == [100, 110, 120]
    assert sorted(commits.values()) == list(commits.values())
    assert entries(index, 0) == [(100, -1), (100, 1), (110, 1), (120, 1)]
    assert entries(index, None) == [(110, 1), (120, 1)]
    assert entries(index, None, commits[100]) == [(100, 1)]
    assert set(index.changes(None).read_all()["_commit"].to_pylist()) == {last}
    assert entries(index, last) == entries(index, last, last) == []


@pytest.mark.parametrize(
    ("update", "store"),
    [*((each, "arrow") for each in TECHNIQUES), ("packed-shadow", "parquet"), ("runs", "parquet")],
)
def test_some_columns_of_changes_are_those_of_all(tmp_path, update, store):
    index = make(tmp_path / "x", update=update, shards=2, format=store)
    for slot in (10, 11, 12, 13, 14, 16):
        index.append(rows(*range(slot * EVERY, slot * EVERY + 6)))
    index.amend(rows(143, 143, 161))
    feed = index.change_feed
    for since in (None, 0):
        steps = feed.find(since, newest(index))
        whole = pa.Table.from_batches(feed.read(steps), feed.schema)
        for names in (["k"], ["v"], ["t"]):
            some = ChangeFeed(
                Files(index.path), index._definition, index.changes_kind, columns=names
            )
            assert some.schema.names == [*names, "_change", "_at", "_commit"]
            found = pa.Table.from_batches(some.read(steps), some.schema)
            assert found.equals(whole.select(some.schema.names))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["wata", "reindex++", "del"])
@pytest.mark.parametrize("update", TECHNIQUES)
def test_an_amendment_is_its_new_rows_alone_though_files_are_written_anew(tmp_path, scheme, update):
    index = make(tmp_path / "x", scheme=scheme, update=update)
    for slot in (10, 11, 12, 13, 14):
        index.append(rows(*range(slot * EVERY, slot * EVERY + 6)))
    before = newest(index)
    # One row that is there already, twice more, and a new one; and the same in a slot of another
    # sub-index.
    index.amend(rows(113, 113, 119, 142))
    assert entries(index, before, before + 1) == [(113, 1), (113, 1), (119, 1), (142, 1)]
    assert entries(index, before) == entries(index, before, before + 1)
    again = newest(index)
    index.amend(rows(113))
    assert entries(index, again) == [(113, 1)]
    assert entries(index, before) == [(113, 1), (113, 1), (113, 1), (119, 1), (142, 1)]


@pytest.mark.parametrize("update", TECHNIQUES)
def test_rows_of_a_stream_enter_once_and_sealing_their_slot_is_no_change(tmp_path, update):
    index = make(tmp_path / "x", update=update, window=2)
    index.feed(rows(100, 100, 111), stream="s", number=0, delay=0)
    first = newest(index)
    index.feed(rows(111, 124), stream="s", number=1, delay=0)
    assert entries(index, 0, first) == [(100, 1), (100, 1), (111, 1)]
    assert entries(index, first) == [(111, 1), (124, 1)]
    second = newest(index)
    index.feed(rows(100, 130), stream="s", number=2, delay=0)
    assert entries(index, second) == [(100, -1), (100, -1), (130, 1)]
    third = newest(index)
    index.feed(rows(100, 130), stream="s", number=2, delay=0)
    assert newest(index) == third


# -- when ------------------------------------------------------------------------------------------


def instants(index: wx.WaveIndex, since: int | None) -> list[tuple]:
    """The time of each row, its sign, and when it came or went."""
    found = index.changes(since).read_all()
    check_order(found)
    return [(row["t"], row["_change"], row["_at"]) for row in found.to_pylist()]


def test_a_slot_comes_when_it_is_over_and_one_goes_at_that_instant(tmp_path):
    index = make(tmp_path / "x", window=2)
    index.append(rows(100, 110))
    first = newest(index)
    assert instants(index, 0) == [(100, 1, 110), (110, 1, 120)]
    index.append(rows(121))
    assert instants(index, first) == [(100, -1, 130), (121, 1, 130)]
    second = newest(index)
    index.append(rows(131, 141))
    assert instants(index, second) == [(110, -1, 140), (131, 1, 140), (121, -1, 150), (141, 1, 150)]
    third = newest(index)
    index.append(rows(190))  # The slots in between are empty.
    assert instants(index, third) == [(131, -1, 160), (141, -1, 170), (190, 1, 200)]


def test_late_rows_and_a_shorter_window_are_as_of_the_newest_slot(tmp_path):
    index = make(tmp_path / "x", window=3)
    index.append(rows(100, 110, 120))
    first = newest(index)
    index.amend(rows(105))
    assert instants(index, first) == [(105, 1, 130)]
    second = newest(index)
    index.migrate(window=2)
    assert sorted(instants(index, second)) == [(100, -1, 130), (105, -1, 130)]


def test_rows_of_open_slots_come_at_once_and_no_instant_is_before_another(tmp_path):
    index = make(tmp_path / "x", window=2)
    index.feed(rows(100, 111, 125), stream="s", number=0, delay=20)
    assert instants(index, 0) == [(100, 1, 110), (111, 1, 120), (125, 1, 130)]
    first = newest(index)
    index.feed(rows(112, 131), stream="s", number=1, delay=20)
    assert instants(index, first) == [(112, 1, 130), (131, 1, 140)]
    assert [row[0] for row in instants(index, ("s", 0))] == [112, 131]


@pytest.mark.parametrize(
    ("kind", "slot", "expected"),
    [
        (pa.date32(), "1 day", ["1970-01-13", "1970-01-14"]),
        (pa.timestamp("ms", "Europe/Berlin"), "1 day", ["1970-01-13 00:00:00+01:00", None]),
        (pa.int16(), 1, ["12", "13"]),
    ],
)
def test_instants_have_the_type_of_the_time(tmp_path, kind, slot, expected):
    schema = pa.schema([("k", pa.int64()), ("t", kind)])
    zone = "Europe/Berlin" if pa.types.is_timestamp(kind) else "UTC"
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=slot, zone=zone, window=2, keep_commits=9
    )
    day = 24 * 3600 * 1000 if pa.types.is_timestamp(kind) else 1
    for number in (11, 12):
        times = pa.array([number * day]).cast(pa.int32() if day == 1 else pa.int64())
        index.append(pa.table([pa.array([1]), times.cast(kind)], schema=schema))
    found = index.changes(0).read_all()["_at"]
    assert found.type == kind
    for said, instant in zip(expected, found.to_pylist(), strict=True):
        assert said is None or str(instant) == said


def test_where_slots_are_numbers_instants_are_numbers_too_as_far_as_they_reach(tmp_path):
    schema = pa.schema([("k", pa.int64())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=2, keep_commits=9)
    for slot in (2**62 - 2, 2**62 - 1):
        index.append(pa.table({"k": [1]}), slot=slot)
    assert index.changes(0).read_all()["_at"].to_pylist() == [2**62 - 1, 2**62]
    small = pa.schema([("k", pa.int64()), ("t", pa.int8())])
    index = wx.WaveIndex.create(
        tmp_path / "y", small, key="k", time="t", slot=1, window=2, keep_commits=9
    )
    index.append(pa.table({"k": [1], "t": [127]}).cast(small))
    assert index.changes(0).read_all()["_at"].to_pylist() == [127]


# -- what is not looked at -------------------------------------------------------------------------


class CountingFiles(Files):
    """Notes which files are opened for reading."""

    def __init__(self, root) -> None:
        super().__init__(root)
        self.opened: set[str] = set()
        self.bytes = 0

    def open(self, ref):
        self.opened.add(ref.name)
        self.bytes += ref.bytes
        return super().open(ref)


def files_of(manifest: Manifest, slot: int) -> set[str]:
    return {
        file.name
        for sub in manifest.shown.values()
        for part in sub.parts
        if slot in part.shown
        for file in part.files.values()
    }


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["del", "wata", "rata"])
@pytest.mark.parametrize("update", TECHNIQUES)
def test_only_files_of_slots_that_entered_or_left_are_opened(tmp_path, scheme, update):
    wide, slots = 12, range(10, 30)
    index = make(tmp_path / "x", scheme=scheme, update=update, window=wide, indexes=6)
    seen = {}
    for slot in slots:
        index.append(rows(*range(slot * EVERY, slot * EVERY + 9)))
        seen[slot] = newest(index)
    files = CountingFiles(tmp_path / "x")
    reader = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=lambda _: files))
    log = log_of(index)
    for slot in (25, 28, 29):
        before, after = seen[slot - 1], seen[slot]
        files.opened.clear()
        files.bytes = 0
        assert len(entries(reader, before, after)) == 18
        # The slot that entered, in the commit in which it did; a later merge of it is no change.
        entering = files_of(log.read(before + 1), slot)
        leaving = files_of(log.read(before), slot - wide)
        assert files.opened == entering | leaving
        everything = log.read(after).files.values()
        assert files.bytes < sum(file.bytes for file in everything) / 2
    files.opened.clear()
    index.feed(table([]), stream="s", number=0, delay=0)
    assert entries(reader, seen[29]) == []
    assert not files.opened


def test_of_a_slot_that_grew_by_a_run_only_the_run_is_opened(tmp_path):
    index = make(tmp_path / "x", update="runs", shards=1)
    index.append(rows(95))
    files = CountingFiles(tmp_path / "x")
    reader = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=lambda _: files))
    log = log_of(index)
    for number in range(5):
        before = newest(index)
        index.feed(rows(101, 102), stream="s", number=number, delay=50)
        index.amend(rows(96))
        files.opened.clear()
        assert entries(reader, before) == [(96, 1), (101, 1), (102, 1)]
        fed, amended = (
            set(log.read(before + n).files) - set(log.read(before + n - 1).files) for n in (1, 2)
        )
        assert len(fed) == len(amended) == 2
        assert files.opened == fed | amended
