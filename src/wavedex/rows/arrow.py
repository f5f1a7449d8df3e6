"""Between NumPy and Arrow, without a copy.

`pyarrow.array` and `Array.to_numpy` import pandas where it is installed, which takes half a second.
Nothing here does that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

_BYTES = (pa.string(), pa.binary())
_LARGE_BYTES = (pa.large_string(), pa.large_binary())


def has_bytes(kind: pa.DataType) -> bool:
    """Whether values of the type are of any length: strings and binary."""
    return kind in _BYTES or kind in _LARGE_BYTES


def offset_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The type in which Arrow counts the bytes of strings or binary of the type."""
    return np.dtype("<i8" if kind in _LARGE_BYTES else "<i4")


def offsets_of(values: pa.Array) -> npt.NDArray[Any]:
    """Where each value of a string or binary column begins in its data, and where the last ends."""
    dtype = offset_dtype(values.type)
    if not len(values):
        return np.zeros(1, dtype)
    offsets = np.frombuffer(values.buffers()[1], dtype)
    return offsets[values.offset : values.offset + len(values) + 1]


def to_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """An array of numbers or booleans as Arrow's, the numbers without a copy.

    >>> to_arrow(np.array([True, False, True])).to_pylist(), to_arrow(np.arange(3)).type
    ([True, False, True], DataType(int64))
    """
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, bit_buffer(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def number_view(column: pa.Array) -> npt.NDArray[Any]:
    """The numbers that Arrow stores for integers, dates and timestamps, without a copy.

    REQUIRES: no nulls.
    """
    sign = "u" if pt.is_unsigned_integer(column.type) else "i"
    view = np.frombuffer(column.buffers()[1] or b"", f"<{sign}{column.type.bit_width // 8}")
    return view[column.offset : column.offset + len(column)]


def to_numpy(values: pa.Array) -> npt.NDArray[Any]:
    """Whole numbers or booleans as NumPy's, with 0 or False where there is a null.

    COST: no copy of numbers without nulls.

    >>> to_numpy(to_arrow(np.array([True, False, True])).slice(1))
    array([False,  True])
    """
    first, last = values.offset, values.offset + len(values)
    if pt.is_boolean(values.type):
        found = _bits(values.buffers()[1], first, last)
    else:
        found = number_view(values)
    if values.null_count:
        found = np.where(_bits(values.buffers()[0], first, last), found, found.dtype.type(0))
    return found


def _bits(buffer: pa.Buffer | None, first: int, last: int) -> npt.NDArray[np.bool_]:
    bits = np.frombuffer(buffer or b"", np.uint8)
    return np.unpackbits(bits, count=last, bitorder="little")[first:].view(np.bool_)


def bit_buffer(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    """Booleans as the bits in which Arrow keeps them."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows."""
    columns = [pa.nulls(0, kind) for kind in schema.types]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def restored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column that was read from Parquet, in the type of the index."""
    if column.type == kind:
        return column
    if pt.is_dictionary(kind):
        coded = restored(column, kind.value_type).dictionary_encode()
        if coded.type == kind:
            return coded
        # It is of another type only in that its dictionary is said to be sorted.
        codes = coded.indices
        return pa.DictionaryArray.from_buffers(
            kind, len(codes), codes.buffers(), coded.dictionary, offset=codes.offset
        )
    return column.cast(kind)
