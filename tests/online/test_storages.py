"""Every storage of basic windows against counters, with every index and without, and its steps."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.errors import BadDefinition
from wavedex.online.indexes.catalogue import KINDS as INDEXES
from wavedex.online.indexes.catalogue import index_of
from wavedex.online.indexes.contract import NULL_NODE, ROOM_LEAST
from wavedex.online.steps import ANSWER, COUNT, SEARCH, STORE
from wavedex.online.storages.catalogue import KINDS, storage_of

FIGURE_2 = (12, 14, 16, 17, 15, 4, 19, 17, 16, 23, 12, 19, 1, 12, 5, 23)
BUCKETS = 4


def numbers(values):
    return np.array([*values], np.int64)


def looks(lists, values):
    """Values looked at as some are counted, each in the sorted list of its remainder."""
    total = 0
    for value in values:
        chain = lists[value % len(lists)]
        rank = bisect_left(chain, value)
        total += min(rank + 1, len(chain))
        if value not in chain[rank : rank + 1]:
            insort(chain, value)
    return total


class Judged:
    """A storage of some basic windows, beside counters that say what it must answer."""

    def __init__(self, kind, index, windows=3, eager=True, side=0):
        self.storage = storage_of(kind, index, buckets=BUCKETS, eager=eager)
        self.storage.side = side
        self.index, self.side, self.eager, self.windows = index, side, eager, windows
        self.lists = self._lists()
        self.newest, self.nulls = Counter(), 0
        self.pieces = []

    def _lists(self):
        return [[] for _ in range(BUCKETS if self.storage.kind == "hash" else 1)]

    def enter(self, values, nulls=0):
        before = int(self.storage.steps[STORE])
        self.storage.enter(numbers(values), nulls)
        assert self.storage.steps[STORE] - before == looks(self.lists, values)
        self.newest.update(values)
        self.nulls += nulls
        self.check_pointed()

    def slide(self, completes=True, expires=None):
        if expires is None:
            expires = len(self.pieces) == self.windows
        self.storage.slide(completes=completes, expires=expires)
        if completes:
            self.pieces.append((self.newest, self.nulls))
            self.newest, self.nulls = Counter(), 0
            self.lists = self._lists()
        if expires:
            self.pieces.pop(0)
        self.check()

    def purge(self):
        if self.index is not None:
            self.index.purge(self.storage.pointed(self.index.room))
            self.check()

    def rekey(self, factor, more):
        def named(values):
            return Counter({value * factor + more: many for value, many in values.items()})

        old = sorted(set().union(self.newest, *(values for values, _ in self.pieces)))
        new = [value * factor + more for value in old]
        if self.index is not None:
            known = sorted({*old, *self.index.keys[self.index.in_order()].tolist()})
            self.index.rekey(numbers(known), numbers(known) * factor + more)
        self.storage.rekey(numbers(old), numbers(new))
        self.newest = named(self.newest)
        self.pieces = [(named(values), nulls) for values, nulls in self.pieces]
        self.lists = self._lists()
        looks(self.lists, self.newest)
        self.check()

    def held(self):
        values = sum((values for values, _ in self.pieces), Counter())
        return values, sum(nulls for _, nulls in self.pieces)

    def check(self):
        held, nulls = self.held()
        before = int(self.storage.steps[ANSWER])
        values, counts, found = self.storage.histogram()
        assert self.storage.steps[ANSWER] - before == sum(len(each) for each, _ in self.pieces)
        assert values.tolist() == sorted(held)
        assert counts.tolist() == [held[value] for value in sorted(held)]
        assert found == nulls
        if self.index is not None:
            nodes = self.index.in_order()
            there = nodes[self.index.counts[self.side, nodes] != 0]
            assert self.index.keys[there].tolist() == sorted(held)
            assert self.index.counts[self.side, there].tolist() == counts.tolist()
            assert self.index.counts[self.side, NULL_NODE] == nulls
        self.check_pointed()

    def check_pointed(self):
        """Eagerly the newest basic window points at its values, but not without domain storage."""
        room = ROOM_LEAST if self.index is None else self.index.room
        pointed = self.storage.pointed(room)
        assert len(pointed) == room
        has_pointers = self.eager and self.index is not None and not self.is_merged
        values = self.index.keys[np.flatnonzero(pointed)].tolist() if has_pointers else []
        assert sorted(values) == (sorted(self.newest) if has_pointers else [])
        assert has_pointers or not pointed.any()

    @property
    def is_merged(self):
        return self.storage.kind == "group" and self.index.kind == "group"


VALUES = st.lists(st.integers(-15, 30), max_size=15)
STEPS = st.one_of(
    st.tuples(st.just("enter"), VALUES, st.integers(0, 2)),
    st.tuples(st.just("slide")),
    st.tuples(st.just("slide")),
    st.tuples(st.just("purge")),
    st.tuples(st.just("rekey"), st.integers(1, 2), st.integers(-3, 3)),
)


@pytest.mark.parametrize("index", [None, *INDEXES])
@pytest.mark.parametrize("kind", KINDS)
@given(
    steps=st.lists(STEPS, max_size=20),
    eager=st.booleans(),
    lists_zeros=st.booleans(),
    windows=st.integers(1, 3),
)
@examples(15)
def test_a_window_holds_the_values_of_its_basic_windows(
    kind, index, steps, eager, lists_zeros, windows
):
    made = None if index is None else index_of(index, buckets=BUCKETS)
    if made is not None:
        made.lists_zeros = lists_zeros
    judged = Judged(kind, made, windows, eager)
    for name, *arguments in steps:
        getattr(judged, name)(*arguments)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("kind", KINDS)
def test_eager_and_lazy_pointers_cost_the_same(kind, index):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 60, (12, 3, 10)).tolist()
    steps = []
    for eager in (True, False):
        judged = Judged(kind, index_of(index, buckets=BUCKETS), eager=eager)
        for turn, window in enumerate(rows):
            for batch in window:
                judged.enter(batch, nulls=1)
            judged.slide()
            if turn % 3 == 2:
                judged.purge()
        steps.append(judged.storage.steps.tolist())
    assert steps[0] == steps[1]


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("kind", KINDS)
def test_two_windows_share_an_index_and_keep_their_own_counts(kind, index):
    shared = index_of(index, buckets=BUCKETS)
    shared.counts = np.concatenate([shared.counts, np.zeros_like(shared.counts)])
    sides = [Judged(kind, shared, side=side) for side in range(2)]
    rng = np.random.default_rng(2)
    for turn in range(10):
        for side in sides:
            side.enter(rng.integers(0, 25, 8).tolist(), nulls=side.side)
            if (turn + side.side) % 2:
                side.slide()
        room = shared.room
        shared.purge(sides[0].storage.pointed(room) | sides[1].storage.pointed(room))
        for side in sides:
            side.check()
    both = [set(side.held()[0]) for side in sides]
    nodes = shared.in_order()
    common = nodes[(shared.counts[:, nodes] != 0).all(axis=0)]
    assert shared.keys[common].tolist() == sorted(both[0] & both[1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_basic_window_grows_past_the_least_room(kind):
    judged = Judged(kind, index_of("tree"))
    values = np.random.default_rng(3).permutation(5 * ROOM_LEAST).tolist()
    small = judged.storage.nbytes
    for _ in range(3):
        judged.enter(values)
        judged.enter(values[:10])
        judged.slide()
    assert judged.storage.nbytes > small


@pytest.mark.parametrize("kind", KINDS)
def test_windows_may_grow_shrink_and_stand_empty(kind):
    judged = Judged(kind, index_of("list"))
    judged.slide(expires=False)
    judged.enter([3, 1, 3])
    judged.slide(completes=False, expires=True)
    judged.slide(expires=False)
    judged.enter([1])
    judged.slide(completes=False, expires=False)
    judged.slide(expires=True)
    judged.slide(completes=False, expires=True)
    assert judged.storage.histogram()[0].tolist() == []


def listed(storage):
    """The newest basic window list by list, as values and counts."""
    newest = storage._newest
    order = newest.listed()
    return [*zip(newest.keys[order].tolist(), newest.counts[order].tolist(), strict=True)]


def test_figure_2_as_aggr():
    storage = storage_of("aggr", None)
    storage.enter(numbers(FIGURE_2), 0)
    assert listed(storage) == [
        (1, 1), (4, 1), (5, 1), (12, 3), (14, 1), (15, 1), (16, 2), (17, 2), (19, 2), (23, 2),
    ]  # fmt: skip


def test_figure_2_as_hash_with_four_buckets():
    storage = storage_of("hash", None, buckets=4)
    storage.enter(numbers(FIGURE_2), 0)
    assert listed(storage) == [
        *[(4, 1), (12, 3), (16, 2)],
        *[(1, 1), (5, 1), (17, 2)],
        *[(14, 1)],
        *[(15, 1), (19, 2), (23, 2)],
    ]


def test_figure_2_as_group_by_its_ranges():
    storage = storage_of("group", None)
    storage.enter(numbers(FIGURE_2) // 6, 0)
    # 1, 4, 5; 12, 14, 16, 17, 15, 17, 16, 12, 12; 19, 23, 19, 23.
    assert listed(storage) == [(0, 3), (2, 9), (3, 4)]


def test_the_steps_of_figure_2_are_what_one_counts_by_hand():
    storage = storage_of("hash", None, buckets=4)
    storage.enter(numbers(FIGURE_2[:9]), 0)
    # 12, 14 and 17 come to empty buckets, and 15, too. 16 looks at 12, 4 at 12, 19 at 15,
    # 17 at 17, and 16 at 4, 12 and 16.
    assert storage.steps[STORE] == 0 + 0 + 1 + 0 + 0 + 1 + 1 + 1 + 3


BOUNDS = {
    "list": lambda distinct: distinct,
    "group": lambda distinct: distinct,
    "tree": lambda distinct: 1.45 * math.log2(distinct + 2),
    "hash": lambda distinct: distinct / BUCKETS,
    "unsorted-hash": lambda distinct: distinct / BUCKETS,
}


@pytest.mark.parametrize("index", BOUNDS)
@pytest.mark.parametrize("kind", ["aggr", "hash"])
def test_a_slide_costs_what_table_1_says(kind, index):
    made, rng, distinct, rows = index_of(index, buckets=BUCKETS), np.random.default_rng(4), 80, 50
    made.locate(rng.permutation(distinct))
    judged = Judged(kind, made)
    for turn in range(6):
        before = made.steps.copy()
        batch = rng.integers(0, distinct, rows)
        judged.enter(batch.tolist())
        many = len(set(batch.tolist()))
        list_most = many if kind == "aggr" else distinct / BUCKETS
        assert made.steps[STORE] - before[STORE] <= rows * list_most
        assert many <= made.steps[SEARCH] - before[SEARCH] <= many * BOUNDS[index](distinct)
        assert made.steps[COUNT] == before[COUNT]
        oldest = len(judged.pieces[0][0]) if turn >= 3 else 0
        judged.slide()
        assert made.steps[COUNT] - before[COUNT] == many + oldest


def test_a_slide_of_groups_visits_each_group_once_and_points_at_none():
    made, rng, groups = index_of("group"), np.random.default_rng(5), 10
    judged = Judged("group", made)
    for _ in range(8):
        before = made.steps.copy()
        judged.enter(rng.integers(0, groups, 50).tolist())
        assert made.steps[SEARCH] == before[SEARCH]
        entered = int(made.steps[STORE])
        both = len(judged.newest) + (len(judged.pieces[0][0]) if len(judged.pieces) == 3 else 0)
        judged.slide()
        assert made.steps[STORE] - entered == both <= 2 * groups  # The changes are made of them.
        assert made.steps[SEARCH] - before[SEARCH] <= groups
        assert made.steps[COUNT] - before[COUNT] <= groups


def test_groups_that_come_and_leave_as_often_are_not_visited():
    made = index_of("group")
    judged = Judged("group", made, windows=1)
    for rows in ([1, 2, 2, 3], [3, 2, 1, 2], [1, 2, 3, 3]):
        judged.enter(rows)
        judged.slide()
    # All three come; none changes; of 2 and 3 the counts change, and 1 is passed.
    assert made.steps[COUNT] == 3 + 0 + 2
    assert made.steps[SEARCH] == 0 + 0 + 3


def test_a_value_that_stays_is_not_listed_as_zero_by_a_slide():
    made = index_of("list")
    made.lists_zeros = True
    judged = Judged("aggr", made, windows=1)
    for _ in range(4):
        judged.enter([5])
        judged.slide()
    assert made._zeros == []


def test_an_unknown_storage_is_refused_by_name():
    with pytest.raises(
        BadDefinition, match=r"no storage 'heap'\. There are: list, aggr, hash, group"
    ):
        storage_of("heap", None)
    with pytest.raises(BadDefinition, match="at least one bucket, not 0"):
        storage_of("hash", None, buckets=0)


def test_each_kind_has_its_name_and_hash_has_five_buckets():
    for kind in KINDS:
        assert storage_of(kind, None).kind == kind
    assert len(storage_of("hash", None)._newest._heads) == 5
