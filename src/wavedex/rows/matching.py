"""Which rows of two batches are the same? Each row finds at most one equal row on the other side.

Rows are equal when all their columns are equal bit for bit. So a NaN equals itself, and 0.0 is not
-0.0. A null equals a null. Rows are found by their hashes and then compared, so two rows that only
share a hash are not taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.rows import compute as pc
from wavedex.rows.arrow import number_view, to_arrow, to_numpy
from wavedex.rows.content import hash_rows
from wavedex.rows.order import I64, spread_ranges, stable_order

Bools = npt.NDArray[np.bool_]

_BLOCK_ROWS = 1 << 16
"""How many rows are copied and compared at a time."""


def match_rows(one: pa.RecordBatch, other: pa.RecordBatch) -> tuple[Bools, Bools]:
    """Which rows of both sides have a partner on the other side.

    A partner is an equal row that has no other partner. Of rows that are equal to each other, the
    first ones find a partner. COST: a sort of the hashes, and a copy of some rows at a time.
    """
    matched = np.zeros(one.num_rows, bool), np.zeros(other.num_rows, bool)
    for places, kinds, counts in _equal_rows(one, other):
        pairs = np.minimum(*counts)
        for side in (0, 1):
            matched[side][places[side]] = _places_in_kind(kinds[side]) < pairs[kinds[side]]
    return matched


def agreeing_rows(one: pa.RecordBatch, other: pa.RecordBatch) -> tuple[Bools, Bools]:
    """Which rows of both sides are equal to any on the other side. COST: as of `match_rows`."""
    agreed = np.zeros(one.num_rows, bool), np.zeros(other.num_rows, bool)
    for places, kinds, counts in _equal_rows(one, other):
        for side in (0, 1):
            agreed[side][places[side]] = counts[1 - side][kinds[side]] > 0
    return agreed


_Both = tuple[I64, I64]


def _equal_rows(one: pa.RecordBatch, other: pa.RecordBatch) -> Iterator[tuple[_Both, _Both, _Both]]:
    """Rows of both sides by their kinds, all of a kind equal, and no kind in two answers.

    For either side: where the rows are, the kind of each, and how many there are of each kind.
    """
    hashes = hash_rows(one), hash_rows(other)
    left = np.arange(one.num_rows), np.arange(other.num_rows)
    while len(left[0]) and len(left[1]):
        # The first row of each hash stands for its kind. Rows of that hash and another kind wait
        # for the next round.
        values, firsts, kinds = np.unique(
            hashes[0][left[0]], return_index=True, return_inverse=True
        )
        stand = left[0][firsts]
        found = np.searchsorted(values, hashes[1][left[1]]).clip(max=len(values) - 1)
        known = values[found] == hashes[1][left[1]]
        left, found = (left[0], left[1][known]), found[known]
        same = (
            _rows_equal(one, left[0], one, stand[kinds]),
            _rows_equal(other, left[1], one, stand[found]),
        )
        mine, theirs = kinds[same[0]], found[same[1]]
        counts = tuple(np.bincount(each, minlength=len(values)) for each in (mine, theirs))
        yield (left[0][same[0]], left[1][same[1]]), (mine, theirs), (counts[0], counts[1])
        left = left[0][~same[0]], left[1][~same[1]]


def _places_in_kind(kinds: I64) -> I64:
    """For each row how many rows of its kind come before it."""
    order = stable_order(kinds)
    places = np.empty(len(kinds), np.int64)
    places[order] = np.arange(len(kinds)) - np.searchsorted(kinds[order], kinds[order])
    return places


def _rows_equal(one: pa.RecordBatch, rows: I64, other: pa.RecordBatch, others: I64) -> Bools:
    """Whether rows of one batch equal rows of another, pair by pair."""
    equal = np.ones(len(rows), bool)
    look = np.flatnonzero(rows != others) if one is other else np.arange(len(rows))
    for start in range(0, len(look), _BLOCK_ROWS):
        block = look[start : start + _BLOCK_ROWS]
        mine, theirs = to_arrow(rows[block]), to_arrow(others[block])
        for column, against in zip(one.columns, other.columns, strict=True):
            equal[block] &= _equal(column.take(mine), against.take(theirs))
    return equal


def _equal(one: pa.Array, other: pa.Array) -> Bools:
    """Whether values are equal, pair by pair."""
    if pt.is_dictionary(one.type):
        return _equal(one.dictionary_decode(), other.dictionary_decode())
    valid = to_numpy(one.is_valid()), to_numpy(other.is_valid())
    return np.where(valid[0] & valid[1], _values_equal(one, other), valid[0] == valid[1])


def _values_equal(one: pa.Array, other: pa.Array) -> Bools:
    """Whether values are equal. What it says where a value is null does not matter."""
    kind = one.type
    if pt.is_struct(kind):
        pairs = zip(one.flatten(), other.flatten(), strict=True)
        return np.logical_and.reduce([np.ones(len(one), bool), *(_equal(*pair) for pair in pairs)])
    if pt.is_map(kind) or pt.is_list(kind) or pt.is_large_list(kind):
        return _lists_equal(one, other)
    if pt.is_fixed_size_list(kind):
        plain = pa.list_(kind.value_type)
        return _lists_equal(one.cast(plain), other.cast(plain))
    if pt.is_boolean(kind):
        return to_numpy(one) == to_numpy(other)
    if pt.is_primitive(kind) or pt.is_decimal(kind) or pt.is_fixed_size_binary(kind):
        return (_bytes_of(one) == _bytes_of(other)).all(axis=1)
    if pt.is_null(kind):
        return np.ones(len(one), bool)
    return to_numpy(pc.equal(one, other))


def _bytes_of(column: pa.Array) -> npt.NDArray[np.uint8]:
    """The bytes of values of equal width, a row each."""
    width = column.type.bit_width // 8
    view = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    return view[column.offset * width :][: len(column) * width].reshape(len(column), width)


def _lists_equal(one: pa.Array, other: pa.Array) -> Bools:
    offsets = [number_view(column.offsets).astype(np.int64) for column in (one, other)]
    lengths = [np.diff(each) for each in offsets]
    same = lengths[0] == lengths[1]
    places = [spread_ranges(each[:-1][same], lengths[0][same]) for each in offsets]
    elements = [
        _elements(column).take(to_arrow(each))
        for column, each in zip((one, other), places, strict=True)
    ]
    owners = np.repeat(np.flatnonzero(same), lengths[0][same])
    same[owners[~_equal(*elements)]] = False
    return same


def _elements(column: Any) -> pa.Array:
    if pt.is_map(column.type):
        return pa.StructArray.from_arrays([column.keys, column.items], names=["key", "value"])
    return column.values
