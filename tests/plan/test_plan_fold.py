import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.plan import SCHEMES, Add, Build, Drop, Plan, apply, options_of, plan_fold, scheme

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


def stepped(planner, state, slots):
    for slot in slots:
        _, state = planner.transition(state, slot)
    return state


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), KINDS)
@examples(120)
@given(st.data())
def test_a_fold_leads_where_slot_by_slot_leads(name, options, data):
    fewest = SCHEMES[name].fewest_indexes
    window = data.draw(st.integers(fewest, 14))
    planner = scheme(name, window, data.draw(st.integers(fewest, window)), **options)
    _, state = planner.start(window)
    state = stepped(planner, state, range(window + 1, window + 1 + data.draw(st.integers(0, 20))))
    slots = range(state.newest + 1, state.newest + 1 + data.draw(st.integers(2, 3 * window)))

    plan, last = plan_fold(planner, state, slots)

    assert last == stepped(planner, state, slots)
    arrived = apply(state.layout, plan.transition)
    assert {name: arrived[name] for name in last.indexes} == last.indexes
    assert apply(arrived, plan.preparation) == last.layout
    for operation in plan.transition + plan.preparation:
        assert isinstance(operation, (Build, Add, Drop))
    targets = [operation.target for operation in plan.transition + plan.preparation]
    assert len(targets) == len(set(targets))
    held = set().union(*state.indexes.values(), slots)
    for operation in plan.transition:
        assert operation.slots <= held
    for operation in plan.preparation:
        if not isinstance(operation, Drop):
            assert operation.slots <= set().union(*last.indexes.values())


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_one_slot_folds_to_the_schemes_own_plan(name, options):
    planner = scheme(name, 7, 3, **options)
    _, state = planner.start(7)
    for slot in range(8, 30):
        assert plan_fold(planner, state, [slot]) == planner.transition(state, slot)
        state = stepped(planner, state, [slot])


def test_no_slot_folds_to_no_plan():
    planner = scheme("rata", 7, 3)
    _, state = planner.start(7)
    assert plan_fold(planner, state, []) == (Plan((), ()), state)


def test_a_fold_adds_what_grew_builds_what_changed_and_leaves_the_rest():
    planner = scheme("wata", 10, 4)
    _, state = planner.start(10)
    plan, _ = plan_fold(planner, state, range(11, 15))
    assert list(map(str, plan.transition)) == ["build({13, 14}) -> I1", "add({11, 12}, I4)"]
    assert plan.preparation == ()


def test_a_fold_drops_the_temporaries_that_are_gone():
    planner = scheme("rata", 10, 4)
    _, state = planner.start(10)
    plan, _ = plan_fold(planner, state, [11, 12])
    assert list(map(str, plan.transition)) == ["build({3}) -> I1", "add({11, 12}, I4)"]
    assert list(map(str, plan.preparation)) == ["drop(T0)", "drop(T1)"]


def test_the_slots_of_a_fold_must_follow_one_another():
    planner = scheme("wata", 10, 4)
    _, state = planner.start(10)
    with pytest.raises(AssertionError):
        plan_fold(planner, state, [11, 13])


def test_the_sizes_of_a_fold_reach_the_planner():
    seen = []

    class Listening(SCHEMES["wata"]):
        def transition(self, state, slot, size=0):
            seen.append((slot, size))
            return super().transition(state, slot, size)

    planner = Listening(10, 4)
    _, state = planner.start(10)
    plan_fold(planner, state, [11, 12, 13], sizes={11: 5, 13: 7})
    assert seen == [(11, 5), (12, 0), (13, 7)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), KINDS)
def test_ten_thousand_slots_fold_to_a_plan_of_one_layout(name, options):
    planner = scheme(name, 30, 4, **options)
    _, state = planner.start(0)
    plan, last = plan_fold(planner, state, range(1, 10_001))
    assert last.newest == 10_000
    assert len(plan.transition) <= 4
    assert len(plan.preparation) <= len(state.temps) + len(last.temps)
