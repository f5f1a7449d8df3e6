"""Probes of a grid beside those of what it is compared with.

And beside itself with rows that were retracted. Both indexes are asked in turn, some hundred keys
at a time, so that what else the machine does meets both alike; a ratio is that of the medians of
one round. How full the hash table of a part is, between three eighths and three quarters, depends
on where its number of keys lies between two powers of two, and that makes a probe for a key that is
not there up to a fifth faster or slower. The sub-indexes of a grid are of one size and those of the
others of many, so a single number of rows would be good luck for one of them: several are measured,
spread evenly over a factor of two, and the ratio is the median over all rounds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from bench.lives.papers import WINDOW_REFRESHES, settle
from bench.lives.rows import Lives
from bench.lives.targets import target
from bench.lives.watched import WatchedLife
from bench.measure import expect, spread
from bench.race.start import room_in

Result = dict[str, Any]
PAIRS = (("rebuild", "r-ins"), ("no-rebuild", "d-ins"))
RATIO_MOST = 1.1
SIZES = (1.0, 2**0.25, 2**0.5, 2**0.75)
"""The numbers of rows, to the least of them."""
ROUNDS = 10
KEYS_A_ROUND = 200
REFRESHES = 3
RETRACTED = 0.01
HIDDEN_MOST = 1.2
JUDGED = "rebuild"
"""What does not recluster is shown beside its like, not judged: it copies what a probe finds."""


def filled(folder: Path, method: str, n: int, settings: Result, name: str) -> WatchedLife:
    """A full window that was refreshed a few times."""
    slots = WINDOW_REFRESHES
    lives = Lives(settings["keys"], slots, max(1, settings["rows"] // slots), settings["seed"])
    watched = WatchedLife(folder / name, lives, method, n)
    first = pa.concat_tables([lives.slot(slot) for slot in range(1, slots + 1)])
    watched.refresh(slots, first)
    for slot in range(slots + 1, slots + REFRESHES + 1):
        watched.refresh(slot, lives.slot(slot))
    settle()
    return watched


def measure_pair(
    folder: Path, pair: tuple[str, str], n: int, settings: Result, sizes: Sequence[float]
) -> Result:
    """One method and the other, with as many sub-indexes, over several numbers of rows."""
    rounds: list[tuple[float, float]] = []
    for size in sizes:
        with room_in(folder) as room:
            sized = {**settings, "rows": round(settings["rows"] * size)}
            rounds += measure_once(room, pair, n, sized)
    return {"methods": list(pair), "n": n, **settings, "sizes": len(sizes), **summed_up(rounds)}


def measure_once(
    folder: Path, pair: tuple[str, str], n: int, settings: Result
) -> list[tuple[float, float]]:
    """The medians of each round, with checked answers."""
    one, other = (filled(folder, method, n, settings, f"{method}.wx") for method in pair)
    answers = one.lives.answers((WINDOW_REFRESHES + REFRESHES) * one.lives.width)
    keys = one.lives.draw(KEYS_A_ROUND, 0)
    for key in keys[:20]:
        answers.check_key(key, one.idx.probe(key))
        answers.check_key(key, other.idx.probe(key))
    counts = answers.counts(keys)
    expect([one.idx.probe(key).num_rows for key in keys] == counts, "probe")
    expect([other.idx.probe(key).num_rows for key in keys] == counts, "probe")
    return in_turn(one.idx.probe, other.idx.probe, keys)


def in_turn(
    one: Callable[[int], Any], other: Callable[[int], Any], keys: Sequence[int]
) -> list[tuple[float, float]]:
    """The medians of each round in microseconds, of one and of the other; who begins changes."""
    rounds: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        if number % 2:
            mine, theirs = median(_laps(one, keys)), median(_laps(other, keys))
        else:
            theirs, mine = median(_laps(other, keys)), median(_laps(one, keys))
        rounds.append((mine, theirs))
    return rounds


def summed_up(rounds: Sequence[tuple[float, float]]) -> Result:
    """The medians in microseconds, and of one to the other."""
    return {
        "probe_us": spread([mine for mine, _ in rounds]),
        "other_us": spread([theirs for _, theirs in rounds]),
        "ratio": spread([mine / theirs for mine, theirs in rounds]),
    }


def _laps(call: Callable[[int], Any], keys: Sequence[int]) -> list[float]:
    laps = []
    for key in keys:
        begun = time.perf_counter()
        call(key)
        laps.append((time.perf_counter() - begun) * 1e6)
    return laps


def measure_retractions(folder: Path, n: int, settings: Result) -> Result:
    """A window of which one row in a hundred was retracted, beside the same with all rows."""
    whole, less = (
        filled(folder, "rebuild", n, settings, f"{name}.wx") for name in ("whole", "less")
    )
    lives, slot = less.lives, WINDOW_REFRESHES + REFRESHES
    now = slot * lives.width
    keys, born, until = lives.live(now)
    random = np.random.default_rng([settings["seed"], 3])
    gone = np.sort(random.choice(len(keys), round(RETRACTED * len(keys)), replace=False))
    begun = time.perf_counter()
    less.idx.retract(now, lives._table(keys[gone], born[gone], until[gone]))
    retract_s = time.perf_counter() - begun
    settle()
    asked = lives.draw(KEYS_A_ROUND, 0)
    doomed = Counter(keys[gone].tolist())
    for key in asked:
        left = less.idx.probe(key).num_rows
        expect(left == whole.idx.probe(key).num_rows - doomed[key], "probe after retraction")
    return {
        "n": n,
        **settings,
        "retracted_rows": len(gone),
        "retract_s": retract_s,
        **summed_up(in_turn(less.idx.probe, whole.idx.probe, asked)),
    }


def judge(pairs: Sequence[Result], retractions: Sequence[Result]) -> list[Result]:
    judged = []
    for each in pairs:
        one, other = each["methods"]
        ratio = each["ratio"]["median"]
        if one == JUDGED:
            name = f"a probe of `{one}` to `{other}`, n = {each['n']}, {each['keys']:,} keys"
            said = f"at most {RATIO_MOST}"
            judged.append(target(name, ratio, said, ratio <= RATIO_MOST))
    for each in retractions:
        ratio = each["ratio"]["median"]
        name = f"a probe with hidden rows to one without, n = {each['n']}, {each['keys']:,} keys"
        judged.append(target(name, ratio, f"at most {HIDDEN_MOST}", ratio <= HIDDEN_MOST))
    return judged
