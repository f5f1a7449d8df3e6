"""A change of mind.

What each way of it does, what it leaves alone, and what a crash or a reader makes of it.
"""

from __future__ import annotations

import itertools
import multiprocessing as mp
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.crashing import crash_everywhere
from kit.small_waves import WINDOW, answers, make, rows_of, table
from kit.ways import SQLITE, WAYS
from wavedex.files.local import Files
from wavedex.index.core.migration import STRATEGIES
from wavedex.log.manifest import Log
from wavedex.testing.crashes import DISKS
from wavedex.testing.disks import FullDisk
from wavedex.testing.oracle import same_rows

NEWEST = WINDOW + 3
PAIRS = [
    ("wata", "runs", {"scheme": "rata", "indexes": 3}),
    ("rata", "runs", {"update": "in-place"}),
    ("del", "in-place", {"update": "runs", "format": "parquet", "shards": 3}),
    ("reindex++", "packed-shadow in parquet", {"format": "arrow", "update": "simple-shadow"}),
    ("wata", "simple-shadow", {"scheme": "wata-bounded", "max_size": 30, "update": "runs"}),
    ("reindex", "runs", {"window": 3, "indexes": 2}),
    ("reindex+", "packed-shadow", {"window": 9, "scheme": "del"}),
]


def data_files(path: Path) -> set[str]:
    return {f.name for f in (path / "data").iterdir()}


@pytest.mark.parametrize(
    ("scheme", "way", "change", "disk"),
    [(*pair, disk) for pair, disk in zip(PAIRS, itertools.cycle(DISKS), strict=False)],
)
def test_a_crash_in_a_migration_leaves_the_old_index_or_the_new_one(
    tmp_path, scheme, way, change, disk
):
    oracle = make(tmp_path / "origin", scheme, way, range(1, NEWEST + 1))
    old = oracle.rows()
    window = change.get("window", WINDOW)
    new = [row for row in old if row["t"] // 10 > NEWEST - window]
    strategies = [each for each in STRATEGIES if each == "rebuild" or "shards" not in change]
    for strategy in strategies:

        def act(index: wx.WaveIndex, strategy=strategy) -> None:
            index.migrate(**change, strategy=strategy)
            about = index.describe()
            assert {name: about[name] for name in change if name in about} == {
                name: value for name, value in change.items() if name in about
            }

        crash_everywhere(tmp_path, DISKS[disk], act, old, new)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("way", WAYS)
def test_a_longer_window_fills_and_brings_nothing_back(tmp_path, way, strategy):
    oracle = make(tmp_path / "x", "wata", way, range(1, NEWEST))
    index = wx.open(tmp_path / "x")
    assert index.scan(expired=True).read_all().num_rows > len(oracle.rows())
    index.migrate(window=WINDOW + 3, strategy=strategy)
    assert len(index.slots) == WINDOW + 3
    assert same_rows(answers(index), oracle.rows())
    oracle.window += 3
    for slot in range(NEWEST, NEWEST + 2 * WINDOW):
        index.append(table(rows_of(slot)))
        oracle.append(rows_of(slot), slot)
        assert same_rows(answers(index), oracle.rows())
        index.verify()
    assert len(oracle.rows()) == (WINDOW + 3) * len(rows_of(1))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_shorter_window_forgets_at_once(tmp_path, strategy):
    make(tmp_path / "x", "reindex", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    index.migrate(window=2, strategy=strategy)
    assert index.slots == [NEWEST - 1, NEWEST]
    assert {row["t"] // 10 for row in answers(index)} == {NEWEST - 1, NEWEST}
    with pytest.raises(wx.errors.OutsideWindow):
        index.amend(table(rows_of(NEWEST - 2)))
    index.migrate(window=WINDOW)
    assert {row["t"] // 10 for row in answers(index)} == {NEWEST - 1, NEWEST}


def test_rebuilding_names_what_can_stay_and_draining_writes_nothing(tmp_path):
    make(tmp_path / "x", "wata", "packed-shadow", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    before = data_files(tmp_path / "x")
    index.migrate(scheme="reindex", indexes=5, strategy="drain")
    assert data_files(tmp_path / "x") <= before
    assert set(index.sub_indexes) == {"I1", "I2", "I3", "I4", "I5", "O1", "O2"}
    held = [slot for slots in index.sub_indexes.values() for slot in slots]
    assert sorted(held) == index.slots
    for slot in range(NEWEST + 1, NEWEST + WINDOW + 1):
        assert any(name.startswith("O") for name in index.sub_indexes)
        index.append(table(rows_of(slot)))
    assert set(index.sub_indexes) == {"I1", "I2", "I3", "I4", "I5"}
    index.verify()
    index.vacuum()
    assert not before & data_files(tmp_path / "x")


@pytest.mark.slow
def test_late_rows_reach_sub_indexes_that_drain_in_every_way(tmp_path):
    ways = WAYS | SQLITE
    pairs = [*itertools.product(WAYS, WAYS), *itertools.product(SQLITE, ["runs", "in-place"])]
    pairs += [*itertools.product(["runs", "in-place"], SQLITE)]
    for before, after in pairs:
        path = tmp_path / f"{before}-{after}"
        oracle = make(path, "wata", before, range(1, NEWEST + 1))
        index = wx.open(path)
        index.migrate(scheme="rata", **{"format": "arrow", **ways[after]}, strategy="drain")
        late = [{"k": 3, "t": slot * 10 + 9, "v": "late"} for slot in index.slots]
        index.amend(table(late))
        oracle.amend(late)
        assert same_rows(answers(index), oracle.rows()), (before, after)
        index.erase([3])
        assert same_rows(answers(index), oracle.rows(lambda row: row["k"] != 3))
        index.verify()


def test_a_second_migration_while_the_first_one_drains(tmp_path):
    oracle = make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    index.migrate(scheme="rata", strategy="drain")
    index.append(table(rows_of(NEWEST + 1)))
    oracle.append(rows_of(NEWEST + 1), NEWEST + 1)
    index.migrate(indexes=3, strategy="drain")
    assert same_rows(answers(index), oracle.rows())
    index.verify()
    index.migrate(shards=4)
    assert same_rows(answers(index), oracle.rows())
    assert not [name for name in index.sub_indexes if name.startswith("O")]
    index.verify()


def test_open_slots_of_a_stream_migrate_too(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    index.feed(table(rows_of(NEWEST + 1)), stream="s", number=0, delay=30)
    rows = answers(index)
    for change in (
        {"shards": 3},
        {"update": "in-place"},
        {"update": "runs", "format": "parquet", "strategy": "drain"},
        {"scheme": "rata", "indexes": 2, "update": "simple-shadow", "format": "arrow"},
    ):
        index.migrate(**change)
        assert same_rows(answers(index), rows)
        index.verify()
    late = [
        {"k": 1, "t": (NEWEST + 2) * 10, "v": "then"},
        {"k": 1, "t": (NEWEST + 6) * 10, "v": "far"},
    ]
    fed = index.feed(table(late), stream="s", number=1, delay=30)
    assert fed.sealed == [NEWEST + 1, NEWEST + 2]
    index.verify()


def test_what_stays_the_same_is_no_commit_and_what_cannot_be_is_refused(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    commit = index.snapshot().commit
    done = index.migrate(scheme="wata", window=WINDOW)
    assert (done.commit, done.changed) == (commit, {})
    refused = {
        "no scheme": {"scheme": "tsunami"},
        "too many sub-indexes": {"indexes": WINDOW + 1},
        "a format that cannot be changed": {"update": "in-place", "format": "parquet"},
        "a scheme that needs more": {"scheme": "wata-bounded"},
        "an option of another scheme": {"max_size": 30},
        "no strategy": {"window": 3, "strategy": "hope"},
        "shards that drain": {"shards": 5, "strategy": "drain"},
        "no window": {"window": 0},
    }
    for change in refused.values():
        with pytest.raises(wx.errors.BadDefinition):
            index.migrate(**change)
    assert index.snapshot().commit == commit


def test_a_disk_that_fills_in_mid_migration_leaves_the_index_as_it_was(tmp_path):
    oracle = make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    full = wx.Surroundings(files=lambda path: FullDisk(path, 600))
    before = Log(Files(tmp_path / "x")).latest()
    with pytest.raises(wx.errors.DiskFull):
        wx.open(tmp_path / "x", surroundings=full).migrate(update="packed-shadow", shards=3)
    index = wx.open(tmp_path / "x")
    assert Log(Files(tmp_path / "x")).latest() == before
    assert same_rows(answers(index), oracle.rows())
    index.migrate(update="packed-shadow", shards=3)
    assert same_rows(answers(index), oracle.rows())


def test_snapshots_of_before_say_what_they_said(tmp_path):
    oracle = make(tmp_path / "x", "rata", "in-place", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    before = index.snapshot()
    index.migrate(window=2, indexes=2, shards=5, update="runs", format="parquet")
    assert same_rows(before.scan().read_all().to_pylist(), oracle.rows())
    assert same_rows(before.probe(3).to_pylist(), oracle.probe(3))
    assert before.definition.window == WINDOW
    assert index.definition.window == 2


def test_changes_across_a_migration_are_what_left_the_window(tmp_path):
    index = wx.WaveIndex.create(
        tmp_path / "x", pa.schema([("k", pa.int64()), ("t", pa.int64())]), key="k", time="t",
        slot=10, window=5, keep_commits=50,
    )  # fmt: skip
    for slot in range(6):
        index.append(pa.table({"k": [slot, slot + 1], "t": [slot * 10, slot * 10]}))
    commit = index.snapshot().commit
    index.migrate(shards=5, scheme="rata", window=2)
    changes = index.changes(commit).read_all().to_pylist()
    assert sorted((row["k"], row["t"], row["_change"]) for row in changes) == sorted(
        (slot + more, slot * 10, -1) for slot in (1, 2, 3) for more in (0, 1)
    )


def _read_on(path: str, begun, done, found) -> None:
    index = wx.open(path)
    rows = 0
    begun.set()
    while not done.is_set() or not rows:
        rows = index.scan().read_all().num_rows
        probed = sum(index.probe(key).num_rows for key in range(7))
        if rows != 25 or probed != 25:
            found.put((rows, probed))
            return
    found.put(None)


@pytest.mark.slow
def test_a_reader_in_another_process_notices_nothing(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    spawn = mp.get_context("spawn")
    begun, done, found = spawn.Event(), spawn.Event(), spawn.Queue()
    reader = spawn.Process(target=_read_on, args=(str(tmp_path / "x"), begun, done, found))
    reader.start()
    assert begun.wait(60)
    index = wx.open(tmp_path / "x")
    for number in range(12):
        way = [*WAYS.values()][number % len(WAYS)]
        strategy = STRATEGIES[number % 2]
        shards = index.definition.shards if strategy == "drain" else 1 + number % 3
        kept = {"format": "arrow", **way}
        index.migrate(
            scheme=["rata", "del", "wata"][number % 3], shards=shards, strategy=strategy, **kept
        )
    done.set()
    assert found.get(timeout=60) is None
    reader.join(60)


@pytest.mark.parametrize("path", [["simple-shadow", "in-place"], ["in-place", "runs", "in-place"]])
def test_what_is_held_stays_as_it_is_when_late_rows_reach_what_drains(tmp_path, path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("n", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=10, window=6, first_room=1, shards=1,
        indexes=2, update=path[0],
    )  # fmt: skip
    for slot in range(3):
        index.append(pa.table({"k": [*range(6)], "t": [slot * 10] * 6, "n": [slot] * 6}, schema))
    index.feed(pa.table({"k": [1], "t": [35], "n": [3]}, schema), stream="s", number=0, delay=90)
    held = index.snapshot()
    rows = sorted(map(str, held.scan().read_all().to_pylist()))
    for update in path[1:]:
        index.migrate(update=update, strategy="drain")
    for number in range(12):
        late = {"k": [number % 6, 100 + number, 100 + number], "t": [1, 2, 35], "n": [9] * 3}
        index.amend(pa.table(late, schema))
        assert sorted(map(str, held.scan().read_all().to_pylist())) == rows
    index.verify()


def test_a_shorter_window_does_not_stop_a_stream(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    for number, slot in enumerate((NEWEST + 1, NEWEST + 6)):
        index.feed(table(rows_of(slot)), stream="s", number=number, delay=900)
    index.migrate(window=2)
    index.feed(table(rows_of(NEWEST + 7)), stream="s", number=2, delay=900)
    index.verify()


def test_a_place_where_files_cannot_change_is_refused_before_anything_is_committed(tmp_path):
    from pyarrow import fs

    from wavedex.files.remote import RemoteFiles

    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    around = wx.Surroundings(files=lambda path: RemoteFiles(system, "x"))
    index = wx.WaveIndex.create(
        "x", pa.schema([("k", pa.int64()), ("t", pa.int64())]), key="k", time="t", slot=10,
        window=3, surroundings=around,
    )  # fmt: skip
    index.append(pa.table({"k": [1], "t": [1]}))
    for strategy in STRATEGIES:
        with pytest.raises(wx.errors.BadDefinition, match="local disk"):
            index.migrate(update="in-place", strategy=strategy)
    index.append(pa.table({"k": [1], "t": [11]}))
    assert index.probe(1).num_rows == 2


def test_late_rows_of_what_drains_are_merged_now_and_then(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    index.migrate(scheme="rata", strategy="drain")
    for number in range(40):
        index.amend(table([{"k": 1, "t": NEWEST * 10 + 1, "v": f"late {number}"}]))
    parts = [about["parts"] for about in index.describe()["draining"].values()]
    assert max(parts) < 20
    assert index.describe()["hard"] is False


def test_what_drains_is_not_weighed(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, NEWEST + 1))
    index = wx.open(tmp_path / "x")
    index.migrate(scheme="wata-bounded", max_size=40, strategy="drain")
    index.amend(table([{"k": 1, "t": NEWEST * 10 + 1, "v": "late"}]))
    index.erase([1, 2, 3])
    state = Log(Files(tmp_path / "x")).latest().state
    assert all(rows > 0 for rows in state.get("sizes", {}).values())
