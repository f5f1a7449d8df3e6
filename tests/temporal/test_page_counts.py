"""What the paper promises of pages, as counts that are the same on every machine."""

import numpy as np
import pytest

from kit.set_walks import Walk
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.asking_kernels import _rank as rank_when_asked
from wavedex.temporal.methods.pph_set import PphSet
from wavedex.temporal.methods.snapshot_kernels import _rank as rank_when_kept


def pph_walk(seed, ids=400, records=25, **given):
    walk = Walk(PphSet(Layout(records, False), PphSet.settings(**given)), seed, ids)
    return walk, walk.method


@pytest.mark.parametrize("growth", [0.5, 0.7])
def test_space_is_linear_in_the_number_of_changes(growth):
    walk, method = pph_walk(1)
    for _ in range(8):
        walk.step(1_000, growth)
        changes = 2 * len(method.everything())
        records = method.store.data_pages * 25
        # Each change pays for its own record and, at u = 0.3, for at most as many copies.
        assert records <= 2 * changes + 25 * method.hashing.buckets


def test_questions_read_about_two_pages_however_long_the_history():
    walk, method = pph_walk(2)
    reads = []
    for _ in range(4):
        walk.step(4_000)
        ids = walk.rng.choice(walk.universe, 2_000)
        method.io.reset()
        method.find_many(ids, walk.rng.integers(1, walk.version, 2_000).astype(np.int32))
        reads.append(method.io.reads / 2_000)
    assert max(reads) <= 2.2
    assert max(reads) <= 1.05 * min(reads)


def test_trees_on_disk_cost_what_their_levels_do():
    counts = []
    for trees in ("memory", "disk"):
        walk, method = pph_walk(3, ids=6, trees=trees, buckets=1)
        walk.step(6_000)
        method.io.reset()
        method.find_many(walk.universe, np.full(len(walk.universe), walk.version, np.int32))
        counts.append(method.io.reads)
    assert counts[1] > counts[0]


def test_whoever_asks_ranks_ids_as_whoever_keeps_them():
    ids = np.random.default_rng(4).integers(-(2**63), 2**63 - 1, 1_000)
    kept = [rank_when_kept(oid) for oid in ids]
    assert [rank_when_asked(oid) for oid in ids] == kept
    assert min(kept) >= 0
    assert max(kept) < 2**31
