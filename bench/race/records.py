"""Rows as bytes, for stores that know keys and values and nothing of columns.

The value of a key in a slot is one blob of records of equal width, in time order, without the key.
Whole columns are packed and unpacked at once; nothing is done row by row.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.race.contestant import Contestant, Sums, sums_of
from bench.workload import LABEL_LENGTH, SCHEMA

RECORD = np.dtype(
    [("at", "<i8"), ("amount", "<f8"), ("units", "<i4"), ("label", f"S{LABEL_LENGTH}")]
)
KEY = np.dtype(">i8")
"""Big-endian, so that the order of bytes is the order of keys (which are not negative)."""


def pack(table: pa.Table) -> tuple[np.ndarray, list[bytes]]:
    """The distinct keys of a slot in order, and the blob of each."""
    keys = table["key"].to_numpy()
    order = np.argsort(keys, kind="stable")
    records = np.empty(len(keys), RECORD)
    records["at"] = table["at"].cast(pa.int64()).to_numpy()
    for name in ("amount", "units"):
        records[name] = table[name].to_numpy()
    labels = table["label"].combine_chunks()
    if not pc.all(pc.equal(pc.binary_length(labels), LABEL_LENGTH)).as_py():
        raise ValueError(f"a label is not of {LABEL_LENGTH} bytes")
    records["label"] = labels.cast(pa.binary(LABEL_LENGTH)).to_numpy(zero_copy_only=False)
    distinct, starts = np.unique(keys[order], return_index=True)
    data = records[order].tobytes()
    edges = [*(starts * RECORD.itemsize).tolist(), len(data)]
    return distinct, [data[edges[i] : edges[i + 1]] for i in range(len(starts))]


def key_bytes(keys: np.ndarray | Sequence[int]) -> list[bytes]:
    """Keys as the stores keep them."""
    data = np.asarray(keys).astype(KEY).tobytes()
    return [data[place : place + KEY.itemsize] for place in range(0, len(data), KEY.itemsize)]


def unpack(key: int, blobs: Iterable[bytes]) -> pa.Table:
    """The table of one key from its blobs."""
    data = b"".join(blobs)
    records = np.frombuffer(data, RECORD)
    return _table(np.full(len(records), key), records)


def unpack_many(keys: Sequence[int], blobs: Sequence[bytes]) -> pa.Table:
    """The table of several keys; the key of each blob is at the same place."""
    counts = np.fromiter(map(len, blobs), np.int64, len(blobs)) // RECORD.itemsize
    records = np.frombuffer(b"".join(blobs), RECORD)
    return _table(np.repeat(np.asarray(keys, np.int64), counts), records)


def _table(keys: np.ndarray, records: np.ndarray) -> pa.Table:
    """Columns of records, copied out once each and handed over as buffers.

    That costs less than `pa.array`.
    """
    count = len(records)
    columns = [pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(keys)])]
    for name in ("at", "amount", "units"):
        values = pa.py_buffer(np.ascontiguousarray(records[name]))
        columns.append(pa.Array.from_buffers(SCHEMA.field(name).type, count, [None, values]))
    offsets = np.arange(0, (count + 1) * LABEL_LENGTH, LABEL_LENGTH, dtype=np.int32)
    labels = np.ascontiguousarray(records["label"]).view(np.uint8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(labels)]
    columns.append(pa.Array.from_buffers(pa.string(), count, buffers))
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def grouped_sum_of(blobs: Iterable[bytes]) -> Sums:
    """The grouped sum over blobs: all records become columns, and Arrow groups them."""
    records = np.frombuffer(b"".join(blobs), RECORD)
    table = _table(np.zeros(len(records), np.int64), records)
    grouped = table.group_by("label").aggregate([("units", "sum"), ("amount", "sum")])
    return sums_of(grouped.select(["label", "units_sum", "amount_sum"]))


class OfBlobs(Contestant):
    """A store of keys and blobs.

    It has no questions of its own about all rows: they are asked of the blobs.
    """

    @abstractmethod
    def all_blobs(self) -> Iterable[bytes]:
        """The blobs of all keys and slots."""

    def grouped_sum(self) -> Sums:
        return grouped_sum_of(self.all_blobs())

    def count_rows(self) -> int:
        return sum(map(len, self.all_blobs())) // RECORD.itemsize
