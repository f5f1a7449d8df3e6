"""Which rows of two windows go together, and what becomes of them: one row of both.

Rows go together whose values are equal: NaN is equal to itself, and nulls to nothing. With an index
and a ring on one side, the rows of the other are looked up there, all at once. Without either, the
smaller side is sorted and the larger is looked up in it.

The key stands once in a result, as the first window has it. A column of the second whose name the
first has too is told apart by "_right".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, MissingColumn
from wavedex.online.indexes.contract import I32, I64, NO_NODE, NULL_NODE
from wavedex.online.queries.columns import (
    Access,
    Keys,
    access,
    check_ordered,
    is_text,
    keys_of,
    keys_of_rows,
    known_keys,
    named,
    plain_text,
)
from wavedex.rows.arrow import to_numpy

if TYPE_CHECKING:
    from wavedex.online.window import Window

RIGHT = "_right"
Span = tuple[int, int]
Pairs = tuple[I64, I64]
"""Rows of one side, and the rows of the other that go with them."""


class Side(NamedTuple):
    """One window of a join."""

    window: Window
    on: str

    @property
    def seen(self) -> Span:
        """The rows that can be seen."""
        return self.window.contents.oldest, self.window.contents.shown

    def access(self) -> Access | None:
        """The index of the key, if there is one."""
        return access(self.window, self.on)

    @property
    def has_ring(self) -> bool:
        """Whether rows can be looked up by their key."""
        found = self.access()
        return found is not None and found.ring is not None

    def column(self, span: Span) -> pa.Array:
        """The keys of some rows."""
        return self.window.contents.span(*span, [self.on]).column(0)


class Pairing:
    """Two windows that are joined by the values of an attribute of each."""

    def __init__(
        self,
        window: Window,
        other: Window,
        on: str,
        other_on: str | None,
        columns: Sequence[str] | None,
    ) -> None:
        """Raises BadDefinition, MissingColumn."""
        theirs = on if other_on is None else other_on
        self.sides = Side(window, window.check_column(on)), Side(other, other.check_column(theirs))
        kinds = [side.window.schema.field(side.on).type for side in self.sides]
        if kinds[0] != kinds[1]:
            raise BadDefinition(
                f"{on!r} is {kinds[0]} and {theirs!r} is {kinds[1]}: rows are joined by values of "
                "one type. Cast one of them before it is pushed."
            )
        check_ordered(on, kinds[0])
        self._choose(columns)

    def _choose(self, columns: Sequence[str] | None) -> None:
        """Say which columns of which side a result has."""
        first, second = (side.window for side in self.sides)
        places: dict[str, tuple[int, str]] = {name: (0, name) for name in first.contents.kept}
        for name in second.contents.kept:
            if name == self.sides[1].on:
                continue
            given = name
            while given in places:
                given += RIGHT
            places[given] = 1, name
        given_names = named(columns)
        chosen = [*places] if given_names is None else [*given_names]
        for name in chosen:
            if name not in places:
                raise MissingColumn(f"The join has no column {name!r}. It has {', '.join(places)}.")
        if not chosen:
            raise BadDefinition("columns=() leaves nothing of the join. Name one column at least.")
        self._places = [places[name] for name in chosen]
        self._names = [
            [each for side, each in dict.fromkeys(self._places) if side == number]
            for number in (0, 1)
        ]
        schemas = first.schema, second.schema
        self.schema = pa.schema(
            [
                schemas[side].field(each).with_name(name)
                for name, (side, each) in zip(chosen, self._places, strict=True)
            ]
        )

    def result(self, rows: Pairs) -> pa.RecordBatch:
        """The rows of both windows as one."""
        found = {
            (number, name): column
            for number, side in enumerate(self.sides)
            if self._names[number]
            for name, column in zip(
                self._names[number],
                side.window.contents.take(rows[number], self._names[number]).columns,
                strict=True,
            )
        }
        arrays = [found[place] for place in self._places]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def all(self) -> Pairs:
        """All rows that go together."""
        first, second = self.sides
        if not second.has_ring and first.has_ring:
            right, left = matched(second, second.seen, first)
            return left, right
        return matched(first, first.seen, second)


def matched(near: Side, span: Span, far: Side) -> Pairs:
    """Some rows of one side, and all that can be seen of the other and go with them."""
    found = far.access()
    if found is None or found.ring is None:
        return _by_sorting(near, span, far)
    nodes = far_nodes(near, span, found)
    rows, there = np.arange(*span), nodes != NO_NODE
    if not there.all():
        nodes, rows = nodes[there], rows[there]
    counts, others = found.ring.rows_of(nodes)
    return np.repeat(rows, counts), others


def far_nodes(near: Side, span: Span, far: Access) -> I32:
    """The nodes that the other side has for the values of some rows; NO_NODE for none."""
    found = near.access()
    if found is None:
        return _nodes_for(near.column(span), far)
    nodes = found.attribute.nodes_of(*span)
    if found.attribute.domain is far.attribute.domain:
        return np.where(nodes == NULL_NODE, np.int32(NO_NODE), nodes)
    if is_text(found.values.kind):
        distinct, places = np.unique(nodes, return_inverse=True)
        return _nodes_for(found.attribute.domain.decode(distinct), far)[places]
    others = far.index.find(found.index.keys[nodes])
    others[nodes == NULL_NODE] = NO_NODE
    return others


def _nodes_for(column: pa.Array, far: Access) -> I32:
    nodes = np.full(len(column), NO_NODE, np.int32)
    places = np.flatnonzero(to_numpy(column.is_valid()))
    keys, known = known_keys(far.values, column.drop_null())
    nodes[places[known]] = far.index.find(keys[known])
    return nodes


def _by_sorting(near: Side, span: Span, far: Side) -> Pairs:
    """By a sort of the smaller side.

    COST: each row of the larger side is looked up among those of the smaller.
    """
    ours, theirs = _keys_of_both(near, span, far)
    is_smaller = len(ours.keys) < len(theirs.keys)
    small, large = (ours, theirs) if is_smaller else (theirs, ours)
    small_first, large_first = (span[0], far.seen[0]) if is_smaller else (far.seen[0], span[0])
    order = np.argsort(small.keys, kind="stable")
    if small.nulls is not None:
        order = order[~small.nulls[order]]
    keys = small.keys[order]
    asked = np.arange(len(large.keys)) if large.nulls is None else np.flatnonzero(~large.nulls)
    starts = np.searchsorted(keys, large.keys[asked], "left")
    counts = np.searchsorted(keys, large.keys[asked], "right") - starts
    steps = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    found = order[np.repeat(starts, counts) + steps] + small_first
    looked = np.repeat(asked, counts) + large_first
    return (found, looked) if is_smaller else (looked, found)


def _keys_of_both(near: Side, span: Span, far: Side) -> tuple[Keys, Keys]:
    """Numbers of rows of both sides that can be compared."""
    first, second = near.access(), far.access()
    is_one = (
        first is not None
        and second is not None
        and first.attribute.domain is second.attribute.domain
    )
    if is_one or not is_text(near.window.schema.field(near.on).type):
        return keys_of_rows(near.window, near.on, span), keys_of_rows(far.window, far.on, far.seen)
    count = span[1] - span[0]
    both = keys_of(
        pa.concat_arrays([plain_text(near.column(span)), plain_text(far.column(far.seen))])
    )
    nulls = both.nulls
    return (
        Keys(both.keys[:count], None if nulls is None else nulls[:count]),
        Keys(both.keys[count:], None if nulls is None else nulls[count:]),
    )
