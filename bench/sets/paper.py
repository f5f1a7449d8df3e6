"""What the paper compares, and the figures that it states (004, Sections 5.1 and 5.3).

Most of its figures are bars without numbers. These are those that its text has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.sets import workloads
from bench.sets.workloads import Workload
from wavedex.temporal.methods.catalogue import METHODS

Result = dict[str, Any]
PAGE_RECORDS = 25
"""B: the records of a page."""
UNIFORMS = (10, 20, 30, 40, 50, 80, 100)
UNIVERSES = (5_000, 12_000)
MAIN = "uniform-30"
USEFULNESS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""Figure 8."""

Make = Callable[..., Workload]
WORKLOADS: dict[str, Make] = {
    **{f"uniform-{mean}": partial(workloads.uniform, mean) for mean in UNIFORMS},
    "exponential": workloads.exponential,
    "step": workloads.step,
    "normal": workloads.normal,
    "poisson": workloads.poisson,
    **{f"uniform-30, {ids:,} ids": partial(workloads.uniform, 30, ids=ids) for ids in UNIVERSES},
}
SIZES = {
    "uniform-10": (149_801, 75_601),
    "uniform-20": (308_091, 155_354),
    "uniform-30": (466_854, 237_606),
    "uniform-40": (628_173, 316_275),
    "uniform-50": (787_461, 396_266),
    "uniform-80": (1_264_797, 635_604),
    "uniform-100": (1_585_949, 796_451),
    "exponential": (487_774, 245_562),
    "step": (540_425, 272_064),
    "normal": (470_485, 237_043),
    "poisson": (498_914, 251_404),
    "uniform-30, 5,000 ids": (291_404, 146_835),
    "uniform-30, 12,000 ids": (700_766, 353_067),
}
"""Changes and lifespans of the paper's workloads (Tables 1 and 2)."""


@dataclass(frozen=True)
class Contender:
    """A method as the paper sets it."""

    method: str
    settings: Result = field(default_factory=dict)
    only: str = ""
    """The workload that it is for, if it is not for all."""


BY_DIVISION: Result = {"mixed": 0}
"""Ids are hashed by division, as they are."""
ON_DISK: Result = {**BY_DIVISION, "trees": "disk"}
EXTENDIBLE: Result = {**BY_DIVISION, "hashing": "extendible"}
CONTENDERS = {
    "pph-s": Contender("pph-s", BY_DIVISION),
    "pph-l": Contender("pph-l", BY_DIVISION),
    "alh": Contender("alh", BY_DIVISION),
    "mvbt": Contender("mvbt"),
    "r-interval": Contender("r-interval"),
    "r-point": Contender("r-point", only=MAIN),
    "pph-s, trees on disk": Contender("pph-s", ON_DISK),
    "pph-l, trees on disk": Contender("pph-l", ON_DISK),
    "pph-s, extendible": Contender("pph-s", EXTENDIBLE),
    "pph-l, extendible": Contender("pph-l", EXTENDIBLE),
}


def contenders() -> dict[str, Contender]:
    """Those whose methods there are."""
    return {name: each for name, each in CONTENDERS.items() if each.method in METHODS}


R_INTERVAL = {
    "uniform-10": 12.6, "uniform-30": 12.0, "uniform-100": 9.4, "exponential": 10.0, "step": 13.0,
    "normal": 11.0, "poisson": 10.0, "uniform-30, 5,000 ids": 10.4, "uniform-30, 12,000 ids": 13.0,
}  # fmt: skip
MVBT_PAGES = {
    "exponential": 26_000, "step": 29_000, "normal": 25_000, "poisson": 35_500,
    "uniform-80": 68_000, "uniform-100": 84_500,
}  # fmt: skip


def stated(what: str, workload: str, contender: str) -> float | None:
    """The figure of the paper, if its text has one. `what` is `query` or `pages`."""
    if what == "pages":
        return MVBT_PAGES.get(workload) if contender == "mvbt" else None
    if what != "query":
        return None
    flat: dict[str, float] = {"pph-s": 2, "pph-l": 2, "mvbt": 4}
    if workload == MAIN:
        flat |= {"alh": 3, "r-point": 44}
    if contender == "r-interval":
        return R_INTERVAL.get(workload)
    return flat.get(contender)
