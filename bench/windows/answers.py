"""How fast are answers? Beside NumPy, pandas, Polars and DuckDB over the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from bench.lives.targets import target
from bench.measure import expect
from bench.windows.paper import ROWS, Result, Setting, each_basic
from wavedex.online import Window
from wavedex.online.queries import JoinNew, KeptJoin, Quantiles

BULK_MOST, WITH_HISTOGRAM = 50e6, 25e6
"""Rows a second: in bulk, and in basic windows of 1,000 with a histogram after each."""
BY_BINCOUNT = {1_000: 4.0, 10_000: 2.0}
QUANTILES = 1e6
JOIN_NEW, JOIN_KEPT = 10.0, 5.0
KEPT: Result = {"index": {"src": "counts"}, "ring": {"src": "numbered"}}


def mean(call: Callable[[], Any], times: int) -> float:
    """Seconds of one of some calls."""
    begun = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begun) / times


def measure_bulk(setting: Setting, rows: int, seed: int) -> Result:
    """Rows a second that a window takes in one push, with its index and ring."""
    stream = setting.stream(setting.rows + rows, seed)
    rates = []
    for _ in range(5):
        window = setting.window(**KEPT)
        window.push(stream.slice(0, setting.rows))
        begun = time.perf_counter()
        window.push(stream.slice(setting.rows))
        rates.append(rows / (time.perf_counter() - begun))
    check_histogram(window, stream)
    return {"values": setting.values, "rate": sorted(rates)[2]}


def check_histogram(window: Window, stream: pa.RecordBatch) -> None:
    newest = stream.column(0).to_numpy()[-len(window) :]
    values, counts = np.unique(newest, return_counts=True)
    found = window.histogram("src")
    expect(found.column(0).to_numpy().tolist() == values.tolist(), "values of a histogram")
    expect(found.column(1).to_numpy().tolist() == counts.tolist(), "counts of a histogram")


def measure_histograms(setting: Setting, rows: int, seed: int) -> Result:
    """A histogram after each basic window, beside one from scratch."""
    found: Result = {"values": setting.values, "basics": setting.basics, "law": setting.law}
    for index in ("counts", "tree", "hash"):
        kept = KEPT if index == "counts" else {"index": {"src": index}}
        window = setting.window(**kept)
        many = rows if index == "counts" else min(rows, setting.rows)
        seconds, _ = each_basic(setting, window, seed, lambda w: w.histogram("src"), many)
        check_histogram(window, setting.stream(setting.rows + many, seed))
        found[index] = seconds
    last = setting.stream(setting.rows + rows, seed).column(0).to_numpy()[-setting.rows :].copy()
    table = pa.table({"src": last})
    series, frame = pd.Series(last), pl.Series(last)
    database = duckdb.connect()
    database.register("newest", table)
    sql = "select src, count(*) from newest group by src order by src"
    found["bincount"] = mean(lambda: np.bincount(last), 200)
    found["unique"] = mean(lambda: np.unique(last, return_counts=True), 5)
    found["pandas"] = mean(lambda: series.value_counts(), 10)
    found["polars"] = mean(lambda: frame.value_counts(), 10)
    found["duckdb"] = mean(lambda: database.sql(sql).to_arrow_table(), 10)
    return found


def measure_quantiles(rows: int, pushed: int, seed: int) -> Result:
    """Exact quartiles of floats after each 1,000 rows."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=rows + pushed)
    batch = pa.record_batch({"delay": values})
    window = Window(batch.schema, rows=rows, basic=1_000)
    subscription = window.subscribe(Quantiles("delay"))
    window.push(batch.slice(0, rows))
    pieces = [batch.slice(start, 1_000) for start in range(rows, rows + pushed, 1_000)]
    begun = time.perf_counter()
    for piece in pieces:
        window.push(piece)
    took = time.perf_counter() - begun
    right = np.quantile(values[-rows:], (0.25, 0.5, 0.75), method="inverted_cdf")
    assert subscription.latest is not None
    expect(sorted(right) == sorted(_numbers(subscription.latest)), "quantiles of a window")
    return {"rows": rows, "rate": pushed / took}


def _numbers(batch: pa.RecordBatch) -> list[float]:
    rows = batch.to_pylist()
    values = [value for row in rows for value in row.values()]
    return [each for each in values if each not in (0.25, 0.5, 0.75)]


def measure_rolling(rows: int, seed: int) -> list[Result]:
    """Sums, minima and variances that slide by 1,000 rows, beside Polars' for each row."""
    values = np.random.default_rng(seed).normal(size=3 * rows)
    batch, frame, found = pa.record_batch({"x": values}), pl.Series(values), []
    polars = {
        "sum": partial(frame.rolling_sum, rows),
        "minimum": partial(frame.rolling_min, rows),
        "variance": partial(frame.rolling_var, rows, ddof=0),
    }
    from wavedex.online.queries import Minimum, Sum, Variance

    for name, query in (("sum", Sum), ("minimum", Minimum), ("variance", Variance)):
        window = Window(batch.schema, rows=rows, basic=1_000)
        answers: list[float] = []
        window.subscribe(query("x"), to=lambda answer, to=answers: to.append(answer[0][0].as_py()))
        begun = time.perf_counter()
        for start in range(0, len(values), 1_000):
            window.push(batch.slice(start, 1_000))
        ours = time.perf_counter() - begun
        begun = time.perf_counter()
        theirs = polars[name]()
        took = time.perf_counter() - begun
        wanted = theirs.to_numpy()[rows - 1 :: 1_000]
        right = np.allclose(answers[-len(wanted) :], wanted, rtol=1e-6, atol=1e-6)
        expect(right, f"the sliding {name}")
        found.append({"what": name, "rate": len(values) / ours, "polars": len(values) / took})
    return found


def measure_joins(seed: int, rounds: int) -> Result:
    """New results of a join for the newest basic window, and the result that is kept.

    Each in a row of its own: kept as a basic window of one side comes, with its upkeep, beside
    another join of all rows.
    """
    setting = Setting(10_000, 100)
    streams = [setting.stream(ROWS + rounds * 1_000, each) for each in (seed, seed + 1)]
    one, other = setting.window(**KEPT), setting.window(**KEPT)
    for window, stream in zip((one, other), streams, strict=True):
        window.push(stream.slice(0, ROWS))
    pieces = [
        [stream.slice(start, 1_000) for start in range(ROWS, stream.num_rows, 1_000)]
        for stream in streams
    ]
    query = JoinNew(other, "src")
    one.ask(query)  # What is compiled is not measured.
    new = _laps(lambda turn: one.push(pieces[0][turn]), lambda: one.ask(query), rounds // 2)
    newest = one.ask(query)
    frames = [pl.from_arrow(window.rows()) for window in (one, other)]
    recent = frames[0].tail(1_000).join(frames[1], on="src")
    expect(len(recent) == newest.num_rows, "new rows of a join")
    kept = KeptJoin(one, other, "src")
    kept.result()
    begun = time.perf_counter()
    for turn in range(rounds // 2, rounds):
        for window, stream in ((one, pieces[0]), (other, pieces[1])):
            window.push(stream[turn])
            kept.result()
    keeping = (time.perf_counter() - begun) / (2 * (rounds - rounds // 2))
    frames = [pl.from_arrow(window.rows()) for window in (one, other)]
    polars = _laps(lambda turn: None, lambda: frames[0].join(frames[1], on="src"), 20)
    joined, result = frames[0].join(frames[1], on="src"), kept.result()
    expect(len(joined) == result.num_rows, "rows of a join that is kept")
    sums = [int(result.column(name).to_numpy().sum()) for name in result.column_names]
    expect(int(joined["bytes"].sum()) in sums, "the sum over a join")
    return {"new": new, "kept": keeping, "polars": polars}


def _laps(before: Callable[[int], Any], call: Callable[[], Any], times: int) -> float:
    """The median of the seconds of a call, after something that is not measured."""
    laps = []
    for turn in range(times):
        before(turn)
        begun = time.perf_counter()
        call()
        laps.append(time.perf_counter() - begun)
    return median(laps)


def judge(report: Result) -> list[Result]:
    found = []
    for each in report["bulk"]:
        name = f"rows a second in bulk, {each['values']:,} values"
        found.append(
            target(name, each["rate"], f"{BULK_MOST:,.0f} or more", each["rate"] >= BULK_MOST)
        )
    for each in report["histograms"]:
        if each["basics"] == 100 and each["law"] == "uniform":
            rate = 1_000 / each["counts"]
            name = f"rows a second with a histogram each 1,000, {each['values']:,} values"
            bound = f"{WITH_HISTOGRAM:,.0f} or more"
            found.append(target(name, rate, bound, rate >= WITH_HISTOGRAM))
            ratio, least = each["bincount"] / each["counts"], BY_BINCOUNT[each["values"]]
            name = f"np.bincount of the window to a histogram, {each['values']:,} values"
            found.append(target(name, ratio, f"{least:g} or more", ratio >= least))
        for index in ("counts", "tree", "hash"):
            ratio = each["unique"] / each[index]
            said = f"{each['values']:,} values, {each['basics']} basic windows, {each['law']}"
            found.append(target(f"np.unique to {index}, {said}", ratio, "above 1", ratio > 1))
    rate = report["quantiles"]["rate"]
    found.append(
        target("rows a second with quartiles each 1,000", rate, "1e6 or more", rate >= QUANTILES)
    )
    joins = report["joins"]
    for name, least in (("new", JOIN_NEW), ("kept", JOIN_KEPT)):
        ratio = joins["polars"] / joins[name]
        found.append(
            target(
                f"Polars' join to the {name} results", ratio, f"{least:g} or more", ratio >= least
            )
        )
    return found
