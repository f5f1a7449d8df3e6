"""Keys that are asked for by options.

Which files are opened for them, how they are written, and what is said of wrong ones.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_rows import collected, create, rows, scanned
from wavedex.errors import BadDefinition, BadKey
from wavedex.log.manifest import Manifest
from wavedex.spark.source.data_source import WavedexSource
from wavedex.spark.source.reader import WindowPiece
from wavedex.spark.types import spark_schema
from wavedex.testing.oracle import same_rows

SLOTS = (1, 2, 3, 4, 5, 6)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    """Four shards of three sub-indexes of two slots each, all of which have rows."""
    path = tmp_path_factory.mktemp("indexes") / "wide.wx"
    index = create(path, window=6, indexes=3, shards=4, scheme="del")
    index.append(rows(*SLOTS, keys=40))
    return index


def load(spark: SparkSession, index: wx.WaveIndex, **options: str) -> DataFrame:
    return spark.read.format("wavedex").options(**options).load(index.path)


def read(index: wx.WaveIndex, **options: str) -> tuple[list[WindowPiece], list[dict[str, Any]]]:
    """The partitions and the rows of a query, without Spark."""
    reader = WavedexSource({"path": index.path, **options}).reader(spark_schema(index.schema))
    pieces: Any = reader.partitions()
    batches = [batch for piece in pieces for batch in reader.read(piece)]
    return pieces, [row for batch in batches for row in batch.to_pylist()]


def opened(index: wx.WaveIndex, **options: str) -> tuple[int, set[str], int]:
    """How many partitions a query has, the files they name, and how many they say they open."""
    pieces, _ = read(index, **options)
    manifests = [Manifest.from_bytes(piece.manifest, "a piece") for piece in pieces]
    names = {name for manifest in manifests for name in manifest.files}
    return len(pieces), names, sum(piece.files for piece in pieces)


def test_there_is_one_partition_for_each_shard_and_sub_index(spark, wide):
    assert load(spark, wide).rdd.getNumPartitions() == 12
    assert load(spark, wide, since="1", until="2").rdd.getNumPartitions() == 4
    assert load(spark, wide, key="3").rdd.getNumPartitions() == 3
    assert load(spark, wide, key="3", until="2").rdd.getNumPartitions() == 1


def test_a_key_opens_only_what_can_have_an_answer(wide):
    everything = opened(wide)
    assert everything[0] == 12
    assert everything[1] == set(wide.snapshot().manifest.files)
    assert everything[2] == len(everything[1]) == 24
    pieces, names, files = opened(wide, key="3")
    assert (pieces, files, len(names)) == (3, 6, 6)
    assert opened(wide, keys="[3, 3]") == (pieces, names, files)
    assert opened(wide, keys=json.dumps([*range(40)])) == everything
    assert opened(wide, keys="[]")[0] == 0
    assert opened(wide, since="6")[0] == 4
    assert opened(wide, since="6", key="3")[0] == 1


def test_the_files_of_other_shards_are_not_looked_at(spark, wide, tmp_path):
    """They are moved away once the query is planned, and it is answered all the same."""
    needed = {Path(name).name for name in opened(wide, key="3")[1]}
    asked, whole = load(spark, wide, key="3"), load(spark, wide)
    assert (asked.rdd.getNumPartitions(), whole.rdd.getNumPartitions()) == (3, 12)
    data = Path(wide.path, "data")
    moved = [file.name for file in data.iterdir() if file.name not in needed]
    assert len(moved) == 18
    for name in moved:
        (data / name).rename(tmp_path / name)
    try:
        expected = [row for row in rows(*SLOTS, keys=40).to_pylist() if row["k"] == 3]
        assert same_rows(collected(asked), expected)
        with pytest.raises(Exception, match=r"CommitGone: Commit 1 .*Load the frame again"):
            whole.collect()
    finally:
        for name in moved:
            (tmp_path / name).rename(data / name)
    assert same_rows(collected(whole), scanned(wide))


NOON = dt.datetime(2026, 1, 1, 12)

# A type of keys: three of them, one as the option key says it, and two as the option keys does.
KEYS: dict[str, tuple[pa.DataType, list[Any], str, str]] = {
    "text": (pa.string(), ['["a"]', "b, c", "n'ö\\"], '["a"]', '["b, c", "n\'ö\\\\"]'),
    "number": (pa.int32(), [-7, 3, 5], "-7", "[3, 5]"),
    "large": (pa.uint64(), [2**64 - 1, 3, 5], str(2**64 - 1), '[3, "5"]'),
    "bytes": (pa.binary(), [b"\x00\xff", b"", b"a"], "00ff", '["", "61"]'),
    "day": (
        pa.date32(),
        [NOON.date(), dt.date(1969, 5, 6), dt.date(1, 1, 1)],
        "2026-01-01",
        '["1969-05-06", "0001-01-01"]',
    ),
    "time": (
        pa.timestamp("us"),
        [NOON, NOON.replace(hour=1), NOON.replace(year=1)],
        "2026-01-01T12:00",
        '["2026-01-01 01:00:00", "0001-01-01T12:00"]',
    ),
    "flag": (pa.bool_(), [True, False, False], "TRUE", "[false]"),
    "decimal": (
        pa.decimal128(20, 2),
        [Decimal("123456789012345678.91"), Decimal("1.50"), Decimal(2)],
        "123456789012345678.91",
        "[1.5, 2]",
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_every_type_are_written_as_text(tmp_path, name):
    kind, keys, one, others = KEYS[name]
    schema = pa.schema([("k", kind), ("t", pa.int64())])
    index = create(tmp_path / "x", schema, shards=2)
    index.append(pa.table({"k": pa.array(keys, kind), "t": [10, 11, 12]}, schema))
    assert [row["t"] for row in read(index, key=one)[1]] == [10]
    assert sorted(row["t"] for row in read(index, keys=others)[1]) == [11, 12]


def test_a_key_of_several_columns_is_a_list(tmp_path):
    schema = pa.schema([("a", pa.string()), ("b", pa.int64()), ("t", pa.int64())])
    index = create(tmp_path / "x", schema, key=["a", "b"], shards=2)
    found = [("x,1", 1), ("x", 1), ("[", 2)]
    index.append(
        pa.table(
            {"a": [a for a, _ in found], "b": [b for _, b in found], "t": [10, 11, 12]}, schema
        )
    )
    assert [row["t"] for row in read(index, key='["x,1", 1]')[1]] == [10]
    several = read(index, keys='[["x", 1], ["[", "2"], ["y", 1]]')[1]
    assert sorted(row["t"] for row in several) == [11, 12]
    for wrong in ("x,1", '["x"', '["x"]', '["x", null]', '["x", 1, null]', '["x", [1]]', "{}"):
        with pytest.raises(BadKey, match=r"as a list|list in JSON"):
            read(index, key=wrong)
    with pytest.raises(BadKey, match="Give values for a, b as a list"):
        read(index, keys='["x", 1]')


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"key": "a"}, BadKey, "'a' .* is no key of this index"),
        ({"keys": "1, 2"}, BadKey, r"The option keys is '1, 2'. Write a list in JSON"),
        ({"keys": "3"}, BadKey, "Write a list in JSON"),
        ({"keys": "[null]"}, BadKey, "null is no key of this index"),
        ({"keys": "[[3]]"}, BadKey, "is no key of this index"),
        ({"keys": "[1.5]"}, BadKey, "'1.5' .* is no key of this index"),
        ({"key": "1", "keys": "[2]"}, BadDefinition, "Both key and keys are given"),
    ],
)
def test_what_is_no_key_is_refused_when_the_frame_is_loaded(wide, options, error, said):
    with pytest.raises(error, match=said):
        WavedexSource({"path": wide.path, **options}).schema()


def test_times_are_compared_as_spark_compares_them(spark, tmp_path):
    """Of nanoseconds Spark sees microseconds, before 1970 too.

    Its session has a zone of its own.
    """
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("ns", "Europe/Berlin"))])
    index = create(tmp_path / "ns.wx", schema, slot="1 day", zone="Europe/Berlin")
    index.append(
        pa.table(
            [range(9), pa.array([n * 1_500 - 6_000 for n in range(9)], schema.field(1).type)],
            schema,
        )
    )
    plain = spark.createDataFrame(
        [(n, n * 1_500 // 1_000 - 6) for n in range(9)], "k bigint, us bigint"
    ).selectExpr("k", "timestamp_micros(us) as t")
    assert same_rows(collected(load(spark, index)), collected(plain))
    before, after = "1970-01-01 00:59:59.999997", "1970-01-01 01:00:00.000003"
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        query = f"t = '{before}' or t > '{before}' and t < '{after}'"
        found = load(spark, index).where(query)
        assert same_rows(collected(found), collected(plain.where(query)))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
