"""The loop that changes the counts of any index, by pointers to its nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


@kernel
def add(counts: I64, nodes: I32, amounts: I64) -> None:
    """Add amounts to the counts of nodes, which may come several times."""
    for pos in range(len(nodes)):
        counts[nodes[pos]] += amounts[pos]
