"""Which values there are, and which come most often: from the counts of a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.online.queries.columns import taken
from wavedex.online.queries.histograms import (
    Counted,
    counted,
    explain_counts,
    histogram_schema,
    with_nulls,
)
from wavedex.online.queries.query import Explanation, Query

if TYPE_CHECKING:
    from wavedex.online.window import Window


@dataclass(frozen=True)
class Distinct(Query):
    """The values of an attribute that are there, in order, nulls first."""

    name: str

    mode = 4
    incremental = "with a histogram"

    def answer(self, window: Window) -> pa.RecordBatch:
        found = counted(window, self.name)
        values = with_nulls(found.decoded(), found.amounts, found.nulls)[0]
        schema = histogram_schema(found.values, self.name)
        return pa.RecordBatch.from_arrays([values], schema=pa.schema([schema.field(0)]))

    def explain(self, window: Window) -> Explanation:
        return explain_counts(window, self.name, f"distinct values of {self.name}", self)


@dataclass(frozen=True)
class TopK(Query):
    """The values that come most often, the most frequent first; ties in the order of values.

    Nulls count as a value, which is before all others.
    """

    name: str
    k: int

    mode = 4
    incremental = "with a histogram"

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise BadDefinition(f"k={self.k!r}: give how many values to name, 1 or more.")

    def answer(self, window: Window) -> pa.RecordBatch:
        found = counted(window, self.name)
        schema = histogram_schema(found.values, self.name)
        return pa.RecordBatch.from_arrays(_most_frequent(found, self.k), schema=schema)

    def explain(self, window: Window) -> Explanation:
        return explain_counts(window, self.name, f"top {self.k} values of {self.name}", self)


def _most_frequent(found: Counted, k: int) -> list[pa.Array]:
    """COST: a pass over the counts, and a sort of those that are named."""
    amounts = found.amounts
    if len(amounts) > k:
        least = np.partition(amounts, len(amounts) - k)[len(amounts) - k]
        above = np.flatnonzero(amounts > least)
        equal = np.flatnonzero(amounts == least)[: k - len(above)]
        chosen = np.union1d(above, equal)  # In the order of values, for the sort to be by ties.
    else:
        chosen = np.arange(len(amounts))
    chosen = chosen[np.argsort(-amounts[chosen], kind="stable")]
    values, amounts = found.values.decode(found.keys[chosen]), amounts[chosen]
    columns = with_nulls(values, amounts, found.nulls)
    if not found.nulls:
        return columns
    place = int((amounts > found.nulls).sum())
    order = np.concatenate([np.arange(1, place + 1), [0], np.arange(place + 1, len(amounts) + 1)])
    return [taken(each, order[:k]) for each in columns]
