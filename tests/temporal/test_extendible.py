"""Extendible hashing of what is alive: buckets, directory and their past, against a plain model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as options
from hypothesis import strategies as st

from kit.set_walks import Walk
from wavedex.temporal.alive import Alive
from wavedex.temporal.changes import Changes
from wavedex.temporal.hashing import extendible_kernels as kernels
from wavedex.temporal.hashing.catalogue import HashingSettings, hashing_of
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.hashing.extendible import ExtendibleHashing
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.catalogue import method_class


class PlainBuckets:
    """Extendible hashing by the plainest means: a dictionary of depth and last bits to ids."""

    def __init__(self, least, above, below):
        self.least, self.above, self.below = least, above, below
        self.buckets = {(least, bits): set() for bits in range(1 << least)}

    def bucket_of(self, oid):
        (found,) = [each for each in self.buckets if oid % (1 << each[0]) == each[1]]
        return found

    def add(self, oid):
        depth, bits = self.bucket_of(oid)
        self.buckets[depth, bits].add(oid)
        limit = max(self.least, 2 + sum(map(len, self.buckets.values())).bit_length())
        if len(self.buckets[depth, bits]) > self.above and depth < limit:
            ids = self.buckets.pop((depth, bits))
            for each in (bits, bits + (1 << depth)):
                own = {oid for oid in ids if oid % (2 << depth) == each}
                self.buckets[depth + 1, each] = own

    def remove(self, oid):
        depth, bits = self.bucket_of(oid)
        self.buckets[depth, bits].remove(oid)
        while depth > self.least:
            one, other = bits % (1 << (depth - 1)), bits | (1 << (depth - 1))
            if (depth, one) not in self.buckets or (depth, other) not in self.buckets:
                break
            if len(self.buckets[depth, one]) + len(self.buckets[depth, other]) >= self.below:
                break
            ids = self.buckets.pop((depth, one)) | self.buckets.pop((depth, other))
            depth, bits = depth - 1, one
            self.buckets[depth, bits] = ids

    @property
    def depth(self):
        return max(depth for depth, _ in self.buckets)


class Judged:
    """The hashing and the model, told of the same changes, and what the events have made."""

    def __init__(self, seed, ids, records=5, **given):
        settings = HashingSettings(hashing="extendible", mixed=0, **given)
        self.hashing = hashing_of(settings, records)
        shape = self.hashing.arrays["hash_shape"]
        self.plain = PlainBuckets(*shape[[kernels.LEAST, kernels.ABOVE, kernels.BELOW]].tolist())
        self.alive, self.ids = Alive(), ids
        self.rng = np.random.default_rng(seed)
        self.there, self.past = {}, []
        self.moved = 0

    def step(self, count, growth):
        for _ in range(count):
            away = [oid for oid in self.ids if oid not in self.there]
            adds = bool(away) and (not self.there or self.rng.random() < growth)
            oid = int(self.rng.choice(away if adds else [*self.there]))
            (self.plain.add if adds else self.plain.remove)(oid)
            self.change(oid, adds)
            self.past.append((dict(self.plain.buckets), self.plain.depth))

    def change(self, oid, adds):
        ids, signs = np.array([oid]), np.array([1 if adds else -1], np.int8)
        entries, _ = self.alive.take(ids, signs)
        version = np.array([len(self.past)], np.int32)
        events = Events(4)
        self.hashing.plan(Changes(ids, version, signs, entries, entries), 0, events)
        kinds = events.kinds[: events.count].tolist()
        assert kinds[0] == (1 if adds else -1)
        assert kinds[1:] == [-2, 2] * (len(kinds) // 2)
        self.moved += len(kinds) // 2
        if adds:
            self.there[oid] = None
        entry_ids = {int(self.alive.entries_of(np.array([each]))[0]): each for each in self.there}
        entry_ids[int(entries[0])] = oid
        for kind, bucket, entry in zip(
            kinds, events.buckets.tolist(), events.entries.tolist(), strict=False
        ):
            assert kind > 0 or self.there[entry_ids[entry]] == bucket, "it leaves where it is"
            self.there[entry_ids[entry]] = bucket if kind > 0 else None
        if not adds:
            del self.there[oid]

    def check(self):
        hashing, numbers = self.hashing, [bits for _, bits in self.plain.buckets]
        assert [*hashing.findings()] == []
        assert len(hashing.directory) == 1 << self.plain.depth
        for cell, bucket in enumerate(hashing.directory.tolist()):
            assert self.plain.bucket_of(cell)[1] == bucket
        assert {oid: self.plain.bucket_of(oid)[1] for oid in self.there} == self.there
        assert sorted(numbers) == hashing.used_at(len(self.past)).tolist()
        asked = np.array(self.ids[:: max(1, len(self.ids) // 10)], np.int64)
        model = PlainBuckets(0, 0, 0)
        for version in range(0, len(self.past), 1 + len(self.past) // 50):
            model.buckets, depth = self.past[version]
            assert hashing.used_at(version).tolist() == sorted(bits for _, bits in model.buckets)
            line = hashing.history[:, 0].searchsorted(version, "right") - 1
            assert hashing.history[line, 1] == depth
            expected = [model.bucket_of(oid)[1] for oid in asked.tolist()]
            found = hashing.buckets_at(asked, np.full(len(asked), version, np.int32))
            assert found.tolist() == expected
            assert [hashing.bucket_at(oid, version) for oid in asked.tolist()] == expected
            until = version + 9
            for oid in asked[:3].tolist():
                each = {hashing.bucket_at(oid, at) for at in range(version, until + 1)}
                assert hashing.buckets_of(oid, version, until).tolist() == sorted(each)

    def restore(self):
        arrays = {name: np.array(values) for name, values in self.hashing.arrays.items()}
        least = int(arrays["hash_shape"][kernels.LEAST])
        self.hashing = ExtendibleHashing(1 << least, 5, 0.1, 0.2, False, True)
        self.hashing.restore(arrays)


@pytest.mark.parametrize("buckets", [1, 2, 5])
@pytest.mark.parametrize("given", [{}, {"low": 0.5, "high": 0.9}, {"splits": "uncontrolled"}])
def test_buckets_and_their_past_are_those_of_a_plain_model(buckets, given):
    ids = np.random.default_rng(1).integers(-(2**50), 2**50, 60).tolist()
    judged = Judged(buckets, ids, buckets=buckets, **given)
    for growth in (0.9, 0.1, 0.7):
        judged.step(70, growth)
        judged.check()
        judged.restore()
    judged.check()


@given(st.integers(0, 2**32), st.sets(st.integers(-300, 300), min_size=1, max_size=40))
@options(max_examples=25)
def test_any_ids_in_any_order(seed, ids):
    judged = Judged(seed, sorted(ids), records=3, buckets=1, low=0.4, high=0.7)
    for growth in (0.8, 0.3):
        judged.step(40, growth)
    judged.check()


def test_the_directory_is_doubled_as_the_set_grows_and_halved_as_it_shrinks():
    judged = Judged(3, [*range(400)], records=5, buckets=3, low=0.5, high=1.0)
    judged.step(400, 1.0)
    depths = judged.hashing.history[:, 1].tolist()
    assert depths == [*range(2, judged.hashing.depth + 1)]
    assert judged.hashing.depth >= 7
    judged.step(400, 0.0)
    depths = judged.hashing.history[:, 1].tolist()
    assert judged.hashing.depth == 2
    assert depths == [*range(2, max(depths) + 1), *range(max(depths) - 1, 1, -1)]
    assert judged.hashing.used_at(len(judged.past)).tolist() == [0, 1, 2, 3]
    judged.check()


def test_ids_with_the_same_last_bits_do_not_make_the_directory_grow_without_bounds():
    ids = [oid << 40 for oid in range(300)]
    judged = Judged(4, ids, records=5, buckets=1)
    judged.step(300, 1.0)
    assert len(judged.hashing.directory) <= 8 * len(ids)
    assert max(map(len, judged.plain.buckets.values())) == 300, "there is no bit that parts them"
    assert judged.moved == 0, "who stays in the bucket of that number is not moved"
    judged.step(300, 0.0)
    assert len(judged.hashing.directory) == 1
    judged.check()


@pytest.mark.parametrize(
    "given", [{"low": 0.4, "high": 0.8}, {"low": 5.0, "high": 9.0, "splits": "uncontrolled"}]
)
def test_moves_are_linear_in_the_number_of_changes(given):
    judged = Judged(5, [*range(300)], records=10, **given)
    for growth in (0.9, 0.4, 0.6):
        judged.step(300, growth)
    assert judged.moved <= len(judged.past)


@pytest.mark.parametrize("name", ["pph-s", "pph-l"])
@pytest.mark.parametrize(
    "given",
    [{}, {"splits": "uncontrolled"}, {"mixed": 0}, {"buckets": 1, "low": 0.5, "high": 0.9}],
)
def test_histories_of_its_buckets_answer_as_a_dictionary(name, given):
    found = method_class(name)
    settings, layout = found.settings(hashing="extendible", **given), Layout(5, True)
    walk = Walk(found(layout, settings), 6, 60, True)
    for growth in (0.9, 0.5, 0.1, 0.8):
        walk.step(120, growth)
        walk.check(40)
        other = found(layout, settings)
        other.restore({key: np.array(values) for key, values in walk.method.arrays.items()})
        walk.method = other
    walk.step(60, instants=0)
    walk.check(40)


@pytest.mark.parametrize("name", ["pph-s", "pph-l"])
def test_questions_read_two_pages(name):
    found = method_class(name)
    walk = Walk(found(Layout(25, False), found.settings(hashing="extendible")), 2, 400)
    walk.step(6_000)
    ids = walk.rng.choice(walk.universe, 2_000)
    walk.method.io.reset()
    walk.method.find_many(ids, walk.rng.integers(1, walk.version, 2_000).astype(np.int32))
    assert walk.method.io.reads / 2_000 <= 2.05


def test_damage_is_found():
    judged = Judged(8, [*range(100)], buckets=2)
    judged.step(150, 0.7)
    kept = {name: np.array(values) for name, values in judged.hashing.arrays.items()}
    for name, place in [
        ("hash_directory", 1),
        ("hash_depths", 0),
        ("hash_counts", int(judged.hashing.directory[0])),
        ("hash_history", (-1, 1)),
        ("hash_history", (1, 0)),
        ("hash_lines", (0, kernels.COUNT)),
        ("hash_shape", kernels.ALIVE),
        ("hash_shape", kernels.DEEPEST),
    ]:
        arrays = {key: np.array(values) for key, values in kept.items()}
        other = ExtendibleHashing(2, 5, 0.1, 0.2, False, True)
        other.restore(arrays)
        assert [*other.findings()] == []
        arrays[name][place] += 7 if place == (1, 0) else 1
        other.restore(arrays)
        assert [*other.findings()] != [], (name, place)
