"""Ids that are whole numbers, or that Arrow stores as such: each is its own number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadKey, SchemaMismatch
from wavedex.rows.arrow import to_numpy
from wavedex.rows.keys import key_type
from wavedex.temporal.changes import I64
from wavedex.temporal.ids.contract import Ids

_SIGN = np.uint64(1 << 63)


class Numbers(Ids):
    """Ids that are whole numbers, or that Arrow stores as such."""

    are_numbers = True

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._key = key_type(kind)
        self._is_plain = pt.is_signed_integer(kind)
        self._wraps = pt.is_uint64(kind)
        limits = np.iinfo(f"i{kind.bit_width // 8}") if self._is_plain else np.iinfo(np.int64)
        self._least, self._most = int(limits.min), int(limits.max)

    def number_of(self, value: Any) -> int:
        if value.__class__ is int and self._is_plain and self._least <= value <= self._most:
            return int(value)
        try:
            plain: int = self._key.plain(value.as_py() if isinstance(value, pa.Scalar) else value)  # type: ignore[assignment]
        except BadKey:
            raise self._refuse(value) from None
        return plain - (1 << 63) if self._wraps else plain

    def numbers_of(self, values: Any) -> I64:
        if isinstance(values, np.ndarray) and values.dtype == np.int64 and self.kind == pa.int64():
            return values
        return super().numbers_of(values)

    def _find(self, values: pa.Array) -> I64:
        numbers = to_numpy(values)
        if self._wraps:
            return (numbers ^ _SIGN).view(np.int64)
        return numbers.astype(np.int64, copy=False)

    def number(self, values: pa.Array) -> I64:
        return self._find(values)

    def ranks(self, values: pa.Array) -> I64:
        return self._key.ranks(values)

    def values(self, numbers: I64) -> pa.Array:
        if pt.is_boolean(self.kind):
            packed = pa.py_buffer(np.packbits(numbers != 0, bitorder="little"))
            return pa.Array.from_buffers(self.kind, len(numbers), [None, packed])
        if self._wraps:
            stored: npt.NDArray[Any] = numbers.view(np.uint64) ^ _SIGN
        else:
            sign = "u" if pt.is_unsigned_integer(self.kind) else "i"
            stored = numbers.astype(f"<{sign}{self.kind.bit_width // 8}")
        data = pa.py_buffer(np.ascontiguousarray(stored))
        return pa.Array.from_buffers(self.kind, len(numbers), [None, data])

    def _from_values(self, values: Sequence[Any]) -> pa.Array:
        if self._is_plain and values and set(map(type, values)) == {int}:
            try:
                return self.cast(pa.array(np.array(values, np.int64)))
            except (OverflowError, SchemaMismatch):
                pass  # One by one, to say which.
        return self.values(np.array([self.number_of(value) for value in values], np.int64))

    def parse(self, text: str) -> Any:
        return self._key.parse(text)
