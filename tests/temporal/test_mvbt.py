"""The multiversion B-tree: its conditions on pages, its counts, and what is wrong with damage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.set_walks import Walk
from wavedex.errors import BadDefinition
from wavedex.jit import is_compiled
from wavedex.temporal.changes import NO_POINTER, NOW, Changes
from wavedex.temporal.layout import HEADER, Layout, layout_of
from wavedex.temporal.methods.mvbt_findings import Records
from wavedex.temporal.methods.mvbt_kernels import ALIVE, COUNT, END, LEVEL, START
from wavedex.temporal.methods.mvbt_set import Mvbt, MvbtSettings

B, Q, E = 25, 5, 4
"""The sizes of the paper (Section 5.1)."""


def tree(records=B, has_pointers=True, **given):
    return Mvbt(Layout(records, has_pointers), MvbtSettings(**given))


def changes(ids, versions, sign=1):
    ids = np.array(ids, np.int64)
    numbers = np.arange(len(ids), dtype=np.int32)
    versions = np.broadcast_to(versions, len(ids)).astype(np.int32)
    signs = np.full(len(ids), sign, np.int8)
    return Changes(ids, versions, signs, numbers, np.full(len(ids), NO_POINTER, np.int32))


def grown(ids=4_000):
    """A tree of three levels, of which each id came at a version of its own."""
    method = tree()
    order = np.random.default_rng(1).permutation(ids)
    method.apply(changes(order, np.arange(1, ids + 1)))
    return method


def records_of(method):
    """The records of leaves, and those of directories."""
    pages, free = method.arrays["pages"], method.arrays["free"]
    levels = pages.view(np.int32)[:, LEVEL]
    used = ~np.isin(np.arange(len(pages)), free)
    kinds = (levels == 0, levels > 0)
    sizes = method._sizes
    return [Records(pages, np.flatnonzero(kinds[i] & used), sizes[i]) for i in (0, 1)]


def alive_counts(method, version):
    """How many records are alive at a version in each page that is there and not the root."""
    roots = method.arrays["roots"]
    root = roots[np.searchsorted(roots[:, 0], version, "right") - 1, 1]
    for records in records_of(method):
        starts, ends = records.headers[:, START], records.headers[:, END]
        there = (starts <= version) & (version < ends) & (records.numbers != root)
        is_alive = (records.starts <= version) & (version < records.ends) & records.there
        yield from zip(starts[there], is_alive.sum(axis=1)[there], strict=True)


@given(
    seed=st.integers(0, 2**32 - 1),
    records=st.integers(4, 12),
    parts=st.sampled_from([(0.2, 0.16), (0.5, 0.0), (0.3, 0.1), (0.05, 0.01), (0.22, 0.18)]),
    buffer=st.integers(1, 4),
    growths=st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
@settings(max_examples=60)
def test_any_sizes_of_pages_do(seed, records, parts, buffer, growths):
    walk = Walk(tree(records, alive=parts[0], spare=parts[1], buffer=buffer), seed, 60, True)
    for growth in growths:
        walk.step(80, growth, instants=growth)
    walk.check(40)


@pytest.mark.parametrize("seed", range(3))
def test_pages_meet_the_version_conditions(seed):
    walk = Walk(tree(), seed, 900)
    for growth in (0.95, 0.5, 0.2, 0.6):
        walk.step(900, growth, instants=1)
    for version in range(1, walk.version + 1, 3):
        for start, count in alive_counts(walk.method, version):
            assert count >= Q
            if start == version:
                assert Q + E <= count <= B - E


def test_what_comes_and_goes_at_one_version_leaves_no_trace():
    method = tree()
    method.apply(changes(range(2_000), 7))
    assert method.pages <= 2_000 / (Q + E) * 1.2
    method.apply(changes(range(2_000), 7, -1))
    assert method.pages == 1
    assert len(method.everything()) == 0
    assert [*method.findings()] == []
    assert len(method.alive_at(7)[0]) == 0


def test_an_id_that_leaves_and_comes_at_one_version_has_two_lifespans():
    method = tree()
    for sign, version in ((1, 3), (-1, 8), (1, 8), (-1, 8), (1, 8), (-1, 9)):
        method.apply(changes([5], version, sign))
    spans = method.lifespans(5)
    assert [*zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)] == [(3, 8), (8, 9)]


def test_a_tree_grows_and_shrinks():
    method = grown()
    for left in (2_000, 300, 20, 0):
        there = method.alive_at(NOW - 1)[0]
        version = int(method.arrays["roots"][-1, 0]) + 10_000
        method.apply(changes(there[left:], version, -1))
        assert [*method.findings()] == []
    levels = method.arrays["pages"].view(np.int32)[method.arrays["roots"][:, 1], LEVEL]
    assert levels.max() >= 2
    assert levels[-1] == 0
    assert len(method.alive_at(4_000)[0]) == 4_000


def test_ids_of_a_range_come_from_the_pages_of_the_range():
    method = grown()
    levels = 1 + int(method.arrays["pages"].view(np.int32)[method.arrays["roots"][-1, 1], LEVEL])
    method.io.reset()
    ids, _ = method.between(1_000, 1_003, 4_000)
    assert ids.tolist() == [1_000, 1_001, 1_002, 1_003]
    assert method.io.reads <= 2 * levels
    method.io.reset()
    assert method.alive_at(4_000)[0].tolist() == [*range(4_000)]
    assert 4_000 / (B - 1) < method.io.reads <= method.pages
    ends = method.between(-(2**63), 2, 4_000)[0], method.between(3_998, 2**63 - 1, 4_000)[0]
    assert [each.tolist() for each in ends] == [[0, 1, 2], [3_998, 3_999]]


def test_a_question_reads_a_page_of_each_level():
    method = grown()
    for version in (0, 1, 30, 4_000):
        method.io.reset()
        method.find(17, version)
        roots = method.arrays["roots"]
        root = roots[np.searchsorted(roots[:, 0], version, "right") - 1, 1]
        level = int(method.arrays["pages"].view(np.int32)[root, LEVEL])
        assert method.io.reads == (level + 1 if version else 0)


def test_lifespans_read_no_page_twice():
    walk = Walk(tree(4), 5, 40)
    walk.step(2_000)
    for oid in walk.universe.tolist():
        walk.method.io.reset()
        walk.method.lifespans(oid)
        once = walk.method.io.reads
        assert once <= walk.method.pages
        walk.method.io.reset()
        walk.method.was_alive(oid, 0, 0)
        assert walk.method.io.reads <= 1


def test_changes_near_each_other_find_their_pages_in_the_buffer():
    method = grown()
    reads = []
    for buffer in (1, 10):
        other = tree(buffer=buffer)
        other.restore({name: np.array(values) for name, values in method.arrays.items()})
        other.apply(changes([4_001], 4_001))
        other.io.reset()
        other.apply(changes([4_001], 4_002, -1))
        reads.append(other.io.reads)
        assert other.io.writes == 1
    assert reads == [3, 0]


def test_the_counts_are_the_same_on_every_machine():
    counts = []
    for records in (9, B):
        walk = Walk(tree(records), records, 300)
        for growth, instants in ((0.9, 0.7), (0.5, 0.1), (0.1, 0.7), (0.6, 0.9)):
            walk.step(700, growth, instants)
        io = walk.method.io
        counts.append((io.reads, io.writes, walk.method.pages))
    assert counts == [(2846, 3870, 572), (649, 3095, 165)]


def uniform_30(ids=8_000, last=50_000):
    """The paper's Uniform-30 (Sections 5.2 and 5.3), in the order of its changes."""
    rng = np.random.default_rng(4)
    parts = []
    for oid in range(ids):
        begins = np.sort(rng.choice(last, rng.integers(20, 40), replace=False)) + 1
        ends = rng.integers(begins, np.append(begins[1:], last) + 1)
        if begins[-1] > last - 1_000:
            ends[-1] = NOW
        parts.append(np.stack([np.full(len(begins), oid), begins, ends])[:, begins != ends])
    oids, begins, ends = np.concatenate(parts, axis=1)
    over = ends < NOW
    found = np.concatenate([oids, oids[over]]), np.concatenate([begins, ends[over]])
    signs = np.repeat(np.array([1, -1], np.int8), [len(oids), over.sum()])
    order = np.lexsort((signs, found[1]))
    made = changes(found[0][order], found[1][order])
    return Changes(made.ids, made.versions, signs[order], made.entries, made.pointers), len(oids)


@pytest.mark.skipif(not is_compiled, reason="half a million changes are many for plain Python")
def test_the_counts_are_near_those_of_the_paper():
    made, additions = uniform_30()
    method = tree()
    method.apply(made)
    assert 1.8 <= method.io.reads / len(made) <= 2.1
    assert 1.0 <= method.io.writes / len(made) <= 1.2
    hashed = additions / B / 0.8  # What ALH takes at a load between 0.7 and 0.9.
    assert 1.8 <= method.pages / hashed <= 2.2  # Figure 4: about twice.
    rng = np.random.default_rng(5)
    method.io.reset()
    method.find_many(rng.integers(0, 8_000, 120_000), rng.integers(1, 50_001, 120_000))
    assert 3.5 <= method.io.reads / 120_000 <= 4.1  # About twice the two of hashing.


STARTS, ENDS, POINTERS = (2 * (HEADER + B) + i * B for i in range(3))
"""Where the columns of a page begin."""


def damages(pages, halves, roots):
    """What is said of some damage, and the damage: an array, a place in it, and another value.

    The last root is above a directory that is above a leaf.
    """
    root = roots[-1, 1]
    directory = halves[root, POINTERS + halves[root, COUNT] - 1]
    alive = np.flatnonzero(halves[directory, ENDS : ENDS + halves[directory, COUNT]] == NOW)[1]
    leaf, next_leaf = halves[directory, POINTERS + alive : POINTERS + alive + 2]
    last = halves[leaf, COUNT] - 1
    return [
        ("holds what no header can", halves, (leaf, COUNT), B + 1),
        ("are not those that are free", halves, (0, END), halves[0, START]),
        ("root* is not in order", roots, (0, 0), 10**6),
        ("root* names a page that is not there", roots, (-1, 1), 10**6),
        ("is not there at the versions", roots, (0, 1), root),
        ("counts its records that are alive wrongly", halves, (leaf, ALIVE), 1),
        ("fewer records that are alive", halves, (leaf, slice(ENDS, ENDS + B)), 10**6),
        ("are not in order", pages, (leaf, HEADER), 2**60),
        ("ends before it begins", halves, (leaf, ENDS), 0),
        ("alive in two leaves", pages, leaf, pages[next_leaf]),
        ("names a page that is not there", halves, (directory, POINTERS + alive), -5),
        ("not of the level below it", halves, (directory, POINTERS + alive), root),
        ("wrong about when a page below", halves, (directory, STARTS + alive), 1),
        ("newest version is not below", halves, (directory, ENDS + alive), 10**6),
        ("an id below its range", pages, (leaf, HEADER), -(2**60)),
        ("an id above its range", pages, (leaf, HEADER + last), 2**60),
    ]


def test_damage_is_found():
    whole = {name: np.array(values) for name, values in grown().arrays.items()}
    missed, number, count = [], 0, 1
    while number < count:
        arrays = {name: np.array(values) for name, values in whole.items()}
        pages = arrays["pages"]
        listed = damages(pages, pages.view(np.int32), arrays["roots"])
        sentence, array, place, value = listed[number]
        array[place] = value
        method = tree()
        method.restore(arrays)
        if not any(sentence in each for each in method.findings()):
            missed.append(sentence)
        number, count = number + 1, len(listed)
    assert missed == []
    assert count == 16


@pytest.mark.parametrize(
    "given",
    [
        {"alive": 0.1, "spare": 0.1},
        {"alive": 0.3, "spare": 0.2},
        {"alive": 0.0, "spare": 0.0},
        {"alive": float("nan")},
        {"spare": -0.1},
        {"buffer": 0},
        {"buffer": 1.5},
        {"buffer": 10**9},
        {"alive": "0.2"},
        {"buffer": None},
    ],
)
def test_settings_that_cannot_be_are_refused(given):
    with pytest.raises(BadDefinition):
        MvbtSettings(**given)


def test_pages_that_are_too_small_are_refused():
    for layout in (Layout(2, True), Layout(3, False), Layout(2, False)):
        with pytest.raises(BadDefinition, match="bytes"):
            Mvbt(layout, MvbtSettings())


def test_pages_of_bytes_hold_fewer_records_of_directories():
    sizes = Mvbt(layout_of(None, None, False), MvbtSettings())._sizes.tolist()
    assert sizes == [[252, 50, 40, 0], [201, 40, 32, 1]]
    assert tree()._sizes.tolist() == [[B, Q, E, 1]] * 2
