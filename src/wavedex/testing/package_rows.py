"""The rows that a package is tried with: a few a slot, and every type of key and of value."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])
KEYS = range(9)


def rows_of(slot: int, late: bool = False) -> list[dict[str, Any]]:
    """A few rows of a slot, or two that come late. They are the same each time."""
    rnd = random.Random(slot * 2 + late)
    count = 2 if late else rnd.randrange(1, 8)
    return [
        {
            "k": rnd.choice(KEYS),
            "t": slot * 10 + rnd.randrange(10),
            "v": f"{slot}{'late' * late}/{n}",
        }
        for n in range(count)
    ]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """Such rows as a table."""
    return pa.Table.from_pylist(rows, SCHEMA)


D = decimal.Decimal
KEY_TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [-128, -1, 0, 127]),
    "uint64": (pa.uint64(), [0, 1, 2**63 - 1, 2**63, 2**64 - 1]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 2**63 - 1]),
    "text": (
        pa.string(),
        ["", " a", "A", "Z", "a", "a ", "aa", "b", "z", "\x7f", "é", "𐍈", "\uffee"],
    ),
    "large text": (pa.large_string(), ["a", "b", "ß"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x00\x00", b"a", b"\xff"]),
    "bool": (pa.bool_(), [False, True]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 2, 3)]),
    "instant": (
        pa.timestamp("ns", "UTC"),
        [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, 0, 0, 1, tzinfo=dt.UTC)],
    ),
    "decimal": (pa.decimal128(9, 2), [D("-12.34"), D("-0.01"), D("0.00"), D("5.60")]),
    "wide decimal": (
        pa.decimal128(38, 3),
        [D("-99999999999999999999.001"), D("-0.001"), D("0.000"), D("88888888888888888888.888")],
    ),
}

VALUES = pa.schema(
    [
        ("who", pa.string()), ("where", pa.int32()), ("at", pa.timestamp("us")),
        ("f", pa.float64()), ("g", pa.float32()), ("u", pa.uint64()), ("flag", pa.bool_()),
        ("day", pa.date64()),
        ("price", pa.decimal128(12, 2)), ("sum", pa.decimal256(50, 4)), ("raw", pa.large_binary()),
        ("four", pa.binary(4)), ("took", pa.duration("ns")), ("clock", pa.time64("us")),
        ("kind", pa.dictionary(pa.int32(), pa.string())), ("small", pa.int8()),
        ('"odd name"', pa.string()),
    ]
)  # fmt: skip
"""Every type that a package may have, with a key of two columns."""


def values_of(day: int) -> pa.Table:
    """Rows with all the values that a database might take for others, and a row of nulls."""
    at = dt.datetime(2026, 1, day)
    full = [
        ["é", 7, at, -0.0, float("nan"), 2**64 - 1, True, dt.date(2026, 1, 1), D("-1.25"),
         D("1e40"), b"\0", b"\0abc", dt.timedelta(seconds=-1), dt.time(23, 59), "new", -128, "x"],
        ["", -7, at, float("nan"), -0.0, 2**63, False, dt.date(1900, 1, 1), D("0.00"),
         D("-0.0001"), b"", b"zzzz", dt.timedelta(0), dt.time(0), "old", 127, ""],
        ["a", 0, at, float("inf"), 1.5, 0, True, dt.date(1970, 1, 1), D("9.99"),
         D(0), b"\xff", b"\xff" * 4, dt.timedelta(days=1), dt.time(12), "new", 0, "quote ' and \""],
        ["a", 0, at + dt.timedelta(hours=1), *[None] * 14],
    ]  # fmt: skip
    columns = [
        pa.array(values, field.type.value_type).dictionary_encode()
        if pa.types.is_dictionary(field.type)
        else pa.array(values, field.type)
        for values, field in zip(zip(*full, strict=True), VALUES, strict=True)
    ]
    return pa.table(columns, schema=VALUES)
