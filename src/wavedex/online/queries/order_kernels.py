"""The loop that keeps a window in order: sorted numbers come, others go, in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]


@kernel
def _first_from(keys: I64, start: int, stop: int, key: int) -> int:
    """The first place from `start` on whose number is not smaller: by steps that double."""
    step = 1
    low = start
    high = start
    while high < stop and keys[high] < key:
        low = high + 1
        high += step
        step *= 2
    high = min(high, stop)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def replace_sorted(keys: I64, count: int, came: I64, left: I64, target: I64) -> int:
    """Write the first `count` numbers with some more, and without others. All are sorted.

    Returns how many there are. REQUIRES: those that leave are among them, and `target` has room.
    COST: the runs between two changes are copied; a change is found by a few looks.
    """
    i = 0
    j = 0
    k = 0
    place = 0
    while j < len(came) or k < len(left):
        if j < len(came) and k < len(left) and came[j] == left[k]:
            j += 1
            k += 1
            continue
        leaves = k < len(left) and (j == len(came) or left[k] < came[j])
        key = left[k] if leaves else came[j]
        run = _first_from(keys, i, count, key) - i
        for each in range(run):
            target[place + each] = keys[i + each]
        i += run
        place += run
        if leaves:
            i += 1
            k += 1
        else:
            target[place] = key
            place += 1
            j += 1
    run = count - i
    for each in range(run):
        target[place + each] = keys[i + each]
    return place + run
