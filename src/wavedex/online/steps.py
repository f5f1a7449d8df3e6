"""Steps: how many nodes the structures of a window visit, whatever the machine.

The same rows give the same steps, with compiled kernels and without. A structure counts into an
array that its kernels share; each kind of work has its place in it. What is visited counts, and
what is only pointed at does not: a ring whose node knows the row to link with counts no steps for
it.

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


def new_steps() -> I64:
    """An array in which nothing was counted yet."""
    return np.zeros(len(NAMES), np.int64)


def shown(steps: I64) -> dict[str, int]:
    """What was counted, by name, without what was not done."""
    return {name: int(count) for name, count in zip(NAMES, steps, strict=True) if count}
