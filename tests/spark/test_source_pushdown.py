"""Filters that are pushed down: the rows are those of the filters over the whole window, and less is read for them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as ds
from pyspark.sql.datasource import Filter
from spark_rows import create

import wavedex as wx
from wavedex.spark.source_read import PushingReader
from wavedex.spark.types import spark_schema
from wavedex.testing.oracle import same_rows

EPOCH = dt.datetime(1970, 1, 1)
_ORDER: dict[type[Filter], Callable[[Any, Any], bool]] = {
    ds.EqualTo: lambda a, b: a == b,
    ds.GreaterThan: lambda a, b: a > b,
    ds.GreaterThanOrEqual: lambda a, b: a >= b,
    ds.LessThan: lambda a, b: a < b,
    ds.LessThanOrEqual: lambda a, b: a <= b,
}


def holds(each: Filter, row: dict[str, Any]) -> bool | None:
    """Whether a row passes, as SQL has it: None where nobody knows."""
    if isinstance(each, ds.Not):
        inner = holds(each.child, row)
        return None if inner is None else not inner
    value = row[each.attribute[0]]  # type: ignore[attr-defined]
    match each:
        case ds.IsNull():
            return value is None
        case ds.IsNotNull():
            return value is not None
        case ds.EqualNullSafe(_, wanted):
            return value == wanted
        case ds.In(_, wanted):
            found = value in [one for one in wanted if one is not None]
            return None if value is None or (not found and None in wanted) else found
    return None if value is None or each.value is None else _ORDER[type(each)](value, each.value)  # type: ignore[attr-defined]


def passing(filters: Iterable[Filter], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in found if all(holds(each, row) is True for each in filters)]


def read(
    path: str, filters: list[Filter], **asked: Any
) -> tuple[list[dict[str, Any]], list[Filter], int]:
    """The rows that are read, the filters that are handed back, and how many partitions there were."""
    options = {"since": None, "until": None, "expired": False, **asked}
    reader = PushingReader(path, spark_schema(wx.open(path).schema), **options)
    left = list(reader.pushFilters(filters))
    pieces = reader.partitions()
    found = [row for piece in pieces for batch in reader.read(piece) for row in batch.to_pylist()]
    return found, left, len(pieces)


def at(seconds: int, micros: int = 0) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=seconds, microseconds=micros)


def aware(values: Iterable[dt.datetime]) -> list[dt.datetime]:
    return [value.replace(tzinfo=dt.UTC) for value in values]


def around(values: list[Any], step: Any) -> list[Any]:
    return [near for value in values for near in (value - step, value, value + step)]


MICRO = dt.timedelta(microseconds=1)
TIMES = [at(n * 3600 * 7, n % 3) for n in range(-30, 30)]
ENDS = [dt.datetime.min, dt.datetime.max]
DAYS = [dt.date(1970, 1, 1) + dt.timedelta(days=n // 2) for n in range(-20, 20)]
# A column of times: its type, a slot, the values, and values to ask for.
COLUMNS: dict[str, tuple[pa.DataType, Any, list[Any], list[Any]]] = {
    "us": (pa.timestamp("us"), "1 day", TIMES, [*around(TIMES, MICRO), *ENDS]),
    "us aware": (
        pa.timestamp("us", "UTC"),
        "1 day",
        aware(TIMES),
        aware([*around(TIMES, MICRO), *ENDS]),
    ),
    "us in a zone": (
        pa.timestamp("us", "America/New_York"),
        "1 day",
        aware(TIMES),
        aware(around(TIMES, MICRO)),
    ),
    "ms": (
        pa.timestamp("ms"),
        "6 hours",
        [at(n * 3600 * 7) for n in range(-30, 30)],
        around(TIMES, MICRO),
    ),
    "s": (
        pa.timestamp("s", "UTC"),
        "1 day",
        aware(at(n * 3600 * 7) for n in range(-30, 30)),
        aware(TIMES),
    ),
    "ns": (pa.timestamp("ns"), "1 day", TIMES, around(TIMES, MICRO)),
    "date": (
        pa.date32(),
        "1 day",
        DAYS,
        [*around(DAYS, dt.timedelta(days=1)), dt.date.min, dt.date.max],
    ),
    "int32": (pa.int32(), 10, [*range(-99, 99, 3)], [*range(-120, 120), -(2**31), 2**31 - 1]),
    "int64": (pa.int64(), 7, [*range(-60, 60, 2)], [*range(-70, 70), -(2**63), 2**63 - 1]),
}
KEYS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "int64": (pa.int64(), [*range(9)], [*range(-2, 12), 2**63 - 1, -(2**63)]),
    "string": (pa.string(), ["", "a", "ä", "b", "日", "😀"], ["", "a", "ä", "c", "\uffff", "😀", "zz"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x7f", b"\xff"], [b"", b"\x00", b"\x80", b"\xff\xff"]),
    "date": (pa.date32(), DAYS[:6], DAYS[:8]),
    "decimal": (pa.decimal128(6, 2), [Decimal(n) / 4 for n in range(6)], [Decimal(n) / 8 for n in range(12)]),
    "boolean": (pa.bool_(), [False, True], [False, True]),
    "timestamp": (pa.timestamp("us", "UTC"), aware(TIMES[:6]), aware(TIMES[:8])),
    "nanoseconds": (pa.timestamp("ns"), TIMES[:6], around(TIMES[:6], MICRO)),
    "uint32": (pa.uint32(), [0, 1, 2**32 - 1], [-1, 0, 1, 2**32 - 1, 2**40]),
}  # fmt: skip


def indexed(path: Path, time: str, key: str) -> wx.WaveIndex:
    """An index with a key in every other row; nanoseconds are spread over their microsecond."""
    key_type, keys, _ = KEYS[key]
    time_type, slot, times, _ = COLUMNS[time]
    schema = pa.schema([("k", key_type), ("t", time_type), ("v", pa.int32())])
    index = create(path, schema, slot=slot, window=200, indexes=3, shards=4, max_gap=200)
    place = random.Random(5)
    table = pa.table([
        pa.array([keys[n % len(keys)] for n in range(len(times))], key_type),
        pa.array(times, time_type),
        pa.array([None if n % 5 == 0 else n for n in range(len(times))], pa.int32()),
    ], schema=schema)  # fmt: skip
    if time == "ns":
        fine = [
            value + place.randrange(1000)
            for value in table.column("t").cast(pa.int64()).to_pylist()
        ]
        table = table.set_column(1, "t", pa.array(fine, pa.timestamp("ns")))
    index.append(table)
    return index


def some_filter(draw: random.Random, time: str, key: str) -> Filter:
    """A filter on the key, on the time or on another column."""
    name = draw.choice("kktttv")
    values = {"k": KEYS[key][2], "t": COLUMNS[time][3], "v": [*range(-1, 61)]}[name]
    kind = draw.choice([*_ORDER, *_ORDER, ds.EqualNullSafe, ds.In, ds.IsNotNull, ds.IsNull])
    if kind in (ds.IsNotNull, ds.IsNull):
        made = kind((name,))
    elif kind is ds.In:
        made = ds.In((name,), tuple(draw.choices([*values, None], k=draw.randrange(5))))
    else:
        made = kind(
            (name,),
            draw.choice([*values, *values, None])
            if kind is ds.EqualNullSafe
            else draw.choice(values),
        )
    return ds.Not(made) if draw.random() < 0.1 else made


@pytest.mark.parametrize("time", COLUMNS)
def test_filters_give_what_they_give_over_the_whole_window(tmp_path, time):
    """Many at random, over several types of keys: what is read and passes the rest is what passes all."""
    for key in random.Random(time).sample([*KEYS], 4):
        index = indexed(tmp_path / key, time, key)
        everything, _, _ = read(index.path, [])
        assert len(everything) == len(COLUMNS[time][2])
        draw = random.Random(f"{time} {key}")
        for _ in range(60):
            filters = [some_filter(draw, time, key) for _ in range(draw.randrange(1, 5))]
            found, left, _ = read(index.path, filters)
            assert same_rows(passing(left, found), passing(filters, everything)), filters
            assert all(any(each is given for given in filters) for each in left)
