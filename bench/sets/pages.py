"""How many pages are read, written and kept? The same on every machine, beside the paper's figures.

Each method takes in the paper's workloads, with ids that follow each other and with ids that are
spread far, and is asked the paper's questions. Pages have 25 records. What is in memory is as in
Section 5.1, the upper levels of time-trees too where it is not said that they are on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from bench.measure import expect
from bench.sets.paper import (
    MAIN,
    PAGE_RECORDS,
    SIZES,
    USEFULNESS,
    WORKLOADS,
    Contender,
    Result,
    contenders,
)
from bench.sets.workloads import Workload
from wavedex.temporal import TemporalSet

KINDS = {"consecutive": False, "spread": True}
"""Which ids there are, and whether they are spread."""
READS_MOST, ON_DISK_MOST, ON_DISK_LONG_MOST = 2.2, 2.2, 2.8
LONG = ("uniform-80", "uniform-100")
"""More than 50 lifespans an id."""
TWICE = (1.5, 2.5)
"""What counts as about twice."""
R_INTERVAL = (9, 13)
FAR_MORE = 20
"""Reads a query of R*-trees of points, at least; the paper has 44."""
PAGES_MOST = 1.3
LEVEL, LEVEL_FROM = 1.03, 0.3
"""Reads have levelled off if they are within this of those of all larger u."""
QUICK_IDS = 800


def measure(quick: bool, seed: int) -> Result:
    """All page counts."""
    named = {MAIN: WORKLOADS[MAIN]} if quick else WORKLOADS
    given = {"ids": QUICK_IDS} if quick else {}
    counts: list[Result] = []
    sweep: list[Result] = []
    for kind, is_spread in KINDS.items():
        for name, make in named.items():
            work = make(is_spread=is_spread, seed=seed, **given)
            front = {"workload": name, "kind": kind}
            counts += [{**front, **each} for each in of_all(work, name, seed)]
            if name == MAIN:
                sweep += [{"kind": kind, **each} for each in of_usefulness(work, seed)]
    return {"counts": counts, "sweep": sweep, "claims": [*claims(counts), *levels(sweep)]}


def of_all(work: Workload, name: str, seed: int) -> Iterator[Result]:
    for label, each in contenders().items():
        if each.only in ("", name):
            yield {"contender": label, **count(work, each, seed)}


def of_usefulness(work: Workload, seed: int) -> Iterator[Result]:
    """Figure 8."""
    for usefulness in USEFULNESS:
        settings = {**contenders()["pph-s"].settings, "usefulness": usefulness}
        yield {"usefulness": usefulness, **count(work, Contender("pph-s", settings), seed)}


def count(work: Workload, contender: Contender, seed: int) -> Result:
    """The pages of one method on one workload."""
    members = TemporalSet.create(
        method=contender.method, page_records=PAGE_RECORDS, **contender.settings
    )
    members.load(work.changes)
    changes = work.changes.num_rows
    reads, writes = members.io.reads / changes, members.io.writes / changes
    members.io.reset()
    oids, times = work.questions(seed)
    found = members.contains_many(oids, times)
    asked = members.io.reads / len(oids)
    expect(bool((found == work.contains(oids, times)).all()), f"members of {contender.method}")
    middle = work.maxtime // 2
    there = np.sort(members.snapshot(middle)["oid"].to_numpy())
    expect(np.array_equal(there, work.snapshot(middle)), f"a snapshot of {contender.method}")
    return {
        "changes": changes,
        "lifespans": len(work),
        "questions": len(oids),
        "query": asked,
        "reads": reads,
        "writes": writes,
        "update": reads + writes,
        "pages": members.pages,
    }


# -- beside the targets ----------------------------------------------------------------------------


def claims(counts: Sequence[Result]) -> Iterator[Result]:
    """What should hold of each workload."""
    for kind in KINDS:
        grown: list[tuple[str, Mapping[str, Result]]] = []
        for name in SIZES:
            here = {
                each["contender"]: each
                for each in counts
                if each["kind"] == kind and each["workload"] == name
            }
            if not here:
                continue
            for each in _of_workload(name, here):
                yield {**each, "workload": name, "kind": kind}
            if name.startswith("uniform-") and "," not in name:
                grown.append((name, here))
        for each in _grown(grown):
            yield {**each, "kind": kind}


def _of_workload(name: str, here: Mapping[str, Result]) -> Iterator[Result]:
    reads = {label: each["query"] for label, each in here.items()}
    updates = {label: each["update"] for label, each in here.items()}
    pages = {label: each["pages"] for label, each in here.items()}
    for label in ("pph-s", "pph-l"):
        yield _at_most(f"reads a query, {label}", reads[label], READS_MOST)
        most = ON_DISK_LONG_MOST if name in LONG else ON_DISK_MOST
        on_disk = f"{label}, trees on disk"
        where = " beyond 50 lifespans" * (name in LONG)
        yield _at_most(f"reads a query, {on_disk}{where}", reads[on_disk], most)
    yield _between("reads a query, mvbt to pph-s", reads["mvbt"] / reads["pph-s"], *TWICE)
    if "r-interval" in reads:
        yield _between("reads a query, r-interval", reads["r-interval"], *R_INTERVAL)
    if "r-point" in reads:
        yield _at_least("reads a query, r-point", reads["r-point"], FAR_MORE)
    others = {label: each for label, each in updates.items() if "," not in label}
    least, second, listed = (others.pop(label) for label in ("pph-s", "mvbt", "pph-l"))
    update = "reads and writes an update"
    yield _at_most(f"{update}, pph-s to pph-l", least / listed, 1)
    yield _at_most(f"{update}, pph-s to mvbt", least / second, 1)
    yield _at_most(f"{update}, mvbt to pph-l", second / listed, 1)
    yield _at_most(f"{update}, mvbt to the best of the rest", second / min(others.values()), 1)
    yield _at_most("pages, pph-s to alh", pages["pph-s"] / pages["alh"], PAGES_MOST)
    yield _between("pages, mvbt to alh", pages["mvbt"] / pages["alh"], *TWICE)


def _grown(grown: Sequence[tuple[str, Mapping[str, Result]]]) -> Iterator[Result]:
    """ALH, as lifespans become more."""
    for (_, fewer), (name, more) in pairwise(grown):
        ratio = more["alh"]["query"] / fewer["alh"]["query"]
        said = _at_least("reads a query of alh to those with fewer lifespans", ratio, 1)
        yield {**said, "workload": name}
    for name, here in grown:
        if int(name.removeprefix("uniform-")) >= 50:
            ratio = here["alh"]["query"] / here["pph-s"]["query"]
            said = _at_least("reads a query, alh to pph-s from 50 lifespans on", ratio, 1)
            yield {**said, "workload": name}


def levels(sweep: Sequence[Result]) -> Iterator[Result]:
    """Figure 8: reads level off from u = 0.3."""
    for kind in KINDS:
        reads = {each["usefulness"]: each["query"] for each in sweep if each["kind"] == kind}
        later = [found for usefulness, found in reads.items() if usefulness >= LEVEL_FROM]
        ratio = reads[LEVEL_FROM] / min(later)
        yield {**_at_most("reads at u = 0.3 to the least beyond", ratio, LEVEL), "workload": MAIN,
               "kind": kind}  # fmt: skip
        ratio = reads[USEFULNESS[0]] / reads[LEVEL_FROM]
        said = _at_least(f"reads at u = {USEFULNESS[0]} to those at 0.3", ratio, LEVEL)
        yield {**said, "workload": MAIN, "kind": kind}


def _at_most(claim: str, measured: float, most: float) -> Result:
    return {"claim": claim, "measured": measured, "bound": f"at most {most:g}",
            "met": measured <= most}  # fmt: skip


def _at_least(claim: str, measured: float, least: float) -> Result:
    return {"claim": claim, "measured": measured, "bound": f"at least {least:g}",
            "met": measured >= least}  # fmt: skip


def _between(claim: str, measured: float, least: float, most: float) -> Result:
    return {"claim": claim, "measured": measured, "bound": f"{least:g} to {most:g}",
            "met": least <= measured <= most}  # fmt: skip
