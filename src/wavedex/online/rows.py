"""The rows of a window: circular arrays, column by column.

A row is known by its arrival number, and lies at that number modulo the capacity. So what is new
overwrites what has left, and nothing is moved. Columns of values of one size are arrays. Columns of
text and of nested values are kept as Arrow brought them, piece by piece, and a piece goes once all
of its rows have left. An attribute that has an index may have no column at all: its rows point at
the index (`wavedex.online.attributes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.rows.arrow import bit_buffer, number_view, to_arrow, to_numpy

I64 = npt.NDArray[np.int64]
_FLOATS = {pa.float16(): "<f2", pa.float32(): "<f4", pa.float64(): "<f8"}
CAPACITY_LEAST = 64
_LOOSE, _PAGE = 4, 4096
"""A piece of a batch is copied where the batch takes so many times its bytes."""
_SMALL = 64
"""So many pieces of a column of text are joined into one: rows that come one by one are many."""


class Column(ABC):
    """One column of the rows that are there."""

    @abstractmethod
    def write(self, first: int, values: pa.Array) -> None:
        """Write the values of rows that have arrived, from row `first` on."""

    @abstractmethod
    def take(self, rows: I64) -> pa.Array:
        """The values of some rows. REQUIRES: they are there."""

    @abstractmethod
    def span(self, first: int, stop: int) -> pa.Array:
        """The values of the rows from `first` up to `stop`, not included."""

    def leave(self, oldest: int) -> None:
        """Rows before `oldest` have left."""
        return

    @abstractmethod
    def grow(self, capacity: int, first: int, stop: int) -> None:
        """Make room for more rows; those from `first` up to `stop` are there."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes it takes."""


def capacity_for(rows: int) -> int:
    """The capacity of circular arrays that hold so many rows: a power of two."""
    return 1 << max(rows - 1, CAPACITY_LEAST - 1).bit_length()


def column_for(kind: pa.DataType, capacity: int) -> Column:
    """A column for values of a type."""
    if is_fixed(kind):
        return FixedColumn(kind, capacity)
    return PiecedColumn(kind)


def is_fixed(kind: pa.DataType) -> bool:
    """Whether values of a type are kept in circular arrays."""
    if kind == pa.month_day_nano_interval():
        return False
    return kind in _FLOATS or pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_temporal(kind)


def plain_view(values: pa.Array) -> npt.NDArray[Any]:
    """The numbers of a column of values of one size, whatever stands where there are nulls."""
    if pt.is_boolean(values.type):
        return to_numpy(values)
    dtype = _FLOATS.get(values.type)
    if dtype is None:
        return number_view(values)
    view = np.frombuffer(values.buffers()[1] or b"", dtype)
    return view[values.offset : values.offset + len(values)]


def write_circular(target: npt.NDArray[Any], first: int, values: npt.NDArray[Any]) -> None:
    """Write values into a circular array, from a row on. REQUIRES: no more than fit."""
    capacity, count = len(target), len(values)
    start = first & (capacity - 1)
    head = capacity - start
    if count <= head:
        target[start : start + count] = values
    else:
        target[start:] = values[:head]
        target[: count - head] = values[head:]


def read_circular(source: npt.NDArray[Any], first: int, stop: int) -> npt.NDArray[Any]:
    """The values from a row up to another. COST: a copy only where they go around the end."""
    capacity, count = len(source), stop - first
    start = first & (capacity - 1)
    if start + count <= capacity:
        return source[start : start + count]
    return np.concatenate([source[start:], source[: start + count - capacity]])


def grown_circular(
    source: npt.NDArray[Any], capacity: int, first: int, stop: int
) -> npt.NDArray[Any]:
    """A larger circular array with the same rows."""
    target = np.zeros(capacity, source.dtype)
    write_circular(target, first, read_circular(source, first, stop))
    return target


class FixedColumn(Column):
    """Values of one size, in a circular array; another says which are null, once one is."""

    def __init__(self, kind: pa.DataType, capacity: int) -> None:
        self.kind = kind
        self._is_boolean = pt.is_boolean(kind)
        self._dtype = plain_view(pa.nulls(0, kind)).dtype
        self._data: npt.NDArray[Any] = np.zeros(capacity, self._dtype)
        self._valid: npt.NDArray[np.bool_] | None = None

    def write(self, first: int, values: pa.Array) -> None:
        write_circular(self._data, first, self._view(values))
        if values.null_count and self._valid is None:
            self._valid = np.ones(len(self._data), np.bool_)
        if self._valid is not None:
            valid = to_numpy(values.is_valid()) if values.null_count else np.ones(len(values), "?")
            write_circular(self._valid, first, valid)

    def _view(self, values: pa.Array) -> npt.NDArray[Any]:
        if self._is_boolean:
            return plain_view(values)
        view = np.frombuffer(values.buffers()[1] or b"", self._dtype)
        return view[values.offset : values.offset + len(values)]

    def take(self, rows: I64) -> pa.Array:
        places = rows & (len(self._data) - 1)
        return self._arrow(self._data[places], None if self._valid is None else self._valid[places])

    def span(self, first: int, stop: int) -> pa.Array:
        data = read_circular(self._data, first, stop).copy()
        valid = None if self._valid is None else read_circular(self._valid, first, stop)
        return self._arrow(data, valid)

    def grow(self, capacity: int, first: int, stop: int) -> None:
        self._data = grown_circular(self._data, capacity, first, stop)
        if self._valid is not None:
            self._valid = grown_circular(self._valid, capacity, first, stop)

    @property
    def nbytes(self) -> int:
        return self._data.nbytes + (0 if self._valid is None else self._valid.nbytes)

    def _arrow(self, data: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None) -> pa.Array:
        bits = None if valid is None or valid.all() else bit_buffer(valid)
        values = bit_buffer(data) if self._is_boolean else pa.py_buffer(data)
        return pa.Array.from_buffers(self.kind, len(data), [bits, values])


class PiecedColumn(Column):
    """Values of any size, as they came: piece by piece."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._starts: list[int] = []
        self._pieces: list[pa.Array] = []

    def write(self, first: int, values: pa.Array) -> None:
        if values.get_total_buffer_size() > _LOOSE * max(values.nbytes, _PAGE):
            values = values.take(to_arrow(np.arange(len(values))))  # Do not hold all for a part.
        self._starts.append(first)
        self._pieces.append(values)
        tail = self._pieces[-_SMALL:]
        if len(tail) == _SMALL and max(map(len, tail)) < _SMALL:
            # Rows that come one by one: few pieces are looked through faster than many.
            self._pieces[-_SMALL:] = [pa.concat_arrays(tail)]
            self._starts[-_SMALL:] = self._starts[-_SMALL : len(self._starts) - _SMALL + 1]

    def take(self, rows: I64) -> pa.Array:
        if not len(rows):
            return pa.nulls(0, self.kind)
        joined = pa.chunked_array(self._pieces, self.kind)
        found = joined.take(to_arrow(rows - self._starts[0]))
        return pa.concat_arrays(found.chunks) if found.num_chunks != 1 else found.chunk(0)

    def span(self, first: int, stop: int) -> pa.Array:
        if first >= stop:
            return pa.nulls(0, self.kind)
        place = bisect_right(self._starts, first) - 1
        chunks = []
        while place < len(self._starts) and self._starts[place] < stop:
            start, piece = self._starts[place], self._pieces[place]
            chunks.append(piece.slice(max(first - start, 0), stop - max(start, first)))
            place += 1
        return pa.concat_arrays(chunks) if len(chunks) != 1 else chunks[0]

    def leave(self, oldest: int) -> None:
        gone = bisect_right(self._starts, oldest) - 1
        if gone > 0:
            del self._starts[:gone], self._pieces[:gone]

    def grow(self, capacity: int, first: int, stop: int) -> None:
        return None

    @property
    def nbytes(self) -> int:
        return sum(piece.nbytes for piece in self._pieces)
