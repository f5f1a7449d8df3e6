"""Evolving lists (Section 4.2), and the case analysis of the appendix, case by case.

A page has 20 records (Br), and is useful while 5 of them are alive (V).
"""

import numpy as np
import pytest

from kit.one_list import OneList
from kit.set_walks import Walk
from wavedex.errors import BadDefinition
from wavedex.temporal.changes import NOW
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods import list_kernels as kernels
from wavedex.temporal.methods.pph_list import PphList


@pytest.fixture
def bucket():
    made = OneList()
    yield made
    made.check()


def test_a_full_page_with_enough_alive_stays_and_an_empty_one_follows(bucket):
    ids = bucket.add(20)
    assert bucket.pages == [0, 1]
    assert bucket.alive == [ids, []]
    assert bucket.first_pages == [(1, 0)]
    assert bucket.next_pages(0) == [(1, 1)]


def test_who_is_added_goes_into_the_first_page_with_room(bucket):
    first = bucket.add(40)
    bucket.remove(first[:16])  # Case 2.1.2.b leaves a page with room before the last.
    roomy = [page for page in bucket.pages if bucket.header(page)["COUNT"] < 20]
    assert len(roomy) == 2
    (added,) = bucket.add(1)
    assert added in bucket.alive_in(roomy[0])
    assert roomy[0] != bucket.pages[-1]


def test_case_1_1_1_the_next_page_takes_in_what_is_left_of_the_first(bucket):
    ids = bucket.add(20)
    others = bucket.add(3)
    bucket.remove(ids[:15])
    assert bucket.alive == [ids[15:], others], "five are alive, which is enough"
    bucket.remove(ids[15:16])
    assert bucket.pages == [1]
    assert bucket.alive == [others + ids[16:]]
    assert bucket.first_pages == [(1, 0), (4, 1)]
    assert bucket.header(0)["END"] == 4


@pytest.mark.parametrize("still", [0, 1])
def test_case_1_1_1_may_fill_the_last_page(bucket, still):
    ids, others = bucket.add(20), bucket.add(16)
    bucket.remove(others[still:])
    bucket.remove(ids[4:])
    kept = others[:still] + ids[:4]
    if still:  # Five are alive: the page stays, and is not the last any more.
        assert bucket.pages == [1, 2]
        assert bucket.alive == [kept, []]
        assert bucket.first_pages == [(1, 0), (4, 1)]
    else:  # Four are not enough: case 1.2 at the same version.
        assert bucket.pages == [2]
        assert bucket.alive == [kept]
        assert bucket.first_pages == [(1, 0), (4, 2)]
        assert bucket.header(1)["END"] == 4


@pytest.mark.parametrize("is_last", [True, False])
def test_case_1_1_2_a_a_new_page_takes_in_both(bucket, is_last):
    ids, others = bucket.add(20), bucket.add(18 if is_last else 20)
    bucket.remove(others[15:])
    bucket.remove(ids[4:])
    new = bucket.store.data_pages - 1
    assert bucket.pages == ([new] if is_last else [new, 2])
    assert bucket.alive[0] == ids[:4] + others[:15]
    assert bucket.first_pages == [(1, 0), (4, new)]
    assert bucket.next_pages(new) == ([] if is_last else [(4, 2)])
    assert [bucket.header(page)["END"] for page in (0, 1, new)] == [4, 4, NOW]


def test_case_1_1_2_b_a_new_page_takes_v_of_the_next_one(bucket):
    ids, others = bucket.add(20), bucket.add(18)
    bucket.remove(others[16:])  # Sixteen are alive: more than three times V.
    bucket.remove(ids[4:])
    assert bucket.pages == [2, 1]
    assert bucket.alive == [ids[:4] + others[:5], others[5:16]]
    assert bucket.first_pages == [(1, 0), (4, 2)]
    assert bucket.next_pages(2) == [(4, 1)]
    assert bucket.header(0)["END"] == 4
    assert bucket.header(1)["END"] == NOW


def test_case_1_2_what_is_alive_in_a_full_last_page_moves_on(bucket):
    ids = bucket.add(18)
    bucket.remove(ids[:16])
    assert bucket.pages == [0], "the last page is useful whatever is alive in it"
    more = bucket.add(2)
    assert bucket.pages == [1]
    assert bucket.alive == [ids[16:] + more]
    assert bucket.first_pages == [(1, 0), (3, 1)]
    assert bucket.header(0)["END"] == 3


def test_case_2_1_1_the_page_before_takes_in_what_is_left(bucket):
    ids, others = bucket.add(20), bucket.add(20)
    bucket.remove(ids[4:])  # Case 1.1.2.b: page 3 before page 1, which has 15 left.
    assert bucket.pages == [3, 1, 2]
    bucket.remove(others[9:])
    assert bucket.pages == [3, 2]
    assert bucket.alive == [ids[:4] + others[:9], []]
    assert bucket.next_pages(3) == [(3, 1), (4, 2)]
    assert bucket.first_pages == [(1, 0), (3, 3)], "the first page is still the same"
    assert bucket.header(1)["END"] == 4


@pytest.mark.parametrize("before", [0, 20])
def test_case_2_1_2_a_a_new_page_takes_in_both(bucket, before):
    bucket.add(before)
    ids, others = bucket.add(20), bucket.add(20)
    c, a, last = bucket.pages[-3:]
    bucket.remove(ids[15:])
    bucket.remove(others[4:])
    new = bucket.store.data_pages - 1
    assert bucket.pages[-2:] == [new, last]
    assert bucket.alive[-2:] == [ids[:15] + others[:4], []]
    assert bucket.next_pages(new) == [(bucket.version, last)]
    if before:  # The page before C is told, or FT.
        assert bucket.next_pages(0)[-1] == (bucket.version, new)
    else:
        assert bucket.first_pages[-1] == (bucket.version, new)
    assert [bucket.header(page)["END"] for page in (c, a)] == [bucket.version] * 2


def test_case_2_1_2_b_a_new_page_takes_v_of_the_one_before(bucket):
    ids, others = bucket.add(20), bucket.add(20)
    bucket.remove(others[4:])
    assert bucket.pages == [0, 3, 2]
    assert bucket.alive == [ids[5:], others[:4] + ids[:5], []]
    assert bucket.next_pages(0) == [(1, 1), (3, 3)]
    assert bucket.next_pages(3) == [(3, 2)]
    assert bucket.first_pages == [(1, 0)]
    assert bucket.header(0)["END"] == NOW
    assert bucket.header(1)["END"] == 3


def test_case_2_2_what_is_alive_in_a_full_last_page_moves_on(bucket):
    ids, others = bucket.add(20), bucket.add(18)
    bucket.remove(others[:16])
    more = bucket.add(2)
    assert bucket.pages == [0, 2]
    assert bucket.alive == [ids, others[16:] + more]
    assert bucket.next_pages(0) == [(1, 1), (4, 2)]
    assert bucket.first_pages == [(1, 0)]
    assert bucket.header(1)["END"] == 4


def churn(bucket, later=1):
    """Have the last page of a list be replaced: case 2.2."""
    last = bucket.pages[-1]
    bucket.remove(bucket.alive_in(last), later)
    bucket.add(20 - bucket.header(last)["COUNT"] - 1, later)
    bucket.remove(bucket.alive_in(last)[1:], later)
    bucket.add(1, later)
    assert bucket.header(last)["END"] == bucket.version


def test_pages_that_follow_each_other_at_one_version_take_one_entry(bucket):
    ids = bucket.add(20)
    churn(bucket)
    for _ in range(15):
        churn(bucket, later=0)
    assert bucket.pages[0] == 0
    assert bucket.alive[0] == ids
    assert bucket.next_pages(0) == [(1, 1), (bucket.version, bucket.pages[1])]


def test_figure_3_a_page_whose_nt_is_full_is_replaced_by_a_copy():
    bucket = OneList(links=4)
    ids, others = bucket.add(20), bucket.add(20)
    c, a, _ = bucket.pages
    while bucket.header(a)["LINKS"] < 4:
        churn(bucket)
    assert bucket.pages[:2] == [c, a]
    churn(bucket)
    copy, last = bucket.pages[1:]
    assert copy not in (a, last)
    assert bucket.alive[:2] == [ids, others]
    assert bucket.next_pages(c) == [(1, a), (bucket.version, copy)]
    assert bucket.next_pages(copy) == [(bucket.version, last)]
    assert bucket.header(a)["END"] == bucket.version
    assert bucket.first_pages == [(1, c)]
    bucket.check()


def test_a_chain_of_full_nts_is_copied_up_to_the_first_page():
    bucket = OneList(links=2)
    ids, others = bucket.add(20), bucket.add(20)
    firsts = [bucket.first_pages[-1]]
    while bucket.first_pages[-1] == firsts[-1]:
        full = [bucket.header(page)["LINKS"] == 2 for page in bucket.pages[:-1]]
        churn(bucket)
        if bucket.first_pages[-1] != firsts[-1]:
            assert full == [True, True]
    version, first = bucket.first_pages[-1]
    assert version == bucket.version
    assert bucket.alive[:2] == [ids, others]
    assert bucket.pages[0] == first
    assert [bucket.header(page)["LINKS"] for page in bucket.pages] == [1, 1, 0]
    bucket.check()


def pph_walk(seed, ids=400, records=25, **given):
    walk = Walk(PphList(Layout(records, False), PphList.settings(**given)), seed, ids)
    return walk, walk.method


def test_questions_read_about_two_pages_however_long_the_history():
    walk, method = pph_walk(2)
    reads = []
    for _ in range(4):
        walk.step(3_000)
        ids = walk.rng.choice(walk.universe, 2_000)
        method.io.reset()
        method.find_many(ids, walk.rng.integers(1, walk.version, 2_000).astype(np.int32))
        reads.append(method.io.reads / 2_000)
    assert max(reads) <= 2.2
    assert max(reads) <= 1.05 * min(reads)


@pytest.mark.parametrize("growth", [0.3, 0.5, 0.7])
def test_space_is_linear_in_the_number_of_changes(growth):
    walk, method = pph_walk(1)
    for _ in range(5):
        walk.step(1_000, growth)
        changes = 2 * len(method.everything())
        # A change pays for its own record, and a page is copied after V of them at the earliest.
        assert method.store.data_pages * 5 <= 2 * changes + 5 * method.hashing.buckets


@pytest.mark.parametrize("splits", ["controlled", "uncontrolled"])
def test_lists_of_many_pages(splits):
    walk, method = pph_walk(3, 90, 5, buckets=1, low=0.0, high=30.0, splits=splits)
    for growth in (0.9, 0.5, 0.2, 0.8):
        walk.step(120, growth)
        walk.check(40)
    if splits == "controlled":
        assert method.store._buckets.used[:, kernels.LENGTH].max() > 8


def test_tables_on_disk_cost_what_their_levels_do():
    counts = []
    for trees in ("memory", "disk"):
        walk, method = pph_walk(3, ids=6, records=5, trees=trees, buckets=1)
        walk.step(1_000)
        method.io.reset()
        method.find_many(walk.universe, np.full(len(walk.universe), walk.version, np.int32))
        counts.append(method.io.reads)
    assert counts[1] > counts[0]


def test_counts_are_the_same_on_every_machine():
    walk, method = pph_walk(7, ids=100, buckets=2)
    walk.step(1_500)
    written = method.io.reads, method.io.writes
    method.io.reset()
    method.find_many(walk.universe, np.full(len(walk.universe), 300, np.int32))
    assert (*written, method.io.reads, method.pages) == (1681, 1686, 228, 76)


@pytest.mark.parametrize(
    "given",
    [{"listed": 1.0}, {"listed": 0}, {"usefulness": 0.3}, {"usefulness": 0}, {"trees": "tape"}],
)
def test_settings_that_cannot_be_are_refused(given):
    with pytest.raises(BadDefinition):
        PphList.settings(**given)


def test_damage_is_found():
    walk, method = pph_walk(8, ids=90, records=5, buckets=1, low=0.0, high=30.0)
    walk.step(300, 0.7)
    place = int(method.store._buckets.used[0, kernels.FIRST])
    links = int(method.store._sizes[kernels.LINKS_AT])
    for at in (kernels.ALIVE, kernels.END, kernels.LINKS, kernels.BUCKET, links + 1):
        other = PphList(method.layout, PphList.settings(buckets=1, low=0.0, high=30.0))
        other.restore({name: np.array(values) for name, values in method.arrays.items()})
        assert [*other.findings()] == []
        other.arrays["pages"].view(np.int32)[place, at] -= 1
        assert [*other.findings()] != []
