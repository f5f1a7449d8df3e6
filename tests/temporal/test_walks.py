"""Every method against a dictionary of lifespans, over random changes, restored in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.set_walks import Walk
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.catalogue import METHODS, method_class

NAMES = [*METHODS]


def restored(method, layout, options):
    """A method made of copies of the arrays of another."""
    other = type(method)(layout, options)
    other.restore({name: np.array(values) for name, values in method.arrays.items()})
    return other


def walk_of(name, records, seed, carries=False, **given):
    found = method_class(name)
    options, layout = found.settings(**given), Layout(records, carries)
    return Walk(found(layout, options), seed, 60, carries), layout, options


@pytest.mark.parametrize("carries", [False, True])
@pytest.mark.parametrize("records", [4, 7, 25])
@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_of_a_dictionary(name, records, carries):
    walk, layout, options = walk_of(name, records, 7 * records, carries)
    for growth in (0.9, 0.5, 0.1, 0.5, 0.8):
        walk.step(150, growth)
        walk.check(60)
        walk.method = restored(walk.method, layout, options)
        walk.check(20)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1), steps=st.lists(st.floats(0, 1), min_size=1, max_size=5))
@settings(max_examples=60)
def test_any_changes_in_any_steps(name, seed, steps):
    walk, layout, options = walk_of(name, 5, seed)
    for growth in steps:
        walk.step(40, growth, instants=growth)
        walk.method = restored(walk.method, layout, options)
    walk.check(60)


@pytest.mark.parametrize("name", NAMES)
def test_all_changes_at_one_instant(name):
    walk, _, _ = walk_of(name, 4, 3)
    walk.step(200, instants=0)
    walk.check()


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_set_has_nobody(name):
    walk, _, _ = walk_of(name, 4, 3)
    walk.check(20)
    assert len(walk.method.everything()) == 0
