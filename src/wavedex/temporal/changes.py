"""Changes of a set, as arrays that kernels take: who was added or removed, and at which version.

Times are numbered in their order (`instants`), and so are ids that are no whole numbers (`ids`).
So every method sees the same few integers, whatever its users have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]

NOW = 2**31 - 1
"""The end of a lifespan that has not ended. Later than every version."""
NO_POINTER = -1
"""Where an id carries no row."""


@dataclass(frozen=True)
class Changes:
    """Additions and removals, in the order in which they happened.

    REQUIRES: each of them is possible, and no version is smaller than the one before it.
    """

    ids: I64
    versions: I32
    signs: I8
    """+1 where the id was added, -1 where it was removed."""
    entries: I32
    """The place of each id among those that are alive (`alive`), as it is added or removed."""
    pointers: I32
    """The row that an added id carries; `NO_POINTER` without."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Lifespans:
    """When ids were in the set: from `starts` to `ends`, and not at the end any more.

    Those of one id stand together, in their order.
    """

    ids: I64
    starts: I32
    ends: I32
    """`NOW` where the id is still alive."""
    pointers: I32

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class BucketPages:
    """The pages of a bucket, in the order in which they accepted records."""

    pages: I64
    starts: I32
    """The version from which on each took new records."""
    ends: I32
    """The version at which it ceased to be useful; `NOW` while it is."""
    records: I32
    copies: I32
    """How many of the records are copies of what was alive in other pages."""
