"""The paper's setting: two columns of integers, 100,000 rows, filled first and then measured.

Values are uniform, or by a power law with the exponent 1 (003, Section 7.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.online import Window

Result = dict[str, Any]
ROWS = 100_000
BASICS = (50, 100, 500)
VALUES = (1_000, 10_000)
LAWS = ("uniform", "power")
GROUPS = (10, 50)


@dataclass(frozen=True)
class Setting:
    """One of the paper's settings."""

    values: int
    """How many different values there are."""
    basics: int
    """How many basic windows."""
    law: str = "uniform"
    rows: int = ROWS

    @property
    def basic(self) -> int:
        """The rows of a basic window."""
        return self.rows // self.basics

    def stream(self, rows: int, seed: int) -> pa.RecordBatch:
        """So many rows."""
        draw = np.random.default_rng([seed, self.values])
        if self.law == "uniform":
            keys = draw.integers(0, self.values, rows)
        else:
            weights = 1 / np.arange(1, self.values + 1)
            keys = draw.choice(self.values, rows, p=weights / weights.sum())
        return pa.record_batch({"src": keys, "bytes": draw.integers(0, 1 << 30, rows)})

    def window(self, **kept: Any) -> Window:
        schema = pa.schema([("src", pa.int64()), ("bytes", pa.int64())])
        return Window(schema, rows=self.rows, basic=self.basic, **kept)

    def __str__(self) -> str:
        return f"{self.values:,} values, {self.basics} basic windows, {self.law}"


def groups_of(setting: Setting, count: int) -> dict[str, list[int]]:
    """Boundaries of so many ranges of values."""
    return {"src": [setting.values * place // count for place in range(1, count)]}


def upkeep(setting: Setting, kept: Result, repeats: int, seed: int) -> Result:
    """Seconds for 100,000 rows after a window was filled, and the steps of one row."""
    stream = setting.stream(2 * setting.rows, seed)
    laps = []
    for _ in range(repeats):
        window = setting.window(**kept)
        window.push(stream.slice(0, setting.rows))
        before = window.steps.get("src", {})
        begun = time.perf_counter()
        window.push(stream.slice(setting.rows))
        laps.append(time.perf_counter() - begun)
    after = window.steps.get("src", {})
    steps = {name: (after[name] - before.get(name, 0)) / setting.rows for name in after}
    return {"seconds": median(laps), "steps": steps}


def each_basic(
    setting: Setting, window: Window, seed: int, ask: Callable[[Window], Any], rows: int
) -> tuple[float, Any]:
    """Seconds for a basic window with an answer after it, upkeep included; the last answer."""
    stream = setting.stream(setting.rows + rows, seed)
    window.push(stream.slice(0, setting.rows))
    ask(window)
    starts = range(setting.rows, setting.rows + rows, setting.basic)
    pieces = [stream.slice(start, setting.basic) for start in starts]
    begun = time.perf_counter()
    for piece in pieces:
        window.push(piece)
        answer = ask(window)
    return (time.perf_counter() - begun) / len(pieces), answer
