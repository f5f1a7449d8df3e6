"""How fast are rows taken in bulk, and numbers that slide? Beside Polars over the same rows."""

from __future__ import annotations

import time
from functools import partial
from statistics import median

import numpy as np
import polars as pl
import pyarrow as pa

from bench.lives.targets import target
from bench.measure import expect
from bench.windows.paper import KEPT, Result, Setting, check_histogram
from wavedex.online import Window
from wavedex.online.queries import Minimum, Quantiles, Sum, Variance

BULK_LEAST = 50e6
"""Rows a second, in bulk."""
QUANTILES = 1e6


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
    return {**setting.named, "rate": median(rates)}


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
    for name, query in (("sum", Sum), ("minimum", Minimum), ("variance", Variance)):
        window = Window(batch.schema, rows=rows, basic=1_000)
        answers: list[float] = []
        window.subscribe(query("x"), to=lambda answer, to=answers: to.append(answer[0][0].as_py()))
        begun = time.perf_counter()
        for start in range(0, len(values), 1_000):
            window.push(batch.slice(start, 1_000))
        ours = time.perf_counter() - begun
        polars[name]()
        begun = time.perf_counter()
        theirs = polars[name]()
        took = time.perf_counter() - begun
        wanted = theirs.to_numpy()[rows - 1 :: 1_000]
        right = np.allclose(answers[-len(wanted) :], wanted, rtol=1e-6, atol=1e-6)
        expect(right, f"the sliding {name}")
        found.append({"what": name, "rate": len(values) / ours, "polars": len(values) / took})
    return found


def judge(report: Result) -> list[Result]:
    found = []
    for each in report["bulk"]:
        setting = Setting(each["values"], each["basics"], each["law"])
        is_met = each["rate"] >= BULK_LEAST
        name = f"rows a second in bulk, {setting}"
        found.append(target(name, each["rate"], f"{BULK_LEAST:,.0f} or more", is_met))
    rate = report["quantiles"]["rate"]
    name = f"rows a second with quartiles of {report['quantiles']['rows']:,} floats each 1,000"
    found.append(target(name, rate, f"{QUANTILES:,.0f} or more", rate >= QUANTILES))
    return found
