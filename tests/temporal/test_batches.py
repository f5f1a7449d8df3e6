"""Many questions at once are put in an order of their own, and are answered as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from kit.set_walks import Walk
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.catalogue import method_class
from wavedex.temporal.methods.persistent import ORDERED_MIN


@pytest.mark.parametrize("hashing", ["linear", "extendible"])
@pytest.mark.parametrize("name", ["pph-s", "pph-l"])
def test_many_questions_have_the_answers_and_the_reads_of_few(name, hashing):
    kind = method_class(name)
    walk = Walk(kind(Layout(7, True), kind.settings(hashing=hashing, buckets=1)), 3, 60, True)
    for growth in (0.9, 0.1, 0.8):
        walk.step(120, growth)
    method, count = walk.method, 2 * ORDERED_MIN + 5
    assert method.hashing.buckets > 4
    ids = walk.rng.choice(walk.universe, count)
    versions = walk.rng.integers(-1, walk.version + 3, count).astype(np.int32)
    few = ORDERED_MIN - 1
    method.io.reset()
    parts = [method.find_many(ids[at : at + few], versions[at : at + few])
             for at in range(0, count, few)]  # fmt: skip
    reads = method.io.reads
    method.io.reset()
    assert method.find_many(ids, versions).tolist() == np.concatenate(parts).tolist()
    assert method.io.reads == reads
    for place in range(0, count, 97):
        oid, at = int(ids[place]), int(versions[place])
        there = walk.members.contains(oid, at)
        found = walk.members.carried(oid, at) if there else -2
        assert method.find(oid, at) == found == int(np.concatenate(parts)[place])
