"""Steps: how many nodes the structures of a window visit, whatever the machine.

The same rows give the same steps, with compiled kernels and without. A structure counts into an
array that its kernels share; each kind of work has its place in it.

>>> steps = new_steps()
>>> steps[SEARCH] += 3
>>> shown(steps)
{'search': 3}
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

STORE, SEARCH, COUNT, AUXILIARY, LINK, UNLINK, SHOW, PURGE, ANSWER = range(9)
NAMES = (
    "store",
    "search",
    "count",
    "auxiliary",
    "link",
    "unlink",
    "show",
    "purge",
    "answer",
)
MEANINGS = {
    "store": "nodes visited in the newest basic window's own structure, as a row or value comes",
    "search": "nodes of the index visited to find the node of a value, or where it belongs",
    "count": "nodes of the index whose counts were changed, by pointers",
    "auxiliary": "nodes visited in the auxiliary index of the newest basic window",
    "link": "rows of a ring visited to link a new one",
    "unlink": "rows of a ring visited to take old ones out",
    "show": "nodes of the index visited to move the ends of rings",
    "purge": "nodes visited to take out values that are not in the window",
    "answer": "nodes and rows visited to answer",
}


def new_steps() -> I64:
    """An array in which nothing was counted yet."""
    return np.zeros(len(NAMES), np.int64)


def shown(steps: I64) -> dict[str, int]:
    """What was counted, by name, without what was not done."""
    return {name: int(count) for name, count in zip(NAMES, steps, strict=True) if count}
