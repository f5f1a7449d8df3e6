"""Rings (003, Section 7.3): what goes in and out of them, and rows in the order of a column."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median

import numpy as np

from bench.measure import expect
from bench.windows.indexes import AHEAD, FAR, settings_of
from bench.windows.paper import BASICS, Result, Setting, basics_of, claim, newest
from wavedex.online.indexes.catalogue import index_of
from wavedex.online.queries import Ordered
from wavedex.online.rings.catalogue import ring_of
from wavedex.online.rows import capacity_for

RINGS = ("numbered", "dirty-bits", "backward", "auxiliary", "simple")
ORDERED = RINGS[:4]
"""Of these, rows are asked for in order; the paper left the simple ring out too."""
REPEATED = 1.5
"""How often a basic window should have a value for `backward` and `auxiliary` to save work."""
LEVEL = 0.9
"""Where most of the time goes to the answer, which is much the same for all rings."""


def measure_rings(setting: Setting, repeats: int, seed: int) -> list[Result]:
    """Linking and letting go of 100,000 rows, apart, over a tree (Figure 11 a)."""
    return [
        {**setting.named, "ring": kind,
         **_ring_times(setting, kind, min(repeats, 2) if kind in RINGS[3:] else repeats, seed)}
        for kind in RINGS
    ]  # fmt: skip


def _ring_times(setting: Setting, kind: str, repeats: int, seed: int) -> Result:
    keys = setting.stream(2 * setting.rows, seed).column(0).to_numpy()
    inserting, deleting = [], []
    for _ in range(repeats):
        index = index_of("tree")
        ring = ring_of(kind, index, capacity_for(setting.rows + setting.basic))
        laps = [0.0, 0.0]
        for start in range(0, len(keys), setting.basic):
            is_measured = start >= setting.rows
            begun = time.perf_counter()
            nodes = index.locate(keys[start : start + setting.basic])
            ring.link(nodes)
            linked = time.perf_counter()
            stop = start + setting.basic
            ring.slide(stop, max(stop - setting.rows, 0))
            if is_measured:
                laps[0] += linked - begun
                laps[1] += time.perf_counter() - linked
        inserting.append(laps[0])
        deleting.append(laps[1])
    nodes = index.find(keys[-1:])
    counts, rows = ring.rows_of(nodes)
    right = np.flatnonzero(keys[-setting.rows :] == keys[-1])[::-1] + setting.rows
    expect(np.array_equal(rows, right) and counts[0] == len(right), f"the ring {kind}")
    return {"inserting": median(inserting), "deleting": median(deleting)}


def measure_ordered(setting: Setting, rounds: int, seed: int) -> list[Result]:
    """A basic window, then all rows in the order of a column (Figure 11 b and c), in turns."""
    stream = setting.stream(2 * setting.rows, seed)
    pieces = basics_of(setting, stream, setting.rows)[:rounds]
    query = Ordered("src", ["bytes"])
    windows = {}
    for kind in ORDERED:
        window = windows[kind] = setting.window(index={"src": "tree"}, ring={"src": kind})
        window.push(stream.slice(0, setting.rows))
        window.ask(query)
    upkeep: dict[str, list[float]] = {kind: [] for kind in ORDERED}
    both: dict[str, list[float]] = {kind: [] for kind in ORDERED}
    for piece in pieces:
        for kind, window in windows.items():
            begun = time.perf_counter()
            window.push(piece)
            taken = time.perf_counter()
            window.ask(query)
            both[kind].append(time.perf_counter() - begun)
            upkeep[kind].append(taken - begun)
    seen = stream.slice(0, setting.rows + len(pieces) * setting.basic)
    for kind, window in windows.items():
        order = np.argsort(newest(window, seen), kind="stable")
        right = seen.column(1).to_numpy()[-len(window) :][order]
        expect(np.array_equal(window.ask(query).column(0), right), f"rows in order by {kind}")
    return [
        {**setting.named, "ring": kind, "upkeep": median(upkeep[kind]),
         "seconds": median(both[kind])}
        for kind in ORDERED
    ]  # fmt: skip


def judge(found: list[Result], ordered: list[Result]) -> list[Result]:
    """Whether rings come in the order that the paper has, with ours before."""
    targets, asked = [], {}
    for setting in settings_of(found):
        here = {each["ring"]: each for each in found if setting.named.items() <= each.items()}
        is_repeated = setting.times >= REPEATED
        for fast, slow in pairwise(ORDERED):
            if slow != "auxiliary" or is_repeated:
                ratio = here[slow]["deleting"] / here[fast]["deleting"]
                targets.append(claim(setting, "rings", f"deleting, {slow} to {fast}", ratio, AHEAD))
        if is_repeated:
            ratio = here["simple"]["inserting"] / here["auxiliary"]["inserting"]
            targets.append(claim(setting, "rings", "inserting, simple to auxiliary", ratio, AHEAD))
        asked[setting] = {
            each["ring"]: each for each in ordered if setting.named.items() <= each.items()
        }
        for fast, slow in pairwise(ORDERED[1:]):
            ratio = asked[setting][slow]["seconds"] / asked[setting][fast]["seconds"]
            targets.append(claim(setting, "rings", f"ordered, {slow} to {fast}", ratio, LEVEL))
    for few, times in asked.items():
        many = asked.get(Setting(few.values, BASICS[-1], few.law))
        if few.basics == BASICS[0] and many is not None:
            ratio = many["dirty-bits"]["seconds"] / times["dirty-bits"]["seconds"]
            ratio *= BASICS[-1] / BASICS[0]
            targets.append(claim(few, "trends", "ordered rows, 500 to 50 windows", ratio, FAR))
    return targets
