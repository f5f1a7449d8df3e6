"""Columns in the four types that every database has: whole numbers, floats, text and bytes.

This is for packages that know fewer types than Arrow. What is stored compares as the column itself
does, so that a package's own index finds a key, a range of keys and a span of time:

- integers, booleans, dates, times, timestamps and durations are the number that Arrow stores; from
  64-bit numbers without a sign 2**63 is taken away, so that they fit;
- decimals of up to 18 digits are their unscaled number; wider ones are the bytes of that number,
  the highest first, with the bit of the sign turned over;
- floats are 64-bit floats, text is text, binary is bytes, and a dictionary is its values.

Everything comes back as it was, bit for bit. Nested types have no place here and are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition
from wavedex.rows.arrow import bit_buffer, has_bytes, number_view, offsets_of, restored, to_numpy
from wavedex.rows.entries import EntrySpec

_NAN = struct.Struct(">d")
_SIGN = np.int64(-(2**63))
_DIGITS_OF_A_NUMBER = 18


def simple_type(kind: pa.DataType) -> pa.DataType | None:
    """The type in which values of a type are stored; None if there is none.

    It is int64, float64, a string or a binary one.
    """
    if pt.is_dictionary(kind):
        return simple_type(kind.value_type)
    if pt.is_floating(kind):
        return pa.float64()
    if pt.is_decimal(kind):
        return pa.int64() if kind.precision <= _DIGITS_OF_A_NUMBER else pa.binary()
    if pt.is_fixed_size_binary(kind):
        return pa.binary()
    if has_bytes(kind):
        return kind
    if pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_temporal(kind):
        return None if pt.is_interval(kind) else pa.int64()
    return None


def check_simple(spec: EntrySpec, package: str) -> None:
    """Raise BadDefinition for a column whose type has no place here."""
    for field in spec.schema:
        if simple_type(field.type) is None:
            raise BadDefinition(
                f"Column {field.name!r} of type {field.type} cannot be kept in {package}. Cast it "
                "to a plainer type, leave it out with include=, or use format='arrow'."
            )


def to_simple(column: pa.Array) -> pa.Array:
    """A column as it is stored. REQUIRES: its type has a place here."""
    kind = column.type
    if pt.is_dictionary(kind):
        return to_simple(column.dictionary.take(column.indices))
    if has_bytes(kind):
        return column
    if pt.is_fixed_size_binary(kind) and not pt.is_decimal(kind):
        return column.cast(pa.binary())
    if pt.is_boolean(kind):
        return _numbers(to_numpy(column).astype(np.int64), column)
    if pt.is_floating(kind):
        view = np.frombuffer(column.buffers()[1] or b"", f"<f{kind.bit_width // 8}")
        floats = view[column.offset : column.offset + len(column)]
        return _numbers(floats.astype(np.float64), column)
    if pt.is_decimal(kind):
        return _decimals(column)
    if pt.is_uint64(kind):
        return _numbers(number_view(column).view(np.int64) ^ _SIGN, column)
    return _numbers(number_view(column).astype(np.int64), column)


def from_simple(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A stored column in the type of the index."""
    if pt.is_dictionary(kind):
        return restored(from_simple(column, kind.value_type), kind)
    if has_bytes(kind):
        return column if column.type == kind else column.cast(kind)
    if pt.is_fixed_size_binary(kind) and not pt.is_decimal(kind):
        return _like(column, kind, _fixed_bytes(column, kind.byte_width))
    if pt.is_boolean(kind):
        values = to_numpy(column) != 0
        return pa.Array.from_buffers(kind, len(column), [_valid(column), bit_buffer(values)])
    if pt.is_floating(kind):
        view = np.frombuffer(column.buffers()[1] or b"", "<f8")
        floats = view[column.offset : column.offset + len(column)]
        with np.errstate(invalid="ignore", over="ignore"):
            return _like(column, kind, floats.astype(f"<f{kind.bit_width // 8}"))
    if pt.is_decimal(kind):
        return _like(column, kind, _decimal_bytes(column, kind))
    if pt.is_uint64(kind):
        return _like(column, kind, number_view(column) ^ _SIGN)
    return _like(column, kind, number_view(column).astype(f"<i{kind.bit_width // 8}"))


def simple_batch(spec: EntrySpec, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as they are stored."""
    return pa.RecordBatch.from_arrays([*map(to_simple, batch.columns)], names=spec.schema.names)


def restored_batch(schema: pa.Schema, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """Rows as they are in the index, from their columns as they are stored."""
    kinds = schema.types
    back = [from_simple(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(back, schema=schema)


def to_values(column: pa.Array) -> list[Any]:
    """A stored column as Python's own numbers, text and bytes.

    A NaN is its eight bytes, the highest first.
    """
    kind = column.type
    if has_bytes(kind):
        values = _texts(column)
    elif pt.is_floating(kind):
        view = np.frombuffer(column.buffers()[1] or b"", "<f8")
        floats = view[column.offset : column.offset + len(column)]
        values = floats.tolist()
        for place in np.flatnonzero(np.isnan(floats)).tolist():
            values[place] = _NAN.pack(values[place])
    else:
        values = number_view(column).tolist()
    if column.null_count:
        for place in np.flatnonzero(to_numpy(column.is_null())).tolist():
            values[place] = None
    return values


def from_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A stored column from Python's own numbers and bytes; text comes as its bytes."""
    valid = None
    if None in values:
        present = np.fromiter((value is not None for value in values), bool, len(values))
        valid = bit_buffer(present)
    if has_bytes(kind):
        filled = values if valid is None else [b"" if v is None else v for v in values]
        dtype = np.int64 if kind in (pa.large_string(), pa.large_binary()) else np.int32
        ends = np.cumsum([0, *map(len, filled)], dtype=dtype)
        buffers = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(filled))]
        return pa.Array.from_buffers(kind, len(values), buffers)
    if pt.is_floating(kind):
        numbers = np.fromiter(map(_float, values), np.float64, len(values))
    else:
        filled = values if valid is None else [0 if v is None else v for v in values]
        numbers = np.fromiter(filled, np.int64, len(values))
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(numbers)])


def _float(value: Any) -> float:
    if isinstance(value, bytes):
        return _NAN.unpack(value)[0]
    return 0.0 if value is None else value


def _texts(column: pa.Array) -> list[Any]:
    """The values of a text or binary column; where there is a null, anything."""
    bounds = offsets_of(column).tolist()
    first, last = bounds[0], bounds[-1]
    data = bytes(memoryview(column.buffers()[2] or b"")[first:last])
    pairs = pairwise(bounds)
    if pt.is_binary(column.type) or pt.is_large_binary(column.type):
        return [data[start - first : stop - first] for start, stop in pairs]
    if data.isascii():
        text = data.decode("ascii")
        return [text[start - first : stop - first] for start, stop in pairs]
    return [data[start - first : stop - first].decode() for start, stop in pairs]


def _valid(column: pa.Array) -> pa.Buffer | None:
    return bit_buffer(to_numpy(column.is_valid())) if column.null_count else None


def _numbers(values: npt.NDArray[Any], like: pa.Array) -> pa.Array:
    """Numbers as a column, with nulls where another one has them."""
    return _like(like, pa.from_numpy_dtype(values.dtype), values)


def _like(column: pa.Array, kind: pa.DataType, values: npt.NDArray[Any]) -> pa.Array:
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(column), [_valid(column), data])


def _decimals(column: pa.Array) -> pa.Array:
    width = column.type.bit_width // 8
    view = np.frombuffer(column.buffers()[1] or b"", np.uint8).reshape(-1, width)
    view = view[column.offset : column.offset + len(column)]
    if column.type.precision <= _DIGITS_OF_A_NUMBER:
        low = np.ascontiguousarray(view[:, : min(width, 8)])
        return _numbers(low.view(f"<i{min(width, 8)}")[:, 0].astype(np.int64), column)
    big = view[:, ::-1].copy()
    big[:, 0] ^= 0x80
    ends = np.arange(len(column) + 1, dtype=np.int64) * width
    buffers = [_valid(column), pa.py_buffer(ends), pa.py_buffer(big)]
    wide = pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
    return wide.cast(pa.binary())


def _decimal_bytes(column: pa.Array, kind: pa.DataType) -> npt.NDArray[Any]:
    width = kind.bit_width // 8
    if kind.precision > _DIGITS_OF_A_NUMBER:
        big = _fixed_bytes(column, width)
        big[:, 0] ^= 0x80
        return big[:, ::-1]
    numbers = number_view(column)
    if width <= 8:
        return numbers.astype(f"<i{width}")
    words = np.empty((len(numbers), width // 8), np.int64)
    words[:, 0] = numbers
    words[:, 1:] = (numbers >> np.int64(63))[:, None]
    return words


def _fixed_bytes(column: pa.Array, width: int) -> npt.NDArray[np.uint8]:
    """Values of one length in rows, anything where there is a null.

    Raises ValueError where one has another length.
    """
    filled = column.fill_null(b"\0" * width) if column.null_count else column
    data = b"".join(_texts(filled))
    return np.frombuffer(bytearray(data), np.uint8).reshape(len(column), width)


def key_columns(spec: EntrySpec, keys: pa.Array) -> list[pa.Array]:
    """The columns of keys, as they are stored."""
    parts: Iterable[pa.Array] = (
        [keys] if isinstance(spec.key, str) else map(keys.field, range(len(spec.key_names)))
    )
    return [*map(to_simple, parts)]
