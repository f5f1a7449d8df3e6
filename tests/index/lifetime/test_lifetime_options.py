"""The options of a lifetime index that other tests leave as they are.

And what a migration leaves of them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import wavedex as wx
from kit.life_rows import COUNTED, LAST, SCHEMA, SIZES, counted_rows, table
from wavedex import errors
from wavedex.index.reading.asked import Asked
from wavedex.testing.life_oracle import BIRTH, END, KEY, CountOracle, LifeOracle
from wavedex.testing.oracle import same_rows

GOOD = {"key": "k", "inserted": "b", "expires": "e", "max_lifetime": 16, "refresh": 2}
MANY, KEYS = 60, 7
"""Rows of a refresh, and keys: some have one row of them, others many."""


def check(life, live, **asked):
    """The answers are those of a plain list of rows."""
    assert same_rows(life.scan(**asked).read_all().to_pylist(), live)
    for key in range(KEYS):
        assert same_rows(life.probe(key, **asked).to_pylist(), [r for r in live if r[KEY] == key])


# -- room and buckets ----------------------------------------------------------------------------


def fill(path, method="no-rebuild", **options):
    """Ten refreshes with many rows, each of them judged.

    Whole rows are offered, whatever is kept of them.
    """
    life = wx.LifetimeIndex.create(
        path, SCHEMA, method=method, grid=(2, 2), shards=1, **GOOD, **options
    )
    oracle = LifeOracle()
    for now in range(2, LAST + 1, 2):
        rows = [
            {
                KEY: number.bit_length(),
                BIRTH: now,
                END: now + 1 + number % 16,
                "v": f"{now} {number}",
            }
            for number in range(MANY)
        ]
        life.update(now, table(rows))
        oracle.update(now, [{name: row[name] for name in life.schema.names} for row in rows])
        check(life, oracle.live())
    life.verify()
    return life


def lengths(life):
    """How many buckets each key has in each part that readers see."""
    with life.snapshot() as snapshot:
        shards = [shard for shard, _ in snapshot.all_targets(Asked(expired=True))]
        return np.concatenate([shard.chains.lengths for shard in shards])


def rooms(life):
    """The sizes of all buckets."""
    with life.snapshot() as snapshot:
        shards = [shard for shard, _ in snapshot.all_targets(Asked(expired=True))]
        return {*np.concatenate([shard.buckets.sizes for shard in shards]).tolist()}


@pytest.mark.slow
def test_buckets_says_how_many_chained_buckets_a_key_has(tmp_path):
    found = {}
    for buckets in (1, 2.5, 8):
        found[buckets] = lengths(fill(tmp_path / str(buckets), buckets=buckets))
        assert found[buckets].max() <= math.ceil(2 * buckets)
    assert found[1].mean() < found[2.5].mean() < found[8].mean()
    assert found[8].max() > 2 * 2.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first_room", "growth", "series"),
    [
        (1, 2, {1, 2, 4, 8, 16, 32, 64}),
        (6, 2, {6, 12, 24, 48}),
        (1, 4.0, {1, 4, 16, 64}),
        (5, 3, {5, 15, 45}),
    ],
)
def test_room_begins_with_first_room_and_grows_by_growth(tmp_path, first_room, growth, series):
    life = fill(tmp_path / "index", first_room=first_room, growth=growth)
    assert len(rooms(life)) > 1
    assert rooms(life) <= series
    # With plenty of room in each, nothing but that changes.
    assert rooms(fill(tmp_path / "roomy", first_room=500, growth=growth)) == {500}


@pytest.mark.parametrize("option", [{"growth": 1}, {"growth": "much"}, {"first_room": 0}], ids=str)
def test_room_that_cannot_be_is_refused(tmp_path, option):
    with pytest.raises(errors.BadDefinition, match=next(iter(option))):
        wx.LifetimeIndex.create(tmp_path / "index", SCHEMA, **GOOD, **option)
    assert not (tmp_path / "index").exists()


# -- include -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_include_keeps_what_is_named_and_what_the_index_needs(tmp_path, method):
    assert fill(tmp_path / "more", method, include=["v"]).schema == SCHEMA
    life = fill(tmp_path / "less", method, include=[])
    assert life.schema.names == [KEY, BIRTH, END]
    held = life.scan().read_all()
    life.retract(LAST, held.slice(0, 1))
    assert life.scan().read_all().num_rows == held.num_rows - 1


def test_include_of_a_column_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(errors.MissingColumn, match="'w'"):
        wx.LifetimeIndex.create(tmp_path / "index", SCHEMA, include=["w"], **GOOD)
    assert not (tmp_path / "index").exists()


# -- reach ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["count-rebuild", "count-no-rebuild"])
def test_reach_says_how_many_slots_are_examined_and_changes_no_answer(tmp_path, method):
    touched = {}
    for reach in ((0, 0), (1, 1), (2, 1)):
        life = wx.LifetimeIndex.create(
            tmp_path / f"{reach}", COUNTED, key=KEY, inserted=BIRTH, counts=SIZES, max_lifetime=16,
            refresh=2, grid=(2, 8), method=method, shards=1, reach=reach,
        )  # fmt: skip
        oracle = CountOracle(SIZES)
        touched[reach] = 0
        for now in range(2, 60, 2):
            arrived = {name: came + 5 for name, came in oracle.arrived.items()}
            rows = [row for row in counted_rows(now, arrived) if row["left"] > 0]
            done = life.update(now, table(rows, COUNTED), arrived=arrived)
            oracle.update(rows, arrived)
            assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
            if now > 40:  # the rate is steady by then
                touched[reach] += len(done.touched)
        check(life, oracle.live())
        check(life, oracle.live({"left": 7}), shorten={"left": 7})
        life.verify()
    assert touched[0, 0] < touched[1, 1] < touched[2, 1]


# -- what a migration leaves of them -------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "chosen", "after"),
    [
        (
            "rebuild",
            ("chronological", "random"),
            {"no-rebuild": ("chronological", "random"), "lazy-rebuild": ("wave", "random")},
        ),
        (
            "lazy-rebuild",
            ("wave", "random"),
            {"rebuild": ("round-robin", "random"), "lazy-no-rebuild": ("wave", "random")},
        ),
        (
            "rebuild",
            ("random", "random"),
            {"rebuild": ("random", "random"), "r-ins": ("chronological", "chronological")},
        ),
        (
            "r-ins",
            None,
            {
                "rebuild": ("round-robin", "round-robin"),
                "r-exp": ("chronological", "chronological"),
            },
        ),
        (
            "wata",
            None,
            {"no-rebuild": ("round-robin", "round-robin"), "lazy-rebuild": ("wave", "round-robin")},
        ),
    ],
)
@pytest.mark.parametrize("strategy", ["rebuild", "drain"])
def test_a_side_that_was_chosen_stays_where_the_new_method_allows_it(
    tmp_path, before, chosen, after, strategy
):
    shapes = {"r-ins": (2, 1), "wata": (2, 1), "r-exp": (1, 2)}
    for method, kept in after.items():
        life = wx.LifetimeIndex.create(
            tmp_path / method, SCHEMA, method=before, partition=chosen,
            grid=shapes.get(before, (2, 2)), shards=1, **GOOD,
        )  # fmt: skip
        had = tuple(life.describe()["partition"])
        done = life.migrate(method=method, grid=shapes.get(method, (2, 2)), strategy=strategy)
        assert tuple(life.describe()["partition"]) == kept
        assert ("partition" in done.changed) == (had != kept)
        assert tuple(wx.open(tmp_path / method).describe()["partition"]) == kept
