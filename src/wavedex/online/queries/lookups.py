"""Rows by the value of an attribute, rows by a range of its values, and all rows in its order.

With an index and a ring, nodes are found in the index and their rows by the ring. With an index
alone, rows are told by the nodes at which they point. Without either the column is read. The
answers are the same; rows come in the order in which they arrived, but for `Ordered`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex.online.indexes.contract import I32, I64, NO_NODE, NULL_NODE
from wavedex.online.queries.columns import (
    Access,
    Keys,
    access,
    check_ordered,
    is_text,
    keys_of_rows,
    named,
    plain_text,
    ring_would,
)
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.values import values_of
from wavedex.rows import compute as pc
from wavedex.rows.arrow import to_numpy

if TYPE_CHECKING:
    from wavedex.online.window import Window

_NO_NODES = np.zeros(0, np.int32)


class _Rows(Query):
    """A query whose answer is rows."""

    name: str
    columns: Sequence[str] | None

    mode = 4

    def _freeze(self) -> None:
        object.__setattr__(self, "columns", named(self.columns))

    def answer(self, window: Window) -> pa.RecordBatch:
        return window.contents.take(self._rows(window), self._names(window))

    def _names(self, window: Window) -> list[str] | None:
        """The columns of the answer; None for all. Raises MissingColumn."""
        return None if self.columns is None else [window.check_column(n) for n in self.columns]

    def _rows(self, window: Window) -> I64:
        """The arrival numbers of the rows."""
        raise NotImplementedError


@dataclass(frozen=True)
class Lookup(_Rows):
    """The rows that have a value; None for those that have none."""

    name: str
    value: Any
    columns: Sequence[str] | None = None

    incremental = "yes"

    def __post_init__(self) -> None:
        self._freeze()

    def _rows(self, window: Window) -> I64:
        found = access(window, self.name)
        if found is None:
            return _scanned_for(window, self.name, self.value)
        if self.value is None:
            return _rows_of(window, found, np.array([NULL_NODE], np.int32))
        nodes = found.index.find(found.values.keys_of([self.value]))
        return _rows_of(window, found, nodes[nodes != NO_NODE])

    def explain(self, window: Window) -> Explanation:
        self._names(window)
        found, said = access(window, self.name), f"rows with {self.name} = {self.value!r}"
        values_of(window.schema.field(self.name).type).as_asked([self.value])
        if found is None or found.ring is None:
            return _explain_scan(self, window, found, said)
        node: int | None = NULL_NODE
        if self.value is not None:
            nodes = found.index.find(found.values.keys_of([self.value]))
            node = int(nodes[0]) if len(nodes) and nodes[0] != NO_NODE else None
        side = found.attribute.side
        rows = 0 if node is None else int(found.index.counts[side, node])
        return Explanation(said, self.mode, self.incremental, _by_ring(found), rows + 1)


@dataclass(frozen=True)
class Between(_Rows):
    """The rows whose value lies in a range, both ends included; None: no end. Nulls lie in none."""

    name: str
    low: Any
    high: Any
    columns: Sequence[str] | None = None

    incremental = "yes"

    def __post_init__(self) -> None:
        self._freeze()

    def _rows(self, window: Window) -> I64:
        found = access(window, self.name)
        if found is None:
            return _scanned_between(window, self.name, self.low, self.high)
        return _rows_of(window, found, self._nodes(found))

    def _nodes(self, found: Access) -> I32:
        values = found.values
        low = None if self.low is None else values.bound(self.low, after=False)
        high = None if self.high is None else values.bound(self.high, after=True)
        if low is not None and high is not None and low > high:
            return _NO_NODES
        return found.index.between(low, high)

    def explain(self, window: Window) -> Explanation:
        self._names(window)
        found = access(window, self.name)
        values_of(window.schema.field(self.name).type).as_asked([self.low, self.high])
        said = f"rows with {self.name} from {self.low!r} to {self.high!r}"
        if found is None or found.ring is None:
            return _explain_scan(self, window, found, said)
        nodes = self._nodes(found)
        rows = int(found.index.counts[found.attribute.side, nodes].sum())
        return Explanation(said, self.mode, self.incremental, _by_ring(found), len(nodes) + rows)


@dataclass(frozen=True)
class Ordered(_Rows):
    """All rows in the order of an attribute, nulls first; those of one value, the oldest first."""

    name: str
    columns: Sequence[str] | None = None

    incremental = "no"

    def __post_init__(self) -> None:
        self._freeze()

    def _rows(self, window: Window) -> I64:
        found = self._found(window)
        if found is not None and found.ring is not None:
            # The ring has the newest of a value first. So all of it is walked backwards.
            falling = np.append(found.index.in_order()[::-1], np.int32(NULL_NODE))
            return np.ascontiguousarray(found.ring.rows_of(falling)[1][::-1])
        return keys_of_rows(window, self.name).ordered() + window.contents.oldest

    def _found(self, window: Window) -> Access | None:
        found = access(window, self.name)
        check_ordered(self.name, window.schema.field(self.name).type)
        return found

    def explain(self, window: Window) -> Explanation:
        self._names(window)
        found, said = self._found(window), f"rows in the order of {self.name}"
        rows = len(window)
        if found is not None and found.ring is not None:
            looked = found.index.size + rows
            return Explanation(said, self.mode, self.incremental, _by_ring(found), looked)
        uses = f"all rows, sorted by {self.name!r}"
        would = ring_would(window, self.name, "give them in order without a sort")
        return Explanation(said, self.mode, self.incremental, uses, rows, would)


def _rows_of(window: Window, found: Access, nodes: I32) -> I64:
    """The rows of some nodes, in the order in which they arrived."""
    if found.ring is not None:
        rows = found.ring.rows_of(np.ascontiguousarray(nodes))[1]
        return np.ascontiguousarray(rows[::-1]) if len(nodes) == 1 else np.sort(rows)
    contents = window.contents
    pointers = found.attribute.nodes_of(contents.oldest, contents.shown)
    if len(nodes) == 1:
        return np.flatnonzero(pointers == nodes[0]) + contents.oldest
    wanted = np.zeros(found.index.room, np.bool_)
    wanted[nodes] = True
    return np.flatnonzero(wanted[pointers]) + contents.oldest


def _scanned_for(window: Window, name: str, value: Any) -> I64:
    """The rows with a value, by a look at each."""
    contents = window.contents
    column = contents.span(contents.oldest, contents.shown, [name]).column(0)
    if value is None:
        return np.flatnonzero(to_numpy(column.is_null())) + contents.oldest
    asked = values_of(column.type).as_asked([value])
    if is_text(column.type):
        met = pc.equal(plain_text(column), plain_text(asked)[0])
        return np.flatnonzero(to_numpy(met)) + contents.oldest
    key = int(values_of(column.type).encode(asked)[0][0])
    return np.flatnonzero(_with_value(keys_of_rows(window, name), key, key)) + contents.oldest


def _scanned_between(window: Window, name: str, low: Any, high: Any) -> I64:
    """The rows in a range of values, by a look at each."""
    contents = window.contents
    kind = window.schema.field(name).type
    values = values_of(kind)
    if is_text(kind):
        column = contents.span(contents.oldest, contents.shown, [name]).column(0)
        text, met = plain_text(column), to_numpy(column.is_valid())
        for end, compare in ((low, pc.greater_equal), (high, pc.less_equal)):
            if end is not None:
                asked = plain_text(values.as_asked([end]))[0]
                met = met & to_numpy(compare(text, asked))
        return np.flatnonzero(met) + contents.oldest
    keys = keys_of_rows(window, name)
    since = np.iinfo(np.int64).min if low is None else values.bound(low, after=False)
    until = np.iinfo(np.int64).max if high is None else values.bound(high, after=True)
    return np.flatnonzero(_with_value(keys, int(since), int(until))) + contents.oldest


def _with_value(rows: Keys, low: int, high: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    met = (rows.keys >= low) & (rows.keys <= high)
    return met if rows.nulls is None else met & ~rows.nulls


def _by_ring(found: Access) -> str:
    assert found.ring is not None
    name = found.attribute.name
    return f"the index {found.index.kind!r} and the ring {found.ring.kind!r} on {name!r}"


def _explain_scan(query: _Rows, window: Window, found: Access | None, said: str) -> Explanation:
    name, rows = query.name, len(window)
    if found is None:
        uses = f"the column {name!r} of all rows"
    else:
        uses = f"the pointers of all rows to the index {found.index.kind!r} on {name!r}"
    would = ring_would(window, name, "lead to the rows of a value, without a look at the others")
    return Explanation(said, query.mode, query.incremental, uses, rows, would)
