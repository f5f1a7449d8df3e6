"""Keys of several columns and lists of keys through every door of Spark.

What a table gives, a data frame gives.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession

import wavedex as wx
from kit.spark_rows import collected, create, frame_of, scanned
from wavedex import spark as wxs
from wavedex.errors import NullKeys, SchemaMismatch
from wavedex.pipelines.pipeline import read_pipeline
from wavedex.spark.runner import run
from wavedex.store.shard import shard_of
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema(
    [
        ("shop", pa.string()),
        ("t", pa.int64()),
        ("day", pa.date32()),
        ("item", pa.int32()),
        ("v", pa.string()),
    ]
)
KEY = ["shop", "day", "item"]
SHOPS = ["", "nörd", "south-east of the river, second door", "west"]
DAYS = [dt.date(1969, 12, 30), dt.date(2026, 1, 1)]
TEXTS = pa.schema([("id", pa.int64()), ("t", pa.int64()), ("words", pa.list_(pa.string()))])


def sales(*slots: int) -> pa.Table:
    """Some rows for most combinations in each slot."""
    found = [
        {"shop": shop, "t": slot * 10 + item, "day": day, "item": item, "v": f"{slot} {n}"}
        for slot in slots
        for n, (shop, day, item) in enumerate(
            (shop, day, item) for shop in SHOPS for day in DAYS for item in range(3)
        )
        if (n + slot) % 5
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def texts(*slots: int) -> pa.Table:
    lists = [["a", "b", "a"], [], None, ["wave"], ["b", "wave", "a", "b"]]
    found = [
        {"id": slot * 10 + n, "t": slot * 10 + n, "words": words}
        for slot in slots
        for n, words in enumerate(lists)
    ]
    return pa.Table.from_pylist(found, TEXTS)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    made = create(tmp_path_factory.mktemp("indexes") / "sales.wx", SCHEMA, key=KEY, shards=3)
    made.append(sales(1, 2, 3, 4, 5, 6))
    return made


def keys_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(zip(*(table[name].to_pylist() for name in KEY), strict=True)))


@pytest.mark.parametrize("update", ["runs", "packed-shadow", "in-place"])
def test_a_frame_with_composite_keys_is_appended_as_a_table_is(
    spark: SparkSession, tmp_path, update
):
    theirs, ours = (
        create(tmp_path / name, SCHEMA, key=KEY, shards=3, update=update) for name in "ab"
    )
    for slots in [(1, 2), (3,), (4, 5, 6)]:
        done = wxs.append(theirs.path, frame_of(spark, sales(*slots)))
        assert (done.rows, done.slots) == (ours.append(sales(*slots)).rows, list(slots))
    theirs = wx.open(theirs.path)
    theirs.verify()
    assert same_rows(scanned(theirs), scanned(ours))
    for key in keys_of(sales(1, 2, 3)):
        assert same_rows(theirs.probe(key).to_pylist(), ours.probe(key).to_pylist())
    assert theirs.append(sales(6)).slots == []
    assert wxs.amend(theirs.path, frame_of(spark, sales(5))).rows == sales(5).num_rows


def test_spark_hashes_tuples_as_the_index_does(spark: SparkSession, index):
    table = sales(1, 2)
    hashed = (
        spark.createDataFrame(table)
        .select(*KEY, sf.xxhash64(*KEY).alias("hash"))
        .toArrow()
        .combine_chunks()
    )
    spec = index.definition.spec
    keys = spec.key_of([hashed[name].combine_chunks() for name in KEY])
    own = spec.key_type.hash_array(keys)
    assert own.astype("int64").tolist() == hashed["hash"].to_pylist()
    assert set(shard_of(own, 3).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_frame_of_composite_keys_is_joined_by_probes(spark: SparkSession, index, how):
    asked = [("", DAYS[0], 1, 0), ("west", DAYS[1], 2, 1), ("west", DAYS[1], 2, 2)]
    asked += [("nobody", DAYS[0], 1, 3), (None, DAYS[0], 1, 4), ("", None, 1, 5)]
    frame = spark.createDataFrame(asked, "shop string, day date, item int, n int").repartition(3)
    found = wxs.probe(index.path, frame, columns=["t", "v"], how=how)
    entries = spark.createDataFrame(index.scan().read_all())
    expected = frame.join(entries, KEY, how).select(*frame.columns, "t", "v")
    assert same_rows(collected(found), collected(expected))
    # By other names, and with wider numbers.
    renamed = frame.selectExpr("shop a", "day b", "cast(item as bigint) c", "n")
    other = wxs.probe(index.path, renamed, on=["a", "b", "c"], columns=["v"], how=how)
    assert other.count() == found.count()


@pytest.mark.parametrize("on", ["shop", ["shop", "day"], [*KEY, "n"]])
def test_a_frame_must_have_all_columns_of_the_key(spark: SparkSession, index, on):
    frame = spark.createDataFrame([("", DAYS[0], 1, 0)], "shop string, day date, item int, n int")
    with pytest.raises(SchemaMismatch, match=r"\(shop, day, item\)"):
        wxs.probe(index.path, frame, on=on)


def test_the_data_source_writes_and_reads_composite_keys(spark: SparkSession, tmp_path):
    path = str(tmp_path / "x.wx")
    writer = frame_of(spark, sales(1, 2)).write.format("wavedex").mode("append")
    options = {"key": "shop, day,item", "time": "t", "slot": "10", "window": "5", "indexes": "2"}
    options |= {"scheme": "wata-offline", "sizes": '{"1": 20, "2": 20}', "keep_for": "1 hour"}
    writer.options(**options).save(path)
    index = wx.open(path)
    assert index.definition.key == ("shop", "day", "item")
    assert (index.definition.sizes, index.definition.keep_s) == ({1: 20, 2: 20}, 3600)
    frame_of(spark, sales(3)).write.format("wavedex").mode("append").save(path)
    index.verify()
    assert same_rows(scanned(index), sales(1, 2, 3).to_pylist())
    read = spark.read.format("wavedex")
    some = read.load(path).where("shop = 'west' and item in (0, 2) and day = date'2026-01-01'")
    keys = '[["west", "2026-01-01", 0], ["west", "2026-01-01", 2], ["none", "2026-01-01", 1]]'
    expected = [
        row
        for row in sales(1, 2, 3).to_pylist()
        if (row["shop"], row["day"]) == ("west", DAYS[1]) and row["item"] != 1
    ]
    assert same_rows(collected(some), expected)
    assert same_rows(collected(read.option("keys", keys).load(path)), expected)


def test_nulls_in_any_column_of_a_key_are_counted_or_refused(spark: SparkSession, tmp_path):
    frame = spark.createDataFrame(
        [("a", 11, DAYS[0], 1, "x"), ("a", 12, None, 1, "x"), (None, 13, None, None, "x")],
        "shop string, t bigint, day date, item int, v string",
    )
    strict = create(tmp_path / "strict", SCHEMA, key=KEY)
    with pytest.raises(NullKeys, match="2 of 3 rows have no 'shop' or no 'day' or no 'item'"):
        wxs.append(strict.path, frame)
    done = wxs.append(create(tmp_path / "x", SCHEMA, key=KEY, nulls="skip").path, frame)
    assert (done.rows, done.null_keys) == (1, 2)


@pytest.mark.parametrize("position", ["place", None])
def test_a_frame_of_lists_is_exploded_as_a_table_is(spark: SparkSession, tmp_path, position):
    theirs, ours = (
        create(tmp_path / name, TEXTS, key="words", position=position, shards=3) for name in "ab"
    )
    for slots in [(1,), (2, 3)]:
        done = wxs.append(theirs.path, frame_of(spark, texts(*slots)))
        assert done == ours.append(texts(*slots))
    theirs = wx.open(theirs.path)
    theirs.verify()
    assert same_rows(scanned(theirs), scanned(ours))
    # The same rows, from a table, are known again.
    assert theirs.append(texts(3)).slots == []
    found = theirs.probe("wave", since=3).to_pylist()
    assert len(found) == 2
    if position:
        assert sorted(row["place"] for row in found) == [0, 1]


def test_lists_beside_another_column_of_the_key(spark: SparkSession, tmp_path):
    schema = TEXTS.append(pa.field("lang", pa.string()))
    theirs, ours = (
        create(tmp_path / name, schema, key=["lang", "words"], position="place", shards=3)
        for name in "ab"
    )
    table = texts(1, 2).append_column("lang", pa.array(["en", "fr"] * 5))
    assert wxs.append(theirs.path, frame_of(spark, table)) == ours.append(table)
    theirs = wx.open(theirs.path)
    theirs.verify()
    assert same_rows(scanned(theirs), scanned(ours))
    assert same_rows(theirs.probe(("en", "b")).to_pylist(), ours.probe(("en", "b")).to_pylist())
    both = table.drop_columns("lang").append_column("lang", pa.array([["en"]] * 10))
    with pytest.raises(SchemaMismatch, match="only one column of a key may be"):
        wxs.append(theirs.path, frame_of(spark, both))


def test_the_data_source_writes_lists_and_reads_single_keys(spark: SparkSession, tmp_path):
    path = str(tmp_path / "x.wx")
    options = {"key": "words", "position": "place", "time": "t", "slot": "10", "window": "5"}
    writer = frame_of(spark, texts(1, 2)).write.format("wavedex").mode("append")
    writer.options(**options).save(path)
    index, ours = wx.open(path), create(tmp_path / "y", TEXTS, key="words", position="place")
    ours.append(texts(1, 2))
    index.verify()
    assert same_rows(scanned(index), scanned(ours))
    read = spark.read.format("wavedex").option("key", "a").load(path)
    found = collected(read.where("place > 0").select("id", "place"))
    assert same_rows(
        found,
        [{"id": id_, "place": 2} for id_ in (10, 14, 20, 24)],
    )
    words = spark.createDataFrame([("wave",), ("none",)], "words string")
    assert wxs.probe(path, words, columns=["id"]).count() == 4


PIPELINE = """\
[source]
format = "parquet"
path = "in"

[index]
path = "x.wx"
key = ["lang", "words"]
position = "place"
time = "t"
slot = 10
window = 5
scheme = "rata-bounded"
max_size = 30
keep_for = "2 days"
"""


def test_a_pipeline_indexes_lists_under_composite_keys(spark: SparkSession, tmp_path: Path):
    (tmp_path / "in").mkdir()
    table = texts(1, 2).append_column("lang", pa.array(["en", "fr"] * 5))
    pq.write_table(table, tmp_path / "in" / "rows.parquet")
    file = tmp_path / "p.toml"
    file.write_text(PIPELINE)
    run(read_pipeline(file), once=True, tell=lambda step: None)
    index = wx.open(tmp_path / "x.wx")
    index.verify()
    assert index.probe(("en", "a"), columns=["place"])["place"].to_pylist()
    assert (index.definition.max_size, index.definition.keep_s) == (30, 172_800)
    # A second run finds the index as the file has it, and the rows there.
    run(read_pipeline(file), once=True, tell=lambda step: None)
    assert index.describe()["rows"] == 16
