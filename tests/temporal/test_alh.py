"""Linear hashing of all records (Section 5.1): what it takes to read, to change and to keep."""

import numpy as np
import pytest

from kit.set_walks import Walk
from wavedex.errors import BadDefinition
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods import alh_kernels as kernels
from wavedex.temporal.methods.alh_set import AlhSet


def alh_walk(seed, ids=60, records=5, **given):
    walk = Walk(AlhSet(Layout(records, False), AlhSet.settings(**given)), seed, ids)
    return walk, walk.method


def load_of(method):
    return method._shape[kernels.TOTAL] / (method.layout.records * method.pages)


def come_and_go(walk, oid, times):
    """One id is added and removed, again and again."""
    for _ in range(times):
        walk.members.add(oid, walk.version, -1)
        walk.members.remove(oid, walk.version + 1)
        walk.apply([(oid, walk.version, 1, -1), (oid, walk.version + 1, -1, -1)])
        walk.version += 2


def test_a_lifespan_is_one_record_that_a_removal_ends_in_its_place():
    walk, method = alh_walk(1, buckets=1)
    oid = int(walk.universe[0])
    walk.apply([(oid, 3, 1, -1)])
    before = method.arrays["pages"].copy()
    walk.apply([(oid, 8, -1, -1)])
    assert (method.arrays["pages"] != before).sum() == 1
    spans = method.lifespans(oid)
    assert [*zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)] == [(3, 8)]
    assert method._shape[kernels.TOTAL] == 1


@pytest.mark.parametrize("mixed", [0, 1])
@pytest.mark.parametrize("buckets", [1, 3, 10])
def test_files_that_begin_anyhow_answer_alike(buckets, mixed):
    walk, _ = alh_walk(2, buckets=buckets, mixed=mixed)
    for growth in (0.8, 0.4, 0.6):
        walk.step(150, growth)
        walk.check(40)


def test_the_load_stays_about_the_upper_bound():
    walk, method = alh_walk(3, ids=200)
    loads, sizes = [], []
    for _ in range(60):
        walk.step(20, 0.6)
        loads.append(load_of(method))
        sizes.append(method.size)
    assert max(loads) <= 0.92, "a split may need as many pages as were there"
    assert min(loads[30:]) > 0.7
    assert sizes == sorted(sizes)
    assert sizes[-1] > 2 * sizes[10]


def test_what_was_never_to_be_seen_is_taken_out_and_the_file_shrinks():
    walk, method = alh_walk(4, ids=300, buckets=2)
    ids = walk.universe[:200].tolist()
    for oid in ids:
        walk.members.add(oid, 5, -1)
    walk.apply([(oid, 5, 1, -1) for oid in ids])
    grown, pages = method.size, method.pages
    for oid in ids[::-1]:
        walk.members.remove(oid, 5)
        walk.apply([(oid, 5, -1, -1)])
        if method.size > 2:
            assert load_of(method) > 0.6, "buckets are merged below 0.7"
    walk.version = 5
    walk.check()
    assert (method.size, method.pages) == (2, 2)
    assert method._shape[kernels.TOTAL] == 0
    for oid in ids:
        walk.members.add(oid, 6, -1)
    walk.apply([(oid, 6, 1, -1) for oid in ids])
    assert (method.size, method.pages) == (grown, pages)
    assert len(method.arrays["pages"]) < 1.2 * pages, "free pages are used again"
    walk.version = 6
    walk.check()


def test_all_lifespans_of_an_id_are_read_where_it_is_not_found():
    walk, method = alh_walk(5, buckets=1, low=0.0, high=1.0)
    oid = int(walk.universe[0])
    come_and_go(walk, oid, 50)
    chain = len(method._chain(kernels.bucket_of(oid, method._shape)))
    assert chain == 10
    method.io.reset()
    assert method.find(oid, walk.version + 1) == -2
    assert method.io.reads == chain
    method.io.reset()
    assert method.find(oid, 0) == -1
    assert method.io.reads == 1


def test_looking_takes_the_longer_the_more_lifespans_there_are():
    walk, method = alh_walk(6, ids=60, records=10)
    reads = []
    for _ in range(3):
        for _ in range(12):
            walk.step(100)
        method.io.reset()
        method.find_many(walk.universe, np.full(len(walk.universe), walk.version + 1, np.int32))
        reads.append(method.io.reads / len(walk.universe))
    assert reads[2] > reads[1] > reads[0]


def test_counts_are_the_same_on_every_machine():
    walk, method = alh_walk(7, ids=100, records=25, buckets=2)
    walk.step(1_000)
    written = method.io.reads, method.io.writes
    method.io.reset()
    method.find_many(walk.universe, np.full(len(walk.universe), 300, np.int32))
    assert (*written, method.io.reads, method.pages, method.size) == (2879, 1034, 330, 23, 6)


@pytest.mark.parametrize(
    "given", [{"buckets": 0}, {"low": -0.1}, {"low": 0.9, "high": 0.7}, {"high": 1.5}, {"mixed": 2}]
)
def test_settings_that_cannot_be_are_refused(given):
    with pytest.raises(BadDefinition):
        AlhSet.settings(**given)


def test_damage_is_found():
    walk, method = alh_walk(8)
    walk.step(300)
    for place in (kernels.COUNT, kernels.NEXT, 2 * kernels.HEADER):
        other = AlhSet(Layout(5, False), AlhSet.settings())
        other.restore({name: np.array(values) for name, values in method.arrays.items()})
        assert [*other.findings()] == []
        other.arrays["pages"].view(np.int32)[0, place] -= 1
        assert [*other.findings()] != []
