"""Which sub-indexes hold slots of a range: the tree says what looking at each of them says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.plan import Intervals, grid

LAYOUTS = st.lists(st.frozensets(st.integers(-20, 20), max_size=12), max_size=9).map(
    lambda sets: {f"I{number}": slots for number, slots in enumerate(sets, start=1)}
)
ENDS = st.none() | st.integers(-25, 25)


def brute_force(layout, since, until):
    return [
        name
        for name, slots in layout.items()
        if any((since is None or s >= since) and (until is None or s <= until) for s in slots)
    ]


@examples(300)
@given(LAYOUTS, ENDS, ENDS)
def test_the_tree_finds_what_looking_at_each_sub_index_finds(layout, since, until):
    assert Intervals(layout).overlapping(since, until) == brute_force(layout, since, until)


def test_the_answer_has_the_layouts_order_and_each_name_once():
    layout = {"I10": frozenset({1, 3, 5}), "I2": frozenset({2, 3}), "I1": frozenset({9})}
    assert Intervals(layout).overlapping() == ["I10", "I2", "I1"]
    assert Intervals(layout).overlapping(3, 3) == ["I10", "I2"]
    assert Intervals(layout).overlapping(4, 4) == []
    assert Intervals(layout).overlapping(9, 3) == []


def test_a_range_that_runs_backwards_meets_nothing():
    assert Intervals({"I1": frozenset(range(10))}).overlapping(6, 3) == []


@pytest.mark.parametrize("layout", [{}, {"I1": frozenset()}], ids=str)
def test_where_there_are_no_slots_nothing_is_found(layout):
    assert Intervals(layout).overlapping() == []
    assert Intervals(layout).overlapping(1, 5) == []


def test_of_many_sub_indexes_only_those_with_the_slot_are_found():
    _, state = grid("rebuild", 60, 10, 10).start(60)
    found = Intervals(state.indexes).overlapping(64, 64)
    assert found == [f"I{number}" for number in range(4, 101, 10)]
