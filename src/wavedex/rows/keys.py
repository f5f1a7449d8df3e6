"""Keys: what may be one, how keys hash, sort and compare without making an object of each.

Every key type is brought to one of two plain forms, a whole number or bytes. The order of the plain
forms is the order of the keys. Numbers, dates, timestamps, decimals and booleans are the number
that Arrow stores. Strings and binary are their bytes.

A directory compares plain forms. The hash is Spark's `xxhash64` of the same value, so that Spark,
NumPy and a single call agree on a key's shard. Keys of several columns are made of these
(`wavedex.rows.composite`): a tuple of plain forms.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import operator
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt
import xxhash

from wavedex.errors import BadDefinition, BadKey
from wavedex.rows import compute as pc
from wavedex.rows.arrow import has_bytes, offset_dtype, offsets_of, to_arrow, to_numpy
from wavedex.rows.hashes import SEED, U64, hash_bytes, hash_ints, hash_longs
from wavedex.rows.soundness import check_column

Plain = int | bytes | tuple["Plain", ...]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_hash = xxhash.xxh64_intdigest
_LONG, _INT = struct.Struct("<Q"), struct.Struct("<I")
_EPOCH = dt.datetime(1970, 1, 1)
_DAY_NS = 86_400 * 10**9
_TIME_NS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "D": _DAY_NS,
}
_PER_US = {"s": 1_000_000, "ms": 1_000, "us": 1}


def key_type(arrow_type: pa.DataType) -> KeyType:
    """The key type for an Arrow type. Raises BadDefinition for types that are no good as keys."""
    if pt.is_integer(arrow_type) or pt.is_date(arrow_type) or pt.is_timestamp(arrow_type):
        return NumberKey(arrow_type)
    if pt.is_boolean(arrow_type):
        return BooleanKey(arrow_type)
    if pt.is_decimal128(arrow_type):
        return DecimalKey(arrow_type)
    if has_bytes(arrow_type):
        return BytesKey(arrow_type)
    raise BadDefinition(
        f"A column of type {arrow_type} cannot be a key. Use an integer, string, binary, date, "
        "timestamp, decimal128 or boolean column."
    )


class KeyType:
    """What the stores and the index need to know of a key."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        self.arrow_type = arrow_type

    def plain(self, value: Any) -> Plain:
        """The plain form of a key given by a user. Raises BadKey where it is of the wrong type."""
        raise NotImplementedError

    def hash(self, plain: Any, seed: int = SEED) -> int:
        """The hash of one key, from 0 to 2**64 - 1."""
        raise NotImplementedError

    def hash_array(self, keys: pa.Array, seeds: U64 | int = SEED) -> U64:
        """The hashes of a column without nulls."""
        raise NotImplementedError

    def reader(self, keys: pa.Array) -> Callable[[int], Plain]:
        """A function that gives the plain form of the key at a row. COST: a look into memory."""
        raise NotImplementedError

    def ranks(self, keys: pa.Array) -> I64:
        """Numbers that sort as the keys of this column do, equal only for equal keys."""
        ranked = keys.dictionary_encode()
        order = pc.sort_indices(ranked.dictionary)
        ranks = np.empty(len(order), np.int64)
        ranks[to_numpy(order)] = np.arange(len(order))
        return ranks[to_numpy(ranked.indices)]

    def equal(self, one: pa.Array, places: I64, other: pa.Array, others: I64) -> Bools:
        """Whether keys of one column are those of another, at as many places of each.

        The column `one` may be damaged.
        """
        check_column(one, places)
        return to_numpy(pc.equal(one.take(to_arrow(places)), other.take(to_arrow(others))))

    def distinct(self, keys: pa.Array) -> pa.Array:
        """Each key of a column once."""
        return pc.unique(keys)

    def array(self, values: Iterable[Any]) -> pa.Array:
        """Keys given by a user as a column. Raises BadKey where one is of the wrong type."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if (
            isinstance(values, pa.Array)
            and values.type == self.arrow_type
            and not values.null_count
        ):
            return values
        plain = [
            self.plain(value.as_py() if isinstance(value, pa.Scalar) else value) for value in values
        ]
        return self._from_plain(plain)

    def of_plain(self, plain: Plain) -> pa.Array:
        """A column of one key, given in its plain form."""
        return self._from_plain([plain])

    def _from_plain(self, plain: list[Any]) -> pa.Array:
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """The key that a person typed. Raises BadKey."""
        raise NotImplementedError

    def _refuse(self, value: Any) -> BadKey:
        return BadKey(
            f"{value!r} ({type(value).__name__}) is no key of this index, whose keys are of type "
            f"{self.arrow_type}. Pass a value of that type."
        )


class NumberKey(KeyType):
    """Integers of all widths, dates and timestamps: the number that Arrow stores."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        super().__init__(arrow_type)
        self.width_bytes = arrow_type.bit_width // 8
        signed = not pt.is_unsigned_integer(arrow_type)
        self.dtype = np.dtype(f"<{'i' if signed else 'u'}{self.width_bytes}")
        self._format: Any = {1: "b", 2: "h", 4: "i", 8: "q"}[self.width_bytes]
        if not signed:
            self._format = self._format.upper()
        limits = np.iinfo(self.dtype)
        self._least, self._most = int(limits.min), int(limits.max)
        wide = pt.is_int64(arrow_type) or pt.is_uint64(arrow_type) or pt.is_timestamp(arrow_type)
        self._as_long = wide or pt.is_uint32(arrow_type)
        self._is_integer = pt.is_integer(arrow_type)

    def plain(self, value: Any) -> Plain:
        if self._is_integer:
            number: Any = value
            if type(value) is not int:
                if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
                    raise self._refuse(value)
                number = operator.index(value)
            if self._least <= number <= self._most:
                return number
            raise self._refuse(number)
        return self._plain_time(value)

    def _plain_time(self, value: Any) -> int:
        """The number that Arrow would store for a time, if it can store all of it."""
        nanoseconds = self._nanoseconds(value)
        if nanoseconds is None:
            raise self._refuse(value)
        plain, rest = divmod(nanoseconds, self._unit_ns)
        if rest or not self._least <= plain <= self._most:
            raise self._refuse(value)
        return plain

    @property
    def _unit_ns(self) -> int:
        if pt.is_date(self.arrow_type):
            return _DAY_NS if pt.is_date32(self.arrow_type) else 1_000_000
        return _TIME_NS[self.arrow_type.unit]

    def _nanoseconds(self, value: Any) -> int | None:
        """A time of the right kind in nanoseconds since 1970; None for anything else."""
        dated = pt.is_date(self.arrow_type)
        aware = not dated and self.arrow_type.tz is not None
        if isinstance(value, np.datetime64):
            unit, count = np.datetime_data(value.dtype)
            if np.isnat(value) or unit not in _TIME_NS or aware or (dated and unit != "D"):
                return None
            return int(value.astype(np.int64)) * count * _TIME_NS[unit]
        if isinstance(value, dt.datetime):
            if dated or value != value or (value.tzinfo is not None) != aware:  # NaT is not itself
                return None
            since = value.replace(tzinfo=None) - (value.utcoffset() or dt.timedelta()) - _EPOCH
            whole = since // dt.timedelta(microseconds=1) * 1000
            return whole + int(getattr(value, "nanosecond", 0))  # a Timestamp of pandas has them
        if isinstance(value, dt.date) and dated:
            return (value - _EPOCH.date()).days * _DAY_NS
        return None

    def hash(self, plain: Any, seed: int = SEED) -> int:
        number = plain if self._is_integer else self._hashed(plain)
        if self._as_long:
            return _hash(_LONG.pack(number & 0xFFFFFFFFFFFFFFFF), seed)
        return _hash(_INT.pack(number & 0xFFFFFFFF), seed)

    def hash_array(self, keys: pa.Array, seeds: U64 | int = SEED) -> U64:
        numbers = np.ascontiguousarray(self._hashed(self._view(keys)))
        if self._as_long:
            return hash_longs(numbers.astype(np.int64, copy=False), seeds)
        return hash_ints(numbers.astype(np.int32, copy=False), seeds)

    def _hashed(self, number: Any) -> Any:
        """What Spark would hash: days for dates, microseconds for timestamps of any unit."""
        if self._is_integer:
            return number
        if pt.is_date64(self.arrow_type):
            return number // 86_400_000
        if pt.is_timestamp(self.arrow_type):
            unit = self.arrow_type.unit
            return number // 1000 if unit == "ns" else number * _PER_US[unit]
        return number

    def _view(self, keys: pa.Array) -> npt.NDArray[Any]:
        view = np.frombuffer(keys.buffers()[1] or b"", self.dtype)
        return view[keys.offset : keys.offset + len(keys)]

    def reader(self, keys: pa.Array) -> Callable[[int], Plain]:
        return self._view(keys).data.cast("B").cast(self._format).__getitem__

    def equal(self, one: pa.Array, places: I64, other: pa.Array, others: I64) -> Bools:
        return self._view(one)[places] == self._view(other)[others]

    def ranks(self, keys: pa.Array) -> I64:
        view = self._view(keys)
        if self.dtype == np.uint64:
            return (view ^ np.uint64(1 << 63)).view(np.int64)
        return view.astype(np.int64, copy=False)

    def array(self, values: Iterable[Any]) -> pa.Array:
        if self._is_integer and isinstance(values, list) and set(map(type, values)) == {int}:
            # All at once; where one is out of range, one by one to say which.
            with contextlib.suppress(OverflowError):
                return self._from_plain(values)
        return super().array(values)

    def _from_plain(self, plain: list[Any]) -> pa.Array:
        return pa.Array.from_buffers(
            self.arrow_type, len(plain), [None, pa.py_buffer(np.array(plain, self.dtype))]
        )

    def parse(self, text: str) -> Any:
        try:
            if self._is_integer:
                return int(text)
            if pt.is_date(self.arrow_type):
                return dt.date.fromisoformat(text)
            moment = dt.datetime.fromisoformat(text)
        except ValueError:
            raise self._refuse(text) from None
        if self.arrow_type.tz is not None and moment.tzinfo is None:
            raise BadKey(
                f"The key {text!r} does not say in which zone it is. Add the offset, such as "
                f"{text}Z or {text}+02:00."
            )
        return moment


class BooleanKey(KeyType):
    """False and true, as 0 and 1."""

    def plain(self, value: Any) -> Plain:
        if isinstance(value, bool | np.bool_):
            return int(value)
        raise self._refuse(value)

    def hash(self, plain: Any, seed: int = SEED) -> int:
        return _hash(_INT.pack(plain), seed)

    def hash_array(self, keys: pa.Array, seeds: U64 | int = SEED) -> U64:
        return hash_ints(self.ranks(keys).astype(np.int32), seeds)

    def reader(self, keys: pa.Array) -> Callable[[int], Plain]:
        return self.ranks(keys).tolist().__getitem__

    def ranks(self, keys: pa.Array) -> I64:
        return to_numpy(keys).astype(np.int64)

    def _from_plain(self, plain: list[Any]) -> pa.Array:
        return to_arrow(np.array(plain, bool))

    def parse(self, text: str) -> Any:
        try:
            return {"true": True, "false": False}[text.lower()]
        except KeyError:
            raise self._refuse(text) from None


class DecimalKey(KeyType):
    """Decimals, as their unscaled number: all keys of a column share its scale."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        super().__init__(arrow_type)
        self._short = arrow_type.precision <= 18

    def plain(self, value: Any) -> Plain:
        if isinstance(value, bool) or not isinstance(value, decimal.Decimal | int):
            raise self._refuse(value)
        try:
            exact = pa.scalar(decimal.Decimal(value), self.arrow_type).as_py()
            return int(exact.scaleb(self.arrow_type.scale, decimal.Context(prec=76)))
        except (pa.ArrowInvalid, decimal.InvalidOperation):
            raise self._refuse(value) from None

    def hash(self, plain: Any, seed: int = SEED) -> int:
        if self._short:
            return _hash(struct.pack("<q", plain), seed)
        length = (plain if plain >= 0 else ~plain).bit_length() // 8 + 1
        return _hash(plain.to_bytes(length, "big", signed=True), seed)

    def hash_array(self, keys: pa.Array, seeds: U64 | int = SEED) -> U64:
        if self._short:
            return hash_longs(np.ascontiguousarray(self._view(keys).view("<i8")[:, 0]), seeds)
        # As Java's BigInteger writes them: big-endian, without leading bytes that only repeat the
        # sign.
        big = np.ascontiguousarray(self._view(keys)[:, ::-1])
        idle = np.ones(len(big), bool)
        skip = np.zeros(len(big), np.int64)
        for byte in range(15):
            sign = np.where(big[:, byte + 1] & 0x80, 0xFF, 0)
            idle &= big[:, byte] == sign
            skip += idle
        return hash_bytes(big.reshape(-1), np.arange(len(big)) * 16 + skip, 16 - skip, seeds)

    def _view(self, keys: pa.Array) -> npt.NDArray[np.uint8]:
        view = np.frombuffer(keys.buffers()[1] or b"", np.uint8).reshape(-1, 16)
        return view[keys.offset : keys.offset + len(keys)]

    def reader(self, keys: pa.Array) -> Callable[[int], Plain]:
        data = np.ascontiguousarray(self._view(keys)).reshape(-1).data
        return lambda row: int.from_bytes(data[row * 16 : row * 16 + 16], "little", signed=True)

    def ranks(self, keys: pa.Array) -> I64:
        return self._view(keys).view("<i8")[:, 0].copy() if self._short else super().ranks(keys)

    def _from_plain(self, plain: list[Any]) -> pa.Array:
        data = b"".join(number.to_bytes(16, "little", signed=True) for number in plain)
        return pa.Array.from_buffers(self.arrow_type, len(plain), [None, pa.py_buffer(data)])

    def parse(self, text: str) -> Any:
        try:
            return decimal.Decimal(text)
        except decimal.InvalidOperation:
            raise self._refuse(text) from None


class BytesKey(KeyType):
    """Strings, as UTF-8, and binary: their bytes, which sort as the strings do."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        super().__init__(arrow_type)
        self._is_text = pt.is_string(arrow_type) or pt.is_large_string(arrow_type)
        self._offset = offset_dtype(arrow_type)
        self._offset_format: Any = "q" if self._offset.itemsize == 8 else "i"

    def plain(self, value: Any) -> Plain:
        if self._is_text:
            if isinstance(value, str):
                try:
                    return value.encode()
                except UnicodeEncodeError:
                    raise self._refuse(value) from None
        elif isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise self._refuse(value)

    def hash(self, plain: Any, seed: int = SEED) -> int:
        return _hash(plain, seed)

    def hash_array(self, keys: pa.Array, seeds: U64 | int = SEED) -> U64:
        return hash_strings(keys, seeds)

    def reader(self, keys: pa.Array) -> Callable[[int], Plain]:
        offsets = offsets_of(keys).data.cast("B").cast(self._offset_format)
        data = memoryview(keys.buffers()[2] or b"")
        return lambda row: bytes(data[offsets[row] : offsets[row + 1]])

    def _from_plain(self, plain: list[Any]) -> pa.Array:
        ends = np.cumsum([0, *map(len, plain)], dtype=self._offset)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(plain))]
        return pa.Array.from_buffers(self.arrow_type, len(plain), buffers)

    def parse(self, text: str) -> Any:
        if self._is_text:
            return text
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise self._refuse(text) from None


def hash_strings(values: pa.Array, seeds: U64 | int = SEED) -> U64:
    """The hashes of a string or binary column without nulls."""
    offsets = offsets_of(values).astype(np.int64, copy=False)
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    return hash_bytes(data, offsets[:-1], np.diff(offsets), seeds)
