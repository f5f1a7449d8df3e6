"""Keys of every type, and columns of lists of keys: a data frame gives what a table gives."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import wavedex as wx
from kit.spark_rows import SCHEMA, create, frame_of, rows, scanned, state
from wavedex.errors import NullKeys, SchemaMismatch
from wavedex.log.manifest import Log
from wavedex.testing.oracle import same_rows

DAY = dt.date(2024, 2, 28)
MOMENT = dt.datetime(2024, 3, 1, 12, 30, 0, 123456)
ARRAY = "array<bigint>"

KEYS: dict[str, tuple[pa.DataType, str, list[Any]]] = {
    "int8": (pa.int8(), "tinyint", [-128, -1, 0, 1, 127]),
    "int32": (pa.int32(), "int", [-(2**31), -1, 0, 5, 2**31 - 1]),
    "int64": (pa.int64(), "bigint", [-(2**63), -1, 0, 5, 2**63 - 1]),
    "string": (pa.string(), "string", ["", "S1", "grün", "日本", "a" * 40]),
    "large_string": (pa.large_string(), "string", ["", "S1", "grün", "😀"]),
    "binary": (pa.binary(), "binary", [b"", b"\x00", b"\xff\xfe", b"0123456789" * 4]),
    "date32": (pa.date32(), "date", [dt.date(1, 1, 1), dt.date(1969, 12, 31), DAY]),
    "timestamp": (pa.timestamp("us", "UTC"), "timestamp", [MOMENT.replace(tzinfo=dt.UTC)]),
    "timestamp_ntz": (pa.timestamp("us"), "timestamp_ntz", [MOMENT, dt.datetime(1900, 1, 1)]),
    "timestamp_ns": (pa.timestamp("ns"), "timestamp_ntz", [MOMENT, dt.datetime(1950, 1, 1)]),
    "timestamp_s": (pa.timestamp("s"), "timestamp_ntz", [MOMENT.replace(microsecond=0)]),
    "decimal": (pa.decimal128(9, 2), "decimal(9,2)", [Decimal("-1.50"), Decimal("0.01")]),
    "long_decimal": (pa.decimal128(30, 5), "decimal(30,5)", [Decimal("-1.5"), Decimal(10) ** 20]),
    "boolean": (pa.bool_(), "boolean", [False, True]),
    "uint64": (pa.uint64(), "bigint", [0, 1, 2**63 - 1]),
    "uint16": (pa.uint16(), "int", [0, 1, 2**16 - 1]),
    "int64_of_ints": (pa.int64(), "int", [-(2**31), -1, 2**31 - 1]),
    "int32_of_longs": (pa.int32(), "bigint", [-(2**31), -1, 2**31 - 1]),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_each_type_are_found_where_spark_put_them(spark: SparkSession, tmp_path, name):
    kind, ddl, keys = KEYS[name]
    schema = pa.schema([("k", kind), ("t", pa.int64()), ("n", pa.int32())])
    found = [{"k": key, "t": 10 + n, "n": n} for n, key in enumerate(keys)]
    theirs, ours = create(tmp_path / "a", schema, shards=3), create(tmp_path / "b", schema)
    ordered = [tuple(row.values()) for row in found]
    frame = spark.createDataFrame(ordered, f"k {ddl}, t bigint, n int")
    done = theirs.append(frame)
    assert done == ours.append(pa.Table.from_pylist(found, schema))
    theirs.verify()
    assert same_rows(scanned(theirs), scanned(ours))
    for key in keys:
        assert theirs.probe(key).column("n").to_pylist() == ours.probe(key).column("n").to_pylist()
    assert theirs.append(pa.Table.from_pylist(found, schema)).slots == []


def test_each_shard_is_staged_by_one_task(spark, tmp_path):
    """Spark's hash of a key is ours: a shard gets one part from one task, not one from each."""
    for name in ("int8", "string", "date32", "timestamp_ns", "long_decimal", "boolean", "uint16"):
        kind, ddl, keys = KEYS[name]
        index = create(tmp_path / name, pa.schema([("k", kind), ("t", pa.int64())]), shards=3)
        frame = spark.createDataFrame([(key, 10) for key in keys * 3], f"k {ddl}, t bigint")
        done = index.append(frame.repartition(5))
        shards = Log(index.storage).read(done.commit).shown.values()
        assert max(len(parts) for sub in shards for parts in sub.shards) == 1, name


LISTS = [[1, 2], None, [], [3], [2, 2], [4, 5, 6]]


def record(lists: list[Any]) -> pa.Table:
    keys = pa.array(lists, pa.list_(pa.int64()))
    return pa.table({"k": keys, "t": [10] * len(lists), "v": [f"r{n}" for n in range(len(lists))]})


@pytest.mark.parametrize("nulls", ["error", "skip"])
def test_a_record_with_a_list_of_keys_is_one_row_for_each(spark, tmp_path, nulls):
    """A record without a key is no row: neither where the list is empty nor where there is none."""
    theirs, ours = create(tmp_path / "a", nulls=nulls), create(tmp_path / "b", nulls=nulls)
    done = theirs.append(frame_of(spark, record(LISTS)))
    assert done == ours.append(record(LISTS))
    assert (done.rows, done.null_keys) == (8, 0)
    expected = [
        {"k": key, "t": 10, "v": f"r{n}"} for n, keys in enumerate(LISTS) for key in keys or []
    ]
    assert same_rows(scanned(theirs), expected)
    assert same_rows(scanned(ours), expected)


def test_a_list_may_have_nulls_where_null_keys_are_skipped(spark, tmp_path):
    lists = [[1, None], [None], [2]]
    theirs, ours = create(tmp_path / "a", nulls="skip"), create(tmp_path / "b", nulls="skip")
    done = theirs.append(frame_of(spark, record(lists)))
    assert done == ours.append(record(lists))
    assert (done.rows, done.null_keys) == (2, 2)
    for strict, batch in [
        (create(tmp_path / "c"), frame_of(spark, record(lists))),
        (create(tmp_path / "d"), record(lists)),
    ]:
        with pytest.raises(NullKeys, match="2 of 4"):
            strict.append(batch)


@pytest.mark.parametrize("kind", ["chunked", "sliced", "large", "masked"])
def test_lists_of_keys_however_arrow_holds_them(tmp_path, kind):
    table = record(LISTS)
    if kind == "chunked":
        table = pa.concat_tables([table.slice(0, 2), table.slice(2, 0), table.slice(2)])
    elif kind == "sliced":
        table = pa.concat_tables([table, table]).combine_chunks().slice(len(LISTS))
    elif kind == "large":
        keys = table.column("k").cast(pa.large_list(pa.int64()))
        table = table.set_column(0, "k", keys)
    else:  # A list that is null may still have values below it.
        masked = pa.ListArray.from_arrays(
            pa.array([0, 2, 4, 4, 5, 7, 10], pa.int32()),
            pa.array([1, 2, 98, 99, 3, 2, 2, 4, 5, 6]),
            mask=pa.array([False, True, False, False, False, False]),
        )
        table = table.set_column(0, "k", masked)
    index, plain = create(tmp_path / "a"), create(tmp_path / "b")
    index.append(table)
    plain.append(record(LISTS))
    assert same_rows(scanned(index), scanned(plain))


def test_lists_may_be_amended_too(spark, tmp_path):
    index = create(tmp_path / "lists.wx")
    index.append(rows(1))
    done = index.amend(
        spark.createDataFrame([([50, 51], 12, "late")], f"k {ARRAY}, t int, v string")
    )
    assert done.rows == 2
    assert index.probe(51).to_pylist() == [{"k": 51, "t": 12, "v": "late"}]


def test_null_keys_are_counted_or_refused(spark, tmp_path):
    batch = pa.Table.from_pylist(
        [{"k": None if n % 3 else n, "t": 10, "v": ""} for n in range(9)], SCHEMA
    )
    theirs, ours = create(tmp_path / "a", nulls="skip"), create(tmp_path / "b", nulls="skip")
    done = theirs.append(frame_of(spark, batch))
    assert done == ours.append(batch)
    assert (done.rows, done.null_keys) == (3, 6)
    strict = create(tmp_path / "c")
    before = state(strict)
    with pytest.raises(NullKeys, match="6 of 9 rows have no 'k'"):
        strict.append(frame_of(spark, batch))
    assert state(strict) == before


def test_a_key_that_does_not_fit_is_named_as_it_is_here(spark, tmp_path):
    schema = pa.schema([("k", pa.int32()), ("t", pa.int64()), ("v", pa.string())])
    batch = rows(1).set_column(0, "k", pa.array([2**40, *range(6)]))
    index = create(tmp_path / "narrow.wx", schema)
    for given in (batch, frame_of(spark, batch)):
        before = state(index)
        with pytest.raises(SchemaMismatch, match=r"'k'.*without loss"):
            index.append(given)
        assert state(index) == before


def test_the_same_frame_in_turn_by_spark_and_here_is_known_as_the_same(spark, tmp_path):
    """The identity of rows does not depend on who counted them, nor on how they were cut up."""
    index: wx.WaveIndex = create(tmp_path / "same.wx", shards=5)
    batch = rows(1, 2, keys=50)
    index.append(batch)
    again = index.append(frame_of(spark, batch).repartition(7))
    assert replace(again, commit=0).slots == []
