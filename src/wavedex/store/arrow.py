"""From NumPy to Arrow without `pyarrow.array`, which imports pandas where it is installed and takes half a second for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


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
    columns = [column.combine_chunks() for column in schema.empty_table().columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
