"""How long commits are kept, by number and by time, and what is found when an old one is opened."""

from __future__ import annotations

import datetime as dt

import pytest

import wavedex as wx
from kit.stream_oracle import EVERY, SCHEMA, rows
from kit.ways import WAYS
from wavedex import errors

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.time = BEGIN

    def __call__(self) -> dt.datetime:
        return self.time


def make(path, clock=None, **options) -> wx.WaveIndex:
    options = {"window": 3, "indexes": 2, "shards": 2, "first_room": 1, **options}
    around = wx.Surroundings() if clock is None else wx.Surroundings(now=clock)
    return wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=EVERY, surroundings=around, **options
    )


def times(asked) -> list[int]:
    return sorted(asked.scan().read_all()["t"].to_pylist())


def look(asked) -> tuple:
    """All that can be asked, as plain values."""
    by_key = [sorted(asked.probe(key)["t"].to_pylist()) for key in range(4)]
    many = sorted(asked.probe_many(range(4), since=11)["t"].to_pylist())
    return asked.slots, asked.sub_indexes, times(asked), by_key, many


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scheme", ["wata", "rata", "del"])
def test_an_old_commit_is_exactly_the_window_of_then(tmp_path, way, scheme):
    index = make(tmp_path / "x", keep_commits=9, scheme=scheme, **WAYS[way])
    seen = {index.snapshot().commit: look(index)}
    for slot in range(10, 22):
        index.append(rows(slot * EVERY, slot * EVERY + 1, slot * EVERY + 5))
        seen[index.snapshot().commit] = look(index)
        index.amend(rows(slot * EVERY + 7))
        seen[index.snapshot().commit] = look(index)
    kept = index.commits
    assert kept == list(range(kept[-1] - 8, kept[-1] + 1))
    compared = [commit for commit in kept if commit in seen]
    assert len(compared) > 3
    for commit in compared:
        for old in (
            index.snapshot(commit),
            wx.open(tmp_path / "x", commit=commit),
            wx.open(tmp_path / "x").snapshot(commit),
        ):
            assert isinstance(old, wx.Snapshot)
            assert old.commit == commit
            assert look(old) == seen[commit]
    # Whoever holds one reads on, whatever is written and cleared away.
    with wx.open(tmp_path / "x", commit=compared[0]) as held:
        for slot in range(22, 30):
            index.append(rows(slot * EVERY, slot * EVERY + 2))
        index.vacuum()
        assert look(held) == seen[compared[0]]
    index.verify()


@pytest.mark.parametrize("wrong", [0, -1, 10**12, "2", 2.0, True, [4]])
def test_a_commit_that_is_not_kept_is_refused_with_those_that_are(tmp_path, wrong):
    index = make(tmp_path / "x", keep_commits=3, update="packed-shadow")
    for slot in range(10, 16):
        index.append(rows(slot * EVERY))
    assert index.commits == [4, 5, 6]
    for ask in (index.snapshot, lambda commit: wx.open(tmp_path / "x", commit=commit)):
        with pytest.raises(errors.CommitGone, match=r"\[4, 5, 6\]"):
            ask(wrong)
    assert index.snapshot(5).slots == [12, 13, 14]
    assert index.snapshot(None).commit == 6


def hourly(index: wx.WaveIndex, clock: Clock, slots: range) -> dict[int, dt.datetime]:
    """Append a slot an hour; when each commit was written."""
    written = {}
    for slot in slots:
        clock.time += HOUR
        before = index.snapshot().commit
        index.append(rows(slot * EVERY, slot * EVERY + 3))
        written |= dict.fromkeys(range(before + 1, index.snapshot().commit + 1), clock.time)
    return written


@pytest.mark.slow
@pytest.mark.parametrize("update", ["runs", "packed-shadow", "in-place"])
@pytest.mark.parametrize("keep_for", ["4 hours", dt.timedelta(hours=4), "240 minutes"])
def test_commits_stay_for_as_long_as_was_said(tmp_path, update, keep_for):
    clock = Clock()
    index = make(tmp_path / "x", clock, keep_for=keep_for, update=update)
    written = {0: BEGIN} | hourly(index, clock, range(10, 30))
    since = clock.time - 4 * HOUR
    at_since = max(commit for commit, time in written.items() if time <= since)
    # All from that time on, and what was the newest then.
    # Whoever asks how it was 4 hours ago finds it.
    assert index.commits == [commit for commit in written if commit >= at_since]
    assert len({written[commit] for commit in index.commits}) == 5
    index.verify()
    oldest = wx.open(tmp_path / "x", commit=index.commits[0])
    assert oldest.slots == [23, 24, 25]
    assert times(oldest) == [230, 233, 240, 243, 250, 253]


def test_a_long_silence_leaves_what_was_true_all_the_while(tmp_path):
    clock = Clock()
    index = make(tmp_path / "x", clock, keep_for="2 hours", update="packed-shadow", keep_commits=1)
    hourly(index, clock, range(10, 14))
    clock.time += 100 * HOUR
    index.append(rows(140))
    assert index.commits == [4, 5]
    clock.time += 2 * HOUR
    index.append(rows(150))
    assert index.commits == [5, 6]


def test_the_longer_of_both_counts(tmp_path):
    clock = Clock()
    many = make(tmp_path / "many", clock, keep_for="1 hour", keep_commits=6, update="packed-shadow")
    hourly(many, clock, range(10, 20))
    assert many.commits == [5, 6, 7, 8, 9, 10]
    long = make(tmp_path / "long", clock, keep_for="1 week", keep_commits=1, update="packed-shadow")
    hourly(long, clock, range(10, 20))
    assert long.commits == list(range(11))
    assert times(long.snapshot(0)) == []
    assert times(long.snapshot(1)) == [100, 103]


def test_a_vacuum_that_is_asked_for_keeps_what_it_is_told_and_no_more(tmp_path):
    clock = Clock()
    index = make(tmp_path / "x", clock, keep_for="1 week", update="packed-shadow")
    hourly(index, clock, range(10, 16))
    assert index.vacuum(4)
    assert index.commits == [3, 4, 5, 6]
    data = {file.name for file in (tmp_path / "x" / "data").iterdir()}
    index.vacuum()
    assert index.commits == [6]
    left = {file.name for file in (tmp_path / "x" / "data").iterdir()}
    assert left < data
    index.verify()
    assert times(index) == [130, 133, 140, 143, 150, 153]


def test_what_is_kept_survives_reopening_and_a_clock_that_goes_back(tmp_path):
    clock = Clock()
    hourly(
        make(tmp_path / "x", clock, keep_for="3 hours", update="packed-shadow"),
        clock,
        range(10, 14),
    )
    index = wx.open(tmp_path / "x", surroundings=wx.Surroundings(now=clock))
    assert index.commits == [1, 2, 3, 4]
    clock.time -= 50 * HOUR
    index.append(rows(140))
    assert index.commits == [1, 2, 3, 4, 5]
    clock.time += 60 * HOUR
    index.append(rows(150))
    assert index.commits[-2:] == [5, 6]
    index.verify()


@pytest.mark.parametrize(
    "wrong", ["soon", "2 months", "", 5, dt.timedelta(-1), "900000 weeks", ["1 day"]]
)
def test_what_is_no_duration_is_refused(tmp_path, wrong):
    with pytest.raises(errors.BadDefinition, match="keep_for="):
        make(tmp_path / "x", keep_for=wrong)
    assert not (tmp_path / "x").exists()


def test_changes_reach_back_as_far_as_commits_are_kept(tmp_path):
    clock = Clock()
    index = make(tmp_path / "x", clock, keep_for="6 hours", update="packed-shadow")
    hourly(index, clock, range(10, 20))
    first = index.commits[0]
    changed = index.changes(first).read_all()
    assert sorted(changed.filter(changed["_change"].to_numpy() == 1)["t"].to_pylist()) == [
        time for slot in range(14, 20) for time in (slot * EVERY, slot * EVERY + 3)
    ]
