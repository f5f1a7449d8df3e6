"""Values as 64-bit numbers in their order, and back.

An index compares numbers and nothing else. Whole numbers, times and booleans are their own numbers.
A float is the number that its bits make, turned so that the order is that of floats: -0.0 is 0.0,
and NaN is one value, the largest. Text has numbers too, which stand for its place among the texts
that are there (`wavedex.online.words`). Nulls have none: they are told apart from values.

>>> values = values_of(pa.float64())
>>> keys, nulls = values.encode(pa.array([2.5, None, -1.0]))
>>> nulls.tolist(), bool(keys[0] > keys[1])
([False, True, False], True)
>>> values.decode(keys).to_pylist()
[2.5, -1.0]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, BadKey
from wavedex.rows.arrow import from_values, has_bytes, number_view, to_arrow, to_numpy

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Rekey = Callable[[I64, I64], None]
"""Is told where values get other numbers: the old ones, sorted, and the new ones."""

_FEW = 64
"""So many boundaries are compared with a value one by one, without a search."""
_UNSIGNED = np.int64(-(2**63))
_FLOATS = {pa.float16(): np.int16, pa.float32(): np.int32, pa.float64(): np.int64}


class Values(ABC):
    """How the values of one type become numbers."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        """The type of the values."""
        self._decoded: tuple[I64, pa.Array] | None = None

    def encode(self, column: pa.Array) -> tuple[I64, Bools | None]:
        """The numbers of the values, without nulls, and where there are nulls; None for nowhere."""
        if not column.null_count:
            return self._encode(column), None
        return self._encode(column.drop_null()), to_numpy(column.is_null())

    has_checks: ClassVar[bool] = False
    """Whether `check` may raise."""

    def check(self, column: pa.Array) -> None:
        """Raise SchemaMismatch where a value has no number."""
        return

    @abstractmethod
    def _encode(self, column: pa.Array) -> I64:
        """The numbers of values. REQUIRES: no nulls, and that `check` raises nothing."""

    def decode(self, keys: I64) -> pa.Array:
        """The values of numbers.

        Numbers that are the same array as the last time are not looked at again. REQUIRES: nobody
        writes into them.
        """
        if self._decoded is None or self._decoded[0] is not keys:
            self._decoded = keys, self._decode(keys)
        return self._decoded[1]

    @abstractmethod
    def _decode(self, keys: I64) -> pa.Array: ...

    def key_of(self, value: object) -> int | None:
        """The number of one value that is asked for; None if it was never there. Raises BadKey."""
        keys = self.keys_of([value])
        return int(keys[0]) if len(keys) else None

    def keys_of(self, values: object) -> I64:
        """The numbers of values that are asked for, without those that were never there."""
        return self._asked(self.as_asked(values))

    def as_asked(self, values: Any) -> pa.Array:
        """Values that are asked for, in the type of the attribute. Raises BadKey."""
        is_arrow = isinstance(values, pa.Array)
        try:
            column = values if is_arrow else from_values(list(values), self.kind)
            return column if column.type == self.kind else column.cast(self.kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as why:
            raise BadKey(f"{values!r} cannot be a value of type {self.kind}: {why}.") from why

    def _asked(self, column: pa.Array) -> I64:
        return self._encode(column)

    def bound(self, value: object, *, after: bool) -> int:
        """The number at which a range ends, on one side of a value that need not be there.

        With `after` the largest number up to the value, else the smallest from it on.
        """
        key = self.key_of(value)
        assert key is not None
        return key

    def known(self) -> I64:
        """The numbers that stand for values that must be remembered: those of text."""
        return np.zeros(0, np.int64)

    def forget(self, keys: I64) -> None:
        """Values that are in no index any more."""
        return

    def watch(self, rekey: Rekey) -> None:
        """Have somebody told where values get other numbers. It happens with text only."""
        return


class Numbers(Values):
    """Whole numbers, dates, times and booleans: their own numbers."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        is_long = kind.bit_width == 64 and not pt.is_uint64(kind)
        self._is_plain = is_long and not pt.is_boolean(kind)
        """Whether numbers are what lies in memory."""

    def _encode(self, column: pa.Array) -> I64:
        if self._is_plain:
            numbers = np.frombuffer(column.buffers()[1] or b"", np.int64)
            return numbers[column.offset : column.offset + len(column)]
        if pt.is_boolean(self.kind):
            return to_numpy(column).astype(np.int64)
        numbers = number_view(column)
        if numbers.dtype == np.uint64:
            return numbers.view(np.int64) ^ _UNSIGNED
        return numbers.astype(np.int64, copy=False)

    def _decode(self, keys: I64) -> pa.Array:
        if pt.is_boolean(self.kind):
            return to_arrow(keys.astype(np.bool_))
        if self.kind == pa.int64():
            return to_arrow(keys)
        if pt.is_uint64(self.kind):
            return to_arrow((keys ^ _UNSIGNED).view(np.uint64))
        sign = "u" if pt.is_unsigned_integer(self.kind) else "i"
        numbers = keys.astype(f"<{sign}{self.kind.bit_width // 8}")
        return pa.Array.from_buffers(self.kind, len(numbers), [None, pa.py_buffer(numbers)])


class Floats(Values):
    """Floats: the numbers that their bits make, in the order of floats."""

    def _encode(self, column: pa.Array) -> I64:
        whole = _FLOATS[self.kind]
        data = np.frombuffer(column.buffers()[1] or b"", np.dtype(whole).str.replace("i", "f"))
        floats = data[column.offset : column.offset + len(column)] + data.dtype.type(0)
        floats[np.isnan(floats)] = np.nan
        return _turned(floats.view(whole)).astype(np.int64)

    def _decode(self, keys: I64) -> pa.Array:
        whole = _FLOATS[self.kind]
        bits = _turned(keys.astype(whole))
        return pa.Array.from_buffers(self.kind, len(bits), [None, pa.py_buffer(bits)])


def _turned(bits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Bits of floats as numbers in the order of floats, or the other way round."""
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


class Groups(Values):
    """Ranges of values: the number of a range stands for all that lie in it.

    Group 0 lies below the first boundary, group i from boundary i - 1 up to boundary i, not
    included, and the last from the last boundary on.
    """

    def __init__(self, values: Values, boundaries: Sequence[object]) -> None:
        """Group values by boundaries. Raises BadDefinition where these are not in order."""
        super().__init__(values.kind)
        self.values = values
        if not isinstance(boundaries, Iterable) or isinstance(boundaries, str | bytes):
            raise BadDefinition(f"groups= has {boundaries!r}: give boundaries, such as [0, 1_000].")
        if isinstance(values, Numbers | Floats):
            self.boundaries = values.as_asked(list(boundaries))
        else:
            raise BadDefinition(
                f"Values of type {values.kind} cannot be grouped by ranges: numbers and times can."
            )
        if self.boundaries.null_count or not len(self.boundaries):
            raise BadDefinition("groups= takes the boundaries of ranges, such as [0, 1_000].")
        self._bounds = values.keys_of(self.boundaries)
        if (self._bounds[1:] <= self._bounds[:-1]).any():
            raise BadDefinition(f"The boundaries of groups must rise: {list(boundaries)}.")

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self._bounds) + 1

    def _encode(self, column: pa.Array) -> I64:
        keys, _ = self.values.encode(column)
        if len(self._bounds) > _FEW:
            return np.searchsorted(self._bounds, keys, "right")
        from wavedex.online.group_kernels import number_groups

        groups = np.empty(len(keys), np.int64)
        number_groups(np.require(keys, requirements="W"), self._bounds, groups)
        return groups

    def _decode(self, keys: I64) -> pa.Array:
        """The ranges of groups: from where, and up to where; null for no end."""
        places = to_arrow(np.asarray(keys))
        ends = pa.concat_arrays([pa.nulls(1, self.kind), self.boundaries, pa.nulls(1, self.kind)])
        since, until = ends.slice(0, self.count), ends.slice(1)
        return pa.StructArray.from_arrays(
            [since.take(places), until.take(places)], names=["from", "below"]
        )


def values_of(kind: pa.DataType) -> Values:
    """How the values of a type become numbers. Raises BadDefinition for a type that cannot.

    >>> numbers = values_of(pa.uint64())
    >>> numbers.decode(numbers.encode(pa.array([7, 2**64 - 1], pa.uint64()))[0]).to_pylist()
    [7, 18446744073709551615]
    """
    if kind in _FLOATS:
        return Floats(kind)
    if has_bytes(kind) or (pt.is_dictionary(kind) and has_bytes(kind.value_type)):
        from wavedex.online.words import Words

        return Words(kind)
    is_number = pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_temporal(kind)
    if is_number and kind != pa.month_day_nano_interval():
        return Numbers(kind)
    raise BadDefinition(
        f"An attribute of type {kind} cannot be indexed in a window. Numbers, booleans, dates, "
        "times, text and binary can."
    )
