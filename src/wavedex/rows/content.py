"""Is this the same set of rows? A number that depends on the rows and not on their order.

Each row is hashed over all its columns, and the hashes are added up, modulo 2**64. Rows that arrive
again in another order, or from another number of Spark tasks, give the same number. Rows that are
added to a file in place, or taken from it, change the number by their own hashes alone. It finds
accidents, not forgers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.rows.arrow import has_bytes, to_numpy
from wavedex.rows.codes import seems_varied
from wavedex.rows.hashes import U64
from wavedex.rows.keys import hash_strings

_BLOCK_ROWS = 1 << 16
_MASK = (1 << 64) - 1
_NULL = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)


def content_of(hashes: U64) -> int:
    """The order-free hash of rows, from the hashes of the rows."""
    return int(hashes.sum(dtype=np.uint64))


def add_content(one: int, other: int) -> int:
    """The hash of the rows of both."""
    return (one + other) & _MASK


def subtract_content(one: int, other: int) -> int:
    """The hash of the rows of `one` without those of `other`."""
    return (one - other) & _MASK


def hash_rows(batch: pa.RecordBatch) -> U64:
    """The hash of each row.

    COST: a few passes of NumPy over each column, some rows at a time and so in little memory.
    """
    # A dictionary is hashed as a whole, however few rows there are.
    coded = any(map(pt.is_dictionary, batch.schema.types))
    step = max(batch.num_rows, 1) if coded else _BLOCK_ROWS
    hashes = np.zeros(batch.num_rows, np.uint64)
    with np.errstate(over="ignore"):
        for start in range(0, batch.num_rows, step):
            block = hashes[start : start + step]
            for column in batch.slice(start, step).columns:
                block[:] = _mix(block, _hash_column(column))
    return hashes


def add_column(hashes: U64, column: pa.Array) -> U64:
    """The hashes of rows with one more column, the last, by those without it."""
    with np.errstate(over="ignore"):
        return _mix(hashes, _hash_column(column))


def _mix(one: U64, other: U64) -> U64:
    mixed = (one * _ODD) ^ other
    return mixed ^ (mixed >> np.uint64(32))


def _scramble(words: U64) -> U64:
    """Scramble each word: words that differ anywhere then differ everywhere.

    A quarter of the work of a real hash.
    """
    words = words + _NULL
    words = (words ^ (words >> np.uint64(32))) * _ODD
    return (words ^ (words >> np.uint64(29))) * _NULL


def _hash_column(column: pa.Array) -> U64:
    hashes = _hash_values(column)
    if column.null_count:
        hashes = np.where(to_numpy(column.is_null()), _NULL, hashes)
    return hashes


def _hash_values(column: pa.Array) -> U64:
    """The hash of each value; what stands where a value is null does not matter."""
    kind = column.type
    if pt.is_dictionary(kind):
        indices = to_numpy(column.indices).astype(np.int64)
        if not len(column.dictionary):
            return np.zeros(len(column), np.uint64)
        values = column.dictionary
        hashed = hash_strings(values) if has_bytes(values.type) else _hash_column(values)
        return hashed[indices]
    if pt.is_struct(kind):
        hashes = np.zeros(len(column), np.uint64)
        for child in column.flatten():
            hashes = _mix(hashes, _hash_column(child))
        return hashes
    if pt.is_map(kind) or pt.is_list(kind) or pt.is_large_list(kind):
        return _hash_lists(column)
    if pt.is_fixed_size_list(kind):
        return _hash_lists(column.cast(pa.list_(kind.value_type)))
    if pt.is_boolean(kind):
        return _scramble(to_numpy(column).astype(np.uint64))
    if pt.is_fixed_size_binary(kind) or pt.is_decimal(kind):
        return _hash_wide(column, kind.bit_width // 8)
    if pt.is_primitive(kind):
        width = kind.bit_width // 8
        view = np.frombuffer(column.buffers()[1] or b"", f"<u{width}")
        return _scramble(view[column.offset : column.offset + len(column)].astype(np.uint64))
    if pt.is_null(kind):
        return np.zeros(len(column), np.uint64)
    if seems_varied(column):
        return hash_strings(column)
    # Each distinct string is hashed once, however often it stands there.
    return _hash_values(column.dictionary_encode())


def _hash_wide(column: pa.Array, width: int) -> U64:
    view = np.frombuffer(column.buffers()[1] or b"", np.uint8).reshape(-1, width)
    rows = view[column.offset : column.offset + len(column)]
    padded = np.zeros((len(rows), -(-width // 8) * 8), np.uint8)
    padded[:, :width] = rows
    hashes = np.zeros(len(rows), np.uint64)
    for word in padded.view("<u8").T:
        hashes = _mix(hashes, _scramble(np.ascontiguousarray(word)))
    return hashes


def _hash_lists(column: pa.Array) -> U64:
    """Lists: the sum of the elements' hashes, each weighted by its place, and the length."""
    offsets = np.asarray(column.offsets, np.int64)
    values: Any = column.values
    if pt.is_map(column.type):
        values = pa.StructArray.from_arrays([column.keys, column.items], names=["key", "value"])
    elements = _hash_column(values[offsets[0] : offsets[-1]])
    lengths = np.diff(offsets)
    places = np.arange(len(elements)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    weighted = _mix(elements, _scramble(places.astype(np.uint64)))
    sums: npt.NDArray[np.uint64] = np.concatenate([[np.uint64(0)], np.cumsum(weighted)])
    ends = offsets - offsets[0]
    return _mix(sums[ends[1:]] - sums[ends[:-1]], _scramble(lengths.astype(np.uint64)))
