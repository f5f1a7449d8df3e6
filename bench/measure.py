"""What all measurements have in common: medians and ranges, repeats, and answers that are checked.

A time is reported as its median and its range, or its 99th percentile where there are thousands.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from bench.workload import Answers

GROUPED_SUM = "select label, sum(units)::bigint, sum(amount) from entries group by label"
SAMPLE = 200
"""How many probes are compared row by row; of all others the number of rows is."""
REPEATS = 5


class WrongAnswer(Exception):
    """Something measured did not give the right answer, so its time means nothing."""


def spread(values: list[float]) -> dict[str, float]:
    """The median and the range."""
    return {"median": median(values), "min": min(values), "max": max(values)}


def expect(right: bool, what: str) -> None:
    if not right:
        raise WrongAnswer(f"{what}: the answer is wrong")


def repeat(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """The times of a call in milliseconds, and its last result."""
    laps: list[float] = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        result = call()
        laps.append((time.perf_counter() - begun) * 1e3)
    return spread(laps), result


def check_sums(found: list[tuple[str, int, float]], answers: Answers) -> None:
    expect_sums(found, answers.sums)


def expect_sums(found: list[tuple[str, int, float]], sums: dict[str, tuple[int, float]]) -> None:
    """Compare sums by label with the right ones; workloads are made so that sums are exact."""
    expect({label: (units, amount) for label, units, amount in found} == sums, "grouped sum")
    expect(len(found) == len(sums), "grouped sum")
