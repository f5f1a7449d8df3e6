"""Between NumPy and Arrow, without a copy.

`pyarrow.array` and `Array.to_numpy` import pandas where it is installed, which takes half a second.
Nothing here does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

_BYTES = (pa.string(), pa.binary())
_MOST_BYTES = 2**31 - 1
"""An array of texts has no more bytes than this."""
_LONG, _INT64 = np.dtype(np.int64), pa.int64()
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
    if values.dtype == _LONG and values.flags.c_contiguous:
        return pa.Array.from_buffers(_INT64, len(values), [None, pa.py_buffer(values)])
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, bit_buffer(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def from_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Python's values as Arrow's, without pandas where all of them are plain.

    Raises what `pyarrow.array` raises.

    >>> from_values(["a", "bc"], pa.string()).to_pylist(), from_values([1, None], pa.int8()).type
    (['a', 'bc'], DataType(int8))
    """
    types = {type(value) for value in values}
    if types == {int} and pt.is_integer(kind) and not pt.is_uint64(kind):
        return to_arrow(np.array(values, np.int64)).cast(kind)
    if types and types <= {int, float} and kind == pa.float64():
        return to_arrow(np.array(values, np.float64))
    if types == {bool} and pt.is_boolean(kind):
        return to_arrow(np.array(values, np.bool_))
    if (types == {str} and kind == pa.string()) or (types == {bytes} and kind == pa.binary()):
        return _from_texts(values, kind)
    return pa.array(values, kind)


def _from_texts(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    pieces = [value.encode() if isinstance(value, str) else value for value in values]
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    if offsets[-1] > _MOST_BYTES:
        return pa.array(values, kind)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(pieces))]
    return pa.Array.from_buffers(kind, len(pieces), buffers)


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
