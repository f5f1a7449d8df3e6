"""The loops that put many questions in the order of their buckets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I32 = npt.NDArray[np.int32]


@kernel
def in_order(buckets: I32, starts: I32, order: I32) -> None:
    """The places of buckets by their numbers. `starts` has a 0 for each bucket, and one more."""
    for i in range(len(buckets)):
        starts[buckets[i] + 1] += 1
    for i in range(1, len(starts)):
        starts[i] += starts[i - 1]
    for i in range(len(buckets)):
        bucket = buckets[i]
        order[starts[bucket]] = i
        starts[bucket] += 1
