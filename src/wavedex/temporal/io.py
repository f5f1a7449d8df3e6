"""How many pages were read and written, as the paper counts them (Section 5.1).

The same changes and queries give the same counts on every machine. What is kept in memory is not
counted: the array H, root*, the upper level of time-trees, and who is alive where.
A page that one change or one query needs several times is counted once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

READS, WRITES, SERIAL = range(3)
"""Places in the array that kernels count in. `SERIAL` numbers changes and queries."""


class Io:
    """Pages read and written so far."""

    def __init__(self) -> None:
        self.counts: npt.NDArray[np.int64] = np.zeros(3, np.int64)

    @property
    def reads(self) -> int:
        """Pages read."""
        return int(self.counts[READS])

    @property
    def writes(self) -> int:
        """Pages written."""
        return int(self.counts[WRITES])

    def reset(self) -> None:
        """Count from nothing again."""
        self.counts[[READS, WRITES]] = 0

    def __repr__(self) -> str:
        return f"Io(reads={self.reads:,}, writes={self.writes:,})"
