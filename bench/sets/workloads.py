"""The paper's workloads (004, Section 5.2): lifespans of ids, and questions at random times.

Each begins at time 1 and ends at `MAXTIME`. How many lifespans an id has follows a law; so many
times are drawn for their beginnings, and each ends somewhere before the next or with it. A last one
goes on if it begins shortly before the end: so the paper's numbers of changes come out. `Poisson`
draws lengths and gaps instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Random = np.random.Generator

MAXTIME = 50_000
OPEN = np.int64(1 << 40)
"""The end of a lifespan that goes on."""
STAYS = 1_000
"""A last lifespan goes on if it begins in the last so many instants."""
IDS = 8_000
ASKED = (10, 20)
"""How many questions there are for an id: from the one to less than the other."""
LENGTH, GAP, FIRST = 1_100, 500, 500
"""Of the Poisson workload: mean length and mean gap, and by when the first ones have begun."""


@dataclass(frozen=True)
class Workload:
    """The lifespans of a set, by id and then by beginning."""

    ids: I64
    starts: I64
    ends: I64
    """`OPEN` where they go on."""
    maxtime: int

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def changes(self) -> pa.Table:
        """Additions and removals in the order of their times, removals first."""
        closed = self.ends < OPEN
        ids = np.concatenate([self.ids, self.ids[closed]])
        times = np.concatenate([self.starts, self.ends[closed]])
        signs = np.ones(len(ids), np.int8)
        signs[len(self) :] = -1
        order = np.lexsort((signs, times))
        return pa.table({"oid": ids[order], "time": times[order], "op": signs[order]})

    def questions(self, seed: int) -> tuple[I64, I64]:
        """Ids and times, in no order."""
        random = np.random.default_rng([seed, len(self)])
        known = np.unique(self.ids)
        oids = np.repeat(known, random.integers(*ASKED, len(known)))
        return random.permutation(oids), random.integers(1, self.maxtime + 1, len(oids))

    def contains(self, oids: I64, times: I64) -> Bools:
        """The right answers, from the lifespans."""
        known, owners = np.unique(self.ids, return_inverse=True)
        ranks = np.minimum(np.searchsorted(known, oids), len(known) - 1)
        scale = self.maxtime + 2
        keys = owners * scale + self.starts
        places = np.searchsorted(keys, ranks * scale + times, side="right") - 1
        right = (places >= 0) & (self.ids[places] == oids)
        return right & (times < self.ends[places])

    def snapshot(self, time: int) -> I64:
        """Who is there at a time, in order."""
        return np.sort(self.ids[(self.starts <= time) & (time < self.ends)])


def uniform(
    mean: int, ids: int = IDS, is_spread: bool = False, times: int = 1, seed: int = 1
) -> Workload:
    """From mean - 10 to mean + 10 lifespans an id, in `times` the time as many times."""

    def law(random: Random) -> I64:
        return random.integers(times * (mean - 10), times * (mean + 10), ids)

    return drawn(law, is_spread, times * MAXTIME, [seed, mean, ids])


def exponential(is_spread: bool = False, ids: int = IDS, seed: int = 1) -> Workload:
    """A mean of 30 lifespans an id, exponentially."""
    return drawn(lambda random: _whole(random.exponential(30, ids)), is_spread, MAXTIME, [seed, 2])


def step(is_spread: bool = False, ids: int = IDS, seed: int = 1) -> Workload:
    """4 lifespans for each of a sixteenth of the ids, 8 for the next, and so on to 64."""
    return drawn(lambda _: 4 * (1 + 16 * np.arange(ids) // ids), is_spread, MAXTIME, [seed, 3])


def normal(is_spread: bool = False, ids: int = IDS, seed: int = 1) -> Workload:
    """A mean of 30 lifespans an id and a variance of 25, normally."""
    return drawn(lambda random: _whole(random.normal(30, 5, ids)), is_spread, MAXTIME, [seed, 4])


def poisson(is_spread: bool = False, ids: int = IDS, seed: int = 1) -> Workload:
    """Lengths and gaps of means of 1,100 and 500, the first beginnings up to 500."""
    random = np.random.default_rng([seed, 5])
    most = 2 * MAXTIME // (LENGTH + GAP)
    lengths = np.maximum(random.poisson(LENGTH, (ids, most)), 1)
    gaps = random.poisson(GAP, (ids, most))
    gaps[:, 0] = random.integers(1, FIRST + 1, ids)
    ends = (lengths + gaps).cumsum(axis=1)
    starts = ends - lengths
    inside = starts <= MAXTIME
    oids = np.repeat(np.arange(ids), inside.sum(axis=1))
    ends = np.where(ends <= MAXTIME, ends, OPEN)
    return _named(Workload(oids, starts[inside], ends[inside], MAXTIME), is_spread)


def drawn(law: Callable[[Random], I64], is_spread: bool, maxtime: int, seed: list[int]) -> Workload:
    """As many lifespans of each id as a law says."""
    random = np.random.default_rng(seed)
    counts = np.maximum(law(random), 0)
    oids = np.repeat(np.arange(len(counts)), counts)
    starts = _beginnings(oids, maxtime, random)
    is_last = np.append(oids[1:] != oids[:-1], True)
    latest = np.append(starts[1:], 0)
    latest[is_last] = maxtime
    stays = is_last & (starts > maxtime - STAYS)
    ends = random.integers(starts + 1, np.maximum(latest, starts + 1), endpoint=True)
    return _named(Workload(oids, starts, np.where(stays, OPEN, ends), maxtime), is_spread)


def _beginnings(oids: I64, maxtime: int, random: Random) -> I64:
    """Times for each id, all different, in order. What is drawn twice is drawn again."""
    keys = oids * (maxtime + 1) + random.integers(1, maxtime + 1, len(oids))
    while True:
        keys.sort()
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if not len(again):
            return keys % (maxtime + 1)
        keys[again] += random.integers(1, maxtime + 1, len(again)) - keys[again] % (maxtime + 1)


def _whole(values: npt.NDArray[np.float64]) -> I64:
    return values.round().astype(np.int64)


def _named(work: Workload, is_spread: bool) -> Workload:
    """The same with other ids, if they are to be spread."""
    if not is_spread:
        return work
    ids = spread(work.ids)
    order = np.lexsort((work.starts, ids))
    return Workload(ids[order], work.starts[order], work.ends[order], work.maxtime)


def spread(numbers: I64) -> I64:
    """Numbers far apart in the place of small ones, different for different ones (SplitMix64)."""
    mixed = numbers.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)
