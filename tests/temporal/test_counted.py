"""Sets whose ids are counted: added as the first of many comes, removed as the last goes."""

import collections
import random

import pytest

from wavedex.errors import NotInSet
from wavedex.temporal import TemporalSet
from wavedex.testing.lifespans import Members


class Tally:
    """An oracle of counts and of what they come to at each instant."""

    def __init__(self, seed, names, in_order=False):
        self.rng, self.names, self.time = random.Random(seed), names, 0
        self.in_order = in_order
        self.counts, self.members = collections.Counter(), Members()

    def events(self):
        rows = []
        for _ in range(self.rng.randrange(1, 6)):
            self.time += self.rng.randrange(1, 4)
            before = dict(self.counts)
            for _ in range(self.rng.randrange(1, 15)):
                name = self.rng.choice(self.names)
                sign = -1 if self.counts[name] and self.rng.random() < 0.55 else 1
                self.counts[name] += sign
                rows.append((name, self.time, sign))
            for name in self.names:
                if before.get(name, 0) and not self.counts[name]:
                    self.members.remove(name, self.time)
                if not before.get(name, 0) and self.counts[name]:
                    self.members.add(name, self.time)
        if self.in_order:
            rows.sort(key=lambda row: (row[1], str(row[0])))
        return dict(zip(("oid", "time", "op"), map(list, zip(*rows, strict=True)), strict=True))

    def check(self, found):
        for name in self.names:
            spans = [(each["start"], each["end"]) for each in found.lifespans(name).to_pylist()]
            assert spans == self.members.lifespans(name)
        assert found.verify() == []


@pytest.mark.parametrize("names", [[*range(20)], [f"k{number}" for number in range(20)]])
@pytest.mark.parametrize("seed", range(4))
def test_lifespans_are_those_of_counts(tmp_path, names, seed):
    found = TemporalSet.create(tmp_path / "a.wxt", counted=True)
    tally = Tally(seed, names, in_order=seed % 2 == 1)
    for step in range(12):
        found.load(tally.events())
        if step % 3 == 0:
            found.commit()
        if step % 4 == 0:
            found.commit()
            found = TemporalSet.open(tmp_path / "a.wxt")
        if step == 9:
            found.compact()
        tally.check(found)


def test_what_is_erased_begins_at_none_again(tmp_path):
    found = TemporalSet.create(tmp_path / "a.wxt", counted=True)
    found.load({"oid": [1, 2, 2], "time": [1, 1, 2], "op": [3, 1, 1]})
    found.erase([1])
    found.load({"oid": [1, 2], "time": [3, 3], "op": [1, -1]})
    assert found.lifespans(1)["start"].to_pylist() == [3]
    assert found.contains(2, 3)
    found.load({"oid": [2], "time": [4], "op": [-1]})
    assert not found.contains(2, 4)


def test_fewer_than_none_is_named_and_changes_nothing():
    found = TemporalSet.create(counted=True)
    found.load({"oid": ["a", "b"], "time": [1, 1], "op": [2, 1]})
    before = found.lifespans().to_pylist()
    with pytest.raises(NotInSet, match="'a' is removed at 3"):
        found.load({"oid": ["c", "a", "a", "a"], "time": [2, 2, 2, 3], "op": [1, -1, -1, -1]})
    assert found.lifespans().to_pylist() == before
    assert found.verify() == []
    found.load({"oid": ["a", "a"], "time": [2, 2], "op": [-2, 1]})
    assert found.lifespans("a").num_rows == 1


def test_fewer_than_none_for_a_moment_is_no_change_but_not_at_the_end_of_an_instant():
    found = TemporalSet.create(counted=True)
    found.load({"oid": [1, 1, 2, 2, 2], "time": [1] * 5, "op": [-1, 2, -2, 1, 1]})
    assert found.snapshot(1)["oid"].to_pylist() == [1]
    with pytest.raises(NotInSet, match="2 is removed at 2"):
        found.load({"oid": [1, 2, 3, 2], "time": [2, 2, 2, 3], "op": [1, -1, 1, 1]})
    assert found.counts().to_pylist() == [{"oid": 1, "n": 1}]


def test_ids_that_went_are_not_taken_for_those_that_follow_in_their_places():
    found = TemporalSet.create(counted=True)
    found.load({"oid": [1, 2, 3], "time": [1, 1, 1], "op": [1, 1, 1]})
    found.load({"oid": [2], "time": [2], "op": [-1]})
    found.load({"oid": [1, 2, 3], "time": [3, 3, 3], "op": [1, 1, 1]})
    found.load({"oid": [1, 2, 3], "time": [4, 4, 4], "op": [-1, -1, -1]})
    assert found.lifespans(2)["start"].to_pylist() == [1, 3]
    assert sorted(found.snapshot(4)["oid"].to_pylist()) == [1, 3]
    assert found.verify() == []
