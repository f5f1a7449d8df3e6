"""The loops that find the versions of times."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


@kernel
def versions_at(ticks: I64, shift: int, bounds: I32, asked: I64, found: I32) -> None:
    """The last of the ticks that is not after each that is asked for; -1 if there is none.

    Ticks are in order. `bounds` says how many of them come before each span of 2**shift from the
    first one on, as far as it goes. Those behind are searched as a whole.
    """
    count, spans = len(ticks), len(bounds) - 1
    for i in range(len(asked)):
        tick = asked[i]
        if count == 0 or tick < ticks[0]:
            found[i] = -1
            continue
        if tick >= ticks[count - 1]:
            found[i] = count - 1
            continue
        span = (tick - ticks[0]) >> shift
        if span < spans:
            low, high = bounds[span], bounds[span + 1]
        else:
            low, high = bounds[spans], count
        while low < high:
            middle = (low + high) >> 1
            if ticks[middle] <= tick:
                low = middle + 1
            else:
                high = middle
        found[i] = low - 1
