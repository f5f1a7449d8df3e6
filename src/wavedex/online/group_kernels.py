"""The loops that find the groups of values, and the changes of a slide by group."""

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


@kernel
def merge_changes(
    came: I64, came_counts: I64, gone: I64, gone_counts: I64, groups: I64, amounts: I64
) -> int:
    """The groups of two sorted pieces and what their counts change by. Returns how many change."""
    i = 0
    j = 0
    changed = 0
    while i < len(came) or j < len(gone):
        amount = 0
        is_new = j == len(gone) or (i < len(came) and came[i] <= gone[j])
        group = came[i] if is_new else gone[j]
        if i < len(came) and came[i] == group:
            amount += came_counts[i]
            i += 1
        if j < len(gone) and gone[j] == group:
            amount -= gone_counts[j]
            j += 1
        if amount != 0:
            groups[changed] = group
            amounts[changed] = amount
            changed += 1
    return changed
