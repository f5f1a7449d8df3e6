"""Sort rows by key and then by time, and find where one key ends and the next begins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


def sort_order(ranks: I64, ordinals: I64) -> I64:
    """The order of rows by rank, then by ordinal, then as they came.

    COST: one sort of plain 64-bit numbers where rank and row number fit into one together, which
    they nearly always do; a stable argsort otherwise.
    """
    if len(ordinals) > 1 and (ordinals[1:] < ordinals[:-1]).any():
        by_time = stable_order(ordinals)
        return by_time[stable_order(ranks[by_time])]
    return stable_order(ranks)


def stable_order(values: I64) -> I64:
    """The order of rows by value, then as they came."""
    count = len(values)
    if count < 2:
        return np.arange(count, dtype=np.int64)
    if (values[1:] >= values[:-1]).all():
        return np.arange(count, dtype=np.int64)
    row_bits = (count - 1).bit_length()
    least, most = int(values.min()), int(values.max())
    if (most - least).bit_length() + row_bits > 63:
        return np.argsort(values, kind="stable")
    packed = ((values - least) << row_bits) | np.arange(count, dtype=np.int64)
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
