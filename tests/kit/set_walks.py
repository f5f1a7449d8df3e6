"""Random changes of a set, for methods that keep its history, and the oracle that judges them."""

from __future__ import annotations

import numpy as np

from wavedex.temporal.alive import Alive
from wavedex.temporal.changes import NO_POINTER, NOW, Changes
from wavedex.temporal.methods.contract import Method
from wavedex.testing.lifespans import Members


class Walk:
    """A method and an oracle that are told of the same changes."""

    def __init__(self, method: Method, seed: int, ids: int, carries: bool = False) -> None:
        self.method, self.members, self.alive = method, Members(), Alive()
        self.rng = np.random.default_rng(seed)
        self.universe = np.unique(self.rng.integers(-(2**40), 2**40, ids))
        self.version = 0
        self.carries = carries
        self._next = 0

    def step(self, count: int, growth: float = 0.5, instants: float = 0.7) -> None:
        """Change as many ids; with probability `growth` one that is there is added, not removed."""
        made = []
        there = [oid for oid in self.universe.tolist() if self.members.is_alive(oid)]
        away = [oid for oid in self.universe.tolist() if not self.members.is_alive(oid)]
        for _ in range(count):
            if self.rng.random() < instants:
                self.version += int(self.rng.integers(1, 3))
            adds = bool(away) and (not there or self.rng.random() < growth)
            pool, other = (away, there) if adds else (there, away)
            place = int(self.rng.integers(len(pool)))
            oid = pool[place]
            pool[place] = pool[-1]
            pool.pop()
            other.append(oid)
            pointer = NO_POINTER
            if adds:
                if self.carries:
                    pointer, self._next = self._next, self._next + 1
                self.members.add(oid, self.version, pointer)
            else:
                self.members.remove(oid, self.version)
            made.append((oid, self.version, 1 if adds else -1, pointer))
        self.apply(made)

    def apply(self, made: list[tuple[int, int, int, int]]) -> None:
        ids = np.array([each[0] for each in made], np.int64)
        signs = np.array([each[2] for each in made], np.int8)
        entries, bad = self.alive.take(ids, signs)
        assert bad < 0
        versions = np.array([each[1] for each in made], np.int32)
        pointers = np.array([each[3] for each in made], np.int32)
        self.method.apply(Changes(ids, versions, signs, entries, pointers))

    def check(self, queries: int = 200) -> None:
        """Hold every kind of answer to the oracle."""
        method, members = self.method, self.members
        findings = [*method.findings()]
        assert findings == []
        ids = self.rng.choice(self.universe, queries)
        versions = self.rng.integers(-1, self.version + 3, queries).astype(np.int32)
        asked = [*zip(ids.tolist(), versions.tolist(), strict=True)]
        expected = [
            members.carried(oid, at) if members.contains(oid, at) else -2 for oid, at in asked
        ]
        assert method.find_many(ids, versions).tolist() == expected
        assert [method.find(oid, at) for oid, at in asked] == expected
        for at in {-1, 0, self.version, self.version + 5, *versions[:8].tolist()}:
            found, pointers = method.alive_at(at)
            there = members.snapshot(at)
            assert len(found) == len(there)
            assert set(found.tolist()) == there
            for oid, pointer in zip(found.tolist(), pointers.tolist(), strict=True):
                assert members.carried(oid, at) == pointer
            low, high = sorted(self.rng.choice(self.universe, 2).tolist())
            inside, _ = method.between(low, high, at)
            assert inside.tolist() == sorted(oid for oid in there if low <= oid <= high)
        for oid, at in asked[:40]:
            until = at + int(self.rng.integers(0, 20))
            assert method.was_alive(oid, at, until) == members.was_there(oid, at, until)
            spans = method.lifespans(oid)
            assert _pairs(spans) == members.lifespans(oid)
        everything = method.everything()
        expected_all = [
            (oid, *span) for oid in sorted(members.ids) for span in members.lifespans(oid)
        ]
        found_all = [
            (oid, *span)
            for oid, span in zip(everything.ids.tolist(), _pairs(everything), strict=True)
        ]
        assert found_all == expected_all


def _pairs(spans) -> list[tuple[int, int | None]]:
    ends = [None if end == NOW else end for end in spans.ends.tolist()]
    return [*zip(spans.starts.tolist(), ends, strict=True)]
