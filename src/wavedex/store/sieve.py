"""Which rows count by their numbers: each column that is looked at has a range.

A sieve is a value and no function, so that a store may look at the numbers where they lie, before
it makes rows of those that count.

>>> sieve = above({"position": 7})
>>> sieve.keeps(lambda name: np.array([7, 8, 9]), 3).tolist()
[False, True, True]
>>> (~sieve).keeps(lambda name: np.array([7, 8, 9]), 3).tolist()
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.rows.arrow import number_view

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sieve:
    """Keeps the rows that lie in a range in each of some columns, or those that do not."""

    bounds: tuple[tuple[str, int | None, int | None], ...]
    """The columns, each with the least number and the one past the largest; None for no bound."""
    is_turned: bool = False
    """Whether it keeps the others."""

    def keeps(self, numbers: Callable[[str], npt.NDArray[Any]], rows: int) -> Bools:
        """Which of some rows it keeps, by the numbers in a column of theirs."""
        kept = np.ones(rows, np.bool_)
        for name, start, stop in self.bounds:
            column = numbers(name)
            if start is not None:
                kept &= column >= start
            if stop is not None:
                kept &= column < stop
        return ~kept if self.is_turned else kept

    def __call__(self, rows: pa.RecordBatch) -> Bools:
        """Which rows of a batch it keeps."""
        return self.keeps(lambda name: number_view(rows.column(name)), rows.num_rows)

    def __invert__(self) -> Sieve:
        return replace(self, is_turned=not self.is_turned)


def above(floors: Mapping[str, int]) -> Sieve:
    """Keeps the rows that lie above the floor in every column that has one."""
    return Sieve(tuple((name, floor + 1, None) for name, floor in floors.items()))


def between(name: str, start: int | None, stop: int | None) -> Sieve:
    """Keeps the rows that lie in a range in one column."""
    return Sieve(((name, start, stop),))
