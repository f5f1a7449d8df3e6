"""Queries about the values of an attribute and how often each is there.

They are answered from the index of the attribute, which is such a histogram. Without one, the
pieces of basic windows are merged, or the rows are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wavedex.online.attributes import ListAttribute, PiecedAttribute
from wavedex.online.indexes.contract import NULL_NODE
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.values import I64, Groups, Values, values_of
from wavedex.rows.arrow import to_arrow

if TYPE_CHECKING:
    from wavedex.online.window import Window

COUNT = "count"


class Counted(NamedTuple):
    """Values in order, how often each is there, and how many rows have none."""

    values: Values
    keys: I64
    amounts: I64
    nulls: int

    def decoded(self) -> pa.Array:
        """The values as Arrow."""
        return self.values.decode(self.keys)


def counted(window: Window, name: str) -> Counted:
    """The values of an attribute that can be seen, and their counts."""
    attribute = window.attribute(name)
    if attribute is None:
        return counted_rows(window, name)
    index = attribute.index
    if index is None:
        assert isinstance(attribute, PiecedAttribute)
        keys, amounts, nulls = attribute.storage.histogram()
        return Counted(attribute.domain.values, keys, amounts, nulls)
    assert isinstance(attribute, ListAttribute | PiecedAttribute)
    side = attribute.side
    nulls = int(index.counts[side, NULL_NODE])
    keys, amounts = index.counted(side)
    return Counted(attribute.domain.values, keys, amounts, nulls)


def counted_rows(window: Window, name: str) -> Counted:
    """The same, by a sort of the whole window. Raises MissingColumn where rows have no values."""
    column = window.rows([name]).column(0)
    values = values_of(column.type)
    keys, nulls = values.encode(column)
    found, amounts = np.unique(keys, return_counts=True)
    return Counted(values, found, amounts, 0 if nulls is None else int(nulls.sum()))


def with_nulls(values: pa.Array, amounts: I64, nulls: int) -> list[pa.Array]:
    """Values and counts, the nulls before all others if there are any."""
    if not nulls:
        return [values, to_arrow(amounts)]
    head = pa.nulls(1, values.type)
    return [pa.concat_arrays([head, values]), to_arrow(np.concatenate([[nulls], amounts]))]


def histogram_schema(values: Values, name: str) -> pa.Schema:
    """The columns of a histogram."""
    kind = values.kind
    if isinstance(values, Groups):
        kind = pa.struct([("from", kind), ("below", kind)])
    return pa.schema([pa.field(name, kind), pa.field(COUNT, pa.int64())])


@dataclass(frozen=True)
class Histogram(Query):
    """The values of an attribute in order, nulls first, and how often each is there."""

    name: str

    mode = 4
    incremental = "with a histogram"

    def answer(self, window: Window) -> pa.RecordBatch:
        found = counted(window, self.name)
        columns = with_nulls(found.decoded(), found.amounts, found.nulls)
        schema = window.schema_of(("histogram", self.name), lambda: _schema(found, self.name))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def explain(self, window: Window) -> Explanation:
        return explain_counts(window, self.name, f"histogram of {self.name}", self)


def _schema(found: Counted, name: str) -> pa.Schema:
    return histogram_schema(found.values, name)


def explain_counts(window: Window, name: str, said: str, query: Query) -> Explanation:
    """What a query takes that is answered from a histogram."""
    attribute = window.attribute(name)
    if attribute is not None and attribute.index is not None:
        index = attribute.index
        uses = f"the index {index.kind!r} on {name!r}"
        return Explanation(said, query.mode, query.incremental, uses, index.size)
    rows = len(window)
    if attribute is None:
        values_of(window.schema.field(name).type)  # Says so where values have no order.
        uses = f"all rows, sorted by {name!r}: there is no index"
    else:
        uses = f"the pieces of all basic windows, merged: {name!r} has no index"
    would = f"index=[{name!r}] would keep the counts: one look at each different value"
    return Explanation(said, query.mode, query.incremental, uses, rows, would)
