"""A histogram after each basic window, beside NumPy, pandas, Polars, DuckDB, and one by hand.

All of them answer the same: the values in order and how often each is there. Polars and DuckDB use
every core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa

from bench.lives.targets import target
from bench.measure import expect
from bench.windows.indexes import AHEAD
from bench.windows.paper import (
    KEPT,
    Result,
    Setting,
    basics_of,
    check_histogram,
    claim,
    pushed,
)

I64 = npt.NDArray[np.int64]
Pair = tuple[Any, Any]
WITH_HISTOGRAM = 25e6
"""Rows a second, in basic windows of 1,000 with a histogram after each."""
BY_BINCOUNT = {1_000: 4.0, 10_000: 2.0}
RIVALS = ("by hand", "np.bincount", "np.unique", "pandas", "Polars", "DuckDB")
CALLS = 20


def measure_histograms(setting: Setting, rows: int, seed: int) -> Result:
    """Seconds of ours with its upkeep, of another kept by hand, and of those from scratch.

    The first two are medians too: of as many rows as the window has, again and again.
    """
    stream = setting.stream(setting.rows + rows, seed)
    window = setting.window(**KEPT)
    window.push(stream.slice(0, setting.rows))
    window.histogram("src")
    pieces = basics_of(setting, stream, setting.rows)
    ours = median(
        pushed(window, pieces[turn : turn + setting.basics], lambda w: w.histogram("src"))
        for turn in range(0, len(pieces), setting.basics)
    )
    check_histogram(window, stream)
    keys = stream.column(0).to_numpy()
    return {
        **setting.named, "counts": ours / setting.basics, "by hand": _by_hand(setting, keys),
        **_from_scratch(keys[-setting.rows :].copy()),
    }  # fmt: skip


def _by_hand(setting: Setting, keys: I64) -> float:
    """Counts of values that are known to be small, which nobody else reads."""
    rows, basic = setting.rows, setting.basic
    counts = np.bincount(keys[:rows], minlength=setting.values)
    laps = []
    for first in range(rows, len(keys), rows):
        begun = time.perf_counter()
        for start in range(first, first + rows, basic):
            new, old = keys[start : start + basic], keys[start - rows : start - rows + basic]
            counts += np.bincount(new, minlength=setting.values)
            counts -= np.bincount(old, minlength=setting.values)
            there = np.flatnonzero(counts)
            found = there, counts[there]
        laps.append((time.perf_counter() - begun) / setting.basics)
    _check("by hand", found, keys[-rows:])
    return median(laps)


def _from_scratch(keys: I64) -> Result:
    """The median of some calls, after one that is not measured."""
    table = pa.table({"src": keys})
    series, frame = pd.Series(keys), pl.Series("src", keys)
    database = duckdb.connect()
    database.register("newest", table)
    database.execute(
        "prepare histogram as select src, count(*) as n from newest group by src order by src"
    )

    def bincount() -> Pair:
        counts = np.bincount(keys)
        there = np.flatnonzero(counts)
        return there, counts[there]

    def by_pandas() -> Pair:
        found = series.value_counts(sort=False).sort_index()
        return found.index, found

    def by_polars() -> Pair:
        found = frame.value_counts().sort("src")
        return found["src"], found["count"]

    def by_duckdb() -> Pair:
        found = database.execute("execute histogram").fetchnumpy()
        return found["src"], found["n"]

    calls: dict[str, Callable[[], Pair]] = {
        "np.bincount": bincount,
        "np.unique": lambda: np.unique(keys, return_counts=True),
        "pandas": by_pandas,
        "Polars": by_polars,
        "DuckDB": by_duckdb,
    }
    found: Result = {}
    for name, call in calls.items():
        _check(name, call(), keys)
        laps = []
        for _ in range(CALLS):
            begun = time.perf_counter()
            call()
            laps.append(time.perf_counter() - begun)
        found[name] = median(laps)
    database.close()
    return found


def _check(name: str, found: Pair, keys: I64) -> None:
    values, counts = np.unique(keys, return_counts=True)
    expect(np.array_equal(np.asarray(found[0]), values), f"values of a histogram, {name}")
    expect(np.array_equal(np.asarray(found[1]), counts), f"counts of a histogram, {name}")


def judge(found: list[Result], indexes: list[Result]) -> list[Result]:
    targets = []
    for each in found:
        setting = Setting(each["values"], each["basics"], each["law"])
        ours = {
            other["index"]: other["histogram"]
            for other in indexes
            if setting.named.items() <= other.items() and other["storage"] == "list"
        }
        ours["counts"] = each["counts"]
        for index in ("counts", "tree", "hash"):
            ratio = each["np.unique"] / ours[index]
            targets.append(claim(setting, "histograms", f"np.unique to {index}", ratio, AHEAD))
        if setting.basics != 100 or setting.law != "uniform":
            continue
        rate, least = setting.basic / each["counts"], BY_BINCOUNT[setting.values]
        name = f"rows a second with a histogram after each basic window, {setting}"
        bound = f"{WITH_HISTOGRAM:,.0f} or more"
        targets.append(target(name, rate, bound, rate >= WITH_HISTOGRAM))
        ratio = each["np.bincount"] / each["counts"]
        name = f"np.bincount of the window to a histogram, {setting}"
        targets.append(target(name, ratio, f"{least:g} or more", ratio >= least))
    return targets
