"""The loops of rings that are walked, to answer: which rows a value has.

A ring is followed by its links, as `wavedex.online.rings.kernels` tells, or by arrival numbers.
These loops change nothing but what they return.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NOWHERE = -1
"""No position."""
ROOM_LEAST = 64
"""Rows for which there is room at first: how many there are is not known before the walk."""


@kernel
def _twice_as_long(rows: I64) -> I64:
    found = np.empty(2 * len(rows), np.int64)
    found[: len(rows)] = rows
    return found


@kernel
def _turn_round(rows: I64, low: int, high: int) -> None:
    """Put the rows from one place to another, both included, the other way round."""
    while low < high:
        row = rows[low]
        rows[low] = rows[high]
        rows[high] = row
        low, high = low + 1, high - 1


@kernel
def rows_forward(numbers: I64, links: I32, nodes: I32, first: I32, end: I32) -> tuple[I64, I64]:
    """How many rows each node has up to the end of its ring, and which, the newest first."""
    counts = np.zeros(len(nodes), np.int64)
    found, size = np.empty(ROOM_LEAST, np.int64), 0
    for which in range(len(nodes)):
        node, start = nodes[which], size
        pos, last = first[node], end[node]
        is_over = last == NOWHERE
        while not is_over:
            if size == len(found):
                found = _twice_as_long(found)
            found[size] = numbers[pos]
            size += 1
            is_over = pos == last
            pos = links[pos]
        _turn_round(found, start, size - 1)
        counts[which] = size - start
    return counts, found[:size]


@kernel
def rows_backward(
    numbers: I64, links: I32, nodes: I32, newest: I32, dirty: Bools
) -> tuple[I64, I64, int]:
    """The same of backward rings, and how many rows were visited.

    The last row of a ring is left out if the bit of its node is set. `dirty` is empty where there
    are no bits.
    """
    counts = np.zeros(len(nodes), np.int64)
    found, size, stale = np.empty(ROOM_LEAST, np.int64), 0, 0
    for which in range(len(nodes)):
        node, start = nodes[which], size
        pos = newest[node]
        while pos >= 0:
            if size == len(found):
                found = _twice_as_long(found)
            found[size] = numbers[pos]
            size += 1
            pos = links[pos]
        if len(dirty) > 0 and dirty[node]:
            size -= 1
            stale += 1
        counts[which] = size - start
    return counts, found[:size], size + stale


@kernel
def rows_by_number(
    nodes: I32, newest: I64, before: I64, shown: int, oldest: int
) -> tuple[I64, I64, int]:
    """The same of numbered rings, with the rows that were visited and cannot be seen yet.

    The row at which a walk ends is told by its number, without a look at it.
    """
    mask = len(before) - 1
    counts = np.zeros(len(nodes), np.int64)
    found, size, unseen = np.empty(ROOM_LEAST, np.int64), 0, 0
    for which in range(len(nodes)):
        start = size
        row = newest[nodes[which]]
        while row >= shown:
            row = before[row & mask]
            unseen += 1
        while row >= oldest:
            if size == len(found):
                found = _twice_as_long(found)
            found[size] = row
            size += 1
            row = before[row & mask]
        counts[which] = size - start
    return counts, found[:size], size + unseen
