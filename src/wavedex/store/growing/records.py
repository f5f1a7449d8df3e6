"""Entries as records of equal width, for stores that write into room inside a file.

A record has a bit for each column that says whether it has a value. Fixed-width values are as Arrow
stores them. The bytes of strings and binary are in the heap, a second file that is only appended
to. The record says where in it they begin and how many they are. Records are arrays of NumPy's
structured type, so that a column of them is a view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition
from wavedex.rows.arrow import (
    bit_buffer,
    has_bytes,
    offset_dtype,
    offsets_of,
    to_numpy,
)
from wavedex.rows.entries import EntrySpec, check_text_bytes
from wavedex.rows.order import spread_ranges

Records = npt.NDArray[np.void]
_Reader = Callable[[Records, "pa.Buffer | None", npt.NDArray[np.uint8]], pa.Array]
"""Makes a column from records, the mask of the rows that have a value, and the heap."""

_GATHER_BYTES = 1 << 24
"""How many bytes of strings are gathered at a time."""
_FEW = 32
"""For up to this many records NumPy takes longer to begin than Python takes to be done."""


@dataclass(frozen=True)
class RecordFormat:
    """How entries of a schema become records and back."""

    spec: EntrySpec
    """The columns of the entries."""

    def __post_init__(self) -> None:
        for field in self.spec.schema:
            kind = _value_type(field.type)
            is_flat = has_bytes(kind) or (
                kind == field.type and (pt.is_boolean(kind) or _width_bytes(kind))
            )
            if not is_flat:
                raise BadDefinition(
                    f"Column {field.name!r} of type {field.type} cannot be updated in place. Use "
                    "update='packed-shadow' or 'runs' (of a lifetime index, a method that "
                    "rebuilds), or leave the column out with include=."
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
        pairs = zip(self._readers, self._masks(records), strict=True)
        columns = [read(records, mask, heap) for read, mask in pairs]
        for place, kind in self._cast.items():
            columns[place] = columns[place].cast(kind)
        return pa.RecordBatch.from_arrays(columns, schema=self.spec.schema)

    @cached_property
    def _readers(self) -> list[_Reader]:
        """For each column what makes it from records."""
        names = self.spec.schema.names
        return [
            _text_reader(kind, place, names[place])
            if has_bytes(kind)
            else _flag_reader(kind, f"c{place}")
            if pt.is_boolean(kind)
            else _number_reader(kind, f"c{place}")
            for place, kind in enumerate(self._kinds)
        ]

    @cached_property
    def _texts(self) -> list[int]:
        """The columns of strings or binary."""
        return [place for place, kind in enumerate(self._kinds) if has_bytes(kind)]

    @cached_property
    def _kinds(self) -> list[pa.DataType]:
        """The types of the columns as records hold them."""
        return [_value_type(kind) for kind in self.spec.schema.types]

    @cached_property
    def _cast(self) -> dict[int, pa.DataType]:
        """The columns that have other types in the index, and these."""
        pairs = zip(self.spec.schema.types, self._kinds, strict=True)
        return {place: kind for place, (kind, held) in enumerate(pairs) if kind != held}

    @cached_property
    def _all_valid(self) -> bytes:
        """The bits of a record in which every column has a value."""
        return np.packbits(np.ones(len(self._kinds), bool), bitorder="little").tobytes()

    def _masks(self, records: Records) -> list[pa.Buffer | None]:
        """For each column which rows have a value, None where all do."""
        bits = records["valid"].tobytes()
        if bits == self._all_valid * len(records):
            return [None] * len(self._kinds)
        rows = np.frombuffer(bits, np.uint8).reshape(len(records), len(self._all_valid))
        valid = np.unpackbits(rows, axis=1, bitorder="little").astype(bool)
        return [None if each.all() else bit_buffer(each) for each in valid.T[: len(self._kinds)]]

    def fits(self, records: Records, heap_bytes: int) -> bool:
        """Whether everything that the records point at lies in the heap."""
        return not len(records) or all(
            _fit(records[f"at{place}"], records[f"length{place}"], heap_bytes)
            for place in self._texts
        )

    def ordinals(self, records: Records) -> npt.NDArray[np.int64]:
        """The order column."""
        return self.ordinal_view(records).astype(np.int64)

    def ordinal_view(self, records: Records) -> npt.NDArray[Any]:
        """The order column as it lies in the records."""
        return self.numbers(records, self.spec.order_place)

    def numbers(self, records: Records, place: int) -> npt.NDArray[Any]:
        """A column of numbers or times as it lies in the records."""
        return records[f"c{place}"]

    def heap_live_bytes(self, records: Records) -> int:
        """How many bytes of the heap the records point at."""
        lengths = [name for name in self.dtype.names or () if name.startswith("length")]
        return sum(int(records[name].sum(dtype=np.int64)) for name in lengths)


def _number_reader(kind: pa.DataType, name: str) -> _Reader:
    def read(records: Records, mask: pa.Buffer | None, heap: npt.NDArray[np.uint8]) -> pa.Array:
        values = pa.py_buffer(records[name].tobytes())
        return pa.Array.from_buffers(kind, len(records), [mask, values])

    return read


def _flag_reader(kind: pa.DataType, name: str) -> _Reader:
    def read(records: Records, mask: pa.Buffer | None, heap: npt.NDArray[np.uint8]) -> pa.Array:
        flags = bit_buffer(records[name].astype(bool))
        return pa.Array.from_buffers(kind, len(records), [mask, flags])

    return read


def _text_reader(kind: pa.DataType, place: int, column: str) -> _Reader:
    start_name, length_name = f"at{place}", f"length{place}"
    offset = offset_dtype(kind)

    def read(records: Records, mask: pa.Buffer | None, heap: npt.NDArray[np.uint8]) -> pa.Array:
        lengths = records[length_name].astype(np.int64)
        ends = lengths.cumsum()
        check_text_bytes(kind, int(ends[-1]) if len(ends) else 0, column)
        offsets = np.zeros(len(records) + 1, offset)
        offsets[1:] = ends
        data = pa.py_buffer(_gather(heap, records[start_name], lengths))
        return pa.Array.from_buffers(kind, len(records), [mask, pa.py_buffer(offsets), data])

    return read


def _fit(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32], heap_bytes: int) -> bool:
    if len(starts) <= _FEW:
        pairs = zip(starts.tolist(), lengths.tolist(), strict=True)
        return all(0 <= start <= start + length <= heap_bytes for start, length in pairs)
    least = min(starts.min(), lengths.min())
    return bool(least >= 0 and (starts + lengths).max() <= heap_bytes)


def _gather(
    heap: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Any:
    """The bytes of many slices of the heap, one after the other."""
    if len(lengths) <= _FEW:
        pairs = zip(starts.tolist(), lengths.tolist(), strict=True)
        return b"".join([heap[start : start + length].data for start, length in pairs])
    width = int(lengths[0])
    if width and (lengths == width).all():
        windows = np.ndarray((len(heap) - width + 1, width), np.uint8, heap.data, strides=(1, 1))
        return windows[starts].reshape(-1)
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
