"""What a window can be asked: each query by a method of its own.

Whatever makes answers cheap and is kept for that, such as partial results, is held here: by a key,
for as long as somebody wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from wavedex.errors import BadQuery
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
from wavedex.online.queries.query import Explanation, Query, check_query
from wavedex.online.subscriptions import Answer, Schedule, said_of_sample
from wavedex.online.turns import Turn, in_turn

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
    schedule: Schedule
    turn: Turn

    @property
    def _window(self) -> Window:
        return cast("Window", self)

    # -- any query ---------------------------------------------------------------------------------

    def ask(self, query: Query) -> Answer:
        """The answer of a query over what can be seen now."""
        check_query(query)
        self._tie(query)
        held = self.turn.take()
        try:
            return self._said_of_sample(query, query.answer(self._window))
        finally:
            held.release()

    def _tie(self, query: Query) -> None:
        """Have one turn with the windows that a query looks at besides."""
        for other in query.others():
            if not isinstance(other, Askable):
                raise BadQuery(f"{other!r} is no window. Give the window to ask together with.")
            self.turn.tie(other.turn)

    def news(self, query: Query, basics: int) -> Answer:
        """What a subscriber to a query is handed who was told so many basic windows ago."""
        return self._said_of_sample(query, query.news(self._window, basics))

    def explain(self, query: Query) -> Explanation:
        """What an answer takes: its mode, what it is answered from, what would save work."""
        check_query(query)
        self._tie(query)
        return self._explained(query)

    @in_turn
    def _explained(self, query: Query) -> Explanation:
        return query.explain(self._window)

    def _said_of_sample(self, query: Query, answer: Answer) -> Answer:
        others = query.others()
        if not others and self.schedule.pressure is None:
            return answer
        lacking = min((each.schedule.sampled for each in others), default=1.0)
        return said_of_sample(answer, self.schedule.sampled, lacking)

    # -- values ------------------------------------------------------------------------------------

    def histogram(self, name: str) -> pa.RecordBatch:
        """The values of an attribute in order, nulls first, and how often each is there."""
        return self._window.ask(Histogram(name))

    def distinct(self, name: str) -> pa.RecordBatch:
        """The values of an attribute in order, nulls first."""
        return self._window.ask(Distinct(name))

    def top(self, name: str, k: int) -> pa.RecordBatch:
        """The values that come most often, and how often; ties in the order of values."""
        return self._window.ask(TopK(name, k))

    def quantiles(self, name: str, at: Sequence[float] = (0.25, 0.5, 0.75)) -> pa.RecordBatch:
        """The values at some quantiles, exactly: those of rank ceil(q n)."""
        return self._window.ask(Quantiles(name, at))

    def median(self, name: str) -> pa.RecordBatch:
        """The value in the middle; the lower one of two."""
        return self._window.ask(Median(name))

    # -- numbers -----------------------------------------------------------------------------------

    def count(self) -> pa.RecordBatch:
        """How many rows can be seen."""
        return self._window.ask(Count())

    def sum(self, name: str) -> pa.RecordBatch:
        """The sum of an attribute, exactly."""
        return self._window.ask(Sum(name))

    def average(self, name: str) -> pa.RecordBatch:
        """The average of an attribute."""
        return self._window.ask(Average(name))

    def minimum(self, name: str) -> pa.RecordBatch:
        """The least value of an attribute."""
        return self._window.ask(Minimum(name))

    def maximum(self, name: str) -> pa.RecordBatch:
        """The largest value of an attribute."""
        return self._window.ask(Maximum(name))

    def variance(self, name: str, ddof: int = 0) -> pa.RecordBatch:
        """The variance of an attribute: of a sample with `ddof=1`."""
        return self._window.ask(Variance(name, ddof))

    # -- rows --------------------------------------------------------------------------------------

    def lookup(self, name: str, value: Any, columns: Columns = None) -> pa.RecordBatch:
        """The rows with a value, as they came; those without any for None."""
        return self._window.ask(Lookup(name, value, columns))

    def between(self, name: str, low: Any, high: Any, columns: Columns = None) -> pa.RecordBatch:
        """The rows whose value lies in a range, both ends included, as they came; None: no end."""
        return self._window.ask(Between(name, low, high, columns))

    def ordered(self, name: str, columns: Columns = None) -> pa.RecordBatch:
        """All rows in the order of an attribute, nulls first; those of one value as they came."""
        return self._window.ask(Ordered(name, columns))

    def select(self, where: str, columns: Columns = None) -> pa.RecordBatch:
        """The rows that meet a condition in SQL, such as "bytes > 1000", as they came."""
        return self._window.ask(Select(where, columns))

    # -- two windows -------------------------------------------------------------------------------

    def intersect(self, other: Window, name: str, other_name: str | None = None) -> pa.RecordBatch:
        """The values that another window has too, and how often each is in either."""
        return self._window.ask(Intersection(name, other, other_name))

    def union(self, other: Window, name: str, other_name: str | None = None) -> pa.RecordBatch:
        """The values of this window and of another, and how often each is in either."""
        return self._window.ask(Union(name, other, other_name))

    def difference(self, other: Window, name: str, other_name: str | None = None) -> pa.RecordBatch:
        """The values that another window has not, and how often each is here."""
        return self._window.ask(Difference(name, other, other_name))

    def join(
        self, other: Window, on: str, other_on: str | None = None, columns: Columns = None
    ) -> pa.Table:
        """The rows of this window with those of another that have an equal value."""
        return self._window.ask(Join(other, on, other_on, columns))

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
