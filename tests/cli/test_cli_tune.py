"""`wavedex tune`: growth factors of contiguous buckets.

They are tried on a sample and checked against a slow twin.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from wavedex.advisor.growth import Tried, Tuning
from wavedex.errors import BadDefinition, BadSample, MissingColumn, SchemaMismatch

ROWS = 500
WIDTH = 32
"""The bytes of a record of three numbers, with those that say which of them are null."""


def sample_of(keys: np.ndarray, slots: int = 8, seed: int = 1) -> pa.Table:
    times = np.sort(np.random.default_rng(seed).integers(0, slots, len(keys)))
    return pa.table({"k": keys, "t": times, "v": np.arange(len(keys))})


@pytest.fixture
def skewed() -> pa.Table:
    """Few keys have many rows, and many have few, as words do."""
    return sample_of(np.minimum(np.random.default_rng(2).zipf(1.4, ROWS), 400))


@pytest.fixture
def even() -> pa.Table:
    """All keys have about as many rows, as suppliers do."""
    return sample_of(np.random.default_rng(3).integers(0, 60, ROWS))


@pytest.fixture
def file(tmp_path, skewed):
    pq.write_table(skewed, tmp_path / "sample.parquet")
    return tmp_path / "sample.parquet"


def least_room(count: int, growth: float, first: int) -> int:
    room = first
    while room < count:
        room = max(room + 1, math.ceil(room * growth))
    return room


def contiguous(table: pa.Table, growth: float, first: int = 4) -> tuple[int, int, int]:
    """What CONTIGUOUS makes of the sample: the room of all buckets, rows copied, and moves."""
    slots: dict[int, Counter[int]] = {}
    for key, slot in zip(table["k"].to_pylist(), table["t"].to_pylist(), strict=True):
        slots.setdefault(slot, Counter())[key] += 1
    first_slot, *later = (slots[slot] for slot in sorted(slots))
    counts, rooms = dict(first_slot), dict(first_slot)
    copied = moves = 0
    for slot in later:
        for key, arriving in slot.items():
            there = counts.get(key, 0)
            if there + arriving > rooms.get(key, 0):
                rooms[key] = least_room(there + arriving, growth, first)
                copied += there
                moves += there > 0
            counts[key] = there + arriving
    return sum(rooms.values()), copied, moves


@pytest.mark.parametrize("growth", [1.08, 1.5, 2.0, 3.7])
@pytest.mark.parametrize("shape", ["skewed", "even"])
def test_what_is_measured_is_what_a_slow_twin_counts(shape, growth, request):
    table = request.getfixturevalue(shape)
    (tried,) = wx.tune(table, key="k", time="t", slot=1, growth=[growth]).tried
    room, copied, moves = contiguous(table, growth)
    assert tried.bucket_bytes == room * WIDTH
    assert tried.copied_bytes == copied * WIDTH
    assert tried.moves == moves
    assert tried.used_bytes == table.num_rows * WIDTH
    first = table["t"].to_pylist().count(0)
    assert tried.added_bytes == (table.num_rows - first) * WIDTH
    assert tried.room_bytes >= tried.bucket_bytes >= tried.used_bytes
    assert tried.space > 1


def test_more_growth_copies_less_and_leaves_more_room_in_buckets(skewed, even):
    for table in (skewed, even):
        found = wx.tune(table, key="k", time="t", slot=1)
        assert [one.growth for one in found.tried] == [1.08, 1.2, 1.5, 2.0, 3.0]
        copied = [one.copied for one in found.tried]
        assert copied == sorted(copied, reverse=True)
        assert found.tried[0].bucket_bytes < found.tried[-1].bucket_bytes
        assert (found.slots, found.rows) == (8, ROWS)
        assert found.keys == len(set(table["k"].to_pylist()))


def test_a_shard_that_is_written_anew_counts_as_copied():
    keys = np.repeat(np.arange(300), 40)
    found = wx.tune(sample_of(keys[np.random.default_rng(7).permutation(len(keys))], 24), key="k",
                    time="t", slot=1, growth=[1.01])  # fmt: skip
    _, copied, _ = contiguous(
        sample_of(keys[np.random.default_rng(7).permutation(len(keys))], 24), 1.01
    )
    # Files of more than 64 kB, more than half of which is dead, are packed again, and each row is
    # copied for it.
    assert found.tried[0].room_bytes > 65_536
    assert found.tried[0].copied_bytes != copied * WIDTH
    assert found.tried[0].room_bytes <= 2.5 * found.tried[0].used_bytes


def tried(growth: float, space: float, copied: int) -> Tried:
    return Tried(growth, 100, round(100 * space), 100, space, 100, copied, 1, 0.0)


def test_the_least_cost_is_recommended_and_said_why():
    both = (tried(1.2, 1.1, 200), tried(2.0, 1.6, 100), tried(3.0, 2.6, 0))
    found = Tuning(both, 1.0, 3, 10, 5)
    assert found.best.growth == 2.0, "of two that cost the same the smaller"
    assert found.reason == (
        "growth=2: 1.60 bytes of room for a byte of rows and 1.00 bytes copied for a byte added "
        "make 2.60, the least of the 3 that were tried."
    )
    assert Tuning(both, 0.0, 3, 10, 5).best.growth == 1.2
    heavy = Tuning(both, 5.0, 3, 10, 5)
    assert heavy.best.growth == 3.0
    assert "(weighed 5 times)" in heavy.reason


def test_samples_come_as_slots_of_their_own_where_there_is_no_time(skewed):
    without = skewed.drop_columns(["t"])
    times = skewed["t"].to_numpy()
    slots = [without.filter(pa.array(times == slot)) for slot in range(8)]
    found = wx.tune([*slots, without[:0]], key="k", growth=[2.0])
    timed = wx.tune(skewed, key="k", time="t", slot=1, growth=[2.0])
    assert found.slots == timed.slots == 8
    # A record has the slot where the time would be.
    assert found.tried[0].copied_bytes == timed.tried[0].copied_bytes
    frames = [table.to_pandas() for table in slots]
    assert wx.tune(frames, key="k", growth=[2.0]).tried[0].moves == found.tried[0].moves


def test_text_keys_composite_keys_and_fewer_columns_are_tried_too(skewed):
    text = skewed.append_column("name", pa.array([f"key {k}" for k in skewed["k"].to_pylist()]))
    options = {"time": "t", "slot": 1, "growth": [2.0]}
    plain = wx.tune(skewed, key="k", **options).tried[0]
    assert wx.tune(text, key="name", **options).tried[0].moves == plain.moves
    assert wx.tune(text, key=["name", "k"], **options).tried[0].moves == plain.moves
    narrow = wx.tune(skewed, key="k", include=["k"], **options).tried[0]
    assert narrow.moves == plain.moves
    assert narrow.used_bytes == 24 * ROWS


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"key": "none"}, MissingColumn, "no such column"),
        ({"time": "none"}, MissingColumn, "no such column"),
        ({"include": ["none"]}, MissingColumn, "no such column"),
        ({"slot": 100}, BadSample, "has 1 slots with rows.*shorter slot"),
        ({"time": None}, BadSample, "a table for each slot"),
        ({"growth": []}, BadDefinition, "no factor to try"),
        ({"growth": [1.0]}, BadDefinition, "not above 1"),
        ({"growth": [2.0, math.nan]}, BadDefinition, "not above 1"),
        ({"first_room": 0}, BadDefinition, "less than 1"),
        ({"copying": -1}, BadDefinition, "less than 0"),
        ({"copying": math.nan}, BadDefinition, "less than 0"),
        ({"slot": "1 parsec"}, BadDefinition, "slot="),
    ],
)
def test_what_cannot_be_tried_is_refused_by_name(skewed, options, error, said):
    options = {"key": "k", "time": "t", "slot": 1, **options}
    with pytest.raises(error, match=said):
        wx.tune(skewed, **options)


def test_samples_that_are_none_are_refused(skewed):
    with pytest.raises(BadSample, match="empty list"):
        wx.tune([], key="k")
    with pytest.raises(SchemaMismatch, match="as a table"):
        wx.tune("sample.csv", key="k")
    with pytest.raises(SchemaMismatch):
        wx.tune([skewed, skewed.drop_columns(["v"])], key="k", time="t", slot=1)
    nested = skewed.append_column("l", pa.array([[1]] * ROWS))
    with pytest.raises(BadDefinition, match="include="):
        wx.tune(nested, key="k", time="t", slot=1)


def test_nothing_is_left_behind(skewed, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    wx.tune(skewed, key="k", time="t", slot=1)
    with pytest.raises(BadSample):
        wx.tune(skewed, key="k", time="t", slot=100)
    assert list(tmp_path.iterdir()) == []


def test_time_is_that_of_the_clock(skewed):
    ticks = iter(range(1_000))
    found = wx.tune(
        skewed, key="k", time="t", slot=1, growth=[2.0], clock=lambda: float(next(ticks))
    )
    assert found.tried[0].seconds == 7.0, "one tick for each slot but the first"


def test_the_command_shows_a_table_and_a_recommendation(run, file, skewed):
    result = run("tune", file, "--key", "k", "--time", "t", "--slot", 1, COLUMNS="200")
    assert (result.exit_code, result.stderr) == (0, "")
    found = wx.tune(skewed, key="k", time="t", slot=1)
    assert f"{ROWS} rows of {found.keys} keys in 8 slots" in result.stdout
    assert found.reason in result.stdout
    for one in found.tried:
        assert f"{one.growth:g} │" in result.stdout
        assert f"{one.space:.2f}" in result.stdout


def test_the_command_prints_json(run, file, skewed):
    result = run(
        "tune", file, "--key", "k", "--time", "t", "--slot", 1, "--growth", "1.5,2", "--json",
        "--copying", "0.5", "--columns", "k,v", "--first-room", 8,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    found = wx.tune(skewed, key="k", time="t", slot=1, growth=[1.5, 2], copying=0.5, first_room=8)
    assert (said["growth"], said["reason"]) == (found.best.growth, found.reason)
    for row, one in zip(said["tried"], found.tried, strict=True):
        assert row["copied_bytes"] == one.copied_bytes
        assert row["bucket_bytes"] == contiguous(skewed, one.growth, 8)[0] * WIDTH
        assert row["cost"] == pytest.approx(one.space + 0.5 * one.copied)


def test_each_file_is_a_slot_where_there_is_no_time(run, tmp_path, skewed):
    paths = []
    for slot in range(4):
        paths.append(tmp_path / f"{slot}.csv")
        pyarrow.csv.write_csv(skewed.drop_columns(["t"])[slot * 100 : slot * 100 + 100], paths[-1])
    result = run("tune", *paths, "--key", "k", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["slots"] == 4


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--key", "none"], 1, "no such column"),
        (["--key", "k", "--growth", "2,x"], 2, "'x' is not a number"),
        (["--key", "k", "--growth", "0.5"], 1, "growth=0.5 is not above 1"),
        (["--key", "k"], 1, "a table for each slot"),
        (["--key", "k", "--time", "t", "--slot", "50"], 1, "shorter slot"),
        (["--key", "k", "--plot", "x.pdf"], 1, "ends in .png or .svg"),
    ],
)
def test_the_command_says_what_is_wrong(run, file, options, code, said):
    result = run("tune", file, *options, COLUMNS="300")
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_a_file_that_is_no_sample_is_named(run, tmp_path):
    result = run("tune", tmp_path / "none.csv", "--key", "k")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "none.csv is not there" in result.stderr


def test_space_against_copying_is_drawn(run, file, tmp_path, monkeypatch):
    args = ["tune", file, "--key", "k", "--time", "t", "--slot", 1, "--growth", "1.5,2"]
    assert run(*args, "--plot", tmp_path / "a.svg").exit_code == 0
    text = "".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    assert "bytes of room for a byte of rows" in text
    assert "1.5" in text
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(*args, "--plot", tmp_path / "b.svg")
    assert "Matplotlib is not installed" in result.stderr
    assert not Path(tmp_path / "b.svg").exists()
