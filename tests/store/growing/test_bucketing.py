"""The rule of chains.

What must be written anew is, few buckets come of it, and keys that nobody touched are left alone.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavedex.store.growing.chain_rule import ROOMY, BucketsAsked, cut, plan_buckets
from wavedex.store.room import Sizes

series = st.builds(Sizes, st.floats(1.05, 16.0), st.integers(1, 5), st.floats(1.0, 5.0))


@st.composite
def questions(draw) -> tuple[Sizes, BucketsAsked]:
    """Any chains that the rule allows for, of which anything dies, to which anything is added."""
    sizes = draw(series)
    most = math.ceil(2 * sizes.per_key)
    lengths, arriving, touched, room, living, loose = [], [], [], [], [], []
    for _ in range(draw(st.integers(1, 4))):
        length = draw(st.integers(0, most))
        counts = np.array(draw(st.lists(st.integers(1, 300), min_size=length, max_size=length)))
        is_touched = not length or draw(st.booleans())
        room += sizes.at_least(counts.astype(np.int64)).tolist()
        for count in counts.tolist():
            died = draw(st.booleans()) and is_touched
            living.append(draw(st.integers(0, count)) if died else count)
            loose.append(is_touched and living[-1] > 0 and draw(st.booleans()))
        lengths.append(length)
        arriving.append(draw(st.integers(0 if length else 1, 400)) if is_touched else 0)
        touched.append(is_touched)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return sizes, BucketsAsked(
        starts, np.array(arriving, np.int64), np.array(touched, bool), np.array(room, np.int64),
        np.array(living, np.int64), np.array(loose, bool),
    )  # fmt: skip


@given(questions())
def test_a_key_has_few_buckets_and_little_room_whatever_was_asked(question):
    sizes, asked = question
    anew, wanted = plan_buckets(sizes, asked)
    assert not (asked.loose & ~anew).any()
    assert not (anew & (asked.living == 0)).any()
    for key in range(len(asked.arriving)):
        mine = slice(asked.starts[key], asked.starts[key + 1])
        if not asked.touched[key]:
            assert not anew[mine].any()
            continue
        living, moves = asked.living[mine], anew[mine]
        count = int(living.sum() + asked.arriving[key])
        made = -(-int(living[moves].sum() + asked.arriving[key]) // int(wanted[key]))
        stays = (living > 0) & ~moves
        assert int(stays.sum()) + made <= math.ceil(2 * sizes.per_key)
        fitting = int(sizes.of_buckets(np.array([count]))[0])
        room = int(asked.sizes[mine][stays].sum()) + made * int(wanted[key])
        assert room <= ROOMY * fitting * -(-count // fitting)


def asked_of(sizes: list[int], living: list[int], arriving: int, loose: list[int]) -> BucketsAsked:
    """Of one key."""
    places = np.zeros(len(sizes), bool)
    places[loose] = True
    return BucketsAsked(
        np.array([0, len(sizes)]), np.array([arriving]), np.array([True]),
        np.array(sizes, np.int64), np.array(living, np.int64), places,
    )  # fmt: skip


def test_a_new_bucket_has_the_size_of_the_one_before_it_until_there_are_too_many():
    rule = Sizes(2.0, 4)
    anew, size = plan_buckets(rule, asked_of([8, 8, 8], [8, 8, 5], 10, [2]))
    assert anew.tolist() == [False, False, True]
    assert size.tolist() == [8]
    # Four full ones and 16 more would make six: all are joined into two of 32, of which 2.5 are
    # enough for 48.
    anew, size = plan_buckets(rule, asked_of([8, 8, 8, 8], [8, 8, 8, 8], 16, []))
    assert anew.tolist() == [True] * 4
    assert size.tolist() == [32]


def test_a_crowded_key_keeps_those_buckets_that_are_more_than_half_full():
    rule = Sizes(2.0, 4)
    # 70 entries ask for 32: the bucket of 17 is more than half as full, the others are not.
    anew, size = plan_buckets(rule, asked_of([32, 16, 16, 8, 8], [17, 16, 16, 8, 8], 5, []))
    assert anew.tolist() == [False, True, True, True, True]
    assert size.tolist() == [32]


def test_a_key_that_was_large_is_folded_into_little_room():
    anew, size = plan_buckets(Sizes(2.0, 4), asked_of([64, 64], [3, 2], 0, []))
    assert anew.tolist() == [True, True]
    assert size.tolist() == [4]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), min_size=1, max_size=6))
def test_entries_are_cut_into_full_buckets_and_a_rest(keys):
    counts, sizes = (np.array(each, np.int64) for each in zip(*keys, strict=True))
    owners, room, filled = cut(counts, sizes)
    for key, (count, size) in enumerate(keys):
        mine = filled[owners == key].tolist()
        assert sum(mine) == count
        assert mine[:-1] == [size] * (len(mine) - 1)
        assert all(0 < each <= size for each in mine)
    assert room.tolist() == sizes[owners].tolist()
