"""Rings against a plain window of lists: what they answer, what they visit, and how they look."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.errors import BadDefinition, TooLarge
from wavedex.online.indexes.contract import NO_NODE, NULL_NODE, SetIndex
from wavedex.online.rings.catalogue import KINDS, ring_of
from wavedex.online.rings.pooled import CAPACITY_MAX
from wavedex.online.steps import PURGE, shown

WALKED = ["simple", "auxiliary", "backward", "dirty-bits"]
FORWARD = ["simple", "auxiliary"]
BACKWARD = ["backward", "dirty-bits"]
LOCAL = ["auxiliary", *BACKWARD]


class TinyIndex(SetIndex):
    """A dictionary of values and nodes, which begins with room for two nodes."""

    kind = "tiny"

    def __init__(self):
        super().__init__()
        self.keys, self.counts = np.zeros(2, np.int64), np.zeros((1, 2), np.int64)
        self.nodes, self.free = {}, []

    @property
    def size(self):
        return len(self.nodes)

    def locate(self, keys):
        for key in keys.tolist():
            if key in self.nodes:
                continue
            node = self.free.pop() if self.free else len(self.nodes) + 1
            if node == self.room:
                self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)])
                self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)], axis=1)
            self.nodes[key], self.keys[node] = node, key
        return self.find(keys)

    def find(self, keys):
        return np.array([self.nodes.get(key, NO_NODE) for key in keys.tolist()], np.int32)

    def in_order(self):
        return np.array([self.nodes[key] for key in sorted(self.nodes)], np.int32)

    def between(self, low, high):
        raise NotImplementedError

    def rekey(self, old, new):
        raise NotImplementedError

    def _scanned(self):
        self.steps[PURGE] += self.size
        return self.in_order()

    def _take_out(self, nodes):
        for node in nodes.tolist():
            del self.nodes[int(self.keys[node])]
            self.free.append(node)


class Window:
    """A ring as a window uses it, beside a plain model: basic windows as lists of values.

    None is a null. A row of the model is told by its place among all rows that ever came.
    """

    def __init__(self, kind, length):
        self.index = TinyIndex()
        self.ring = ring_of(kind, self.index, 2)
        self.count = Count(kind)
        self.length = length
        self.seen, self.unseen, self.gone = deque(), [], 0

    @property
    def values(self):
        return [value for basic in self.seen for value in basic]

    def arrive(self, values):
        self.check_met()
        rows = len(self.values) + len(self.unseen) + len(values)
        while rows > self.ring.capacity:
            self.ring.grow(2 * self.ring.capacity)
        self.ring.link(self._located(values))
        self.unseen += values
        for value in values:
            self.count.arrive(value)

    def complete(self):
        leaving = self.seen.popleft() if len(self.seen) == self.length else []
        self.seen.append(self.unseen)
        self.gone += len(leaving)
        for values, amount in ((self.unseen, 1), (leaving, -1)):
            self.index.count(self._located(values), np.full(len(values), amount))
        self.unseen = []
        self.ring.slide(self.gone + len(self.values), self.gone)
        self.count.complete(leaving)

    def purge(self):
        pointed = np.zeros(self.index.room, np.bool_)
        pointed[self._located(self.unseen)] = True
        self.ring.forget(self.index.purge(pointed))
        self.count.purge()

    def answer(self, values):
        nodes = self._located(values)
        counts, rows = self.ring.rows_of(nodes)
        for value in values:
            self.count.answer(value)
        parts = np.split(rows, np.cumsum(counts)[:-1]) if len(nodes) else []
        return [part.tolist() for part in parts]

    def expected(self, value):
        rows = [self.gone + row for row, each in enumerate(self.values) if each == value]
        return rows[::-1]

    def check(self):
        """Every value has the rows that it should have, asked for together."""
        known = [*self.index.nodes, None]
        assert self.answer(known) == [self.expected(value) for value in known]

    def check_met(self):
        """A ring with an auxiliary index knows the nodes of the newest basic window."""
        met = self.ring.met
        if self.ring.kind in LOCAL:
            assert met.tolist() == self._located([*dict.fromkeys(self.unseen)]).tolist()
        else:
            assert met is None

    def _located(self, values):
        nodes = self.index.locate(np.array([v for v in values if v is not None], np.int64))
        found = iter(nodes.tolist())
        return np.array([NULL_NODE if v is None else next(found) for v in values], np.int32)


class Count:
    """What should have been visited, by lists of lists: a ring has numbers in its order."""

    def __init__(self, kind):
        self.kind = kind
        self.rings = {None: []}
        self.hidden, self.local, self.stale = {}, [], set()
        self.steps = dict.fromkeys(("auxiliary", "link", "unlink", "show", "answer"), 0)

    def arrive(self, value):
        ring = self.rings.setdefault(value, [])
        is_met = value in self.local
        if self.kind in LOCAL:
            self.steps["auxiliary"] += self.local.index(value) + 1 if is_met else len(self.local)
        if self.kind == "simple" or (self.kind == "auxiliary" and not is_met):
            self.steps["link"] += len(ring)
        if not is_met:
            self.local.append(value)
        ring.append("row")
        self.hidden[value] = self.hidden.get(value, 0) + 1

    def complete(self, leaving):
        if self.kind != "numbered":
            self.steps["show"] += len(self.rings) if self.kind == "simple" else len(self.local)
        self.hidden, self.local = {}, []
        if self.kind in FORWARD:
            for value in leaving:
                self.steps["unlink"] += len(self.rings[value])
                self.rings[value].pop()
            return
        for value in set(leaving):
            if self.kind == "backward":
                self.steps["unlink"] += len(self.rings[value])
            elif self.kind == "dirty-bits":
                self.steps["unlink"] += leaving.count(value) + (value in self.stale)
                self.stale.add(value)
            del self.rings[value][: leaving.count(value)]

    def purge(self):
        gone = {v for v, ring in self.rings.items() if v is not None and not ring}
        self.stale -= gone
        for value in gone:
            del self.rings[value]

    def answer(self, value):
        ring = self.rings.setdefault(value, [])
        is_met = self.kind == "numbered"  # Its walks begin at the newest row, seen or not.
        self.steps["answer"] += len(ring) - (0 if is_met else self.hidden.get(value, 0))
        self.steps["answer"] += self.kind == "dirty-bits" and value in self.stale

    def check(self, steps):
        taken = {name: count for name, count in shown(steps).items() if name in self.steps}
        assert taken == {name: count for name, count in self.steps.items() if count}


def chain(ring, pos):
    """The rows of a ring from a position on, and the node to which the last one leads."""
    rows = []
    while pos >= 0:
        rows.append(int(ring.pool.numbers[pos]))
        pos = int(ring.pool.links[pos])
    return rows, ~pos


def check_pool(window):
    """Every position is in one ring or free, and every ring leads back to its node."""
    ring, rows = window.ring, []
    starts = ring.first if ring.kind in FORWARD else ring.newest
    for node, pos in enumerate(starts.tolist()):
        if pos >= 0:
            met, back = chain(ring, pos)
            assert back == node
            assert met == sorted(met, reverse=ring.kind in BACKWARD)
            rows += met
    if ring.kind in BACKWARD:
        size = int(ring.local.size[0])
        heads = zip(
            ring.local.nodes[:size].tolist(), ring.local.newest[:size].tolist(), strict=True
        )
        for node, pos in heads:
            met, back = chain(ring, pos)
            assert back == node
            rows += [row for row in met if row >= ring.shown]
    stale = [row for row in rows if row < ring.oldest]
    assert len(stale) == (int(ring.dirty.sum()) if ring.kind == "dirty-bits" else 0)
    assert sorted(row for row in rows if row >= ring.oldest) == [*range(ring.oldest, ring.linked)]
    free, pos = 0, int(ring.pool.free[0])
    while pos >= 0:
        assert ring.pool.numbers[pos] == -1
        free, pos = free + 1, int(ring.pool.links[pos])
    assert free == ring.pool.free[1] == len(ring.pool.links) - len(rows)


VALUES = st.one_of(st.none(), st.integers(-1, 4))
ACTS = st.lists(
    st.one_of(
        st.lists(VALUES, max_size=6),
        st.sampled_from(["complete", "complete", "purge", "check"]),
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", KINDS)
@given(acts=ACTS, length=st.integers(1, 4))
@examples(60)
def test_a_ring_answers_and_visits_what_a_plain_window_does(kind, acts, length):
    window = Window(kind, length)
    for act in acts:
        if isinstance(act, list):
            window.arrive(act)
        else:
            getattr(window, act)()
    window.check()
    if kind in WALKED:
        check_pool(window)
    window.count.check(window.index.steps)


@pytest.mark.parametrize("kind", KINDS)
def test_long_windows_with_values_that_come_and_go(kind):
    random = np.random.default_rng(11)
    window = Window(kind, 7)
    for basic in range(60):
        favourites = random.integers(0, 90) + np.arange(30)
        for _ in range(2):
            window.arrive(random.choice(favourites, random.integers(0, 60)).tolist())
            window.check()
        window.complete()
        window.check()
        if basic % 9 == 5:
            window.purge()
    if kind in WALKED:
        check_pool(window)
    window.count.check(window.index.steps)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_linked_are_not_seen_before_they_are_shown(kind):
    window = Window(kind, 2)
    window.arrive([5, 7])
    assert window.answer([5, 7, None]) == [[], [], []]
    window.complete()
    window.arrive([None, 5])
    assert window.answer([5, 7, None]) == [[0], [1], []]
    window.complete()
    assert window.answer([None, 5, 5]) == [[2], [3, 0], [3, 0]]
    window.complete()
    assert window.answer([5, 7, None]) == [[3], [], [2]]
    window.complete()
    assert window.answer([5, 7, None]) == [[], [], []]


@pytest.mark.parametrize("kind", KINDS)
def test_growing_changes_no_answer(kind):
    window = Window(kind, 3)
    for values in ([1, 2, 1], [2], [], [1, 1, 2, None]):
        window.arrive(values)
        window.complete()
    window.arrive([1, 3])
    before = window.answer([1, 2, None, 3])
    window.ring.grow(8 * window.ring.capacity)
    assert window.answer([1, 2, None, 3]) == before
    for _ in range(5):
        window.complete()
        window.check()
        window.arrive([3, 1, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_ring_is_told_of_less_room_where_its_rows_fit(kind):
    window = Window(kind, 3)
    window.ring.grow(64)
    for turn in range(30):
        window.arrive([turn % 3, 1, None])
        window.complete()
    window.arrive([2])
    for capacity in (16, 32, 16):
        window.ring.grow(capacity)
        window.check()
        window.arrive([1])
        window.complete()
        window.check()
    assert window.ring.capacity == (16 if kind == "numbered" else 64)
    if kind in WALKED:
        check_pool(window)


@pytest.mark.parametrize("kind", WALKED)
def test_more_rows_than_positions_are_refused_with_what_to_do(kind):
    ring = ring_of(kind, TinyIndex(), 2)
    said = "link 1,073,741,824 rows at most, .* Make the window shorter, or give it the ring 'num"
    with pytest.raises(TooLarge, match=said):
        ring.grow(2 * CAPACITY_MAX)
    with pytest.raises(TooLarge, match=said):
        ring_of(kind, TinyIndex(), 2 * CAPACITY_MAX)
    assert ring.capacity == 2


@pytest.mark.parametrize("kind", WALKED)
def test_a_row_takes_at_most_32_bytes(kind):
    window = Window(kind, 8)
    for basic, _ in itertools.product(range(40), range(2)):
        window.arrive([(basic * 37 + each) % 60 for each in range(64)])
        window.complete()
    assert window.ring.capacity == 1024
    assert window.ring.nbytes <= 32 * window.ring.capacity


# Three basic windows of four rows and the newest, as in Figures 4 to 6. Value 5 has rows 0 and 2,
# 5, 10 and 11, and then 12 and 14, which are not seen yet.
PICTURE = [[5, 1, 5, 2], [3, 5, 4, 1], [2, 1, 5, 5], [5, 3, 5, 1]]


def picture(kind):
    window = Window(kind, 3)
    for values in PICTURE[:3]:
        window.arrive(values)
        window.complete()
    window.arrive(PICTURE[3])
    assert window.answer([5]) == [[11, 10, 5, 2, 0]]
    return window, window.ring, window.index.nodes[5]


def local_rows(window):
    """The auxiliary index: its values, and the newest row of each."""
    local, numbers = window.ring.local, window.ring.pool.numbers
    size = int(local.size[0])
    values = window.index.keys[local.nodes[:size]].tolist()
    return dict(zip(values, numbers[local.newest[:size]].tolist(), strict=True))


@pytest.mark.parametrize("kind", FORWARD)
def test_figures_4_and_5_a_ring_runs_on_into_the_newest_basic_window(kind):
    window, ring, five = picture(kind)
    assert chain(ring, ring.first[five]) == ([0, 2, 5, 10, 11, 12, 14], five)
    assert ring.pool.numbers[ring.end[five]] == 11
    if kind == "auxiliary":
        assert local_rows(window) == {5: 14, 3: 13, 1: 15}
    window.complete()
    assert chain(ring, ring.first[five]) == ([5, 10, 11, 12, 14], five)
    assert ring.pool.numbers[ring.end[five]] == 14
    assert kind == "simple" or local_rows(window) == {}
    assert window.answer([5]) == [[14, 12, 11, 10, 5]]


def test_figure_6_a_backward_ring_is_cut_below_the_oldest_row_that_stays():
    window, ring, five = picture("backward")
    assert chain(ring, ring.newest[five]) == ([11, 10, 5, 2, 0], five)
    assert chain(ring, ring.local.newest[0]) == ([14, 12, 11, 10, 5, 2, 0], five)
    assert local_rows(window) == {5: 14, 3: 13, 1: 15}
    window.complete()
    assert chain(ring, ring.newest[five]) == ([14, 12, 11, 10, 5], five)
    assert local_rows(window) == {}
    assert window.answer([5]) == [[14, 12, 11, 10, 5]]


def test_with_dirty_bits_the_youngest_row_that_is_over_stays():
    window, ring, five = picture("dirty-bits")
    assert not ring.dirty.any()
    window.complete()
    assert chain(ring, ring.newest[five]) == ([14, 12, 11, 10, 5, 2], five)
    three = window.index.nodes[3]
    assert (ring.dirty[five], ring.dirty[three]) == (True, False)
    assert window.answer([5]) == [[14, 12, 11, 10, 5]]
    window.complete()
    assert chain(ring, ring.newest[five]) == ([14, 12, 11, 10, 5], five)
    assert window.answer([5, 3]) == [[14, 12, 11, 10], [13]]


def test_a_dirty_bit_is_set_back_when_its_value_was_purged():
    window = Window("dirty-bits", 1)
    window.arrive([5])
    window.complete()
    window.complete()
    five = window.index.nodes[5]
    assert window.ring.dirty[five]
    window.purge()
    assert not window.ring.dirty[five]
    window.arrive([6])
    window.complete()
    assert window.index.nodes[6] == five
    assert window.answer([6]) == [[1]]
    check_pool(window)


def test_a_stale_row_stays_while_its_value_comes_again():
    window = Window("dirty-bits", 1)
    for values in ([5, 5], [], [5], []):
        window.purge()
        window.arrive(values)
        window.complete()
        window.check()
    window.arrive([5])
    window.purge()
    ring = window.ring
    assert chain(ring, ring.local.newest[0]) == ([3, 2], window.index.nodes[5])
    check_pool(window)


@pytest.mark.parametrize("name", ["ring", "", None, 3, ["simple"]])
def test_an_unknown_ring_is_refused_with_those_that_there_are(name):
    with pytest.raises(BadDefinition, match="choose one of simple, auxiliary, backward, dirty-"):
        ring_of(name, TinyIndex(), 2)


def test_a_catalogue_of_rings_loads_no_numba():
    code = """
import sys, wavedex.online.rings.catalogue
assert not {"numba", "wavedex.jit"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_ring_is_of_the_kind_that_was_asked_for(kind):
    assert ring_of(kind, TinyIndex(), 2).kind == kind
