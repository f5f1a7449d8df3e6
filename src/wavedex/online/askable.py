"""What a window can be asked: each query by a method of its own.

Whatever makes answers cheap and is kept for that, such as partial results, is held here: by a key,
for as long as somebody wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from wavedex.online.queries import (
    Average,
    Between,
    Count,
    Difference,
    Distinct,
    Histogram,
    Intersection,
    Join,
    Lookup,
    Maximum,
    Median,
    Minimum,
    Ordered,
    Quantiles,
    Select,
    Sum,
    TopK,
    Union,
    Variance,
)

if TYPE_CHECKING:
    from wavedex.online.window import Window

Columns = Sequence[str] | None


class Kept(Protocol):
    """Something that follows a window."""

    def close(self) -> None:
        """Follow it no more."""


class Askable:
    """The queries of a window."""

    _keeping: dict[Any, tuple[Kept, list[None]]]
    """What is kept, and for how many."""

    @property
    def _window(self) -> Window:
        return cast("Window", self)

    # -- values ------------------------------------------------------------------------------------

    def histogram(self, name: str) -> pa.RecordBatch:
        """The values of an attribute in order, nulls first, and how often each is there."""
        return Histogram(name).answer(self._window)

    def distinct(self, name: str) -> pa.RecordBatch:
        """The values of an attribute in order, nulls first."""
        return Distinct(name).answer(self._window)

    def top(self, name: str, k: int) -> pa.RecordBatch:
        """The values that come most often, and how often; ties in the order of values."""
        return TopK(name, k).answer(self._window)

    def quantiles(self, name: str, at: Sequence[float] = (0.25, 0.5, 0.75)) -> pa.RecordBatch:
        """The values at some quantiles, exactly: those of rank ceil(q n)."""
        return Quantiles(name, at).answer(self._window)

    def median(self, name: str) -> pa.RecordBatch:
        """The value in the middle; the lower one of two."""
        return Median(name).answer(self._window)

    # -- numbers -----------------------------------------------------------------------------------

    def count(self) -> pa.RecordBatch:
        """How many rows can be seen."""
        return Count().answer(self._window)

    def sum(self, name: str) -> pa.RecordBatch:
        """The sum of an attribute, exactly."""
        return Sum(name).answer(self._window)

    def average(self, name: str) -> pa.RecordBatch:
        """The average of an attribute."""
        return Average(name).answer(self._window)

    def minimum(self, name: str) -> pa.RecordBatch:
        """The least value of an attribute."""
        return Minimum(name).answer(self._window)

    def maximum(self, name: str) -> pa.RecordBatch:
        """The largest value of an attribute."""
        return Maximum(name).answer(self._window)

    def variance(self, name: str, ddof: int = 0) -> pa.RecordBatch:
        """The variance of an attribute: of a sample with `ddof=1`."""
        return Variance(name, ddof).answer(self._window)

    # -- rows --------------------------------------------------------------------------------------

    def lookup(self, name: str, value: Any, columns: Columns = None) -> pa.RecordBatch:
        """The rows with a value, as they came; those without any for None."""
        return Lookup(name, value, columns).answer(self._window)

    def between(self, name: str, low: Any, high: Any, columns: Columns = None) -> pa.RecordBatch:
        """The rows whose value lies in a range, both ends included, as they came; None: no end."""
        return Between(name, low, high, columns).answer(self._window)

    def ordered(self, name: str, columns: Columns = None) -> pa.RecordBatch:
        """All rows in the order of an attribute, nulls first; those of one value as they came."""
        return Ordered(name, columns).answer(self._window)

    def select(self, where: str, columns: Columns = None) -> pa.RecordBatch:
        """The rows that meet a condition in SQL, such as "bytes > 1000", as they came."""
        return Select(where, columns).answer(self._window)

    # -- two windows -------------------------------------------------------------------------------

    def intersect(self, other: Window, name: str, other_name: str | None = None) -> pa.RecordBatch:
        """The values that another window has too, and how often each is in either."""
        return Intersection(name, other, other_name).answer(self._window)

    def union(self, other: Window, name: str, other_name: str | None = None) -> pa.RecordBatch:
        """The values of this window and of another, and how often each is in either."""
        return Union(name, other, other_name).answer(self._window)

    def difference(self, other: Window, name: str, other_name: str | None = None) -> pa.RecordBatch:
        """The values that another window has not, and how often each is here."""
        return Difference(name, other, other_name).answer(self._window)

    def join(
        self, other: Window, on: str, other_on: str | None = None, columns: Columns = None
    ) -> pa.Table:
        """The rows of this window with those of another that have an equal value."""
        return Join(other, on, other_on, columns).answer(self._window)

    # -- what is kept for queries ------------------------------------------------------------------

    def keep(self, key: Any, make: Callable[[], Kept]) -> Callable[[], None]:
        """Have something made and kept, once for all who want it. Returns what lets go of it.

        It is closed when the last of them lets go.
        """
        if key not in self._keeping:
            self._keeping[key] = make(), []
        kept, holds = self._keeping[key]
        hold: list[None] = []
        holds.append(None)

        def let_go() -> None:
            if hold:
                return
            hold.append(None)
            holds.pop()
            if not holds:
                del self._keeping[key]
                kept.close()

        return let_go

    def kept(self, key: Any) -> Any:
        """What is kept under a key; None where nothing is."""
        found = self._keeping.get(key)
        return None if found is None else found[0]
