"""The loop that finds the groups of values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]


@kernel
def number_groups(keys: I64, bounds: I64, groups: I64) -> None:
    """How many of a few boundaries are not above each value. No jump depends on a value."""
    for i in range(len(keys)):
        key = keys[i]
        group = 0
        for j in range(len(bounds)):
            group += bounds[j] <= key
        groups[i] = group
