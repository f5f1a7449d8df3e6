"""Between NumPy and Arrow, without a copy.

`pyarrow.array` imports pandas where it is installed, and takes half a second for it; nothing here does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BYTES = (pa.string(), pa.binary())
_LARGE_BYTES = (pa.large_string(), pa.large_binary())


def has_bytes(kind: pa.DataType) -> bool:
    """Whether values of the type are of any length: strings and binary."""
    return kind in _BYTES or kind in _LARGE_BYTES


def offset_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """In what Arrow counts the bytes of strings or binary of the type."""
    return np.dtype("<i8" if kind in _LARGE_BYTES else "<i4")


def offsets_of(values: pa.Array) -> npt.NDArray[Any]:
    """Where in its data each value of a string or binary column begins, and where the last one ends."""
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


def bit_buffer(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    """Booleans as the bits in which Arrow keeps them."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows."""
    columns = [pa.nulls(0, kind) for kind in schema.types]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
