"""What a query over the data source opens, and that it gives what Spark gives over the same rows in a plain frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as ds
from spark_rows import collected, create, rows, scanned

import wavedex as wx
from wavedex.log import Manifest
from wavedex.spark.sessions import PUSH_DOWN
from wavedex.spark.source_read import PushingReader, WindowReader
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


def plan(index: wx.WaveIndex, *filters: ds.Filter, **asked: Any) -> tuple[int, set[str], int]:
    """How many partitions a query has, the files that they name, and how many they say they open."""
    options = {"since": None, "until": None, "expired": False, **asked}
    reader = PushingReader(index.path, spark_schema(index.schema), **options)
    reader.pushFilters(list(filters))
    pieces = reader.partitions()
    manifests = [Manifest.from_bytes(piece.manifest, "a piece") for piece in pieces]
    names = {name for manifest in manifests for name in manifest.files}
    return len(pieces), names, sum(piece.files for piece in pieces)


def test_there_is_one_partition_for_each_shard_and_sub_index(spark, wide):
    assert load(spark, wide).rdd.getNumPartitions() == 12
    assert load(spark, wide, since="1", until="2").rdd.getNumPartitions() == 4
    pushed = load(spark, wide, pushdown="true")
    assert pushed.where("k = 3").rdd.getNumPartitions() == 3
    pushed = load(spark, wide, pushdown="true")
    assert pushed.where("k = 3 and t between 11 and 14").rdd.getNumPartitions() == 1


def test_a_filter_opens_only_what_can_have_an_answer(wide):
    everything = plan(wide)
    assert everything[0] == 12
    assert everything[1] == set(wide.snapshot().manifest.files)
    assert everything[2] == len(everything[1]) == 24
    one_key = ds.EqualTo(("k",), 3)
    pieces, names, files = plan(wide, one_key)
    assert (pieces, files, len(names)) == (3, 6, 6)
    assert plan(wide, ds.In(("k",), (3, None, 3))) == (pieces, names, files)
    assert plan(wide, ds.EqualNullSafe(("k",), 3)) == (pieces, names, files)
    assert plan(wide, ds.In(("k",), tuple(range(40)))) == everything
    assert plan(wide, ds.In(("k",), (None,)))[0] == 0
    assert plan(wide, ds.GreaterThan(("t",), 60))[0] == 4
    assert plan(wide, ds.GreaterThan(("t",), 60), one_key)[0] == 1
    assert plan(wide, ds.GreaterThan(("t",), 99))[0] == 0
    assert plan(wide, one_key, since="1", until="2")[0] == 1
    assert plan(wide, ds.Not(one_key)) == everything


def test_the_files_of_other_shards_are_not_looked_at(spark, wide, tmp_path):
    """They are moved away once the query is planned, and it is answered all the same."""
    needed = {Path(name).name for name in plan(wide, ds.EqualTo(("k",), 3))[1]}
    asked = load(spark, wide, pushdown="true").where("k = 3")
    whole = load(spark, wide)
    assert (asked.rdd.getNumPartitions(), whole.rdd.getNumPartitions()) == (3, 12)
    data = Path(wide.path, "data")
    moved = [file.name for file in data.iterdir() if file.name not in needed]
    assert len(moved) == 18
    for name in moved:
        (data / name).rename(tmp_path / name)
    try:
        expected = [row for row in rows(*SLOTS, keys=40).to_pylist() if row["k"] == 3]
        assert same_rows(collected(asked), expected)
        with pytest.raises(Exception, match=r"CommitGone: Commit 1 .*Load it again"):
            whole.collect()
    finally:
        for name in moved:
            (tmp_path / name).rename(data / name)
    assert same_rows(collected(whole), scanned(wide))


QUERIES = [
    "k = 3",
    "k in (3, 5, 99)",
    "k between 5 and 9 and v > '2'",
    "k <=> 7 and t >= 30",
    "not k = 3 and t < 12",
    "k = 3 or t = 11",
    "t = 25",
    "20 <= t and t < 41 and k > 35",
    "t > 35 and t < 30",
    "k is null",
    "k + 1 = 4",
    "v like '3-1%'",
]


@pytest.mark.parametrize("pushdown", ["true", "false"])
def test_queries_give_what_they_give_over_a_plain_frame(spark, wide, pushdown):
    plain = spark.createDataFrame(wide.scan().read_all())
    for query in QUERIES if pushdown == "true" else QUERIES[:2]:
        found = load(spark, wide, pushdown=pushdown).where(query)
        assert same_rows(collected(found), collected(plain.where(query))), query


def test_times_are_compared_as_spark_compares_them(spark, tmp_path):
    """Of nanoseconds Spark sees microseconds, before 1970 too, and its session has a zone of its own."""
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
        for query in (f"t = '{before}'", f"t > '{before}' and t <= '{after}'", f"t < '{after}'"):
            found = load(spark, index, pushdown="true").where(query)
            assert same_rows(collected(found), collected(plain.where(query))), query
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_the_plan_shows_which_filters_were_taken(spark, wide, capsys):
    query = load(spark, wide, pushdown="true").where("k = 3 and v > '2'")
    query.explain("formatted")
    said = capsys.readouterr().out
    assert "PushedFilters: [IsNotNull(k), EqualTo(k,3)]" in said
    condition = next(line for line in said.splitlines() if line.startswith("Condition"))
    assert "v#" in condition
    assert "k#" not in condition


def test_one_frame_answers_several_questions_each_in_full(spark, wide):
    """Filters of one query must not be left in the next one, nor in another branch of the same."""
    frame = load(spark, wide)
    assert frame.where("k = 3").count() == 6
    assert frame.count() == 240
    assert frame.where("k = 3").union(frame.where("k = 4")).where("k = 4").count() == 6
    assert frame.where("k = 3").union(frame).count() == 246
    assert frame.alias("a").where("k = 3").join(frame.alias("b"), "t").count() == 6 * 4
    frame.createOrReplaceTempView("entries")
    assert spark.sql("select count(*) from entries where k = 3").first()[0] == 6
    assert spark.sql("select count(*) from entries").first()[0] == 240


def test_push_down_in_a_session_that_does_not_allow_it(spark, wide):
    spark.conf.set(PUSH_DOWN, "false")
    try:
        assert load(spark, wide).where("k = 3").count() == 6
        assert load(spark, wide, pushdown="false").where("k = 3").count() == 6
        with pytest.raises(Exception, match=r"filterPushdown\.enabled"):
            load(spark, wide, pushdown="true").where("k = 3").count()
    finally:
        spark.conf.set(PUSH_DOWN, "true")


def test_a_reader_without_push_down_hands_all_filters_back(wide):
    reader = WindowReader(
        wide.path, spark_schema(wide.schema), since=None, until=None, expired=False
    )
    filters: list[ds.Filter] = [ds.EqualTo(("k",), 3), ds.IsNotNull(("k",))]
    assert list(reader.pushFilters(filters)) == filters
    assert len(reader.partitions()) == 12
