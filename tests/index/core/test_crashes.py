"""A crash leaves exactly the old window or the new one.

It may come before, or half-way through, every change to the disk.
"""

from __future__ import annotations

import itertools
import shutil

import pytest

import wavedex as wx
from kit.crashing import crash_everywhere
from kit.matrix import in_turn
from kit.small_waves import SCHEMA, WINDOW, answers, make, rows_of, table
from kit.ways import CASES
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.testing.crashes import DISKS
from wavedex.testing.disks import Crash, ForgetfulDisk, WatchedDisk
from wavedex.testing.oracle import same_rows

PARQUET = [("rata", "runs in parquet"), ("reindex+", "packed-shadow in parquet")]
IN_CHAINS = [("wata", "in-place in chained"), ("del", "in-place in chained")]


@pytest.mark.parametrize(("scheme", "way", "disk"), in_turn(DISKS, [*CASES, *PARQUET, *IN_CHAINS]))
def test_a_crash_in_an_append_leaves_the_old_window_or_the_new_one(tmp_path, scheme, way, disk):
    oracle = make(tmp_path / "origin", scheme, way, range(1, WINDOW + 4))
    old = oracle.rows()
    following = rows_of(WINDOW + 4)
    oracle.append(following, WINDOW + 4)

    def act(index: wx.WaveIndex) -> None:
        index.append(table(following))

    changes = crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.rows())
    assert changes > 8


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("prepare", ["background", "later"])
@pytest.mark.parametrize(("update", "disk"), in_turn(DISKS, TECHNIQUES))
def test_a_crash_while_work_is_done_ahead_leaves_the_old_window_or_the_new_one(
    tmp_path, update, disk, prepare
):
    """The thread goes down with the machine, and so does who does later what is owed."""
    oracle = make(tmp_path / "origin", "rata", update, range(1, WINDOW + 4))
    old = oracle.rows()
    following = rows_of(WINDOW + 4)
    oracle.append(following, WINDOW + 4)

    def act(index: wx.WaveIndex) -> None:
        index.append(table(following), prepare=prepare)
        if prepare == "later":
            index.prepare()
        index.close()
        if getattr(index.storage, "is_down", False):
            raise Crash

    changes = crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.rows())
    assert changes > 8


@pytest.mark.parametrize(("update", "disk"), in_turn(DISKS, TECHNIQUES))
def test_a_crash_in_an_append_of_several_slots_leaves_the_old_window_or_the_new_one(
    tmp_path, update, disk
):
    oracle = make(tmp_path / "origin", "rata", update, range(1, WINDOW + 3))
    old = oracle.rows()
    following = [row for slot in (9, 10, 12) for row in rows_of(slot)]
    oracle.append(following, 12)

    def act(index: wx.WaveIndex) -> None:
        index.append(table(following))

    crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.rows())


@pytest.mark.parametrize(("update", "disk"), in_turn(DISKS, TECHNIQUES))
def test_a_crash_in_the_first_append_leaves_an_empty_index_or_a_full_one(tmp_path, update, disk):
    make(tmp_path / "origin", "reindex++", update, range(0))
    following = [row for slot in range(1, WINDOW + 1) for row in rows_of(slot)]

    def act(index: wx.WaveIndex) -> None:
        index.append(table(following))

    crash_everywhere(tmp_path, DISKS[disk], act, [], following)


@pytest.mark.parametrize(
    ("scheme", "update", "disk"), in_turn(DISKS, ["wata", "reindex++", "del"], TECHNIQUES)
)
def test_a_crash_in_an_amendment_leaves_the_old_window_or_the_new_one(
    tmp_path, scheme, update, disk
):
    oracle = make(tmp_path / "origin", scheme, update, range(1, WINDOW + 4))
    old = oracle.rows()
    late = [{"k": 3, "t": 61, "v": "late"}, {"k": 9, "t": 82, "v": "late too"}]
    oracle.amend(late)

    def act(index: wx.WaveIndex) -> None:
        # An amendment has no identity of its own, so whoever repeats it looks first.
        if not any(row["v"] == "late" for row in answers(index)):
            index.amend(table(late))

    crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.rows())


@pytest.mark.parametrize(("update", "disk"), in_turn(DISKS, TECHNIQUES))
def test_a_crash_in_a_vacuum_loses_nothing(tmp_path, update, disk):
    oracle = make(tmp_path / "origin", "rata", update, range(1, WINDOW + 4))

    def act(index: wx.WaveIndex) -> None:
        index.vacuum()

    crash_everywhere(tmp_path, DISKS[disk], act, oracle.rows(), oracle.rows())


@pytest.mark.parametrize("disk", DISKS)
def test_a_crash_while_an_index_is_created_leaves_none_or_an_empty_one(tmp_path, disk):
    path = tmp_path / "new"
    for number in itertools.count(1):
        shutil.rmtree(path, ignore_errors=True)
        broken = DISKS[disk](Files(path), number)

        def create(files) -> wx.WaveIndex:
            return wx.WaveIndex.create(
                path, SCHEMA, key="k", time="t", slot=10, window=WINDOW,
                surroundings=wx.Surroundings(files=files),
            )  # fmt: skip

        try:
            create(lambda _, broken=broken: broken)
        except Crash:
            if isinstance(broken, ForgetfulDisk):
                broken.forget()
        else:
            if not broken.is_down:
                break
        try:
            survivor = wx.open(path)
        except wx.errors.NotAnIndex:
            survivor = create(Files)
        survivor.append(table(rows_of(1)))
        survivor.verify()
        assert same_rows(answers(survivor), rows_of(1))
    assert number > 8


def test_an_update_in_place_writes_into_the_files_that_are_there(tmp_path):
    make(tmp_path / "x", "wata", "in-place", range(1, WINDOW + 4))
    disk = WatchedDisk(tmp_path / "x")
    index = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=lambda _: disk))
    index.append(table(rows_of(WINDOW + 4)))
    assert disk.changes["scatter"] == 1
    assert disk.changes["patch"] == 1
