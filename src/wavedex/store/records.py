"""Entries as records of equal width, for stores that write into room inside a file.

A record has a bit for each column that says whether it has a value, the fixed-width values as Arrow stores them, and for
strings and binary where in the heap, a second file that is only appended to, their bytes begin and how many they are.
Records are arrays of NumPy's structured type, so that a column of them is a view.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition
from wavedex.store.arrow import (
    bit_buffer,
    has_bytes,
    offset_dtype,
    offsets_of,
    to_numpy,
)
from wavedex.store.entries import EntrySpec, check_text_bytes
from wavedex.store.order import spread_ranges

Records = npt.NDArray[np.void]

_GATHER_BYTES = 1 << 24
"""How many bytes of strings are gathered at a time."""


@dataclass(frozen=True)
class RecordFormat:
    """How entries of a schema become records and back."""

    spec: EntrySpec

    def __post_init__(self) -> None:
        for field in self.spec.schema:
            kind = _value_type(field.type)
            is_flat = has_bytes(kind) or (
                kind == field.type and (pt.is_boolean(kind) or _width_bytes(kind))
            )
            if not is_flat:
                raise BadDefinition(
                    f"Column {field.name!r} of type {field.type} cannot be updated in place. Use "
                    "update='packed-shadow' or 'runs', or leave the column out with include=."
                )

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The type of a record; its width is a multiple of eight bytes."""
        columns: list[tuple[str, str]] = [("valid", f"V{-(-len(self.spec.schema) // 8)}")]
        for place, field in enumerate(self.spec.schema):
            kind = _value_type(field.type)
            if has_bytes(kind):
                columns += [(f"at{place}", "<i8"), (f"length{place}", "<i4")]
            elif pt.is_boolean(kind):
                columns.append((f"c{place}", "u1"))
            else:
                columns.append((f"c{place}", _number(kind) or f"V{_width_bytes(kind)}"))
        width = np.dtype(columns).itemsize
        return np.dtype([*columns, ("pad", f"V{-width % 8}")] if width % 8 else columns)

    def encode(self, batch: pa.RecordBatch, heap_bytes: int) -> tuple[Records, bytes]:
        """The rows as records, and what to append to a heap that has `heap_bytes` so far."""
        records = np.zeros(batch.num_rows, self.dtype)
        valid = np.zeros((batch.num_rows, len(batch.columns)), bool)
        heap: list[bytes] = []
        for place, column in enumerate(batch.columns):
            if pt.is_dictionary(column.type):
                column = column.dictionary_decode()
            valid[:, place] = to_numpy(column.is_valid())
            if has_bytes(column.type):
                blob, starts, lengths = _heap_of(column)
                records[f"at{place}"] = starts + heap_bytes
                records[f"length{place}"] = lengths
                heap.append(blob)
                heap_bytes += len(blob)
            elif pt.is_boolean(column.type):
                records[f"c{place}"] = to_numpy(column)
            else:
                values = np.frombuffer(column.buffers()[1], self.dtype[f"c{place}"])
                records[f"c{place}"] = values[column.offset : column.offset + len(column)]
        bits = np.packbits(valid, axis=1, bitorder="little")
        records["valid"] = bits.view(self.dtype["valid"]).reshape(-1)
        return records, b"".join(heap)

    def decode(self, records: Records, heap: npt.NDArray[np.uint8]) -> pa.RecordBatch:
        """The records as rows."""
        count = len(records)
        bits = np.ascontiguousarray(records["valid"]).view(np.uint8)
        bits = bits.reshape(count, self.dtype["valid"].itemsize)
        valid = np.unpackbits(bits, axis=1, bitorder="little").astype(bool)
        columns = []
        for place, field in enumerate(self.spec.schema):
            kind = _value_type(field.type)
            here = valid[:, place]
            mask = None if here.all() else bit_buffer(here)
            if has_bytes(kind):
                column = self._heap_column(kind, records, place, mask, heap)
            elif pt.is_boolean(kind):
                flags = bit_buffer(records[f"c{place}"].astype(bool))
                column = pa.Array.from_buffers(kind, count, [mask, flags])
            else:
                values = np.ascontiguousarray(records[f"c{place}"]).view(np.uint8)
                column = pa.Array.from_buffers(kind, count, [mask, pa.py_buffer(values)])
            columns.append(column.cast(field.type) if kind != field.type else column)
        return pa.RecordBatch.from_arrays(columns, schema=self.spec.schema)

    def _heap_column(
        self,
        kind: pa.DataType,
        records: Records,
        place: int,
        mask: Any,
        heap: npt.NDArray[np.uint8],
    ) -> pa.Array:
        lengths = records[f"length{place}"].astype(np.int64)
        offsets = np.zeros(len(records) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        check_text_bytes(kind, int(offsets[-1]), self.spec.schema.field(place).name)
        data = _gather(heap, records[f"at{place}"], lengths)
        buffers = [mask, pa.py_buffer(offsets.astype(offset_dtype(kind), copy=False))]
        return pa.Array.from_buffers(kind, len(records), [*buffers, pa.py_buffer(data)])

    def fits(self, records: Records, heap_bytes: int) -> bool:
        """Whether everything that the records point at lies in the heap."""
        for place, field in enumerate(self.spec.schema):
            if len(records) and has_bytes(_value_type(field.type)):
                starts, lengths = records[f"at{place}"], records[f"length{place}"]
                if min(starts.min(), lengths.min()) < 0 or (starts + lengths).max() > heap_bytes:
                    return False
        return True

    def ordinals(self, records: Records) -> npt.NDArray[np.int64]:
        """The order column."""
        return records[f"c{self.spec.order_place}"].astype(np.int64)

    def heap_live_bytes(self, records: Records) -> int:
        """How many bytes of the heap the records point at."""
        lengths = [name for name in self.dtype.names or () if name.startswith("length")]
        return sum(int(records[name].sum(dtype=np.int64)) for name in lengths)


def _gather(
    heap: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """The bytes of many slices of the heap, one after the other."""
    if len(lengths) and (lengths == lengths[0]).all() and lengths[0]:
        return np.lib.stride_tricks.sliding_window_view(heap, lengths[0])[starts].reshape(-1)
    # Positions take eight times the room of the bytes, so they are made for some rows at a time.
    pieces = np.flatnonzero(np.diff(np.cumsum(lengths) // _GATHER_BYTES, prepend=0))
    return np.concatenate(
        [
            heap[spread_ranges(some_starts, some_lengths)]
            for some_starts, some_lengths in zip(
                np.split(starts, pieces), np.split(lengths, pieces), strict=True
            )
        ]
    )


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pt.is_dictionary(kind) else kind


def _width_bytes(kind: pa.DataType) -> int:
    if pt.is_primitive(kind) or pt.is_decimal(kind) or pt.is_fixed_size_binary(kind):
        return int(kind.bit_width) // 8
    return 0


def _number(kind: pa.DataType) -> str | None:
    """NumPy's name for types that are numbers of one, two, four or eight bytes."""
    if pt.is_decimal(kind) or pt.is_fixed_size_binary(kind):
        return None
    return f"<{'u' if pt.is_unsigned_integer(kind) else 'i'}{_width_bytes(kind)}"


def _heap_of(column: pa.Array) -> tuple[bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A string column's bytes without gaps, and where in them each value lies."""
    offsets = offsets_of(column).astype(np.int64)
    data = memoryview(column.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    return bytes(data), offsets[:-1] - offsets[0], np.diff(offsets)
