"""A crash while a stream feeds an index loses no row and doubles none.

That holds wherever it comes, once the batch is sent again.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from pathlib import Path

import pytest

import wavedex as wx
from kit.crashing import crash_numbers
from kit.stream_oracle import EVERY, SCHEMA, StreamOracle, bag, table
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.files.names import DATA
from wavedex.log.manifest import Log
from wavedex.testing.disks import Crash, CrashingDisk, ForgetfulDisk, FullDisk

WINDOW, DELAY = 3, 5
SCHEMES = {"in-place": "del", "simple-shadow": "wata", "packed-shadow": "reindex++", "runs": "rata"}
"""Each technique with a scheme of another kind: with temporaries and without, hard and soft."""
DISKS = {
    "crash": lambda path, number: CrashingDisk(path, number),
    "torn": lambda path, number: CrashingDisk(path, number, torn=True),
    "forgetful": lambda path, number: ForgetfulDisk(path, number),
}
STEP_BYTES = {"in-place": 3000, "simple-shadow": 4000, "packed-shadow": 1000, "runs": 700}
"""By how much the room on a disk that fills up is raised until it is enough."""


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    # What is synced is noted by the disks that forget; nobody waits for the real one.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def batch_of(*times: int) -> list[dict]:
    return [{"k": time % 4, "t": time, "v": f"row {time}"} for time in times]


# The last batch but one of each is the one that crashes.
# The last says whether all goes on as it should.
SEALING = [
    batch_of(95, 98, 105, 111),
    batch_of(113, 121, 122, 108),
    batch_of(131, 125, 119, 101),
    batch_of(141, 135, 129, 117),
    batch_of(153, 142, 134, 129),
]
SMALL = [batch_of(100 + number % 5, 101) for number in range(8)]
MERGING = [batch_of(85, 95, 100), *SMALL, batch_of(131, 102)]
BATCHES = {"sealing": SEALING, "merging": MERGING}
CASES = [
    *((update, kind, "forgetful") for update in TECHNIQUES for kind in BATCHES),
    *((update, "sealing", "crash") for update in TECHNIQUES if update != "simple-shadow"),
    ("in-place", "sealing", "torn"),
    ("runs", "merging", "crash"),
]


def send(index: wx.WaveIndex, batches: list[list[dict]], number: int) -> wx.Fed:
    return index.feed(table(batches[number]), stream="s", number=number, delay=DELAY)


def make(path: Path, update: str, batches: list[list[dict]]) -> tuple[StreamOracle, int]:
    """An index before the batch that is to crash, its dictionary then, and that batch's number."""
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=EVERY, window=WINDOW, indexes=2,
        scheme=SCHEMES[update], update=update, shards=1, first_room=1,
    )  # fmt: skip
    oracle = StreamOracle(WINDOW, WINDOW)
    crashing = len(batches) - 2
    for number in range(crashing):
        send(index, batches, number)
        oracle.feed(batches[number], DELAY)
    return oracle, crashing


def unnamed_files(path: Path) -> set[str]:
    files = Files(path)
    log = Log(files)
    named = {name for commit in log.commits() for name in log.read(commit).files}
    return {f"{DATA}/{name}" for name in files.list(DATA)} - named


def check(index: wx.WaveIndex, *accepted: Counter) -> None:
    index.verify()
    found = bag(index.scan())
    assert found in accepted
    assert bag(index.probe(1)) == Counter({row: n for row, n in found.items() if row[0] == 1})


@pytest.mark.parametrize(("update", "batches", "disk"), CASES)
def test_a_crash_while_a_batch_is_taken_loses_no_row_and_doubles_none(
    tmp_path, update, batches, disk
):
    batches = BATCHES[batches]
    oracle, crashing = make(tmp_path / "origin", update, batches)
    old = bag(oracle.rows())
    late = oracle.feed(batches[crashing], DELAY)["late"]
    unsealed = old + bag(batches[crashing]) - bag(late)
    new = bag(oracle.rows())
    assert old != unsealed
    assert (unsealed != new) == (batches is SEALING)
    oracle.feed(batches[-1], DELAY)
    following = bag(oracle.rows())
    scratch = tmp_path / "scratch"
    found = Counter()
    for change in crash_numbers():
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(tmp_path / "origin", scratch)
        broken = DISKS[disk](scratch, change)
        around = wx.Surroundings(files=lambda _, broken=broken: broken)
        try:
            send(wx.open(scratch, surroundings=around), batches, crashing)
        except Crash:
            if isinstance(broken, ForgetfulDisk):
                broken.forget()
        else:
            if not broken.is_down:
                break
        survivor = wx.open(scratch)
        check(survivor, old, unsealed, new)
        taken = survivor.describe()["streams"]["s"]["batch"] == crashing
        found[taken] += 1
        if not taken or change % 2 == 0:
            assert send(survivor, batches, crashing).repeated == taken
            assert bag(survivor.scan()) == new
        send(survivor, batches, len(batches) - 1)
        check(survivor, following)
        assert survivor.slots == sorted(oracle.known)
        survivor.vacuum()
        assert bag(survivor.scan()) == following
        assert not unnamed_files(scratch)
    assert bag(wx.open(scratch).scan()) == new
    assert min(found[True], found[False]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_disk_that_fills_up_leaves_the_old_state_or_says_that_the_batch_is_in(tmp_path, update):
    oracle, crashing = make(tmp_path / "origin", update, SEALING)
    old = bag(oracle.rows())
    oracle.feed(SEALING[crashing], DELAY)
    scratch = tmp_path / "scratch"
    met = Counter()
    for room_bytes in itertools.count(0, STEP_BYTES[update]):
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(tmp_path / "origin", scratch)
        around = wx.Surroundings(files=lambda path, room=room_bytes: FullDisk(path, room))
        narrow, index = wx.open(scratch, surroundings=around), wx.open(scratch)
        before = bag(index.scan())
        try:
            send(narrow, SEALING, crashing)
        except wx.errors.DiskFull:
            assert before == bag(index.scan()) == old
            met["refused"] += 1
        except wx.errors.PreparationOwed as error:
            met["sealing" if "sealing" in str(error) else "preparing"] += 1
        else:
            break
        index.verify()
        taken = bag(index.scan()) != old
        assert send(index, SEALING, crashing).repeated == taken
        check(index, bag(oracle.rows()))
    assert met["refused"]
    assert met["sealing"]
