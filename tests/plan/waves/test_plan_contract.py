"""What every scheme in the catalogue promises: all small windows, a few large ones, four cycles."""

import functools
import itertools
import json
import math

import pytest

from kit import plan_oracle as oracle
from wavedex.plan import SCHEMES, Delete, WaveState, apply, options_of, scheme

KINDS = [
    pytest.param(
        name,
        dict(zip(options_of(name), chosen, strict=True)),
        id=" ".join([name, *itertools.compress(options_of(name), chosen)]),
    )
    for name in SCHEMES
    if not SCHEMES[name].weighs  # which see test_plan_sizes.py
    for chosen in itertools.product([False, True], repeat=len(options_of(name)))
]
SHAPES = [(window, n) for window in range(1, 13) for n in range(1, window + 1)]
SHAPES += [(17, 4), (30, 1), (30, 2), (30, 7), (31, 31)]


def schemes(name, options):
    for window, indexes in SHAPES:
        if indexes >= SCHEMES[name].fewest_indexes:
            yield scheme(name, window, indexes, **options)


@functools.cache
def steps(planner, newest=None):
    """State before, plan and state after each slot, Start first, which has no state before."""
    newest = planner.window if newest is None else newest
    plan, state = planner.start(newest)
    taken = [(None, plan, state)]
    for slot in range(newest + 1, newest + 4 * planner.window + 3):
        before = state
        plan, state = planner.transition(before, slot)
        assert state.newest == slot
        taken.append((before, plan, state))
    return taken


def texts(operations):
    return [str(operation) for operation in operations]


def indexed(operations):
    """The slots that are indexed anew: those in builds and adds."""
    named = [text for text in texts(operations) if text.startswith(("build", "add"))]
    return [slot for text in named for slot in sorted(oracle.named_slots(text))]


def plain(layout):
    return {name: set(slots) for name, slots in layout.items()}


def window_of(planner, state):
    return set(range(state.newest - planner.window + 1, state.newest + 1))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_the_layout_is_the_one_worked_out_from_the_slot_number(name, options):
    for planner in schemes(name, options):
        shape = planner.window, planner.indexes
        for _, _, state in steps(planner):
            assert plain(state.indexes) == oracle.constituents(name, *shape, state.newest), shape
            temps = oracle.temporaries(name, *shape, state.newest, **options)
            assert plain(state.temps) == temps, (shape, state.newest)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_the_plan_leads_from_one_state_to_the_next(name, options):
    for planner in schemes(name, options):
        for before, plan, after in steps(planner):
            layout = before.layout if before else {}
            both = plan.transition + plan.preparation
            assert apply(layout, both) == after.layout
            assert oracle.replay(plain(layout), texts(both)) == plain(after.layout)


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_every_live_slot_is_in_exactly_one_constituent_before_and_after_preparation(name, options):
    for planner in schemes(name, options):
        names = [f"I{number}" for number in range(1, planner.indexes + 1)]
        for before, plan, after in steps(planner):
            arrived = apply(before.layout if before else {}, plan.transition)
            assert {name: arrived[name] for name in names} == after.indexes
            assert list(after.indexes) == names
            held = [slot for slots in after.indexes.values() for slot in slots]
            window = window_of(planner, after)
            assert len(held) == len(set(held)) == after.length
            assert set(held) >= window
            assert all(slot <= after.newest for slot in held)
            assert len(held) - len(window) <= planner.extra_slots
            assert all(after.holder(slot) in names for slot in window)
            if planner.hard:
                assert set(held) == window


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_temporaries_hold_live_slots_only(name, options):
    for planner in schemes(name, options):
        for _, _, state in steps(planner):
            for slots in state.temps.values():
                assert slots <= window_of(planner, state)


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_old_slots_can_be_read_where_the_plan_reads_them(name, options):
    for planner in schemes(name, options):
        for before, plan, after in steps(planner)[1:]:
            held_before = set().union(*before.indexes.values())
            held_after = set().union(*after.indexes.values())
            assert set(indexed(plan.transition)) <= held_before | {after.newest}
            assert set(indexed(plan.preparation)) <= held_after


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_only_a_scheme_that_says_so_deletes(name, options):
    for planner in schemes(name, options):
        deletes = any(
            isinstance(operation, Delete)
            for _, plan, _ in steps(planner)
            for operation in plan.transition + plan.preparation
        )
        assert deletes == planner.needs_delete


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_a_transition_indexes_no_more_than_its_table_says(name, options):
    for planner in schemes(name, options):
        largest = math.ceil(planner.window / planner.indexes)
        for _, plan, after in steps(planner)[1:]:
            anew = indexed(plan.transition)
            assert after.newest in anew
            if name in ("reindex", "reindex+"):
                assert len(anew) <= largest
            else:
                assert anew == [after.newest]


@pytest.mark.parametrize(
    ("name", "options"), [kind for kind in KINDS if any(kind.values[1].values())]
)
def test_options_change_the_preparation_but_not_the_answers(name, options):
    for planner in schemes(name, options):
        other = scheme(name, planner.window, planner.indexes)
        for (_, plan, state), (_, plain_plan, plain_state) in zip(
            steps(planner), steps(other), strict=True
        ):
            assert state.indexes == plain_state.indexes
            if "spread" in options:
                assert plan.transition == plain_plan.transition


@pytest.mark.parametrize("name", [name for name in SCHEMES if "spread" in options_of(name)])
def test_spread_prepares_at_most_one_old_slot_a_slot(name):
    for planner in schemes(name, {"spread": True}):
        for _, plan, after in steps(planner)[1:]:
            old = set(indexed(plan.preparation)) - {after.newest}
            assert len(old) <= 1, (planner, after.newest, texts(plan.preparation))


@pytest.mark.parametrize("name", [name for name in SCHEMES if "spread" in options_of(name)])
def test_without_spread_a_preparation_is_a_lump(name):
    planner = scheme(name, 12, 2)
    lumps = [len(set(indexed(plan.preparation)) - {s.newest}) for _, plan, s in steps(planner)]
    assert max(lumps[1:]) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_a_state_that_was_stored_plans_as_the_one_that_was_not(name, options):
    for planner in schemes(name, options):
        state = planner.start(planner.window)[1]
        for before, plan, after in steps(planner)[1:]:
            assert state == before
            stored = json.loads(json.dumps(state.to_json(), sort_keys=True))
            read = WaveState.from_json(stored)
            assert list(read.layout) == list(state.layout)
            assert planner.transition(read, after.newest) == (plan, after)
            state = after


@pytest.mark.parametrize("newest", [-40, 0, 20_000])
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_slots_may_be_numbered_from_anywhere(name, options, newest):
    for window, indexes in [(7, 2), (10, 4), (5, 5)]:
        planner = scheme(name, window, indexes, **options)
        shift = newest - window
        for (_, _, there), (_, _, here) in zip(
            steps(planner, newest=newest), steps(planner), strict=True
        ):
            moved = {name: {slot - shift for slot in s} for name, s in there.layout.items()}
            assert moved == plain(here.layout)


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_sizes_make_no_difference_and_a_skipped_slot_is_a_mistake(name, options):
    planner = scheme(name, 6, 3, **options)
    _, state = planner.start(6)
    assert planner.transition(state, 7, size=10**9) == planner.transition(state, 7)
    for slot in (6, 8):
        with pytest.raises(AssertionError):
            planner.transition(state, slot)


def stored_in_temps(name, window, indexes):
    sums = [sum(map(len, s.temps.values())) for _, _, s in steps(scheme(name, window, indexes))]
    return sums[: len(sums) // window * window]


@pytest.mark.parametrize(("window", "indexes"), [shape for shape in SHAPES if shape[1] >= 2])
def test_the_temporaries_take_the_space_of_table_8(window, indexes):
    x, y = math.ceil(window / indexes), math.ceil((window - 1) / (indexes - 1))
    assert max(stored_in_temps("reindex+", window, indexes)) == x - 1
    assert max(stored_in_temps("reindex++", window, indexes)) == x * (x - 1) // 2
    rata = stored_in_temps("rata", window, indexes)
    assert max(rata) == y * (y - 1) // 2
    if (window - 1) % (indexes - 1) == 0:
        whole = rata[: len(rata) // y * y]
        assert sum(whole) * 6 == len(whole) * (y * y - 1)


def test_reindex_plus_indexes_about_half_of_what_reindex_does():
    work = {
        name: sum(len(indexed(plan.transition)) for _, plan, _ in steps(scheme(name, 10, 2))[1:11])
        for name in ("reindex", "reindex+")
    }
    assert work == {"reindex": 50, "reindex+": 30}
