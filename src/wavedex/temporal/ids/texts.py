"""Ids that are bytes: they get numbers in the order in which they first come, and are kept once.

Strings, binary and decimals are bytes as Arrow stores them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.errors import BadKey, TooLarge
from wavedex.rows.arrow import offset_dtype, offsets_of
from wavedex.rows.keys import DecimalKey, key_type
from wavedex.temporal.changes import I64
from wavedex.temporal.growing import Growing
from wavedex.temporal.ids.contract import UNKNOWN, Arrays, Ids
from wavedex.temporal.soundness import are_in, demand

_MOST = 2**31 - 2
_NO_TABLE = "the table of its ids is none"


class Bytes(Ids):
    """Ids that get numbers: what all of them have in common is that each is a run of bytes."""

    def __init__(self, kind: pa.DataType, prefix: str) -> None:
        super().__init__(kind)
        self._prefix = prefix
        self._table: npt.NDArray[np.int32] = np.full(16, -1, np.int32)
        self._hashes = Growing(np.int64)
        self._offsets = Growing(np.int64)
        self._offsets.reserve(1)
        self._offsets.room[0], self._offsets.count = 0, 1
        self._data = Growing(np.uint8)

    @abstractmethod
    def _bytes_of(
        self, values: pa.Array, is_new: bool
    ) -> tuple[I64, I64, npt.NDArray[np.uint8]] | None:
        """Hashes of ids, where the bytes of each begin, and their bytes.

        None if none of them can be there and they are not new.
        """

    @property
    def count(self) -> int:
        return self._hashes.count

    def number_of(self, value: Any) -> int:
        column = self._from_values([value.as_py() if isinstance(value, pa.Scalar) else value])
        return int(self._find(column)[0])

    def _find(self, values: pa.Array) -> I64:
        from wavedex.temporal.ids_kernels import find

        numbers = np.full(len(values), UNKNOWN, np.int64)
        asked = self._bytes_of(values, is_new=False)
        if asked is not None:
            find(
                self._table, self._hashes.room, self._offsets.room, self._data.room, *asked, numbers
            )
        return numbers

    def number(self, values: pa.Array) -> I64:
        from wavedex.temporal.ids_kernels import number

        asked = self._bytes_of(values, is_new=True)
        assert asked is not None
        most = self.count + len(values)
        if most > _MOST:
            raise TooLarge(f"A set holds up to {_MOST:,} different ids. Keep several sets.")
        self._hashes.reserve(most)
        self._offsets.reserve(most + 1)
        self._data.reserve(self._data.count + int(asked[1][-1] - asked[1][0]))
        if 2 * most > len(self._table):
            self._rehash(1 << (4 * most).bit_length())
        numbers = np.empty(len(values), np.int64)
        count = number(
            self._table, self._hashes.room, self._offsets.room, self._data.room, self.count, *asked,
            numbers,
        )  # fmt: skip
        self._counted(int(count))
        return numbers

    def _counted(self, count: int) -> None:
        self._hashes.count = count
        self._offsets.count = count + 1
        self._data.count = int(self._offsets.room[count])

    def _rehash(self, size: int) -> None:
        from wavedex.temporal.ids_kernels import fill

        self._table = np.full(size, -1, np.int32)
        fill(self._table, self._hashes.room, self.count)

    def take_back(self, count: int) -> None:
        from wavedex.temporal.ids_kernels import take_back

        take_back(self._table, self._hashes.room, count, self.count)
        self._counted(count)

    def _taken(self, numbers: I64) -> tuple[I64, npt.NDArray[np.uint8]]:
        """Where the bytes of each of some numbers begin, and these bytes, one after the other.

        Raises Damaged where a number was not given out.
        """
        demand(are_in(numbers, 0, self.count), "it names an id that it does not keep")
        starts = self._offsets.room[numbers]
        sizes = self._offsets.room[numbers + 1] - starts
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        return offsets, self._data.room[places]

    @property
    def arrays(self) -> Arrays:
        prefix = self._prefix
        return {
            f"{prefix}_table": self._table,
            f"{prefix}_hashes": self._hashes.used,
            f"{prefix}_offsets": self._offsets.used,
            f"{prefix}_data": self._data.used,
        }

    def restore(self, arrays: Arrays) -> None:
        prefix = self._prefix
        self._table = arrays[f"{prefix}_table"]
        self._hashes.restore(arrays[f"{prefix}_hashes"])
        self._offsets.restore(arrays[f"{prefix}_offsets"])
        self._data.restore(arrays[f"{prefix}_data"])

    def check(self) -> None:
        table, offsets, count = self._table, self._offsets.used, self.count
        size = len(table)
        is_table = table.dtype == np.int32 and table.ndim == 1 and size
        demand(is_table and not size & (size - 1), _NO_TABLE)
        demand(are_in(table, -1, count) and (table >= 0).sum() == count <= size // 2, _NO_TABLE)
        is_full = len(offsets) == count + 1 and not offsets[0] and offsets[-1] == self._data.count
        demand(is_full, "its ids do not fill the bytes that are kept of them")
        demand((offsets[1:] >= offsets[:-1]).all(), "an id ends before it begins")

    def findings(self) -> Iterable[str]:
        offsets, count = self._offsets.used, self.count
        if len(offsets) != count + 1 or offsets[0] or offsets[-1] != self._data.count:
            yield "the ids do not fill the bytes that are kept of them"
        elif (np.diff(offsets) < 0).any():
            yield "an id ends before it begins"
        given = np.sort(self._table[self._table >= 0])
        if len(given) != count or (given != np.arange(count)).any():
            yield "the table of ids does not lead to each of them once"
        elif 2 * count > len(self._table) or len(self._table) & (len(self._table) - 1):
            yield "the table of ids has a size that no table has"


class Texts(Bytes):
    """Strings, binary, and decimals, which are sixteen bytes each."""

    def __init__(self, kind: pa.DataType, prefix: str) -> None:
        super().__init__(kind, prefix)
        self._key = key_type(kind)
        self._is_decimal = isinstance(self._key, DecimalKey)

    def number_of(self, value: Any) -> int:
        if self._is_decimal or isinstance(value, pa.Scalar):
            return super().number_of(value)
        try:
            plain: Any = self._key.plain(value)
        except BadKey:
            raise self._refuse(value) from None
        hashed = self._key.hash(plain)
        return int(
            self._find_one(
                self._table,
                self._hashes.room,
                self._offsets.room,
                self._data.room,
                hashed - (hashed >> 63 << 64),
                np.frombuffer(plain, np.uint8),
            )
        )

    @cached_property
    def _find_one(self) -> Callable[..., int]:
        from wavedex.temporal.ids_kernels import find_one

        return find_one

    def _bytes_of(self, values: pa.Array, is_new: bool) -> tuple[I64, I64, npt.NDArray[np.uint8]]:
        hashes = self._key.hash_array(values).view(np.int64)
        if self._is_decimal:
            offsets = 16 * (values.offset + np.arange(len(values) + 1, dtype=np.int64))
            data = np.frombuffer(values.buffers()[1] or b"", np.uint8)
        else:
            offsets = offsets_of(values).astype(np.int64)
            data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
        return hashes, offsets, data

    def ranks(self, values: pa.Array) -> I64:
        return self._key.ranks(values)

    def check(self) -> None:
        super().check()
        if self._is_decimal:
            demand((np.diff(self._offsets.used) == 16).all(), "an id is no decimal")
        try:
            self.values(np.arange(self.count)).validate(full=True)
        except pa.ArrowException as error:
            demand(False, f"an id is no {self.kind} ({error})")

    def values(self, numbers: I64) -> pa.Array:
        offsets, data = self._taken(numbers)
        if self._is_decimal:
            return pa.Array.from_buffers(self.kind, len(numbers), [None, pa.py_buffer(data)])
        stored = offsets.astype(offset_dtype(self.kind))
        if int(offsets[-1]) != int(stored[-1]):
            raise TooLarge(
                f"{offsets[-1]:,} bytes of ids are more than a column of {self.kind} holds. Ask "
                "for fewer, or create the set with ids of the large type."
            )
        return pa.Array.from_buffers(
            self.kind, len(numbers), [None, pa.py_buffer(stored), pa.py_buffer(data)]
        )

    def _from_values(self, values: Sequence[Any]) -> pa.Array:
        try:
            return self._key.array(values)
        except BadKey:
            refused = next(value for value in values if not self._fits(value))
            raise self._refuse(refused) from None

    def _fits(self, value: Any) -> bool:
        try:
            self._key.plain(value)
        except BadKey:
            return False
        return True

    def parse(self, text: str) -> Any:
        return self._key.parse(text)
