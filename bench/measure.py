"""The measurements that an index and its peers have in common. Every answer is checked.

A time is reported as its median and its range, or its 99th percentile where there are thousands. Row by row nothing is done
in Python but to issue the probes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bench.workload import Answers, same_rows

GROUPED_SUM = "select label, sum(units)::bigint, sum(amount) from entries group by label"
SAMPLE = 200
"""How many probes are compared row by row; of all others the number of rows is."""
REPEATS = 5
REPEATS_LEAST = 3
SECONDS_ENOUGH = 1.0
"""What takes long is repeated less often."""


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
    while len(laps) < REPEATS_LEAST or (len(laps) < REPEATS and sum(laps) < SECONDS_ENOUGH * 1e3):
        begun = time.perf_counter()
        result = call()
        laps.append((time.perf_counter() - begun) * 1e3)
    return spread(laps), result


def measure_probes(
    probe: Callable[[int], Any],
    keys: list[int],
    answers: Answers,
    to_table: Callable[[Any], pa.Table] = lambda table: table,
) -> dict[str, float]:
    """Single probes, warm; `probe` returns anything that has a length, and `to_table` makes a table of it."""
    for key in keys[:SAMPLE]:
        expect(same_rows(to_table(probe(key)), answers.of_key(key)), f"probe({key})")
    clock, laps, counts = time.perf_counter_ns, [], []
    for key in keys:
        begun = clock()
        found = probe(key)
        laps.append(clock() - begun)
        counts.append(len(found))
    expect(counts == answers.counts(keys), "probes")
    p50, p99 = np.percentile(laps, [50, 99]).tolist()
    return {"median": p50 / 1e3, "p99": p99 / 1e3}


def check_sums(found: list[tuple[str, int, float]], answers: Answers) -> None:
    expect({label: (units, amount) for label, units, amount in found} == answers.sums, "scan")


def measure_grouped_sum(rows: Callable[[], Any], answers: Answers) -> dict[str, float]:
    """A grouped sum by DuckDB over what `rows` returns."""
    with duckdb.connect() as connection:

        def grouped_sum() -> list[tuple[str, int, float]]:
            connection.register("entries", rows())
            return connection.sql(GROUPED_SUM).fetchall()

        laps, found = repeat(grouped_sum)
    check_sums(found, answers)
    return laps
