"""Set-valued indexes (003, Section 7.2): upkeep, histograms and intersections.

Contenders of a setting take turns, and all of them are given one basic window at a time: none of
them can take in many together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import numpy as np
import pyarrow as pa

from bench.measure import expect
from bench.windows.paper import (
    BASICS,
    GROUPS,
    Result,
    Setting,
    basics_of,
    check_histogram,
    claim,
    groups_of,
    newest,
    pushed,
)
from wavedex.online import Window
from wavedex.online.queries import Intersection

INDEXES = ("counts", "tree", "hash", "unsorted-hash", "list", "none")
STORAGES = ("list", "aggr", "hash")
ASKED = ("counts", "tree", "hash", "list", "none")
"""Of these there are histograms after each basic window."""
MOST, MOST_MERGED = 100, 10
"""How many histograms are taken at most, and how many where pieces are merged."""
FAR, AHEAD = 2.0, 1.0
"""What "far ahead" and "ahead" are as ratios, at least."""


def kept_of(setting: Setting, storage: str, index: str) -> Result:
    """How a window keeps its keys. A storage of groups has their number in its name."""
    if index == "group":
        groups = groups_of(setting, int(storage.removeprefix("group ")))
        return {"storage": {"src": "group"}, "index": {"src": "group"}, "groups": groups}
    return {
        "storage": {"src": storage},
        **({} if index == "none" else {"index": {"src": index}}),
    }


def contenders() -> list[tuple[str, str]]:
    """Every storage with every index that it goes with."""
    pairs = [(storage, index) for storage in STORAGES for index in INDEXES]
    return [*pairs, *((f"group {count}", "group") for count in GROUPS)]


def measure_indexes(setting: Setting, repeats: int, seed: int) -> list[Result]:
    """The upkeep of each (Figures 7 and 8), and histograms after each basic window (Figure 9)."""
    upkeep: dict[tuple[str, str], list[float]] = {each: [] for each in contenders()}
    asked: dict[tuple[str, str], list[float]] = {each: [] for each in contenders()}
    steps: dict[tuple[str, str], Result] = {}
    for turn in range(repeats):
        for storage, index in contenders():
            if turn and (index == "list" or (storage != "list" and turn > 2)):
                continue  # Slow ones.
            pair = storage, index
            window = setting.window(**kept_of(setting, storage, index))
            took, steps[pair] = _upkeep(setting, window, seed)
            upkeep[pair].append(took)
            if index in ASKED:
                asked[pair].append(_histograms(setting, window, seed))
    return [
        {
            **setting.named, "storage": storage, "index": index, "steps": steps[storage, index],
            "seconds": median(upkeep[storage, index]),
            "histogram": median(asked[storage, index]) if index in ASKED else None,
        }
        for storage, index in contenders()
    ]  # fmt: skip


def _upkeep(setting: Setting, window: Window, seed: int) -> tuple[float, Result]:
    """Seconds for as many rows as fill a window that is full, and the steps of one."""
    stream = setting.stream(3 * setting.rows, seed)
    window.push(stream.slice(0, setting.rows))
    before = window.steps.get("src", {})
    took = pushed(window, basics_of(setting, stream.slice(0, 2 * setting.rows), setting.rows))
    after = window.steps.get("src", {})
    return took, {name: (after[name] - before.get(name, 0)) / setting.rows for name in after}


def _histograms(setting: Setting, window: Window, seed: int) -> float:
    """Seconds for a basic window with a histogram after it, upkeep included."""
    stream = setting.stream(3 * setting.rows, seed)
    attribute = window.attribute("src")
    is_merged = attribute is None or attribute.index is None
    pieces = basics_of(setting, stream, 2 * setting.rows)[: MOST_MERGED if is_merged else MOST]
    took = pushed(window, pieces, lambda w: w.histogram("src"))
    check_histogram(window, stream.slice(0, 2 * setting.rows + len(pieces) * setting.basic))
    return took / len(pieces)


# -- intersections ---------------------------------------------------------------------------------


def measure_intersections(setting: Setting, repeats: int, seed: int) -> list[Result]:
    """Two windows that share an index: a basic window of both, then what both have (Figure 10)."""
    kinds = {"tree": "list", "hash": "list", **{f"group {count}": "group" for count in GROUPS}}
    streams = [setting.stream(2 * setting.rows, each) for each in (seed, seed + 1)]
    pieces = [basics_of(setting, each, setting.rows)[:MOST] for each in streams]
    laps: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind, storage in kinds.items():
            is_grouped = storage == "group"
            index = "group" if is_grouped else kind
            kept = kept_of(setting, kind if is_grouped else storage, index)
            one = setting.window(**kept)
            theirs = {"storage": kept["storage"], "index": {"src": one.index("src")}}
            other = setting.window(**theirs)
            for window, stream in zip((one, other), streams, strict=True):
                window.push(stream.slice(0, setting.rows))
            query = Intersection("src", other, groups=is_grouped)
            one.ask(query)
            begun = time.perf_counter()
            for mine, others in zip(*pieces, strict=True):
                one.push(mine)
                other.push(others)
                found = one.ask(query)
            laps[kind].append((time.perf_counter() - begun) / len(pieces[0]))
            rows = setting.rows + len(pieces[0]) * setting.basic
            groups = kept["groups"]["src"] if is_grouped else None
            _check_intersection(found, (one, other), [s.slice(0, rows) for s in streams], groups)
    return [{**setting.named, "kind": kind, "seconds": median(each)} for kind, each in laps.items()]


def _check_intersection(
    found: pa.RecordBatch,
    windows: Sequence[Window],
    streams: Sequence[pa.RecordBatch],
    groups: list[int] | None,
) -> None:
    """See that values, or ranges, are those of both windows, with their counts."""
    counts = []
    for window, stream in zip(windows, streams, strict=True):
        keys = newest(window, stream)
        counts.append(np.bincount(keys if groups is None else np.digitize(keys, groups)))
    size = min(len(each) for each in counts)
    one, other = (each[:size] for each in counts)
    chosen = np.flatnonzero((one > 0) & (other > 0))
    if groups is None:
        right = chosen.tolist()
    else:
        ends = [None, *groups, None]
        right = [{"from": ends[place], "below": ends[place + 1]} for place in chosen]
    expect(found.column(0).to_pylist() == right, "values of an intersection")
    for place, each in ((1, one), (2, other)):
        expect(np.array_equal(found.column(place), each[chosen]), "counts of an intersection")


# -- what the paper says ---------------------------------------------------------------------------


def judge(found: list[Result], intersections: list[Result]) -> list[Result]:
    """T and H far ahead of L, T ahead of no index, LIST of AGGR where values differ, G of T."""
    targets, asked = [], {}
    for setting in settings_of(found):
        here = [each for each in found if setting.named.items() <= each.items()]
        seconds = {(each["storage"], each["index"]): each["seconds"] for each in here}
        histogram = {(each["storage"], each["index"]): each["histogram"] for each in here}
        asked[setting] = histogram
        both = {
            each["kind"]: each["seconds"]
            for each in intersections
            if setting.named.items() <= each.items()
        }
        for index in ("tree", "hash", "counts"):
            ratio = seconds["list", "list"] / seconds["list", index]
            targets.append(claim(setting, "upkeep", f"L to {index}", ratio, FAR))
        if setting.values == 10_000 and setting.law == "uniform":
            ratio = seconds["aggr", "tree"] / seconds["list", "tree"]
            targets.append(claim(setting, "upkeep", "AGGR to LIST", ratio, AHEAD))
        for count in GROUPS:
            ratio = seconds["list", "tree"] / seconds[f"group {count}", "group"]
            targets.append(claim(setting, "upkeep", f"T to G {count}", ratio, AHEAD))
        for count in GROUPS:
            ratio = both["tree"] / both[f"group {count}"]
            name = f"intersection, T to G {count}"
            targets.append(claim(setting, "upkeep", name, ratio, AHEAD))
        for storage in STORAGES:
            for index, said in (("list", "L"), ("none", "no index")):
                ratio = histogram[storage, index] / histogram[storage, "tree"]
                name = f"{storage.upper()}, {said} to T"
                least = FAR if storage == "list" else AHEAD  # Others take long to store a row.
                targets.append(claim(setting, "histograms", name, ratio, least))
    return [*targets, *_judge_trends(asked)]


def _judge_trends(asked: dict[Setting, Result]) -> list[Result]:
    """With more basic windows, histograms of as many rows take longer with LIST only."""
    targets = []
    for few in asked:
        many = Setting(few.values, BASICS[-1], few.law)
        if few.basics != BASICS[0] or many not in asked:
            continue
        for storage, is_rising in (("list", True), ("aggr", False), ("hash", False)):
            totals = [asked[each][storage, "tree"] * each.basics for each in (few, many)]
            ratio = totals[1] / totals[0] if is_rising else totals[0] / totals[1]
            said = "500 to 50 windows" if is_rising else "50 to 500 windows"
            targets.append(claim(few, "trends", f"{storage.upper()}, {said}", ratio, AHEAD))
    return targets


def settings_of(found: Sequence[Result]) -> list[Setting]:
    """The settings of some results, in order."""
    named = {(each["values"], each["basics"], each["law"]) for each in found}
    return [Setting(*each) for each in sorted(named)]
