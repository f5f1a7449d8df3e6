"""Room in files.

The sizes form one series, and freed room is handed out once, and only when nobody can see it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavedex.errors import BadDefinition
from wavedex.store.room import FreeRoom, Sizes

sizes = st.builds(Sizes, st.floats(1.01, 16.0), st.integers(1, 9))
counts = st.lists(st.integers(1, 5_000), min_size=1, max_size=12).map(
    lambda values: np.array(values, np.int64)
)


@given(sizes, counts)
def test_room_is_the_least_of_its_series_that_is_large_enough(series, wanted):
    found = series.at_least(wanted)
    assert (found >= wanted).all()
    smaller = series.at_most(found - 1)
    assert (smaller < wanted).all()
    assert (series.at_least(found) == found).all()


@given(sizes, counts)
def test_what_is_used_again_of_room_of_any_size_fits_into_it(series, room):
    found = series.at_most(room)
    assert (found <= room).all()
    assert (series.at_most(found[found > 0]) == found[found > 0]).all()
    assert (found[room >= series.first] > 0).all()


@given(sizes)
def test_each_size_is_growth_times_the_one_before_and_larger(series):
    chain = [int(series.at_least(np.array([1], np.int64))[0])]
    while chain[-1] < 2_000:
        chain.append(int(series.at_least(np.array([chain[-1] + 1], np.int64))[0]))
    for before, after in itertools.pairwise(chain):
        assert before < after <= max(before + 1, np.ceil(before * series.growth))


@pytest.mark.parametrize("growth", [1.0, 0.5, -2.0, 16.1, float("nan"), float("inf")])
def test_growth_that_does_not_grow_or_leaps_is_refused(growth):
    with pytest.raises(BadDefinition):
        Sizes(growth)


def test_a_first_room_of_nothing_is_refused():
    with pytest.raises(BadDefinition):
        Sizes(2.0, 0)


@pytest.mark.parametrize("per_key", [0.99, 0.0, -1.0, 64.5, float("nan"), float("inf")])
def test_less_than_one_bucket_for_a_key_or_very_many_are_refused(per_key):
    with pytest.raises(BadDefinition, match="buckets="):
        Sizes(per_key=per_key)


@given(sizes, counts, st.floats(1.0, 64.0))
def test_the_buckets_of_a_key_are_the_smallest_of_which_so_many_hold_it(series, entries, per_key):
    series = Sizes(series.growth, series.first, per_key)
    found = series.of_buckets(entries)
    assert (-(-entries // found) <= np.ceil(per_key)).all()
    assert (found * per_key >= entries * (1 - 1e-9)).all()
    smaller = series.at_most(found - 1)
    assert (smaller < np.ceil(entries / per_key)).all()


rooms = st.lists(st.tuples(st.sampled_from([2, 4, 8]), st.integers(1, 9)), max_size=15)


@given(rooms, st.lists(st.sampled_from([2, 4, 8, 16]), max_size=15), st.integers(0, 10))
def test_room_is_handed_out_once_and_only_if_no_kept_commit_shows_it(freed, wanted, oldest_kept):
    free = FreeRoom.none()
    freed_by = {}
    for number, (size, commit) in enumerate(freed):
        start = number * 100
        free = free.free(np.array([start]), np.array([size]), commit)
        freed_by[start] = (size, commit)
    places, left = free.take(np.array(wanted, np.int64), oldest_kept)
    taken = [place for place in places.tolist() if place >= 0]
    assert len(set(taken)) == len(taken)
    for size, place in zip(wanted, places.tolist(), strict=True):
        if place >= 0:
            assert freed_by[place][0] == size
            assert freed_by[place][1] <= oldest_kept
    assert sorted([*taken, *left.starts.tolist()]) == sorted(freed_by)
    for start, size, commit in zip(left.starts, left.sizes, left.commits, strict=True):
        assert freed_by[int(start)] == (size, commit)
    for size in {2, 4, 8}:
        usable = sum(1 for have, commit in freed if have == size and commit <= oldest_kept)
        handed = sum(1 for place in taken if freed_by[place][0] == size)
        assert handed == min(usable, wanted.count(size))


def test_room_of_no_size_is_not_kept():
    free = FreeRoom.none().free(np.array([5, 9]), np.array([0, 4]), 3)
    assert free.starts.tolist() == [9]
