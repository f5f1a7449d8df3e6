"""How fast does a set over time answer, beside what one would use instead? All in one run.

Uniform-30, and the same with ten times the time and ten times the lifespans. Each contender loads
both, and all take turns at being asked. Every answer is checked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.lives.targets import target
from bench.measure import expect, spread
from bench.race.start import room_in
from bench.sets.rivals import Rival, ours, rivals
from bench.sets.workloads import IDS, Workload, uniform
from wavedex.temporal.methods.catalogue import DEFAULT

Result = dict[str, Any]
HISTORIES = {"1": 1, "10": 10}
"""How many times as long histories are, by name."""
ROUNDS = 5
SINGLES, SINGLES_SLOW = 20_000, 200
"""Single questions in a round; of what takes longer than `SLOW_S` for one, so many."""
SLOW_S = 5e-5
BATCH = 240_000
SNAPSHOTS = 20
TRIED = 100
"""Answers that are looked at before anything is timed."""
LMDB_MOST, SQLITE_MOST, GROWTH_MOST = 2.0, 0.5, 1.15
MANY_LEAST = {"1": 6.0, "10": 4.5}
"""Millions a second."""
SNAPSHOT_MOST_MS, SNAPSHOT_GROWTH_MOST = 0.5, 1.3
LOAD_MOST, BYTES_MOST = 0.7, 2.0


def measure(quick: bool, seed: int, folder: Path) -> Result:
    """All contenders, for both histories."""
    kinds = [ours(DEFAULT), ours("mvbt"), *rivals()]
    ids, batch = (200, 5_000) if quick else (IDS, BATCH)
    found: list[Result] = []
    for name, times in HISTORIES.items():
        work = uniform(30, ids=ids, times=times, seed=seed)
        _ = work.changes
        settings = {"loads": 0 if quick or times > 1 else 3, "rounds": 1 if quick else ROUNDS,
                    "batch": batch, "singles": 200 if quick else SINGLES, "seed": seed}  # fmt: skip
        for each in _of_history(work, kinds, settings, folder):
            found.append({"history": name, "lifespans": len(work), **each})
    names = [kind.name for kind in kinds]
    left_out = ["rtree, which is not among what this project needs"]
    if "PostgreSQL" not in names:
        left_out.append("PostgreSQL, which is not installed")
    return {"speed": found, "left_out": left_out, "targets": judge(found)}


@contextmanager
def _loaded(kind: type[Rival], work: Workload, folder: Path) -> Iterator[tuple[Rival, Result]]:
    """A contender that has a history, and how long it took to take it in."""
    with room_in(folder) as room:
        each = kind(room)
        try:
            os.sync()
            cpu, begun = time.process_time(), time.perf_counter()
            each.load(work.changes)
            took = time.perf_counter() - begun, time.process_time() - cpu
            yield each, {"load_s": took[0], "load_cpu_s": took[1], "bytes": each.bytes()}
        finally:
            each.close()


def _of_history(
    work: Workload, kinds: Sequence[type[Rival]], settings: Result, folder: Path
) -> Iterator[Result]:
    warm = uniform(30, ids=50, seed=settings["seed"])
    for kind in kinds:
        with _loaded(kind, warm, folder) as (each, _):
            _check(each, warm, settings["seed"])
    loads: dict[str, list[Result]] = {kind.name: [] for kind in kinds}
    for _ in range(settings["loads"]):
        for kind in kinds:
            with _loaded(kind, work, folder) as (_, took):
                loads[kind.name].append(took)
    for kind in kinds:
        # Alone, so that no other is in the way of its memory.
        with _loaded(kind, work, folder) as (each, took):
            loads[kind.name].append(took)
            _check(each, work, settings["seed"])
            asked = _asked(each, work, settings)
        several = loads[kind.name]
        yield {
            "contender": kind.name,
            "load_s": spread([one["load_s"] for one in several]),
            "load_cpu_s": spread([one["load_cpu_s"] for one in several]),
            "bytes_a_lifespan": several[-1]["bytes"] / len(work),
            **asked,
        }


def _check(each: Rival, work: Workload, seed: int) -> None:
    """See that a contender answers rightly, in all ways."""
    oids, times = work.questions(seed)
    right = work.contains(oids, times)
    expect(bool((each.contains_many(oids, times) == right).all()), f"many of {each.name}")
    ask = each.ask()
    some = zip(oids[:TRIED].tolist(), times[:TRIED].tolist(), right[:TRIED].tolist(), strict=True)
    expect(all(bool(ask(oid, at)) == there for oid, at, there in some), f"ones of {each.name}")
    for at in (1, work.maxtime // 3, work.maxtime):
        found = np.sort(np.asarray(each.snapshot(at)))
        expect(np.array_equal(found, work.snapshot(at)), f"a snapshot of {each.name}")


def _asked(each: Rival, work: Workload, settings: Result) -> Result:
    """Times of questions: one, many, and a snapshot."""
    random = np.random.default_rng([settings["seed"], 7])
    known = np.unique(work.ids)
    oids = known[random.integers(0, len(known), settings["batch"])]
    times = random.integers(1, work.maxtime + 1, len(oids))
    right = work.contains(oids, times)
    ask = each.ask()
    cost = _seconds(lambda: ask(int(oids[0]), int(times[0])))
    count = settings["singles"] if cost < SLOW_S else SINGLES_SLOW
    one: list[float] = []
    many: list[float] = []
    cpus: list[float] = []
    snapshots: list[float] = []
    for lap in range(settings["rounds"]):
        here = slice(lap * count, (lap + 1) * count)
        one.append(_median_us(ask, oids[here].tolist(), times[here].tolist(), right[here].tolist()))
        cpu, begun = time.process_time(), time.perf_counter()
        found = each.contains_many(oids, times)
        many.append((time.perf_counter() - begun) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e9 / len(oids))
        expect(bool((found == right).all()), f"many of {each.name}")
        at = random.integers(1, work.maxtime + 1, SNAPSHOTS).tolist()
        laps = [_seconds(lambda at=at: each.snapshot(at)) * 1e3 for at in at]
        snapshots.append(median(laps))
    return {
        "one_us": spread(one),
        "many_ms": spread(many),
        "many_cpu_ns": spread(cpus),
        "many_m_s": len(oids) / median(many) / 1e3,
        "snapshot_ms": spread(snapshots),
    }


def _seconds(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _median_us(
    ask: Callable[[int, int], Any], oids: list[int], times: list[int], right: list[bool]
) -> float:
    """The median time of one question, each timed by itself."""
    now = time.perf_counter_ns
    laps, found = [], []
    for oid, at in zip(oids, times, strict=True):
        begun = now()
        answer = ask(oid, at)
        laps.append(now() - begun)
        found.append(bool(answer))
    expect(found == right, "single questions")
    return median(laps) / 1e3


# -- beside the targets ----------------------------------------------------------------------------


def judge(found: Sequence[Result]) -> list[Result]:
    """What the default method should reach."""
    by = {(each["history"], each["contender"]): each for each in found}
    targets = []

    def middle(history: str, contender: str, what: str) -> float:
        return float(by[history, contender][what]["median"])

    for history in HISTORIES:
        said = f"history x{history}"
        one = middle(history, DEFAULT, "one_us")
        for rival, most in (("LMDB", LMDB_MOST), ("SQLite", SQLITE_MOST)):
            ratio = one / middle(history, rival, "one_us")
            targets.append(_at_most(f"one question to {rival}, {said}", ratio, most))
        rates = {
            each["contender"]: each["many_m_s"] for each in found if each["history"] == history
        }
        own = rates.pop(DEFAULT)
        rates.pop("mvbt")
        ratio = own / max(rates.values())
        targets.append(_at_least(f"many questions to the best other, {said}", ratio, 1))
        least = MANY_LEAST[history]
        targets.append(_at_least(f"million questions a second, {said}", own, least))
        ratio = middle(history, DEFAULT, "load_s") / middle(history, "SQLite", "load_s")
        targets.append(_at_most(f"load to SQLite, {said}", ratio, LOAD_MOST))
        ratio = by[history, DEFAULT]["bytes_a_lifespan"] / by[history, "NumPy"]["bytes_a_lifespan"]
        targets.append(_at_most(f"bytes to the sorted arrays, {said}", ratio, BYTES_MOST))
    first = middle("1", DEFAULT, "snapshot_ms")
    targets.append(_at_most("ms of a snapshot", first, SNAPSHOT_MOST_MS))
    for what, name, most in (
        ("one_us", "one question", GROWTH_MOST),
        ("snapshot_ms", "a snapshot", SNAPSHOT_GROWTH_MOST),
    ):
        ratio = middle("10", DEFAULT, what) / middle("1", DEFAULT, what)
        targets.append(_at_most(f"{name} with ten times the history", ratio, most))
    return targets


def _at_most(name: str, measured: float, most: float) -> Result:
    return target(name, measured, f"at most {most:g}", measured <= most)


def _at_least(name: str, measured: float, least: float) -> Result:
    return target(name, measured, f"at least {least:g}", measured >= least)
