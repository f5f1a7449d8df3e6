"""R*-trees over lifespans: right answers, whole trees, and pages near the paper's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.set_walks import Walk
from wavedex.errors import BadDefinition
from wavedex.temporal.layout import Layout, layout_of
from wavedex.temporal.methods.rstar_set import RInterval, RPoint, RStarSettings

KINDS = [RInterval, RPoint]


def a_walk(kind, seed, records=4, ids=60, carries=False, **settings):
    layout = layout_of(None, records, carries)
    return Walk(kind(layout, kind.settings(**settings)), seed, ids, carries)


def reopened(walk):
    """Go on with another method that has the arrays of the first."""
    old = walk.method
    walk.method = type(old)(old.layout, type(old).settings())
    walk.method.restore({name: each.copy() for name, each in old.arrays.items()})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("carries", [False, True])
@pytest.mark.parametrize("records", [2, 3, 4, 25])
def test_answers_are_the_oracles(kind, carries, records):
    walk = a_walk(kind, records, records, carries=carries)
    walk.check(20)
    for growth in (0.9, 0.5, 0.1, 0.7):
        walk.step(150, growth)
        walk.check(60)
        reopened(walk)
    walk.check(60)


@settings(max_examples=15, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**30),
    records=st.integers(2, 9),
    least=st.sampled_from([0.1, 0.4, 0.5]),
    again=st.sampled_from([0, 0.3, 0.5]),
    buffer=st.sampled_from([1, 10]),
    steps=st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1), st.floats(0, 1)), max_size=5),
)
def test_any_history_is_answered(kind, seed, records, least, again, buffer, steps):
    walk = a_walk(kind, seed, records, 30, least=least, again=again, buffer=buffer)
    for count, growth, instants in steps:
        walk.step(count, growth, instants)
        assert [*walk.method.findings()] == []
    walk.check(30)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_does_not_depend_on_how_changes_are_batched(kind):
    one, many = a_walk(kind, 5), a_walk(kind, 5)
    made = []
    one.apply, apply = made.extend, one.apply
    one.step(400)
    apply(made)
    for each in made:
        many.apply([each])
    for name, array in one.method.arrays.items():
        assert np.array_equal(array, many.method.arrays[name])
    assert one.method.io.counts.tolist() == many.method.io.counts.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_lifespan_has_one_record_and_an_empty_one_none(kind):
    walk = a_walk(kind, 1)
    a, b = walk.universe[:2].tolist()
    walk.apply([(a, 1, 1, -1), (a, 4, -1, -1), (a, 4, 1, -1), (b, 4, 1, -1), (b, 4, -1, -1)])
    assert [*walk.method.findings()] == []
    spans = walk.method.everything()
    assert spans.ids.tolist() == [a, a]
    assert spans.starts.tolist() == [1, 4]
    assert spans.ends.tolist() == [4, 2**31 - 1]
    assert walk.method.find(b, 4) == -2


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_from_which_all_was_taken_is_one_page(kind):
    walk = a_walk(kind, 2, 3)
    made = [(oid, 7, sign, -1) for sign in (1, -1) for oid in walk.universe.tolist()]
    walk.apply(made[: len(made) // 2])
    assert walk.method.pages > 20
    walk.apply(made[len(made) // 2 :])
    assert walk.method.pages == 1
    assert [*walk.method.findings()] == []
    walk.apply([(made[0][0], 8, 1, -1)])
    assert walk.method.find(made[0][0], 9) == -1


def test_directory_pages_have_the_papers_entries():
    """Section 5.1: 25 records a page; 5 attributes an entry of intervals, and 7 one of points."""
    fanouts = [kind(layout_of(None, 25, True), RStarSettings())._fanout() for kind in KINDS]
    assert fanouts == [20, 14]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("carries", [False, True])
def test_a_directory_page_fills_the_bytes_of_a_page(kind, carries):
    method = kind(layout_of(None, None, carries), RStarSettings())
    entry = 16 + 8 * (method.axes - 1) + 4
    assert method._fanout() in {4032 // entry, 4032 // entry - 1}
    assert method.arrays["pages"].shape[1] * 8 <= 4096


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_noticed(kind):
    walk = a_walk(kind, 3, 4)
    walk.step(300, 0.6)
    method = walk.method
    whole = {name: each.copy() for name, each in method.arrays.items()}
    rng = np.random.default_rng(4)
    free = method._free()
    missed = 0
    for _ in range(60):
        damaged = {name: each.copy() for name, each in whole.items()}
        page = int(rng.integers(len(damaged["pages"])))
        if page in free:
            continue
        damaged["pages"].view(np.int32)[page, 0] ^= 1 << int(rng.integers(4))
        other = kind(Layout(4, False, True), RStarSettings())
        other.restore(damaged)
        missed += not [*other.findings()]
    assert missed == 0


def test_points_take_more_pages_than_intervals():
    """Figure 4, small. The counts are the same with compiled loops and without."""
    counts = {}
    for kind in KINDS:
        walk = a_walk(kind, 6, 10, 200)
        walk.universe = np.arange(200)
        walk.step(2_000, 0.5, 1.0)
        method = walk.method
        changed = method.io.reads, method.io.writes, method.pages
        method.io.reset()
        rng = np.random.default_rng(1)
        asked = rng.integers(0, 200, 500), rng.integers(0, walk.version, 500)
        method.find_many(asked[0], asked[1].astype(np.int32))
        counts[kind.name] = (*changed, method.io.reads)
    assert counts == {"r-interval": (2448, 1937, 230, 2526), "r-point": (4623, 3171, 196, 5676)}


@pytest.mark.parametrize(
    "wrong", [{"least": 0}, {"least": 0.6}, {"again": -0.1}, {"again": 0.6}, {"buffer": 0}]
)
def test_settings_that_make_no_sense_are_told(wrong):
    with pytest.raises(BadDefinition, match=next(iter(wrong))):
        RStarSettings(**wrong)
