"""How alike are the sub-indexes of a grid?

Appendix A of the report, by the rows that they really have. Rows come at a constant rate, as many
for each lifetime from one slot to the window: one *unit* is the rows of one slot that have one
lifetime. At each refresh the squares of the sub-indexes' deviations from their mean are added up.
Round-robin should give p^2/4 (1 - 1/n), always; chronological more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import wavedex as wx
from bench.lives.targets import target
from bench.measure import spread
from bench.race.start import room_in

Result = dict[str, Any]
SCHEMA = pa.schema([("key", pa.int64()), ("born", pa.int64()), ("until", pa.int64())])
SHAPES = ((12, 4), (12, 9), (36, 4), (36, 9), (36, 16), (35, 25))
"""Refreshes of a window, and sub-indexes.

The appendix has whole slots in each partition, so 5x5 is judged with 35.
"""
PARTITIONS = ("round-robin", "chronological")
UNIT_ROWS = 4
WIDTH = 10
"""How many instants a slot has."""
CLOSE = 0.01


def rows_of(first: int, last: int, slots: int) -> pa.Table:
    """The rows of some slots: as many of each lifetime, spread over the slot."""
    count = slots * UNIT_ROWS
    number = np.arange((last - first + 1) * count)
    born = (first - 1 + number // count) * WIDTH + number % WIDTH + 1
    lifetimes = (number % slots + 1) * WIDTH
    return pa.table([number * 7 % 1000, born, born + lifetimes], schema=SCHEMA)


def measure_shape(folder: Path, slots: int, n: int, partition: str) -> list[float]:
    """The squared deviations, in units, after each refresh of one window."""
    side = round(n**0.5)
    idx = wx.LifetimeIndex.create(
        folder / "sizes.wx",
        SCHEMA,
        key="key",
        inserted="born",
        expires="until",
        max_lifetime=slots * WIDTH,
        refresh=WIDTH,
        grid=(side, side),
        partition=(partition, partition),
        shards=1,
    )
    idx.update(slots * WIDTH, rows_of(1, slots, slots))
    squares = []
    for slot in range(slots + 1, 2 * slots + 1):
        idx.update(slot * WIDTH, rows_of(slot, slot, slots))
        rows = [sub["rows"] for sub in idx.describe()["sub_indexes"].values()]
        sizes = np.array(rows) / UNIT_ROWS
        squares.append(float(((sizes - sizes.mean()) ** 2).sum()))
    return squares


def measure_sizes(folder: Path, quick: bool) -> list[Result]:
    """All shapes, with both partitions."""
    found = []
    for slots, n in SHAPES[:2] if quick else SHAPES:
        for partition in PARTITIONS:
            with room_in(folder) as room:
                squares = measure_shape(room, slots, n, partition)
            found.append(
                {
                    "slots": slots,
                    "n": n,
                    "partition": partition,
                    "squares": spread(squares),
                    "mean": sum(squares) / len(squares),
                    "expected": slots**2 / 4 * (1 - 1 / n),
                }
            )
    return found


def judge(results: list[Result]) -> list[Result]:
    """Round-robin is as the appendix has it, and chronological is larger."""
    judged = []
    for each in results:
        ratio = each["mean"] / each["expected"]
        name = (
            f"squared deviations to p^2/4 (1 - 1/n), p = {each['slots']}, n = {each['n']}, "
            f"{each['partition']}"
        )
        if each["partition"] == "round-robin":
            judged.append(target(name, ratio, "1 within 1%", abs(ratio - 1) <= CLOSE))
        else:
            judged.append(target(name, ratio, "more than 1", ratio > 1))
    return judged
