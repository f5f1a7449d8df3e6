"""Leases: a commit that somebody is still reading stays for some minutes, and no longer.

Where that is not wanted, it does not stay at all.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.files.names import LOG
from wavedex.index import Surroundings
from wavedex.log.leases import LEASE_S
from wavedex.log.manifest import Log

pytestmark = pytest.mark.usefixtures("small_row_groups")

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64())])


class Clock:
    def __init__(self) -> None:
        self.at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += dt.timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make(path: Path, clock: Clock, **options: Any) -> wx.WaveIndex:
    around = Surroundings(now=clock.now)
    wanted = {"key": "k", "time": "t", "slot": 10, "window": 4, "indexes": 2, **options}
    return wx.WaveIndex.create(path, SCHEMA, surroundings=around, **wanted)


def append(index: wx.WaveIndex, *slots: int) -> None:
    for slot in slots:
        index.append(pa.table({"k": [1, 2], "t": [slot * 10, slot * 10 + 1]}, SCHEMA))


def lease(index: wx.WaveIndex, commit: int, clock: Clock) -> bool:
    return Log(index.storage).lease(commit, clock.now().timestamp(), "ab12")


def leases(index: wx.WaveIndex) -> list[str]:
    return [name for name in index.storage.list(LOG) if name.endswith(".lease")]


@pytest.mark.parametrize("update", ["packed-shadow", "in-place", "runs"])
def test_a_commit_on_lease_stays_while_others_go(tmp_path, clock, update):
    index = make(tmp_path / "x", clock, update=update)
    append(index, 1, 2)
    held = index.commits[-1]
    before = index.scan().read_all()
    assert lease(index, held, clock)
    append(index, 3, 4, 5, 6, 7)
    assert len(index.commits) == 3
    assert index.commits[0] == held
    found = index.snapshot(held).scan().read_all()
    assert sorted(found.to_pylist(), key=str) == sorted(before.to_pylist(), key=str)
    index.verify()


def test_a_lease_ends_by_itself_and_leaves_nothing(tmp_path, clock):
    index = make(tmp_path / "x", clock)
    append(index, 1, 2)
    held = index.commits[-1]
    lease(index, held, clock)
    clock.wait(LEASE_S - 1)
    append(index, 3, 4, 5)
    assert held in index.commits
    clock.wait(2)
    append(index, 6)
    assert held not in index.commits
    assert len(index.commits) == 2
    assert not leases(index)


def test_a_lease_is_taken_again_only_when_half_of_it_is_over(tmp_path, clock):
    index = make(tmp_path / "x", clock)
    append(index, 1)
    commit = index.commits[-1]
    for _ in range(3):
        lease(index, commit, clock)
    assert len(leases(index)) == 1
    clock.wait(LEASE_S / 2 + 1)
    lease(index, commit, clock)
    assert len(leases(index)) == 2
    clock.wait(LEASE_S / 2)
    append(index, 2, 3, 4, 5)
    assert commit in index.commits
    assert len(leases(index)) == 1


def test_a_commit_that_is_gone_cannot_be_held(tmp_path, clock):
    index = make(tmp_path / "x", clock)
    append(index, 1, 2, 3, 4)
    assert not lease(index, 0, clock)
    append(index, 5)
    assert not leases(index)


def test_where_one_commit_is_kept_what_expired_is_gone_at_once(tmp_path, clock):
    index = make(tmp_path / "x", clock, keep_commits=1, scheme="del", update="packed-shadow")
    append(index, 1, 2, 3, 4)
    lease(index, index.commits[-1], clock)
    append(index, 5)
    assert len(index.commits) == 1
    assert not leases(index)


def test_erased_rows_are_gone_whoever_holds_a_commit(tmp_path, clock):
    index = make(tmp_path / "x", clock)
    append(index, 1, 2)
    held = index.commits[-1]
    lease(index, held, clock)
    index.erase([1])
    with pytest.raises(errors.CommitGone):
        index.snapshot(held)
    assert not leases(index)


def test_a_vacuum_that_is_asked_for_heeds_no_lease(tmp_path, clock):
    index = make(tmp_path / "x", clock)
    append(index, 1, 2)
    lease(index, index.commits[-1], clock)
    append(index, 3)
    newest = index.commits[-1]
    lease(index, newest, clock)
    index.vacuum()
    assert index.commits == [newest]
    assert len(leases(index)) == 1
    append(index, 4, 5, 6)
    assert newest in index.commits


def test_a_clock_that_is_far_ahead_holds_nothing_for_ever(tmp_path, clock):
    index = make(tmp_path / "x", clock)
    append(index, 1, 2)
    wrong = Clock()
    wrong.wait(10 * LEASE_S)
    held = index.commits[-1]
    lease(index, held, wrong)
    append(index, 3, 4, 5)
    assert held not in index.commits
    assert not leases(index)
