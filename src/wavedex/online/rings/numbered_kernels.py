"""The loop that links rows of numbered rings."""

from __future__ import annotations

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
