"""Sort rows by key and then by time, and find where one key ends and the next begins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

_NEAR = 1 << 16
"""Values that lie closer together than this are sorted by their two bytes."""
_BLOCK = 1 << 16
"""How many rows are looked at together where that saves memory."""


def sort_order(ranks: I64, ordinals: I64) -> I64:
    """The order of rows by rank, then by ordinal, then as they came.

    COST: one sort if the rows of each rank come in the order of time. They do in slots that arrive
    sorted by time, and in a merge of older with younger parts. Otherwise three sorts.
    """
    order = stable_order(ranks)
    if _is_in_time(ranks, ordinals, order):
        return order
    del order
    by_time = stable_order(ordinals)
    return by_time[stable_order(ranks[by_time])]


def _is_in_time(ranks: I64, ordinals: I64, order: I64) -> bool:
    """Whether an order by rank has the rows of each rank by ordinal."""
    for start in range(0, len(order), _BLOCK):
        some = order[start : start + _BLOCK + 1]
        times = ordinals[some]
        back = np.flatnonzero(times[1:] < times[:-1])
        if (ranks[some[back]] == ranks[some[back + 1]]).any():
            return False
    return True


def stable_order(values: I64) -> I64:
    """The order of rows by value, then as they came.

    COST: a radix sort of 16-bit numbers if the values lie so close together. One sort of plain
    64-bit numbers if value and row number fit into one number together, which they nearly always
    do. Otherwise a stable argsort.
    """
    count = len(values)
    if count < 2:
        return np.arange(count, dtype=np.int64)
    if (values[1:] >= values[:-1]).all():
        return np.arange(count, dtype=np.int64)
    row_bits = (count - 1).bit_length()
    least, most = int(values.min()), int(values.max())
    if most - least < _NEAR:
        return np.argsort((values - least).astype(np.uint16), kind="stable")
    if (most - least).bit_length() + row_bits > 63:
        return np.argsort(values, kind="stable")
    packed = values - least
    packed <<= row_bits
    for start in range(0, count, _BLOCK):
        packed[start : start + _BLOCK] |= np.arange(start, min(start + _BLOCK, count))
    packed.sort()
    packed &= (1 << row_bits) - 1
    return packed


def bucket_starts(sorted_ranks: I64) -> I64:
    """The first row of each run of equal ranks."""
    if not len(sorted_ranks):
        return np.zeros(0, np.int64)
    changes = np.flatnonzero(sorted_ranks[1:] != sorted_ranks[:-1]) + 1
    return np.concatenate([np.zeros(1, np.int64), changes])


def spread_ranges(starts: I64, counts: I64) -> I64:
    """All positions of the ranges `start .. start + count`, one range after the other.

    >>> spread_ranges(np.array([10, 20]), np.array([2, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - counts), counts) + np.arange(total, dtype=np.int64)
