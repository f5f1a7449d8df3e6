"""Several arrays of different lengths in one Arrow IPC file, mapped back without a copy.

The file has one record batch of one row, in which each array is a list. Any Arrow reader opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import Damaged
from wavedex.files.contract import Output
from wavedex.rows.arrow import number_view, to_arrow


def write_arrays(sink: Output, arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Write arrays, NumPy's or Arrow's, under their names."""
    columns = []
    for values in arrays.values():
        values = values if isinstance(values, pa.Array) else to_arrow(values)
        columns.append(pa.LargeListArray.from_arrays(to_arrow(np.array([0, len(values)])), values))
    batch = pa.RecordBatch.from_arrays(columns, names=list(arrays))
    write_batch(sink, batch.replace_schema_metadata(dict(metadata)))


def read_arrays(buffer: pa.Buffer, name: str) -> tuple[dict[str, pa.Array], dict[str, str]]:
    """The arrays and the metadata of a mapped file. Raises Damaged if it is no such file."""
    batch = read_batch(buffer, name)
    if batch.num_rows != 1 or not all(map(pt.is_large_list, batch.schema.types)):
        raise Damaged(f"{name} is no file of arrays")
    try:
        said = batch.schema.metadata or {}
        metadata = {key.decode(): text.decode() for key, text in said.items()}
    except UnicodeDecodeError as error:
        raise Damaged(f"{name} says what is no text ({error})") from error
    names = batch.schema.names
    return {name: batch.column(place)[0].values for place, name in enumerate(names)}, metadata


def own_view(values: pa.Array, whole: npt.NDArray[np.uint8], name: str) -> npt.NDArray[Any]:
    """Whole numbers of a file as an array that may be changed, without a copy.

    `whole` is all of the file, as bytes that may be changed. Raises Damaged.
    """
    if not pt.is_integer(values.type) or values.null_count:
        raise Damaged(f"{name} has an array of {values.type} where whole numbers should be")
    view = number_view(values)
    start = view.ctypes.data - whole.ctypes.data
    if not len(view):
        return np.zeros(0, view.dtype)
    if not 0 <= start <= start + view.nbytes <= len(whole):
        raise Damaged(f"{name} has an array that does not lie in it")
    return whole[start : start + view.nbytes].view(view.dtype)


def write_batch(sink: Output, batch: pa.RecordBatch, compression: str | None = None) -> None:
    """Write an Arrow IPC file of one record batch, which Arrow may compress."""
    options = pa.ipc.IpcWriteOptions(compression=compression)
    file = pa.PythonFile(sink, mode="w")
    with pa.ipc.new_file(file, batch.schema, options=options) as writer:
        writer.write_batch(batch)


def read_batch(buffer: pa.Buffer, name: str) -> pa.RecordBatch:
    """The one record batch of a mapped Arrow IPC file. Raises Damaged where it cannot be read."""
    try:
        batch = pa.ipc.open_file(pa.BufferReader(buffer)).get_batch(0)
        batch.validate()
        return batch
    except (pa.ArrowException, OSError, LookupError, ValueError) as error:
        raise Damaged(f"{name} cannot be read as an Arrow file ({error})") from error
