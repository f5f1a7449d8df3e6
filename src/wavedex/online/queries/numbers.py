"""One number of a window: how many rows, sums, averages, variances, the least and the largest.

Each is merged of partial results, one a basic window, if these are kept (`keep`). Else the whole
window is one part. Nulls are left out. A window without values gives null.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition
from wavedex.online.queries import sums
from wavedex.online.queries.columns import is_grouped
from wavedex.online.queries.histograms import counted
from wavedex.online.queries.partials import Partials
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.rows import plain_view
from wavedex.rows.arrow import to_arrow

if TYPE_CHECKING:
    from wavedex.online.window import Window

_WHOLE = pa.int64()
_LARGE = pa.decimal128(38, 0)


def one(name: str, value: Any, kind: pa.DataType) -> pa.RecordBatch:
    """An answer of one row and one column."""
    schema = pa.schema([pa.field(name, kind)])
    if value is None:
        column = pa.nulls(1, kind)
    elif kind in (pa.int64(), pa.float64()):
        column = to_arrow(np.array([value], kind.to_pandas_dtype()))
    else:
        column = pa.array([value], kind)
    return pa.RecordBatch.from_arrays([column], schema=schema)


@dataclass(frozen=True)
class Count(Query):
    """How many rows there are."""

    mode = 4
    incremental = "yes"

    def answer(self, window: Window) -> pa.RecordBatch:
        return one("count", len(window), pa.int64())

    def explain(self, window: Window) -> Explanation:
        uses = "the numbers of the first row and of the last"
        return Explanation("count of rows", self.mode, self.incremental, uses, 2)


class Merged(Query):
    """A number that is merged of partial results."""

    name: str

    mode = 4
    incremental = "yes"
    family: ClassVar[str]
    """Queries of a family are merged of the same partial results."""

    @abstractmethod
    def part(self, column: pa.Array) -> Any:
        """The partial result of some rows."""

    @abstractmethod
    def check(self, kind: pa.DataType) -> None:
        """Raise BadDefinition for values of which there is no such number."""

    @abstractmethod
    def merged(self, parts: Sequence[Any], kind: pa.DataType) -> pa.RecordBatch:
        """The number that partial results make."""

    def answer(self, window: Window) -> pa.RecordBatch:
        kind = self._checked(window)
        kept = window.kept((self.family, self.name))
        if isinstance(kept, Partials):
            return self.merged(list(kept.parts), kind)
        return self.merged([self.part(self._column(window))], kind)

    def keep(self, window: Window) -> Callable[[], None]:
        self._checked(window)
        if self.name not in window.contents.columns:
            return lambda: None
        make = lambda: Partials(window, self.name, self.part)  # noqa: E731
        return window.keep((self.family, self.name), make)

    def explain(self, window: Window) -> Explanation:
        self._checked(window)
        said = f"{type(self).__name__.lower()} of {self.name}"
        kept, rows = window.kept((self.family, self.name)), len(window)
        if isinstance(kept, Partials):
            uses = "partial results, one for each basic window"
            return Explanation(said, self.mode, self.incremental, uses, len(kept.parts))
        if self.name not in window.contents.columns:
            values = len(counted(window, self.name).keys)
            uses = f"the counts of the values of {self.name!r}"
            return Explanation(said, self.mode, self.incremental, uses, values)
        would = "keep(window) would keep partial results: one look at each basic window"
        uses = f"{self.name!r} of all rows"
        return Explanation(said, self.mode, self.incremental, uses, rows, would)

    def _checked(self, window: Window) -> pa.DataType:
        window.attribute(self.name)  # Says so where there is no such column.
        if is_grouped(window, self.name):
            window.check_column(self.name)
        kind = window.schema.field(self.name).type
        self.check(kind)
        return kind

    def _column(self, window: Window) -> pa.Array:
        """The values of all rows, in any order."""
        if self.name in window.contents.columns or is_grouped(window, self.name):
            return window.rows([self.name]).column(0)
        found = counted(window, self.name)
        return found.decoded().take(_repeated(found.amounts))


def _repeated(amounts: npt.NDArray[np.int64]) -> pa.Array:
    return to_arrow(np.repeat(np.arange(len(amounts)), amounts))


def is_summable(kind: pa.DataType) -> bool:
    """Whether there are sums of such values."""
    return pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind)


class _Added(Merged):
    """What is made of sums."""

    family = "sum"

    def check(self, kind: pa.DataType) -> None:
        if not is_summable(kind):
            raise BadDefinition(
                f"{self.name!r} is {kind}, which has no {type(self).__name__.lower()}. Whole "
                "numbers, floats and booleans can be summed; minimum and maximum take times and "
                "text."
            )

    def part(self, column: pa.Array) -> Any:
        return sums.summed(plain_view(column.drop_null()))


@dataclass(frozen=True)
class Sum(_Added):
    """The sum: float64 of floats; of whole numbers int64, or decimal128 where it does not fit."""

    name: str

    def merged(self, parts: Sequence[sums.Part], kind: pa.DataType) -> pa.RecordBatch:
        whole = sums.merged(parts)
        if pt.is_floating(kind):
            return one("sum", sums.rounded(whole) if whole.amount else None, pa.float64())
        fits = -(2**63) <= whole.whole < 2**63
        value = whole.whole if whole.amount else None
        return one("sum", value, _WHOLE if fits else _LARGE)


@dataclass(frozen=True)
class Average(_Added):
    """The average, as float64."""

    name: str

    def merged(self, parts: Sequence[sums.Part], kind: pa.DataType) -> pa.RecordBatch:
        whole = sums.merged(parts)
        return one("average", sums.average(whole) if whole.amount else None, pa.float64())


class Moments(NamedTuple):
    """How many numbers, their average, and the squares of what they are off it."""

    amount: int
    mean: float
    squares: float


@dataclass(frozen=True)
class Variance(_Added):
    """The variance, as float64: squares divided by the count less `ddof`."""

    name: str
    ddof: int = 0

    family = "moments"

    def __post_init__(self) -> None:
        if not isinstance(self.ddof, int) or self.ddof < 0:
            raise BadDefinition(f"ddof={self.ddof!r}: give 0, or 1 for a sample.")

    def part(self, column: pa.Array) -> Moments:
        numbers = plain_view(column.drop_null()).astype(np.float64)
        if not len(numbers):
            return Moments(0, 0.0, 0.0)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = float(numbers.mean())
            off = numbers - mean
            return Moments(len(numbers), mean, float(off @ off))

    def merged(self, parts: Sequence[Moments], kind: pa.DataType) -> pa.RecordBatch:
        there = [each for each in parts if each.amount]
        count = sum(each.amount for each in there)
        if count <= self.ddof:
            return one("variance", None, pa.float64())
        counts, means, squares = (np.array(each, np.float64) for each in zip(*there, strict=True))
        with np.errstate(invalid="ignore", over="ignore"):
            # Of the means, only what they differ is multiplied: large ones lose nothing.
            mean = means[0] + (counts @ (means - means[0])) / count
            off = means - mean
            found = float(squares.sum() + counts @ (off * off)) / (count - self.ddof)
        return one("variance", found if math.isfinite(found) else math.nan, pa.float64())
