"""Readers of changes that an index knows by name: nothing is missed, and nothing kept for ever."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from kit.crashing import crash_everywhere
from kit.folding import Folding
from kit.matrix import RUNS_ALL
from wavedex import errors
from wavedex.files.local import Files
from wavedex.files.names import LOG, follower_name
from wavedex.index import Surroundings
from wavedex.testing.crashes import DISKS, LocalWalk, unnamed_files
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64())])
LIVES = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64())])
KILLS = 20 if RUNS_ALL else 5


class Clock:
    def __init__(self) -> None:
        self.at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self.at


def make(path: Path, clock: Clock | None = None, **options: Any) -> wx.WaveIndex:
    around = None if clock is None else Surroundings(now=clock.now)
    wanted = {"key": "k", "time": "t", "slot": 10, "window": 4, "indexes": 2, **options}
    return wx.WaveIndex.create(path, SCHEMA, surroundings=around, **wanted)


def make_lives(path: Path, **options: Any) -> wx.LifetimeIndex:
    wanted = {"key": "k", "inserted": "b", "expires": "e", "max_lifetime": 16, "refresh": 2}
    return wx.LifetimeIndex.create(path, LIVES, **{**wanted, **options})


def append(index: Any, *slots: int) -> None:
    for slot in slots:
        if isinstance(index, wx.WaveIndex):
            index.append(pa.table({"k": [slot % 3, 7], "t": [10 * slot, 10 * slot + 1]}, SCHEMA))
        else:
            rows = {"k": [slot % 3, 7], "b": [slot, slot], "e": [slot + 3, slot + 16]}
            index.update(slot, pa.table(rows, LIVES))


KINDS = {"wave": make, "lifetime": make_lives}


@pytest.fixture(params=KINDS)
def index(request, tmp_path) -> Any:
    return KINDS[request.param](tmp_path / "x")


# -- reading on ------------------------------------------------------------------------------------


def test_a_follower_goes_on_where_it_stopped_however_seldom_it_looks(index):
    folding = Folding("totals")
    draw = random.Random(3)
    for slot in range(1, 40):
        append(index, slot)
        if draw.random() < 0.2:
            folding.read(index)
        assert folding.commit is None or folding.commit in index.commits
    folding.read(index)
    assert index.followers == {"totals": index.commit}
    index.verify()


def test_what_was_read_is_read_again_until_the_follower_has_advanced(index):
    append(index, 1)
    reader = index.follow("a")
    assert (reader.position, reader.behind) == (None, index.commit + 1)
    first = reader.changes().read_all()
    assert index.follow("a").changes().read_all() == first
    assert index.followers == {"a": None}
    append(index, *range(2, 9))
    # It has said from where it would go on, so that it can.
    reader.advance()
    later = reader.changes().read_all()
    again = index.follow("a").changes().read_all()
    assert (later, later.num_rows > 0) == (again, True)
    reader.advance()
    assert (reader.position, reader.behind) == (index.commit, 0)
    assert reader.changes().read_all().num_rows == 0


def test_a_new_follower_may_begin_with_what_follows(index):
    append(index, 1, 2)
    here = index.commit
    reader = index.follow("a", since=here)
    append(index, 3, 4, 5, 6)
    assert reader.changes().read_all() == index.changes(here).read_all()
    # One that is there goes on where it is.
    assert index.follow("a", since=index.commit).position == here
    with pytest.raises(errors.CommitGone, match="keeps"):
        index.follow("b", since=0)
    assert [*index.followers] == ["a"]


def test_a_follower_may_begin_with_a_batch_of_a_stream(tmp_path):
    index = make_lives(tmp_path / "x", keep_commits=9)
    for number in range(3):
        rows = pa.table({"k": [number], "b": [number], "e": [number + 9]}, LIVES)
        index.feed(rows, stream="s", number=number)
    reader = index.follow("a", since=("s", 1))
    assert reader.changes().read_all()["k"].to_pylist() == [2]
    with pytest.raises(errors.BadPosition, match="not yet to 9"):
        index.follow("b", since=("s", 9))


def test_a_follower_may_go_back_or_begin_anew(index):
    append(index, 1, 2)
    reader = index.follow("a")
    reader.changes().read_all()
    reader.advance()
    before = reader.position
    append(index, 3)
    reader.changes().read_all()
    reader.advance()
    with pytest.raises(errors.BadPosition, match="Use move to go back"):
        reader.advance(before)
    reader.move(before)
    assert reader.position == before
    assert reader.changes().read_all() == index.changes(before).read_all()
    reader.move(None)
    assert (reader.position, index.followers) == (None, {})
    assert reader.changes().read_all() == index.changes(None).read_all()


@pytest.mark.parametrize("given", [("s", 1), "3", 1.0, True, 999, -1, 0])
@pytest.mark.parametrize("has_read", [False, True])
def test_a_commit_that_is_none_or_not_there_is_refused_and_changes_nothing(index, given, has_read):
    append(index, 1, 2, 3)
    reader = index.follow("r")
    if has_read:
        reader.changes().read_all()
        reader.advance()
    before, reached = index.followers, reader.reached
    append(index, 4)
    assert 0 not in index.commits
    for call in (reader.changes, reader.reach, reader.advance):
        with pytest.raises((errors.BadPosition, errors.CommitGone)) as told:
            call(given)
        assert "move(None)" not in str(told.value)
        assert "commit None" not in str(told.value)
        assert (index.followers, reader.reached) == (before, reached)
    with pytest.raises((errors.BadPosition, errors.CommitGone)):
        reader.move(given)
    assert (index.followers, reader.reached) == (before, reached)


def test_a_follower_reads_and_goes_to_commits_by_any_whole_number(index):
    append(index, 1, 2, 3)
    reader = index.follow("r")
    first = index.commits[0]
    reader.changes(np.int64(first)).read_all()
    assert index.followers == {"r": None}
    reader.advance(np.int64(first))
    assert reader.position == first
    reader.move(np.int64(index.commit))
    assert reader.position == index.commit


def test_a_follower_does_not_read_up_to_where_it_has_been(index):
    append(index, 1, 2)
    reader = index.follow("r", since=index.commit)
    index.follow("other", since=index.commit - 1)
    with pytest.raises(errors.BadPosition, match=r"already.* Use move to go back"):
        reader.changes(index.commit - 1)
    assert reader.reached is None


def test_what_makes_no_sense_is_refused(index):
    reader = index.follow("a")
    with pytest.raises(errors.BadPosition, match="read nothing yet"):
        reader.advance()
    with pytest.raises(errors.BadPosition, match="cannot advance to 99"):
        reader.advance(99)
    with pytest.raises(errors.CommitGone, match="never there"):
        reader.move(99)
    for name in ("", "a b", "../x", "a.b", "x" * 65, "-a", None, 3):
        with pytest.raises(errors.BadName, match="cannot be the name of a follower"):
            index.follow(name)
    assert index.followers == {}


# -- what is kept, and how long --------------------------------------------------------------------


def test_what_a_follower_has_not_read_stays_and_goes_with_the_next_write(index):
    append(index, 1)
    reader = index.follow("a", since=index.commit)
    here = index.commit
    append(index, *range(2, 12))
    assert index.commits == [*range(here, index.commit + 1)]
    index.vacuum()
    assert index.commits[0] == here
    reader.advance(index.commit - 3)
    index.vacuum()
    assert index.commits == [*range(index.commit - 3, index.commit + 1)]
    reader.forget()
    index.vacuum()
    assert index.commits == [index.commit]
    assert not unnamed_files(index.storage)


def test_the_slowest_of_several_followers_is_waited_for(index):
    append(index, 1)
    slow, fast = (index.follow(name, since=index.commit) for name in ("slow", "fast"))
    for slot in range(2, 9):
        append(index, slot)
        fast.changes().read_all()
        fast.advance()
    assert index.commits[0] == slow.position
    assert index.followers == {"fast": index.commit, "slow": slow.position}
    assert index.describe()["followers"] == index.followers


def test_beyond_a_number_of_commits_nobody_is_waited_for(tmp_path):
    for kind, create in KINDS.items():
        index = create(tmp_path / kind, keep_followed=6)
        append(index, 1)
        reader = index.follow("slow", since=index.commit)
        other = index.follow("other", since=index.commit)
        while index.commit - reader.position <= 6:
            assert reader.position in index.commits
            append(index, index.commit + 2)
            other.changes().read_all()
            other.advance()
        assert reader.position not in index.commits
        with pytest.raises(errors.CommitGone, match="'slow' has read up to commit"):
            reader.changes()
        assert other.changes().read_all().num_rows == 0
        reader.move(None)
        assert reader.changes().read_all() == index.changes(None).read_all()


def test_beyond_a_time_nobody_is_waited_for(tmp_path):
    clock = Clock()
    index = make(tmp_path / "x", clock, keep_followed="2 hours")
    append(index, 1)
    reader = index.follow("slow", since=index.commit)
    here = index.commit
    clock.at += dt.timedelta(hours=9)  # It has read all that there is, however long ago.
    append(index, 2)
    clock.at += dt.timedelta(hours=1)
    append(index, 3)
    assert here in index.commits
    clock.at += dt.timedelta(hours=1, minutes=1)
    append(index, 4)
    assert here not in index.commits
    assert make(tmp_path / "y").describe()["keep_followed"] == "7 days"
    with pytest.raises(errors.CommitGone, match="keep_followed allows, 2 hours,"):
        reader.changes()


def test_an_erasure_is_not_put_off_and_is_said(index):
    append(index, 1, 2)
    reader = index.follow("a")
    reader.changes().read_all()
    reader.advance()
    append(index, 3)
    index.erase([7])
    with pytest.raises(errors.CommitGone, match="or rows were erased since"):
        reader.changes()
    reader.move(None)
    assert 7 not in reader.changes().read_all()["k"].to_pylist()


def test_who_keeps_one_commit_keeps_nothing_for_followers(tmp_path):
    index = make(tmp_path / "x", keep_commits=1)
    with pytest.raises(errors.BadDefinition, match="keeps no commits for followers"):
        index.follow("a")
    asked = make(tmp_path / "y", keep_commits=1, keep_followed="1 day")
    append(asked, 1)
    reader = asked.follow("a", since=asked.commit)
    append(asked, 2, 3, 4)
    assert {*reader.changes().read_all()["k"].to_pylist()} == {0, 1, 2, 7}


@pytest.mark.parametrize("given", [-1, "soon", True, 1.5, "2000 years"])
def test_a_bound_that_is_none_is_refused(tmp_path, given):
    with pytest.raises(errors.BadDefinition, match="keep_followed="):
        make(tmp_path / "x", keep_followed=given)


def test_an_index_of_an_earlier_format_keeps_nothing_for_followers(index):
    file = Path(index.path) / "index.json"
    body = json.loads(file.read_text())
    del body["keep_followed"]
    file.write_text(json.dumps({**body, "format": 7}))
    for manifest in (Path(index.path) / "log").glob("*.json"):
        manifest.unlink()  # They would know that it is another.
    assert type(index).definition_kind._from_json(body, "x").keep_followed.commits == 0


# -- others at work --------------------------------------------------------------------------------


def test_a_vacuum_that_began_before_leaves_what_a_follower_begins_with(tmp_path):
    """The follower registers between the moment a vacuum lists the log and that it removes."""
    index = make(tmp_path / "x", update="packed-shadow")
    append(index, 1, 2)
    reader, begun = index.follow("a"), []

    class Disk(Files):
        def list(self, folder: str) -> list[str]:
            found = super().list(folder)
            if folder == LOG and not begun and sys._getframe(1).f_code.co_name == "vacuum":
                begun.append(reader.changes().read_all())
            return found

    around = Surroundings(files=Disk)
    append(wx.open(index.path, surroundings=around), 3)
    assert begun
    reader.advance()
    append(index, 4, 5, 6)
    assert reader.changes().read_all()["t"].to_pylist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("turn", range(1, 4))
def test_all_that_is_there_is_that_of_a_later_commit_where_one_goes_meanwhile(tmp_path, kind, turn):
    """Somebody writes right after a look at the log, and keeps one commit."""
    index = KINDS[kind](tmp_path / "x", keep_commits=1)
    append(index, 1, 2)
    looks: list[str] = []

    class Disk(Files):
        def list(self, folder: str) -> list[str]:
            found = super().list(folder)
            if folder == LOG:
                looks.append(folder)
                if len(looks) == turn:
                    append(index, 3)
                    index.prepare()
            return found

    other = wx.open(index.path, surroundings=Surroundings(files=Disk))
    looks.clear()
    came = other.changes(None).read_all().drop_columns(["_change", "_at", "_commit"])
    assert same_rows(came.to_pylist(), other.scan().read_all().to_pylist())


@pytest.mark.parametrize("disk", DISKS)
def test_a_crash_leaves_a_follower_where_it_was_or_where_it_went(tmp_path, disk):
    index = make(tmp_path / "origin")
    append(index, 1)
    reader = index.follow("a", since=index.commit)
    before = reader.position
    append(index, 2, 3)
    after = index.commit
    rows = index.scan().read_all().to_pylist()
    seen = set()

    def act(opened: Any) -> None:
        seen.add(opened.followers["a"])
        opened.follow("a").advance(after)

    crash_everywhere(tmp_path, DISKS[disk], act, rows, rows)
    assert seen <= {before, after}


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("back", [True, False, None])
def test_a_crash_leaves_a_follower_where_it_was_or_where_it_moved(tmp_path, disk, back):
    index = make(tmp_path / "origin")
    append(index, 1)
    index.follow("slow", since=index.commit)
    first = index.commit
    append(index, 2, 3)
    middle = index.commit
    append(index, 4)
    index.follow("a", since=middle)
    # A crash of before has left a file that does not count.
    index.storage.create(follower_name("a", first, True), lambda sink: sink.write(b""))
    assert index.followers["a"] == middle
    after = {True: first, False: index.commit, None: None}[back]
    rows = index.scan().read_all().to_pylist()
    seen = set()

    def act(opened: Any) -> None:
        seen.add(opened.followers.get("a"))
        opened.follow("a").move(after)
        assert opened.followers.get("a") == after

    walk = LocalWalk(tmp_path / "origin", tmp_path / "scratch")
    assert walk.crash_everywhere(DISKS[disk], act, rows, rows) > 2
    assert seen <= {middle, after}


FOLLOW = """
import json, os, sys
from collections import Counter
import wavedex as wx

path, state = sys.argv[1:]
index = wx.open(path)
reader = index.follow("child")
print("ready", flush=True)
while True:
    known = json.load(open(state)) if os.path.exists(state) else {"commit": None, "rows": []}
    if known["commit"] is None and reader.position is not None:
        reader.move(None)
    if known["commit"] is not None and reader.position != known["commit"]:
        reader.advance(known["commit"])  # It was killed before it could say so.
    if reader.position == index.commit:
        continue
    rows = Counter({tuple(row): count for row, count in known["rows"]})
    for batch in reader.changes():
        for row in batch.to_pylist():
            rows[row["k"], row["t"]] += row["_change"]
    with open(state + ".new", "w") as out:
        json.dump({"commit": reader.reached, "rows": [[k, v] for k, v in rows.items() if v]}, out)
    os.replace(state + ".new", state)
    reader.advance()
"""


def test_a_follower_that_is_killed_comes_back_and_has_each_change_once(tmp_path):
    index = make(tmp_path / "x.wx")
    state, draw, slot = tmp_path / "state.json", random.Random(5), 0

    def start() -> subprocess.Popen[str]:
        found = subprocess.Popen(
            [sys.executable, "-c", FOLLOW, index.path, str(state)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        )
        assert found.stdout is not None
        assert found.stdout.readline() == "ready\n"
        return found

    def follows(child: subprocess.Popen[str]) -> None:
        """Wait until it has read all that there is."""
        while not (state.exists() and json.loads(state.read_text())["commit"] == index.commit):
            assert child.poll() is None
            time.sleep(0.005)

    for _ in range(KILLS):
        child = start()
        for _ in range(draw.randrange(1, 6)):
            slot += 1
            append(index, slot)
            if draw.random() < 0.3:
                follows(child)
        time.sleep(draw.random() * 0.02)  # It is killed somewhere in the midst of it.
        child.send_signal(signal.SIGKILL)
        child.communicate()
        append(index, *range(slot + 1, slot + 4))
        slot += 3
    child = start()
    follows(child)
    child.kill()
    child.communicate()
    found = {tuple(row): count for row, count in json.loads(state.read_text())["rows"]}
    window = Counter((row["k"], row["t"]) for row in index.scan().read_all().to_pylist())
    assert found == window
