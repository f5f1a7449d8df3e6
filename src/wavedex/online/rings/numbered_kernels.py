"""The loops of numbered rings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


@kernel
def link_rows(nodes: I32, first: int, newest: I64, before: I64) -> None:
    """Link rows from `first` on: each remembers the row of its value that came before it."""
    mask = len(before) - 1
    for i in range(len(nodes)):
        node = nodes[i]
        before[(first + i) & mask] = newest[node]
        newest[node] = first + i


@kernel
def count_of(nodes: I32, counts: I64, newest: I64, before: I64, shown: int, oldest: int) -> int:
    """How many rows of each node can be seen. Returns how many there are in all."""
    mask = len(before) - 1
    total = 0
    for i in range(len(nodes)):
        row = newest[nodes[i]]
        while row >= shown:
            row = before[row & mask]
        found = 0
        while row >= oldest:
            found += 1
            row = before[row & mask]
        counts[i] = found
        total += found
    return total


@kernel
def rows_of(nodes: I32, rows: I64, newest: I64, before: I64, shown: int, oldest: int) -> int:
    """The rows of each node that can be seen, the newest first. Returns how many were visited."""
    mask = len(before) - 1
    place = 0
    visited = 0
    for i in range(len(nodes)):
        row = newest[nodes[i]]
        while row >= shown:
            row = before[row & mask]
            visited += 1
        while row >= oldest:
            rows[place] = row
            place += 1
            row = before[row & mask]
    return visited + place


def kernels() -> tuple[Any, ...]:
    """All of them, to be compiled ahead."""
    return (link_rows, count_of, rows_of)
