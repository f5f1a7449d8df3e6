"""What a scheme says it handles for each slot is what its plans handle, over a whole cycle."""

from fractions import Fraction
from itertools import pairwise

import pytest

from wavedex.plan import (
    SCHEMES,
    Add,
    Build,
    Copy,
    Delete,
    apply,
    cycle_of,
    options_of,
    promise,
    scheme,
)

BLIND = [name for name, kind in SCHEMES.items() if not kind.weighs]
SHAPES = [(window, indexes) for window in range(1, 13) for indexes in range(1, window + 1)]


def planners(name):
    """All small ones, with each of their options on and off."""
    options = options_of(name)
    for window, indexes in SHAPES:
        if indexes >= SCHEMES[name].fewest_indexes:
            for chosen in ({}, *({option: True} for option in options)):
                yield scheme(name, window, indexes, **chosen)


def handled(layout, operations):
    """The slots that operations name or copy, one after the other."""
    count = 0
    for operation in operations:
        match operation:
            case Build(slots, _) | Add(slots, _) | Delete(slots, _):
                count += len(slots)
            case Copy(source, _):
                count += len(layout[source])
        layout = apply(layout, [operation])
    return count


def walk(planner, first, sizes):
    """The plans of some slots that follow the first window, with the states before and after."""
    _, state = planner.start(first - 1)
    for slot, size in enumerate(sizes, start=first):
        before = state
        plan, state = planner.transition(before, slot, size)
        yield before, plan, state


def work(steps):
    """The slots that are handled before slots can be queried, and ahead for later ones."""
    transition = preparation = 0
    for before, plan, _ in steps:
        transition += handled(before.layout, plan.transition)
        between = apply(before.layout, plan.transition)
        preparation += handled(between, plan.preparation)
    return transition, preparation


def shape(state):
    """A state but for the numbers of slots and the names of sub-indexes."""

    def ages(slots):
        return sorted(state.newest - slot for slot in slots)

    temps = {name: ages(slots) for name, slots in state.temps.items()}
    return sorted(map(ages, state.indexes.values())), temps


@pytest.mark.parametrize("name", BLIND)
def test_a_promise_is_the_mean_of_the_plans_over_a_cycle(name):
    for planner in planners(name):
        window, cycle = planner.window, cycle_of(planner)
        steps = list(walk(planner, window + 1, [1] * (window + cycle)))[window:]
        expected = [Fraction(count, cycle) for count in work(steps)]
        made = promise(planner)
        assert [made.transition_slots, made.preparation_slots] == pytest.approx(expected), planner


@pytest.mark.parametrize("name", BLIND)
def test_a_cycle_ends_when_the_first_state_comes_back(name):
    for planner in planners(name):
        states = [state for _, _, state in walk(planner, 1, [1] * (3 * planner.window))]
        begin = shape(planner.start(0)[1])
        returns = [number for number, state in enumerate(states, 1) if shape(state) == begin]
        assert cycle_of(planner) in returns
        assert returns[0] == cycle_of(planner) or planner.indexes == 1, planner


@pytest.mark.parametrize("name", ["wata-bounded", "rata-bounded"])
def test_a_bounded_wave_promises_for_windows_as_large_as_they_may_be(name):
    for window, indexes in SHAPES:
        if indexes < 2:
            continue
        planner = scheme(name, window, indexes, max_size=5 * window)
        (cluster,) = planner.clusters()
        steps = list(walk(planner, 1, [5] * (3 * window + cluster)))[3 * window :]
        expected = [Fraction(count, cluster) for count in work(steps)]
        made = promise(planner)
        assert [made.transition_slots, made.preparation_slots] == pytest.approx(expected), planner


def test_an_offline_wave_promises_for_the_slots_that_it_knows():
    sizes = (5, 1, 9, 2, 2, 7, 1, 1, 3, 8, 2, 6, 4, 1, 5, 9, 2, 6, 5, 3)
    for indexes in (2, 3, 4):
        planner = scheme("rata-offline", 6, indexes, sizes=sizes)
        steps = walk(planner, 1, [*sizes, *[1] * 6])
        raised = {step[2].newest - 5: work([step])[1] for step in steps}
        known = list(zip(sorted(planner.begins), planner.clusters(), strict=True))
        for begin, size in known[
            1:-1
        ]:  # the first takes over empty slots of Start, the last goes on
            assert raised[begin] == size * (size - 1) // 2
        assert promise(planner).preparation_slots == pytest.approx(
            sum(size * (size - 1) / 2 for size in planner.clusters()) / len(sizes)
        )


@pytest.mark.parametrize(
    ("window", "indexes", "slots"), [(400, 4, 66), (365, 2, 181.5), (1000, 2, 499)]
)
def test_the_ladders_of_long_windows_are_counted_whole(window, indexes, slots):
    for spread in (False, True):
        assert promise(scheme("rata", window, indexes, spread=spread)).preparation_slots == slots


def test_a_window_of_a_day_in_seconds_costs_no_step_of_a_planner(monkeypatch):
    planner = scheme("rata", 86_400, 24, spread=True)
    monkeypatch.setattr(type(planner), "transition", None)
    made = promise(planner)
    sizes = [size for size, count in ((3757, 11), (3756, 12)) for _ in range(count)]
    assert sum(sizes) == 86_399
    assert made.preparation_slots == pytest.approx(sum(s * (s - 1) / 2 for s in sizes) / 86_399)
    assert cycle_of(planner) == 86_399
    assert all(one >= other for one, other in pairwise(planner.clusters()))
