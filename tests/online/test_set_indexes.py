"""Every set-valued index against a dictionary of counts, and its steps against a plain model."""

from __future__ import annotations

import math
import subprocess
import sys
from bisect import bisect_left
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from kit.value_models import NewestFirstModel, SortedModel, TreeModel
from wavedex.errors import BadDefinition
from wavedex.online.indexes.catalogue import KINDS, index_of
from wavedex.online.indexes.contract import NO_NODE, NULL_NODE, ROOM_LEAST
from wavedex.online.indexes.groups import GroupIndex
from wavedex.online.indexes.hashes import HashIndex
from wavedex.online.steps import ANSWER, COUNT, PURGE, SEARCH

FIGURE_2 = (12, 14, 16, 17, 15, 4, 19, 17, 16, 23, 12, 19, 1, 12, 5, 23)
FIGURE_3 = ((12, 14, 16, 17), (19, 4, 15, 17))
BUCKETS = 4
ENDS = (-(2**63), 2**63 - 1)


class TableModel:
    """The table of an index by counts. A search looks at all places from the home of a value on."""

    def __init__(self, index):
        self.places = [index.keys[node] if node else None for node in index._table.tolist()]
        self.room = index.room - 1 - index.size

    def finds(self, value, puts=False):
        mixed = ((value ^ value >> 32) & 0xFFFFFFFF) * 0x61C88647
        home = mixed >> 31 ^ mixed >> 13
        for looked in range(len(self.places)):
            place = (home + looked) % len(self.places)
            if self.places[place] is None and puts:
                self.places[place] = value
                self.room -= 1
            if self.places[place] in (None, value):
                return looked + 1
        raise AssertionError("no place is free")


MODELS = {
    "list": SortedModel,
    "group": SortedModel,
    "tree": TreeModel,
    "hash": lambda: SortedModel(BUCKETS),
    "unsorted-hash": lambda: NewestFirstModel(BUCKETS),
}


def numbers(values):
    return np.array([*values], np.int64)


def shared(kind):
    """An index of two windows, as a domain makes it when the second comes."""
    index = index_of(kind, buckets=BUCKETS)
    index.counts = np.concatenate([index.counts, np.zeros_like(index.counts)])
    return index


def check_tree(index):
    """Heights differ by one at most and are written down right; sons know whom they hang from."""

    def checked(node, above):
        if node == 0:
            return 0
        left, right, father, said = index._links[node].tolist()
        assert father == above
        heights = checked(left, node), checked(right, node)
        assert abs(heights[0] - heights[1]) <= 1
        assert said == 1 + max(heights)
        return said

    root = int(index._state[3])
    checked(root, int(index._links[root, 2]) if root else 0)
    assert not index._links[0].any()


class Judged:
    """An index of two sides, beside dictionaries that say what it must answer."""

    def __init__(self, kind, lists_zeros=False):
        self.index = shared(kind)
        self.index.lists_zeros = lists_zeros
        self.model = MODELS[kind]() if kind in MODELS else None
        self.counts = [Counter(), Counter()]
        self.nodes = {}
        self.filling = [[], []]
        self.windows = [[], []]
        self.steps = Counter()

    def rows(self, side, values):
        table = None if self.model else TableModel(self.index)
        for value in values:
            if self.model:
                self.steps[SEARCH] += self.model.finds(value)
                if value not in self.nodes:
                    self.model.put(value)
            elif table.room >= 0:
                self.steps[SEARCH] += table.finds(value, puts=True)
            self.nodes.setdefault(value, None)
        found = self.index.locate(numbers(values)).tolist()
        if table and table.room < 0:  # The table grew, and is another.
            self.steps[SEARCH] = int(self.index.steps[SEARCH])
        for value, node in zip(values, found, strict=True):
            assert self.nodes[value] in (None, node)
            self.nodes[value] = node
        self.filling[side] += values
        assert NULL_NODE not in self.nodes.values()
        assert len({*self.nodes.values()}) == len(self.nodes)

    def count(self, side, values, sign):
        nodes = np.array([self.nodes[value] for value in values], np.int32)
        self.index.count(nodes, np.full(len(nodes), sign), side)
        self.steps[COUNT] += len(nodes)
        for value in values:
            self.counts[side][value] += sign

    def slide(self, side):
        self.count(side, self.filling[side], 1)
        self.windows[side].append(self.filling[side])
        self.filling[side] = []
        if len(self.windows[side]) > 2:
            self.count(side, self.windows[side].pop(0), -1)

    def purge(self):
        pointed = np.zeros(self.index.room, bool)
        filling = {*self.filling[0], *self.filling[1]}
        pointed[[self.nodes[value] for value in filling]] = True
        if not self.index.lists_zeros:
            self.steps[PURGE] += len(self.nodes)
        values = {node: value for value, node in self.nodes.items()}
        dead = [values[node] for node in self.index.purge(pointed).tolist()]
        uncounted = {v for v in self.nodes if not self.counts[0][v] and not self.counts[1][v]}
        assert sorted(dead) == sorted(uncounted - filling)
        for value in dead:
            del self.nodes[value]
            if self.model:
                self.model.remove(value)

    def rekey(self, factor, more):
        names = {value: value * factor + more for value in self.nodes}
        old = sorted(names)
        self.index.rekey(numbers(old), numbers(names[value] for value in old))
        if self.model:
            self.model.rename(names)
        self.nodes = {names[value]: node for value, node in self.nodes.items()}
        self.counts = [
            Counter({names[v]: n for v, n in each.items() if v in names}) for each in self.counts
        ]
        self.filling = [[names[v] for v in each] for each in self.filling]
        self.windows = [[[names[v] for v in each] for each in side] for side in self.windows]

    def find(self, values):
        if self.model:
            self.steps[SEARCH] += sum(map(self.model.finds, values))
        else:
            self.steps[SEARCH] += sum(map(TableModel(self.index).finds, values))
        found = self.index.find(numbers(values)).tolist()
        assert found == [self.nodes.get(value, NO_NODE) for value in values]

    def between(self, low, high):
        inside = [
            value
            for value in sorted(self.nodes)
            if (low is None or low <= value) and (high is None or value <= high)
        ]
        if self.model:
            least, most = ENDS[0] if low is None else low, ENDS[1] if high is None else high
            self.steps[ANSWER] += self.model.looks_between(least, most)
        else:
            self.steps[ANSWER] += len(inside)
        nodes = self.index.between(low, high)
        assert nodes.tolist() == [self.nodes[value] for value in inside]

    def check(self):
        values = sorted(self.nodes)
        nodes = self.index.in_order()
        self.steps[ANSWER] += len(values)
        assert self.index.size == len(values)
        assert self.index.keys[nodes].tolist() == values
        for side in range(2):
            held = [self.counts[side][value] for value in values]
            assert self.index.counts[side, nodes].tolist() == held
        if self.index.kind == "tree":
            check_tree(self.index)
        for kind in (SEARCH, COUNT, ANSWER, *([] if self.index.lists_zeros else [PURGE])):
            assert self.index.steps[kind] == self.steps[kind]


VALUES = st.integers(-20, 40)
SIDES = st.integers(0, 1)
STEPS = st.one_of(
    st.tuples(st.just("rows"), SIDES, st.lists(VALUES, max_size=12)),
    st.tuples(st.just("slide"), SIDES),
    st.tuples(st.just("slide"), SIDES),
    st.tuples(st.just("purge")),
    st.tuples(st.just("rekey"), st.integers(1, 3), st.integers(-5, 5)),
    st.tuples(st.just("find"), st.lists(VALUES, max_size=4)),
    st.tuples(st.just("between"), st.none() | VALUES, st.none() | VALUES),
)


@pytest.mark.parametrize("lists_zeros", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(steps=st.lists(STEPS, max_size=40))
@examples(40)
def test_two_windows_share_an_index(kind, lists_zeros, steps):
    judged = Judged(kind, lists_zeros)
    for name, *arguments in steps:
        getattr(judged, name)(*arguments)
        judged.check()


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_grows_and_gives_free_nodes_away_again(kind):
    judged = Judged(kind)
    values = np.random.default_rng(1).permutation(5 * ROOM_LEAST).tolist()
    judged.rows(0, values[: ROOM_LEAST - 1])
    assert judged.index.room == ROOM_LEAST
    judged.find(values[:3])
    judged.rows(0, values)
    judged.check()
    room = judged.index.room
    assert room == 8 * ROOM_LEAST
    for turn in range(6):
        judged.slide(0)
        judged.purge()
        judged.check()
        judged.rows(0, [1_000 * (turn + 1) + value for value in values[:ROOM_LEAST]])
    assert judged.index.room == room


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_of_purging_take_out_the_same(kind):
    scanning, listing = Judged(kind), Judged(kind, lists_zeros=True)
    rng = np.random.default_rng(2)
    for _ in range(12):
        values = rng.integers(0, 60, 20).tolist()
        for judged in (scanning, listing):
            judged.rows(0, values)
            judged.slide(0)
            judged.purge()
            judged.check()
        assert sorted(scanning.nodes) == sorted(listing.nodes)
    assert listing.index.steps[PURGE] < scanning.index.steps[PURGE]


@pytest.mark.parametrize("kind", KINDS)
def test_a_listed_value_that_is_pointed_at_is_purged_later(kind):
    judged = Judged(kind, lists_zeros=True)
    for _ in range(3):
        judged.rows(0, [7])
        judged.slide(0)
        judged.rows(0, [8])
        judged.slide(0)
    judged.rows(0, [7])
    judged.rows(0, [])
    judged.purge()
    assert 7 in judged.nodes
    judged.filling[0] = []
    for _ in range(3):
        judged.slide(0)
    judged.purge()
    assert not judged.nodes
    judged.check()


@pytest.mark.parametrize("asks", [False, True])
def test_a_few_values_leave_a_large_table_one_by_one(asks, monkeypatch):
    judged, rng = Judged("counts", lists_zeros=True), np.random.default_rng(7)
    judged.rows(0, rng.permutation(2_000).tolist())
    judged.slide(0)
    made = []
    monkeypatch.setattr(judged.index, "_new_table", lambda: made.append(1))
    for turn in range(12):
        judged.rows(0, [*range(10 * turn, 2_000), *range(5_000, 5_000 + 7 * turn)])
        judged.slide(0)
        judged.purge()
        if asks:
            judged.check()
        judged.find([*range(0, 2_000, 3), 4_999])
        if turn % 5 == 4:
            judged.rows(0, rng.integers(0, 10 * turn, 5).tolist())  # Some come again.
    judged.check()
    assert made == []
    assert judged.index.room == 2_048


def test_many_values_leave_with_their_table():
    judged = Judged("counts", lists_zeros=True)
    judged.rows(0, [*range(1_000)])
    for _ in range(4):
        judged.slide(0)
        judged.rows(0, [5, 7])
    judged.purge()
    judged.check()
    assert (judged.index._table != 0).sum() == 2


def test_a_purge_by_the_list_of_zeros_visits_those_that_fell_to_zero():
    index = index_of("tree")
    index.lists_zeros = True
    nodes = index.locate(numbers(range(100)))
    index.count(nodes, np.ones(100, np.int64))
    for _ in range(2):  # Listed twice, visited once.
        index.count(nodes[:7], np.full(7, -1))
        index.count(nodes[:3], np.ones(3, np.int64))
        index.count(nodes[3:7], np.ones(4, np.int64))
    index.count(nodes[:5], np.full(5, -1))
    dead = index.purge(np.zeros(index.room, bool))
    assert dead.tolist() == nodes[:5].tolist()
    assert index.steps[PURGE] == 7


@pytest.mark.parametrize("kind", KINDS)
def test_any_range_is_answered_in_order(kind):
    judged = Judged(kind)
    judged.rows(0, np.random.default_rng(6).permutation(np.arange(0, 40, 2)).tolist())
    for low in (None, *range(-1, 41)):
        for high in (None, -1, 7, 8, 20, 38, 41):
            judged.between(low, high)
    judged.check()


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_the_numbers_are_values_too(kind):
    judged = Judged(kind)
    judged.rows(0, [0, ENDS[1], -1, ENDS[0], 1])
    judged.between(None, 0)
    judged.between(1, None)
    judged.check()


@pytest.mark.parametrize("kind", KINDS)
def test_nulls_have_a_node_that_is_never_taken_out(kind):
    index = index_of(kind)
    for lists_zeros in (False, True):
        index.lists_zeros = lists_zeros
        index.count(np.array([NULL_NODE], np.int32), numbers([3]))
        assert index.counts[0, NULL_NODE] == 3
        index.count(np.array([NULL_NODE], np.int32), numbers([-3]))
        assert not len(index.purge(np.zeros(index.room, bool)))
    index.locate(numbers([0]))
    index.rekey(numbers([0]), numbers([5]))
    assert index.size == 1
    assert index.keys[NULL_NODE] == index.counts[0, NULL_NODE] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_have_no_other_number_stay(kind):
    index = index_of(kind, buckets=BUCKETS)
    nodes = index.locate(numbers([1, 5, 9, 12]))
    index.rekey(numbers([5, 7, 9]), numbers([6, 7, 11]))
    assert index.find(numbers([1, 6, 11, 12, 5])).tolist() == [*nodes.tolist(), NO_NODE]
    assert index.in_order().tolist() == nodes.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_may_come_read_only_and_in_strides(kind):
    index = index_of(kind)
    values = np.arange(20, dtype=np.int64)[::2]
    values.flags.writeable = False
    nodes = index.locate(np.ascontiguousarray(values))
    assert index.find(values).tolist() == nodes.tolist()
    index.count(nodes[::-1], np.broadcast_to(np.int64(2), len(nodes)))
    assert index.counts[0, nodes].tolist() == [2] * len(nodes)


def buckets_of(index):
    """The values of each bucket as they stand in its list."""
    nodes = index._walked(None, None, np.zeros(1, np.int64))
    found = [[] for _ in index._heads]
    for value in index.keys[nodes].tolist():
        found[value % len(found)].append(value)
    return found


def test_the_buckets_of_figure_3_are_sorted():
    index = index_of("hash", buckets=4)
    for rows in FIGURE_3:
        index.locate(numbers(rows))
    assert buckets_of(index) == [[4, 12, 16], [17], [14], [15, 19]]


def test_unsorted_buckets_are_as_the_paper_says_if_figure_3_comes_from_its_end():
    # Section 5.3: 12 stands before 16 and 4, and 19 is first. So the rows came last to first.
    index = index_of("unsorted-hash", buckets=4)
    for rows in reversed(FIGURE_3):
        index.locate(numbers(reversed(rows)))
    assert buckets_of(index) == [[12, 16, 4], [17], [14], [19, 15]]


def test_unsorted_buckets_of_figure_3_as_it_comes():
    index = index_of("unsorted-hash", buckets=4)
    for rows in FIGURE_3:
        index.locate(numbers(rows))
    assert buckets_of(index) == [[4, 16, 12], [17], [14], [15, 19]]


def test_the_list_and_the_tree_of_figure_3():
    for kind in ("list", "tree"):
        index = index_of(kind)
        for rows in FIGURE_3:
            index.count(index.locate(numbers(rows)), np.ones(4, np.int64))
        nodes = index.in_order()
        assert index.keys[nodes].tolist() == [4, 12, 14, 15, 16, 17, 19]
        assert index.counts[0, nodes].tolist() == [1, 1, 1, 1, 1, 2, 1]


def test_the_steps_of_figure_2_in_a_list_are_what_one_counts_by_hand():
    index = index_of("list")
    index.locate(numbers(FIGURE_2[:8]))
    # 12; 12 14; 12 14 16; then 15 at 16, 4 at 12, 19 after all six, and 17, the sixth of seven.
    assert index.steps[SEARCH] == 0 + 1 + 2 + 3 + 3 + 1 + 6 + 6


@pytest.mark.parametrize("values", [range(1_000), range(1_000, 0, -1)], ids=["up", "down"])
def test_a_tree_stays_low_whatever_comes(values):
    index = index_of("tree")
    index.locate(numbers(values))
    check_tree(index)
    before = int(index.steps[SEARCH])
    index.find(numbers(values))
    assert (index.steps[SEARCH] - before) / 1_000 <= 1.45 * math.log2(1_002)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in MODELS])
def test_a_search_costs_what_table_1_says_at_most(kind):
    rng, distinct, buckets = np.random.default_rng(3), 200, 10
    bound = {"tree": 1.45 * math.log2(distinct + 2), "list": distinct, "group": distinct}
    index = index_of(kind, buckets=buckets)
    index.locate(rng.permutation(distinct))
    for value in range(distinct):
        before = int(index.steps[SEARCH])
        index.locate(numbers([value]))
        assert 1 <= index.steps[SEARCH] - before <= bound.get(kind, distinct / buckets)


CHANGES = st.dictionaries(st.integers(0, 90), st.integers(-3, 5), max_size=90)


@given(changes=st.lists(CHANGES, max_size=6), lists_zeros=st.booleans())
@examples(40)
def test_changes_are_merged_with_groups_in_one_pass(changes, lists_zeros):
    index, held, groups, looks = shared("group"), Counter(), [], 0
    assert isinstance(index, GroupIndex)
    index.lists_zeros = lists_zeros
    for each in changes:
        each = {group: max(amount, -held[group]) for group, amount in each.items()}
        keys = sorted(each)
        if keys:
            looks += min(bisect_left(groups, keys[-1]) + 1, len(groups))
        index.merge(numbers(keys), numbers(each[group] for group in keys), side=1)
        held.update(each)
        groups = sorted({*groups, *each})
        nodes = index.in_order()
        assert index.keys[nodes].tolist() == groups
        assert index.counts[1, nodes].tolist() == [held[group] for group in groups]
        assert index.steps[SEARCH] == looks
        assert index.find(numbers(groups)).tolist() == nodes.tolist()
        looks = int(index.steps[SEARCH])  # With those of `find`, which are not judged here.
    assert index.steps[COUNT] == sum(map(len, changes))
    if not lists_zeros:
        index.purge(np.zeros(index.room, bool))
        assert index.keys[index.in_order()].tolist() == [group for group in groups if held[group]]


def test_an_unknown_index_is_refused_by_name():
    with pytest.raises(BadDefinition, match=r"no index 'rope'\. There are: .*list, tree, hash"):
        index_of("rope")
    with pytest.raises(BadDefinition, match="at least one bucket, not 0"):
        index_of("hash", buckets=0)


def test_each_kind_has_its_name_and_hashes_have_a_hundred_buckets():
    for kind in KINDS:
        index = index_of(kind)
        assert index.kind == kind
        assert not isinstance(index, HashIndex) or len(index._heads) == 100


def test_the_catalogues_load_no_numba():
    script = """
import sys
import wavedex.online.indexes.catalogue, wavedex.online.storages.catalogue
assert not {"numba", "wavedex.jit"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
