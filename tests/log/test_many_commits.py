"""However many commits are kept, a write looks at a few of them, and all of them can be opened."""

from __future__ import annotations

import datetime as dt
import itertools
import shutil
from contextlib import nullcontext

import pytest

import wavedex as wx
from kit.crashing import crash_numbers
from kit.stream_oracle import EVERY, SCHEMA, bag, rows
from wavedex.engine.change import Change
from wavedex.files.local import Files
from wavedex.files.names import LOG
from wavedex.index.core.staged import gather, stage
from wavedex.index.wave.append import append
from wavedex.log.manifest import Log
from wavedex.testing.crashes import unnamed_files
from wavedex.testing.disks import Crash, CrashingDisk

pytestmark = pytest.mark.usefixtures("small_row_groups")

WINDOW = 4


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


class CountingDisk(Files):
    """Counts how many manifests are read."""

    manifests = 0

    def read(self, name):
        self.manifests += name.startswith(LOG)
        return super().read(name)


def make(path, keep: int, **options) -> wx.WaveIndex:
    options = {"window": WINDOW, "indexes": 2, "keep_commits": keep, **options}
    return wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=EVERY, **options)


def opened(path, disk: Files) -> wx.WaveIndex:
    return wx.open(path, surroundings=wx.Surroundings(files=lambda _: disk))


def times_of(slot: int) -> list[int]:
    return [slot * EVERY + number for number in range(5)]


def append_slots(index: wx.WaveIndex, slots) -> None:
    for slot in slots:
        index.append(rows(*times_of(slot)))


def check_every_commit(path) -> None:
    """Every commit that is kept opens, and has the rows of the slots that it says it has."""
    index = wx.open(path)
    for commit in index.commits:
        snapshot = index.snapshot(commit)
        state = snapshot.manifest.state
        live = (
            range(0) if state is None else range(state["newest"] - WINDOW + 1, state["newest"] + 1)
        )
        expected = rows(*(time for slot in live if slot >= 0 for time in times_of(slot)))
        assert bag(snapshot.scan()) == bag(expected), commit


def reads_of_an_append(path, **options) -> tuple[int, int]:
    """How many manifests an append reads: the first of a process, and a later one."""
    minutes = itertools.count()
    disk = CountingDisk(path)
    around = wx.Surroundings(
        files=lambda _: disk,
        now=lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=next(minutes)),
    )
    append_slots(make(path, surroundings=around, **options), range(32))
    index = wx.open(path, surroundings=around)
    counts = []
    for slot in range(32, 38):
        before = disk.manifests
        append_slots(index, [slot])
        counts.append(disk.manifests - before)
    return counts[0], max(counts[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("few", "many"),
    [
        ({"keep": 12}, {"keep": 40}),
        ({"keep": 2, "keep_for": "30 minutes"}, {"keep": 2, "keep_for": "90 minutes"}),
    ],
    ids=["by number", "by time"],
)
def test_an_append_reads_as_many_manifests_whatever_is_kept(tmp_path, few, many):
    reads = reads_of_an_append(tmp_path / "few", **few)
    # One more or less, where the oldest that is kept happens to be at an edge.
    others = reads_of_an_append(tmp_path / "many", **many)
    assert max(*reads, *others) <= 12
    kept = [len(wx.open(tmp_path / name).commits) for name in ("few", "many")]
    assert kept[1] > 2 * kept[0] > 20


def test_every_kept_commit_opens_as_it_was(tmp_path):
    index = make(tmp_path / "x", 30)
    append_slots(index, range(40))
    assert len(index.commits) == 30
    check_every_commit(tmp_path / "x")
    assert not unnamed_files(tmp_path / "x")
    index.vacuum(keep=11)
    assert len(index.commits) == 11
    check_every_commit(tmp_path / "x")
    assert not unnamed_files(tmp_path / "x")


def test_commits_that_readers_hold_stay_whole_while_those_around_them_go(tmp_path):
    index = make(tmp_path / "x", 12, update="in-place")
    append_slots(index, range(12))
    held = [
        index.snapshot(commit) for commit in (index.commits[2], index.commits[3], index.commits[7])
    ]
    known = [bag(snapshot.scan()) for snapshot in held]
    append_slots(index, range(12, 30))
    commits = index.commits
    assert commits[:3] == [snapshot.commit for snapshot in held]
    assert commits[3:] == [*range(commits[-1] - 11, commits[-1] + 1)]
    for snapshot, before in zip(held, known, strict=True):
        assert bag(index.snapshot(snapshot.commit).scan()) == before
    held.pop(1).close()
    append_slots(wx.open(tmp_path / "x"), range(30, 34))
    assert bag(index.snapshot(held[1].commit).scan()) == known[2]
    for snapshot in held:
        snapshot.close()
    append_slots(wx.open(tmp_path / "x"), range(34, 36))
    assert len(index.commits) == 12
    assert not unnamed_files(tmp_path / "x")


def test_what_a_crash_left_goes_when_its_commit_does_at_the_latest(tmp_path):
    """A vacuum or an attempt that was cut off, and then processes that each make one append."""
    keep = 6
    origin, scratch = tmp_path / "origin", tmp_path / "scratch"
    append_slots(make(origin, keep, shards=1), range(8))
    left_something = 0
    for number in crash_numbers():
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(origin, scratch)
        disk = CrashingDisk(scratch, number)
        try:
            append_slots(opened(scratch, disk), [8])
        except Crash:
            left_something += bool(unnamed_files(scratch))
        else:
            break
        for slot in range(8, 8 + keep):
            append_slots(wx.open(scratch), [slot])
        check_every_commit(scratch)
        assert not unnamed_files(scratch), f"crashed before change {number}"
    assert left_something > 1


def test_an_index_with_many_commits_forgets_them_all_when_keys_are_erased(tmp_path):
    index = make(tmp_path / "x", 40)
    append_slots(index, range(30))
    index.erase([1])
    assert len(index.commits) <= 2
    assert not unnamed_files(tmp_path / "x")
    assert not index.probe(1).num_rows


def test_files_that_were_staged_before_a_preparation_stay_while_a_commit_names_them(tmp_path):
    """Their names have the number of the preparation, which does not name them."""
    index = make(tmp_path / "x", 14, shards=1, window=40, indexes=4)
    for slot in range(30):
        manifest = index.manifest
        stem = f"data/{manifest.commit + 1:010d}-57a6ed-0"
        message = stage(index.storage, index.definition, rows(*times_of(slot)), None, stem)
        if slot % 3 == 0:  # as if the one before had been cut off
            with index.writer.writing() as newest:
                state = index.definition.state_of(newest)
                change = Change(name="prepare", state=state, rows=nothing_for(index))
                index.writer.commit(newest, change)
        brought = gather(index.definition, [message])
        append(index.writer, lambda _, brought=brought: nullcontext(brought), None)
        for commit in index.commits:
            manifest = Log(index.storage).read(commit)
            assert all(index.storage.exists(name) for name in manifest.files), (slot, commit)


def nothing_for(index: wx.WaveIndex):
    return gather(index.definition, [])
