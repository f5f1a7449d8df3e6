"""Sets of slots behave as plain sets do, whatever they are made of.

They come back from JSON as they were.
"""

from __future__ import annotations

import json
import operator
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavedex.plan.slot_set import (
    SPAN_MAX,
    SlotSet,
    first_of,
    last_of,
    ranges_of,
    run_of,
    slots_from_json,
    slots_of,
    slots_to_json,
    union,
)

near = st.frozensets(st.integers(-90, 90), max_size=60)
runs = st.tuples(st.integers(-90, 90), st.integers(0, 80)).map(
    lambda run: frozenset(range(run[0], run[0] + run[1]))
)
plain = st.one_of(
    near, runs, st.frozensets(st.integers(-9, 9).map(lambda far: far * 10**11), max_size=4)
)

OPERATORS = [
    operator.or_, operator.and_, operator.sub, operator.le, operator.ge, operator.lt, operator.gt,
    operator.eq, operator.ne,
]  # fmt: skip


@given(plain, plain)
def test_every_operator_gives_what_plain_sets_give(one, other):
    made, others = slots_of(one), slots_of(other)
    for apply in OPERATORS:
        expected = apply(one, other)
        assert apply(made, others) == expected
        assert apply(made, other) == expected
        assert apply(one, others) == expected
    assert made.isdisjoint(others) == made.isdisjoint(other) == one.isdisjoint(other)
    assert union([made, other, others]) == one | other


@given(plain)
def test_a_set_has_the_elements_that_it_was_made_of(slots):
    made = slots_of(slots)
    assert sorted(made) == [*made] == sorted(slots) if isinstance(made, SlotSet) else True
    assert (len(made), bool(made), hash(made)) == (len(slots), bool(slots), hash(slots))
    assert all((slot in made) == (slot in slots) for slot in range(-95, 95))
    assert pickle.loads(pickle.dumps(made)) == slots
    if slots:
        assert (first_of(made), last_of(made)) == (min(slots), max(slots))
    assert [slot for first, last in ranges_of(made) for slot in range(first, last + 1)] == sorted(
        slots
    )


@given(plain)
def test_a_set_comes_back_from_json(slots):
    assert slots_from_json(json.loads(json.dumps(slots_to_json(slots)))) == slots


def test_a_set_is_short_in_json_whatever_its_gaps():
    day = run_of(1_700_000_000, 1_700_086_399)
    every_other = slots_of(range(1_700_000_000, 1_700_086_400, 2))
    assert len(json.dumps(slots_to_json(day))) < 40
    assert len(json.dumps(slots_to_json(every_other))) < 15_000


@pytest.mark.parametrize(
    "data",
    [
        None, "[1]", {"1": 2}, [1.5], [True], ["1"], [[1]], [[1, 2, 3]], [[2, 1]], [[1, 2.5]],
        [1, 1], [1, [0, 5]], [[0, 5], [5, 9]], [[0, SPAN_MAX]], [[0, 10**30]], [[1, "???"]],
        [[1, "AA=="]], [[1, "A"]],
    ],
)  # fmt: skip
def test_what_is_no_set_of_slots_is_refused(data):
    with pytest.raises(ValueError, match=r"slots are|listed twice|no bitmap"):
        slots_from_json(data)
