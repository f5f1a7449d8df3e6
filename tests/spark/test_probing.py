"""Probing from Spark.

A frame of keys beside their entries is what a join with the whole window gives.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_rows import collected, create, frame_of, rows
from wavedex import spark as wxs
from wavedex.errors import BadTime, MissingColumn, NotAnIndex, SchemaMismatch
from wavedex.spark.batches import ROWS_MAX, ROWS_SETTING
from wavedex.testing.oracle import same_rows


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    made = create(tmp_path_factory.mktemp("indexes") / "probed.wx", shards=3)
    for slots in [(1, 2, 3), (4, 5), (6,)]:
        made.append(rows(*slots, keys=20))
    return made


def keys_of(spark: SparkSession, values: list[Any], ddl: str = "k bigint") -> DataFrame:
    """A frame of keys, each with a number of its own."""
    found = [(value, number) for number, value in enumerate(values)]
    return spark.createDataFrame(found, f"{ddl}, n bigint").repartition(3)


def joined(
    spark: SparkSession, index: wx.WaveIndex, keys: DataFrame, how: str, **asked: Any
) -> list[dict[str, Any]]:
    """The same by a join with the whole window."""
    entries = spark.createDataFrame(index.scan(**asked).read_all())
    return collected(keys.join(entries, "k", how).select(*keys.columns, *entries.columns[1:]))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_probe_is_a_join_with_the_window(spark, index, how):
    """Keys that are missing, null, or there twice, in the frame or in the index."""
    keys = keys_of(spark, [3, 3, 7, None, 99, -1, 0, None, 19])
    found = wxs.probe(index.path, keys, how=how)
    assert found.columns == ["k", "n", "t", "v"]
    assert same_rows(collected(found), joined(spark, index, keys, how))
    assert found.count() == 5 * 5 + (4 if how == "left" else 0)


@pytest.mark.parametrize(("since", "until"), [(4, None), (None, 3), (3, 5), (6, 2)])
def test_a_probe_of_a_span_of_time(spark, index, since, until):
    keys = keys_of(spark, [3, 7, 99])
    found = wxs.probe(index.path, keys, since=since, until=until, how="left")
    assert same_rows(collected(found), joined(spark, index, keys, "left", since=since, until=until))


def test_columns_of_the_index_and_the_column_of_the_keys_are_chosen(spark, index):
    keys = keys_of(spark, [3, 99], "a bigint")
    for columns in (["v"], ["v", "k"], ["k"], []):
        found = wxs.probe(index.path, keys, on="a", columns=columns, how="left")
        assert found.columns == ["a", "n", *columns]
        entries = index.probe(3, columns=columns).to_pylist()
        expected = [{"a": 3, "n": 0, **entry} for entry in entries] or [{"a": 3, "n": 0}] * 5
        none = {"a": 99, "n": 1, **dict.fromkeys(columns)}
        assert same_rows(collected(found), [*expected, none])
    one = wxs.probe(index.path, keys, on="a", columns="v")
    assert one.columns == ["a", "n", "v"]
    assert one.count() == 5


KINDS: dict[str, tuple[pa.DataType, list[Any], str, list[Any]]] = {
    "int of longs": (pa.int32(), [1, 2], "bigint", [1, 2**40, -(2**40), None]),
    "long of ints": (pa.int64(), [1, 2**40], "int", [1, 2]),
    "byte of longs": (pa.int8(), [1, 2], "bigint", [1, 300, None]),
    "string": (pa.string(), ["", "ä"], "string", ["", "ä", "x", None]),
    "large_string": (pa.large_string(), ["", "ä"], "string", ["", "ä", "x", None]),
    "binary": (pa.binary(), [b"", b"\xff"], "binary", [b"", b"\xff", b"x"]),
    "date64": (pa.date64(), [dt.date(2024, 1, 1)], "date", [dt.date(2024, 1, 1), dt.date(1, 1, 1)]),
    "date": (pa.date32(), [dt.date(2024, 1, 1)], "date", [dt.date(2024, 1, 1), dt.date(1, 1, 1)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
        "timestamp",
        [dt.datetime(2024, 1, 1), None],
    ),
    "nanoseconds": (
        pa.timestamp("ns"),
        [dt.datetime(2024, 1, 1)],
        "timestamp_ntz",
        [dt.datetime(2024, 1, 1), dt.datetime(9999, 1, 1)],
    ),
    "seconds": (
        pa.timestamp("s"),
        [dt.datetime(2024, 1, 1)],
        "timestamp_ntz",
        [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 5)],
    ),
    "decimal": (
        pa.decimal128(9, 2),
        [Decimal("1.50")],
        "decimal(12,3)",
        [Decimal("1.500"), Decimal("1.505"), Decimal(10) ** 8],
    ),
    "boolean": (pa.bool_(), [True, False], "boolean", [True, None]),
    "uint64": (
        pa.uint64(),
        [1, 2**64 - 1],
        "decimal(20,0)",
        [Decimal(1), Decimal(2**64 - 1), Decimal(-1)],
    ),
    "uint32": (pa.uint32(), [1, 2**32 - 1], "bigint", [1, 2**32 - 1, -1]),
}


@pytest.mark.parametrize("name", KINDS)
def test_keys_of_each_type_find_their_entries(spark, tmp_path, name):
    """A key that the index cannot have has no entries, as in a join."""
    kind, held, ddl, asked = KINDS[name]
    schema = pa.schema([("k", kind), ("t", pa.int64()), ("v", pa.int64())])
    index = create(tmp_path / "i.wx", schema, shards=3)
    index.append(
        pa.Table.from_pylist([{"k": k, "t": 10, "v": n} for n, k in enumerate(held)], schema)
    )
    found = wxs.probe(index.path, keys_of(spark, asked, f"k {ddl}"), columns=["v"], how="left")

    def place(key: Any) -> int | None:
        if isinstance(key, dt.datetime) and kind.tz is not None:
            key = key.replace(tzinfo=dt.UTC)
        return held.index(key) if key in held else None

    assert {row.n: row.v for row in found.collect()} == {
        n: place(key) for n, key in enumerate(asked)
    }


def test_a_frame_without_rows_and_an_empty_index(spark, index, tmp_path):
    nothing = keys_of(spark, [])
    for how in ("inner", "left"):
        assert wxs.probe(index.path, nothing, how=how).collect() == []
    empty = create(tmp_path / "empty.wx")
    keys = keys_of(spark, [1, None])
    assert wxs.probe(empty.path, keys).collect() == []
    left = wxs.probe(empty.path, keys, how="left")
    assert same_rows(
        collected(left), [{"k": k, "n": n, "t": None, "v": None} for n, k in enumerate([1, None])]
    )


def test_the_frame_may_have_any_columns(spark, index):
    keys = frame_of(spark, pa.table({"a.b `c`": [3, 4], "list": [[1], None], "k k": ["x", None]}))
    found = wxs.probe(index.path, keys, on="a.b `c`", columns=["v"], since=6)
    expected = [(3, [1], "x", "6-3"), (4, None, None, "6-4")]
    assert sorted(map(tuple, found.collect())) == expected


def test_more_keys_than_fit_into_one_batch(spark, index):
    spark.conf.set(ROWS_SETTING, "7")
    try:
        keys = spark.range(100).selectExpr("id % 25 as k", "id as n")
        found = collected(wxs.probe(index.path, keys, how="left"))
    finally:
        spark.conf.set(ROWS_SETTING, str(ROWS_MAX))
    assert same_rows(found, joined(spark, index, keys, "left"))


def test_the_window_is_that_of_the_moment_of_asking(spark, tmp_path):
    index = create(tmp_path / "i.wx", keep_commits=9)
    index.append(rows(1, 2))
    found = wxs.probe(index.path, keys_of(spark, [3]))
    index.append(rows(3))
    assert found.count() == 2
    assert wxs.probe(index.path, keys_of(spark, [3])).count() == 3
    index.vacuum()
    with pytest.raises(Exception, match="CommitGone: Commit 1 of"):
        found.count()


def test_what_is_wrong_is_named_at_once(spark, index, tmp_path):
    keys = keys_of(spark, [3])
    with pytest.raises(MissingColumn, match=r"no column 'b'\. It has k, n"):
        wxs.probe(index.path, keys, on="b")
    with pytest.raises(MissingColumn, match="no column 'w'"):
        wxs.probe(index.path, keys, columns=["w"])
    with pytest.raises(SchemaMismatch, match="both have the column 'k'"):
        wxs.probe(index.path, keys, columns=["k"])
    with pytest.raises(SchemaMismatch, match="both have the column 't'"):
        wxs.probe(index.path, keys.withColumnRenamed("n", "t"))
    with pytest.raises(SchemaMismatch, match="how='outer' is none of"):
        wxs.probe(index.path, keys, how="outer")
    with pytest.raises(BadTime):
        wxs.probe(index.path, keys, since="soon")
    with pytest.raises(NotAnIndex):
        wxs.probe(Path(tmp_path, "none.wx"), keys)
    with pytest.raises(SchemaMismatch, match="'k' is of type string"):
        wxs.probe(index.path, keys_of(spark, ["3"], "k string"))
    with pytest.raises(SchemaMismatch, match="'k' is of type list"):
        wxs.probe(index.path, keys_of(spark, [[3]], "k array<bigint>"))
