"""Joins of two windows: the new results after each basic window, and a result that is kept.

Beside Polars, which joins the newest rows with the other window, and all rows of both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import polars as pl
import pyarrow as pa

from bench.lives.targets import target
from bench.measure import expect
from bench.windows.paper import KEPT, Result, Setting, basics_of
from wavedex.online.queries import JoinNew, KeptJoin

NEW_LEAST, KEPT_LEAST = 10.0, 5.0
CALLS = 20


def measure_joins(seed: int, rounds: int) -> Result:
    """Seconds for a basic window of 1,000 rows; the kept result is asked for after each.

    Polars joins the same newest rows, one basic window after the other.
    """
    setting = Setting(10_000, 100)
    rows, half = setting.rows, rounds // 2
    streams = [setting.stream(rows + rounds * setting.basic, each) for each in (seed, seed + 1)]
    one, other = setting.window(**KEPT), setting.window(**KEPT)
    for window, stream in zip((one, other), streams, strict=True):
        window.push(stream.slice(0, rows))
    pieces = [basics_of(setting, stream, rows) for stream in streams]
    query = JoinNew(other, "src")
    one.ask(query)  # What is compiled is not measured.
    laps = []
    for piece in pieces[0][:half]:
        one.push(piece)
        laps.append(_lap(lambda: one.ask(query)))
    new, laps = median(laps), []
    right = pl.from_arrow(other.rows())
    for piece in pieces[0][:half]:
        recent = pl.from_arrow(piece)
        laps.append(_lap(partial(recent.join, right, on="src")))
    _check(one.ask(query), recent.join(right, on="src"), "new rows of a join")
    newest = median(laps)
    kept = KeptJoin(one, other, "src")
    kept.result()
    begun = time.perf_counter()
    for turn in range(half, rounds):
        for window, side in ((one, pieces[0]), (other, pieces[1])):
            window.push(side[turn])
            kept.result()
    keeping = (time.perf_counter() - begun) / (2 * (rounds - half))
    left, right = (pl.from_arrow(window.rows()) for window in (one, other))
    whole = left.join(right, on="src")
    _check(kept.result(), whole, "rows of a join that is kept")
    polars = median(_lap(lambda: left.join(right, on="src")) for _ in range(CALLS))
    return {**setting.named, "new": new, "kept": keeping, "newest": newest, "all": polars}


def _check(found: pa.Table | pa.RecordBatch, right: pl.DataFrame, what: str) -> None:
    """See that the rows are the same, in any order. The columns come in the same order."""
    frame = pl.from_arrow(found)
    assert isinstance(frame, pl.DataFrame)
    expect(frame.width == right.width, f"columns: {what}")
    frame.columns = right.columns
    expect(frame.sort(frame.columns).equals(right.sort(right.columns)), what)


def _lap(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def judge(joins: Result) -> list[Result]:
    found = []
    for name, least in (("new", NEW_LEAST), ("kept", KEPT_LEAST)):
        ratio, bound = joins["all"] / joins[name], f"{least:g} or more"
        found.append(
            target(f"Polars' join (all rows) to the {name} results", ratio, bound, ratio >= least)
        )
    return found
