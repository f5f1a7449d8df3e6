"""The values of one attribute, row by row, as numbers whose order is that of the values.

Where the attribute has an index, its rows point at numbers already. Else the column is read: whole
numbers, times and floats are numbers by themselves; text is ranked, so that its numbers can be
compared with others of the same call only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, BadQuery
from wavedex.online.attributes import ListAttribute
from wavedex.online.indexes.contract import I64, NULL_NODE, Bools, SetIndex
from wavedex.online.rings.contract import Ring
from wavedex.online.rows import is_fixed
from wavedex.online.values import Groups, Values, values_of
from wavedex.rows import compute as pc
from wavedex.rows.arrow import has_bytes, to_arrow, to_numpy

if TYPE_CHECKING:
    from wavedex.online.window import Window


class Keys(NamedTuple):
    """Numbers of rows."""

    keys: I64
    """The number of each row; anything where it has no value."""
    nulls: Bools | None
    """Which rows have no value; None where all have one."""

    def ordered(self) -> I64:
        """The places of the rows in order: nulls, then by value, rows of one value as they came."""
        order = np.argsort(self.keys, kind="stable")
        if self.nulls is None:
            return order
        behind = self.nulls[order]
        return np.concatenate([np.flatnonzero(self.nulls), order[~behind]])

    def present(self) -> I64:
        """The numbers of the rows that have a value."""
        return self.keys if self.nulls is None else self.keys[~self.nulls]


@dataclass(frozen=True)
class Access:
    """An attribute of which rows point at an index that has the values themselves."""

    attribute: ListAttribute
    index: SetIndex
    ring: Ring | None

    @property
    def values(self) -> Values:
        """How its values become numbers."""
        return self.attribute.domain.values


def named(columns: object) -> tuple[str, ...] | None:
    """The columns that an answer is to have; None for all. Raises BadQuery."""
    if columns is None:
        return None
    if isinstance(columns, Iterable) and not isinstance(columns, str | bytes):
        found = tuple(columns)
        if all(isinstance(name, str) for name in found):
            return found
    raise BadQuery(f"columns={columns!r}: give the names of columns, such as ['src'].")


def access(window: Window, name: str) -> Access | None:
    """The index of an attribute, and the ring if there is one. None: rows must be read.

    Raises MissingColumn where rows have no such value.
    """
    window.check_column(name)
    attribute = window.attribute(name)
    if isinstance(attribute, ListAttribute) and attribute.has_values:
        assert attribute.index is not None
        if attribute.index.is_split:
            return None  # A value may have several nodes.
        return Access(attribute, attribute.index, attribute.ring)
    return None


def ring_would(window: Window, name: str, what: str) -> str | None:
    """What a ring on an attribute would do, where it may have one; None where it may not."""
    attribute = window.attribute(name)
    index = None if attribute is None else attribute.index
    if index is not None and (index.is_split or index.kind == "group"):
        return None
    return f"ring=[{name!r}] would {what}"


def newest_rows(window: Window, basics: int = 1) -> tuple[int, int]:
    """The first row of the newest basic windows, and one past their last."""
    circle = list(window.contents.circle)[-basics:]
    return (circle[0].first, circle[-1].stop) if circle else (0, 0)


def is_text(kind: pa.DataType) -> bool:
    """Whether values are ranked rather than numbers by themselves."""
    return not is_fixed(kind)


def keys_of_rows(window: Window, name: str, span: tuple[int, int] | None = None) -> Keys:
    """The numbers of all rows that can be seen, or of a span of rows.

    Raises MissingColumn. REQUIRES: its values have an order.
    """
    found, contents = access(window, name), window.contents
    first, stop = span or (contents.oldest, contents.shown)
    if found is None:
        return keys_of(contents.span(first, stop, [name]).column(0))
    nodes = found.attribute.nodes_of(first, stop)
    nulls = nodes == NULL_NODE
    return Keys(found.index.keys[nodes], nulls if nulls.any() else None)


def keys_of(column: pa.Array) -> Keys:
    """The numbers of a column. REQUIRES: its values have an order."""
    if is_text(column.type):
        return _ranked(column)
    keys, nulls = values_of(column.type).encode(column)
    if nulls is None:
        return Keys(keys, None)
    every = np.zeros(len(column), np.int64)
    every[~nulls] = keys
    return Keys(every, nulls)


def check_ordered(name: str, kind: pa.DataType) -> None:
    """Raise BadDefinition where values of a type have no order."""
    plain = kind.value_type if pt.is_dictionary(kind) else kind
    if not (is_fixed(plain) or has_bytes(plain) or pt.is_decimal(plain)):
        raise BadDefinition(
            f"{name!r} is of type {kind}, which has no order. Ask by numbers, times or text."
        )


def _ranked(column: pa.Array) -> Keys:
    coded = plain_text(column).dictionary_encode()
    order = to_numpy(pc.array_sort_indices(coded.dictionary)).astype(np.int64)
    ranks = np.empty(max(len(order), 1), np.int64)
    ranks[order] = np.arange(len(order))
    places = to_numpy(coded.indices.cast(pa.int64()))
    nulls = to_numpy(coded.indices.is_null()) if coded.null_count else None
    return Keys(ranks[places], nulls)


def plain_text(column: pa.Array) -> pa.Array:
    """A column without a dictionary of its own."""
    return column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column


def known_keys(values: Values, column: pa.Array) -> tuple[I64, Bools]:
    """The numbers that an attribute has for a column of another, and which of them there are.

    REQUIRES: no nulls, and the same type. Text that the attribute has not seen has no number.
    """
    if not is_text(column.type):
        keys, _ = values.encode(column)
        return keys, np.ones(len(column), np.bool_)
    coded = plain_text(column).dictionary_encode()
    asked = coded.dictionary
    known = values.keys_of(asked)
    places = pc.index_in(asked, value_set=plain_text(values.decode(known)))
    there = to_numpy(places.is_valid())
    keys = np.zeros(max(len(asked), 1), np.int64)
    keys[: len(asked)][there] = known[to_numpy(places.drop_null()).astype(np.int64)]
    indices = to_numpy(coded.indices.cast(pa.int64()))
    return keys[indices], there[indices] if len(asked) else np.zeros(0, np.bool_)


def is_grouped(window: Window, name: str) -> bool:
    """Whether an attribute is known by ranges of values."""
    attribute = window.attribute(name)
    return attribute is not None and isinstance(attribute.domain.values, Groups)


def taken(array: pa.Array, places: I64) -> pa.Array:
    """Some values of an array."""
    return array.take(to_arrow(np.ascontiguousarray(places)))
