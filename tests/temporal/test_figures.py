"""Figures 1 and 2 of the paper: a set until 25, five buckets of two, and a first overflow at 21."""

import numpy as np

from wavedex.temporal.alive import Alive
from wavedex.temporal.changes import NOW, Changes
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.histories import records_in
from wavedex.temporal.methods.pph_list import PphList
from wavedex.temporal.methods.pph_set import PphSet

TIMES = (1, 2, 4, 8, 9, 15, 16, 17, 20, 21, 25)
OIDS = (10, 7, 3, 21, 15, 36, 29, 13, 12, 8, 10)
SIGNS = (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1)
RECORDS = {
    20: {0: {10: (1, NOW), 15: (9, NOW)}, 3: {3: (4, NOW), 13: (17, NOW)}, 5: {}},
    21: {
        0: {10: (1, NOW), 15: (9, 21)},
        3: {3: (4, NOW), 13: (17, NOW), 8: (21, NOW)},
        5: {15: (21, NOW)},
    },
    25: {
        0: {10: (1, 25), 15: (9, 21)},
        3: {3: (4, NOW), 13: (17, NOW), 8: (21, NOW)},
        5: {15: (21, NOW)},
    },
}
"""The records in the histories of three buckets, at three times."""
ADDRESSES = {20: {oid: oid % 5 for oid in OIDS}, 21: {10: 0, 15: 5, 8: 3, 13: 3, 7: 2, 36: 1}}


def told_until(method, last):
    alive, done = Alive(), sum(time <= last for time in TIMES)
    signs = np.array(SIGNS[:done], np.int8)
    entries, bad = alive.take(np.array(OIDS[:done]), signs)
    assert bad < 0
    versions, none = np.array(TIMES[:done], np.int32), np.full(done, -1, np.int32)
    method.apply(Changes(np.array(OIDS[:done]), versions, signs, entries, none))
    return method


def pph_s():
    given = PphSet.settings(buckets=5, splits="uncontrolled", mixed=0)
    return PphSet(Layout(2, False), given)


def records_of(method, bucket):
    """The records in the pages of a bucket, as they lie there."""
    store = method.store
    pages = store._accepted(bucket) if bucket < method.hashing.buckets else np.zeros(0, np.int64)
    ids, starts, ends, _ = records_in(pages, store._words.room, store._halves, store._layout)
    spans = zip((starts & NOW).tolist(), ends.tolist(), strict=True)
    return dict(zip(ids.tolist(), spans, strict=True))


def test_figure_1_what_the_hashing_is_like_at_20_and_at_21():
    for last, split in ((20, 0), (21, 1), (25, 1)):
        hashing = told_until(pph_s(), last).hashing
        round_, following = hashing.history[-1, 1:].tolist()
        assert (round_, following) == (0, split)
        assert hashing.size == 5 + split
    hashing = told_until(pph_s(), 25).hashing
    assert hashing.history[:, 0].tolist()[1:] == [21]
    for at, addresses in ADDRESSES.items():
        for oid, bucket in addresses.items():
            assert hashing.bucket_at(oid, at) == bucket


def test_figure_2_the_histories_of_buckets_0_3_and_5():
    for last, buckets in RECORDS.items():
        method = told_until(pph_s(), last)
        assert {bucket: records_of(method, bucket) for bucket in buckets} == buckets
        assert [*method.findings()] == []


def test_a_move_is_no_change_of_the_set():
    given = PphList.settings(buckets=5, splits="uncontrolled", mixed=0)
    for method in (pph_s(), PphList(Layout(12, False), given)):
        told_until(method, 25)
        spans = method.lifespans(15)
        assert [*zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)] == [(9, NOW)]
        assert [method.find(15, at) > -2 for at in (8, 9, 20, 21, 25)] == [False, *[True] * 4]
        assert [method.find(10, at) > -2 for at in (0, 1, 24, 25)] == [False, True, True, False]
