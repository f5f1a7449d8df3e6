"""Do times come in the paper's order? Upkeep of every index, storage and ring, and deletions."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median

import numpy as np

from bench.lives.targets import target
from bench.measure import expect
from bench.windows.paper import GROUPS, Result, Setting, groups_of, upkeep
from wavedex.online.indexes.catalogue import index_of
from wavedex.online.rings.catalogue import ring_of
from wavedex.online.rows import capacity_for

INDEXES = ("counts", "tree", "hash", "unsorted-hash", "list")
STORAGES = ("list", "aggr", "hash")
RINGS = ("numbered", "dirty-bits", "backward", "auxiliary", "simple")


def measure_indexes(setting: Setting, repeats: int, seed: int) -> list[Result]:
    """The upkeep of every index over every storage it goes with (Figures 7 and 8)."""
    found = []
    for storage in STORAGES:
        for index in INDEXES:
            kept = {"storage": {"src": storage}, "index": {"src": index}}
            times = 1 if index == "list" else repeats
            found.append(_named(setting, storage, index, upkeep(setting, kept, times, seed)))
    for count in GROUPS:
        kept = {
            "storage": {"src": "group"},
            "index": {"src": "group"},
            "groups": groups_of(setting, count),
        }
        measured = upkeep(setting, kept, repeats, seed)
        found.append(_named(setting, f"group {count}", "group", measured))
    found.append(_named(setting, "list", "none", upkeep(setting, {}, repeats, seed)))
    return found


def _named(setting: Setting, storage: str, index: str, measured: Result) -> Result:
    return {
        "values": setting.values, "basics": setting.basics, "law": setting.law,
        "storage": storage, "index": index, **measured,
    }  # fmt: skip


def measure_rings(setting: Setting, repeats: int, seed: int) -> list[Result]:
    """Linking and letting go of 100,000 rows, apart, over a tree (Figure 11)."""
    return [
        {"values": setting.values, "basics": setting.basics, "law": setting.law, "ring": kind,
         **_ring_times(setting, kind, 1 if kind in ("simple", "auxiliary") else repeats, seed)}
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


def judge_indexes(found: list[Result]) -> list[Result]:
    """Whether T and H are far ahead of L, LIST of AGGR where values differ, G of T."""
    targets = []
    for setting in sorted({(each["values"], each["basics"], each["law"]) for each in found}):
        seconds = {
            (each["storage"], each["index"]): each["seconds"]
            for each in found
            if (each["values"], each["basics"], each["law"]) == setting
        }
        said = f"{setting[0]:,} values, {setting[1]} basic windows, {setting[2]}"
        for index in ("tree", "hash", "counts"):
            ratio = seconds["list", "list"] / seconds["list", index]
            targets.append(target(f"L to {index}, {said}", ratio, "far above 1", ratio > 2))
        ratio = seconds["aggr", "tree"] / seconds["list", "tree"]
        if setting[0] == 10_000 and setting[2] == "uniform":
            targets.append(target(f"AGGR to LIST, {said}", ratio, "above 1", ratio > 1))
        for count in GROUPS:
            ratio = seconds["list", "tree"] / seconds[f"group {count}", "group"]
            name = f"T to G with {count} groups, {said}"
            targets.append(target(name, ratio, "above 1", ratio > 1))
    return targets


def judge_rings(found: list[Result]) -> list[Result]:
    """Whether deletion comes in the order that the paper has, with ours before."""
    targets = []
    for values, basics, law in sorted({(r["values"], r["basics"], r["law"]) for r in found}):
        here = {
            each["ring"]: each
            for each in found
            if (each["values"], each["basics"], each["law"]) == (values, basics, law)
        }
        if values != 1_000:
            continue
        said = f"{values:,} values, {basics} basic windows, {law}"
        for fast, slow in pairwise(RINGS[:4]):
            ratio = here[slow]["deleting"] / here[fast]["deleting"]
            targets.append(
                target(f"deleting, {slow} to {fast}, {said}", ratio, "at least 1", ratio >= 1)
            )
        aux, simple = (here[ring]["inserting"] for ring in ("auxiliary", "simple"))
        name = f"inserting, simple to auxiliary over T, {said}"
        targets.append(target(name, simple / aux, "above 1", simple > aux))
    return targets
