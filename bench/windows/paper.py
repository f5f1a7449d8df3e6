"""The paper's setting: two columns of integers, 100,000 rows, filled first and then measured.

Values are uniform, or by a power law with the exponent 1 (003, Section 7.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.lives.targets import target
from bench.measure import expect
from wavedex.online import Window

Result = dict[str, Any]
ROWS = 100_000
BASICS = (50, 100, 500)
VALUES = (1_000, 10_000)
LAWS = ("uniform", "power")
GROUPS = (10, 50)
KEPT: Result = {"index": {"src": "counts"}, "ring": {"src": "numbered"}}
"""What a window has by default for a column that is to be looked up."""


def _odds(values: int, law: str) -> npt.NDArray[np.float64]:
    """How likely each value is."""
    weights = np.ones(values) if law == "uniform" else 1 / np.arange(1, values + 1)
    return weights / weights.sum()


@lru_cache(8)
def _drawn(values: int, law: str, rows: int, seed: int) -> pa.RecordBatch:
    draw = np.random.default_rng([seed, values])
    if law == "uniform":
        keys = draw.integers(0, values, rows)
    else:
        keys = draw.choice(values, rows, p=_odds(values, law))
    return pa.record_batch({"src": keys, "bytes": draw.integers(0, 1 << 30, rows)})


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

    @property
    def times(self) -> float:
        """How often a basic window has a value that it has, as is to be expected."""
        different = (1 - (1 - _odds(self.values, self.law)) ** self.basic).sum()
        return self.basic / float(different)

    def stream(self, rows: int, seed: int) -> pa.RecordBatch:
        """So many rows."""
        return _drawn(self.values, self.law, rows, seed)

    def window(self, **kept: Any) -> Window:
        schema = pa.schema([("src", pa.int64()), ("bytes", pa.int64())])
        return Window(schema, rows=self.rows, basic=self.basic, **kept)

    @property
    def named(self) -> Result:
        """What results have in front."""
        return {"values": self.values, "basics": self.basics, "law": self.law}

    def __str__(self) -> str:
        return f"{self.values:,} values, {self.basics} basic windows, {self.law}"


def groups_of(setting: Setting, count: int) -> dict[str, list[int]]:
    """Boundaries of so many ranges of values."""
    return {"src": [setting.values * place // count for place in range(1, count)]}


def basics_of(setting: Setting, stream: pa.RecordBatch, first: int) -> list[pa.RecordBatch]:
    """A stream from some row on, a basic window each."""
    starts = range(first, stream.num_rows, setting.basic)
    return [stream.slice(start, setting.basic) for start in starts]


def pushed(
    window: Window, pieces: Sequence[pa.RecordBatch], ask: Callable[[Window], Any] | None = None
) -> float:
    """Seconds in which basic windows are taken in one by one, with an answer after each."""
    begun = time.perf_counter()
    for piece in pieces:
        window.push(piece)
        if ask is not None:
            ask(window)
    return time.perf_counter() - begun


def newest(window: Window, stream: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The keys that a window has after all of a stream, from the stream itself."""
    return stream.column(0).to_numpy()[-len(window) :]


def check_histogram(window: Window, stream: pa.RecordBatch) -> None:
    """See that a window that took all of a stream counts its newest rows right."""
    values, counts = np.unique(newest(window, stream), return_counts=True)
    found = window.histogram("src")
    expect(found.column(0).to_numpy().tolist() == values.tolist(), "values of a histogram")
    expect(found.column(1).to_numpy().tolist() == counts.tolist(), "counts of a histogram")


def claim(setting: Setting, topic: str, name: str, ratio: float, least: float) -> Result:
    """A ratio in one setting that the paper has, or we, as at least so much."""
    return {
        **target(f"{name}, {setting}", ratio, f"{least:g} or more", ratio >= least),
        "topic": topic, "claim": name, **setting.named,
    }  # fmt: skip
