"""Sets over time on disks that go down, tear, forget and fill up, and with damaged files."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kit.set_events import SetWalk, Told, copy_of, spans_of
from wavedex.errors import AlreadyExists, Damaged, DiskFull, NewerFormat
from wavedex.files.local import Files
from wavedex.log.outside import Outside
from wavedex.temporal import TemporalSet, folder
from wavedex.temporal.commit import set_journal
from wavedex.testing.crashes import DISKS
from wavedex.testing.disks import Crash, FullDisk


def told_set(path, seed=1, several=(60, 30, 20), **options):
    """A set of several commits, and what it was told."""
    found, told = TemporalSet.create(path, page_records=8, **options), Told(seed)
    for place, count in enumerate(several):
        found.load(told.events(count))
        found.commit()
        if not place:
            found.compact()  # So it has a base, and then segments.
    return told


@pytest.mark.crash
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("disk", DISKS)
def test_commits_crash_before_every_change(tmp_path, monkeypatch, disk, whole):
    if whole:
        monkeypatch.setattr(folder, "LOG_MIN", 0)
        monkeypatch.setattr(folder, "LOG_PART", 2**60)
    told = told_set(tmp_path / "a.wxt")
    old = spans_of(TemporalSet.open(tmp_path / "a.wxt"))
    events = told.events(40)

    def act(found):
        found.load(events, stream="s", number=1)
        found.commit()

    after = TemporalSet.open(copy_of(tmp_path / "a.wxt", tmp_path / "b.wxt"))
    act(after)
    walk = SetWalk(tmp_path / "a.wxt", tmp_path / "scratch")
    assert walk.crash_everywhere(DISKS[disk], act, old, spans_of(after)) >= 7


@pytest.mark.crash
@pytest.mark.parametrize("disk", DISKS)
def test_erasing_crashes_before_every_change(tmp_path, disk):
    told_set(tmp_path / "a.wxt")
    old = spans_of(TemporalSet.open(tmp_path / "a.wxt"))
    new = [each for each in old if each["oid"] not in ("u1", "u2")]
    walk = SetWalk(tmp_path / "a.wxt", tmp_path / "scratch")
    crashes = walk.crash_everywhere(DISKS[disk], lambda found: found.erase(["u1", "u2"]), old, new)
    assert crashes >= 7


@pytest.mark.crash
def test_a_set_that_was_not_quite_created_can_be_created(tmp_path):
    for number in range(1, 30):
        path = tmp_path / f"{number}.wxt"
        disk = DISKS["crash"](Files(path), number)
        try:
            TemporalSet.create(path, surroundings=Outside(files=lambda _, disk=disk: disk))
        except Crash:
            with contextlib.suppress(AlreadyExists):
                TemporalSet.create(path)
            assert TemporalSet.open(path).verify() == []
        else:
            assert number > 5
            return
    raise AssertionError("the numbers ended before the changes did")


def test_a_full_disk_changes_nothing_and_says_so(tmp_path):
    told = told_set(tmp_path / "a.wxt")
    old = spans_of(TemporalSet.open(tmp_path / "a.wxt"))
    disk = FullDisk(tmp_path / "a.wxt", 100)
    found = TemporalSet.open(tmp_path / "a.wxt", surroundings=Outside(files=lambda _: disk))
    found.load(told.events(50))
    with pytest.raises(DiskFull):
        found.commit()
    told.check(found)
    assert spans_of(TemporalSet.open(tmp_path / "a.wxt")) == old


def test_every_damaged_byte_of_a_file_is_named(tmp_path):
    told_set(tmp_path / "a.wxt")
    path = tmp_path / "a.wxt"
    newest = max((path / "log").glob("*.json"))
    commit = set_journal(Files(path)).latest()
    names = [path / "set.json", newest, *(path / name for name in commit.files)]
    assert {each.suffix for each in names} == {".base", ".changes", ".json"}
    for name in names:
        size = name.stat().st_size
        for place in range(0, size, max(1, size // 40)):
            copy = copy_of(path, tmp_path / "copy.wxt")
            damaged = copy / name.relative_to(path)
            content = bytearray(damaged.read_bytes())
            content[place] ^= 0x41
            damaged.write_bytes(content)
            with pytest.raises((Damaged, NewerFormat)):
                TemporalSet.open(copy)


@pytest.mark.parametrize("suffix", [".base", ".changes"])
def test_missing_and_short_files_are_named(tmp_path, suffix):
    told_set(tmp_path / "a.wxt")
    commit = set_journal(Files(tmp_path / "a.wxt")).latest()
    (file,) = [tmp_path / "a.wxt" / name for name in commit.files if name.endswith(suffix)]
    content = file.read_bytes()
    file.write_bytes(content[:-9])
    with pytest.raises(Damaged, match="bytes"):
        TemporalSet.open(tmp_path / "a.wxt")
    file.unlink()
    with pytest.raises(Damaged, match="is gone"):
        TemporalSet.open(tmp_path / "a.wxt")


WRITER = """
import sys
from kit.set_events import Told
from wavedex.temporal import TemporalSet
found, told = TemporalSet.create(sys.argv[1], page_records=8), Told(3)
for number in range(10_000):
    found.load(told.events(7), stream="s", number=number)
    found.commit()
    print(number, flush=True)
"""


@pytest.mark.crash
def test_nothing_is_lost_that_commit_returned_for_when_killed(tmp_path):
    root = Path(__file__).parents[1]
    for wait in (1, 12, 30):
        path = tmp_path / f"{wait}.wxt"
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
        ) as process:
            last = -1
            while last < wait:
                last = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            last = max([last, *map(int, process.stdout.read().split())])
        found, told = TemporalSet.open(path), Told(3)
        assert found.verify() == []
        assert last <= found.marks["s"] <= last + 1
        for _ in range(found.marks["s"] + 1):
            told.events(7)
        told.check(found, 100)
