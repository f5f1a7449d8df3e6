"""The three theorems of Appendix B."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import plan_oracle as oracle
from kit.matrix import examples
from wavedex.plan import scheme

SHAPES = [(window, n) for window in range(2, 21) for n in range(2, window + 1)]


def bound(window, indexes):
    return window + math.ceil((window - 1) / (indexes - 1)) - 1


def wata_states(window, indexes, count):
    planner = scheme("wata", window, indexes)
    _, state = planner.start(window)
    yield state
    for slot in range(window + 1, window + count + 1):
        _, state = planner.transition(state, slot)
        yield state


@pytest.mark.parametrize(
    ("window", "indexes"), [(w, n) for w in range(2, 8) for n in range(2, w + 1)]
)
def test_no_throw_away_algorithm_is_shorter_than_theorem_1_allows(window, indexes):
    assert oracle.thriftiest_length(window, indexes) == bound(window, indexes)


@pytest.mark.parametrize(("window", "indexes"), SHAPES)
def test_wata_reaches_the_bound_of_theorem_2_exactly(window, indexes):
    lengths = [state.length for state in wata_states(window, indexes, 4 * window)]
    assert max(lengths) == bound(window, indexes)
    assert scheme("wata", window, indexes).extra_slots == bound(window, indexes) - window


@examples(150)
@given(st.data())
def test_wata_takes_at_most_twice_the_space_of_the_largest_window(data):
    window = data.draw(st.integers(2, 14))
    indexes = data.draw(st.integers(2, window))
    days = data.draw(st.lists(st.integers(0, 1000), min_size=window, max_size=5 * window))
    size = dict(enumerate(days, start=1))
    held, needed = [], []
    for state in wata_states(window, indexes, len(days) - window):
        held.append(sum(size[slot] for slots in state.indexes.values() for slot in slots))
        needed.append(sum(size[state.newest - age] for age in range(window)))
    assert max(held) <= 2 * max(needed)
