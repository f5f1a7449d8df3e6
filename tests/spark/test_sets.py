"""Events from Spark into a set over time: all of a frame or none, each batch of a stream once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from kit.set_events import SCHEMA, spans_of, unnamed_set_files
from kit.spark_rows import Source
from wavedex import spark as wxs
from wavedex.errors import (
    AlreadyInSet,
    BadTime,
    MissingColumn,
    NotAnIndex,
    NotInSet,
    NullKeys,
    SchemaMismatch,
    SparkFailed,
    StreamOutOfStep,
    TimeBackwards,
)
from wavedex.files.address import files_at
from wavedex.files.names import STAGED
from wavedex.spark.set_staging import in_portions, whole_instants
from wavedex.temporal import TemporalSet

DDL = "oid string, time bigint, op tinyint, v bigint"
LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
COALESCING = "spark.sql.adaptive.coalescePartitions.enabled"


def events(*told: tuple[str, int, int]) -> pa.Table:
    """Ids, their times, and whether they came or went."""
    found = [{"oid": oid, "time": time, "op": op, "v": time} for oid, time, op in told]
    return pa.Table.from_pylist(found, SCHEMA)


def day(since: int, count: int = 300) -> pa.Table:
    """Ids that come one after the other, and a third of them leave when all are there."""
    came = [(f"u{since + place}", since + place, 1) for place in range(count)]
    left = [(oid, since + count, -1) for oid, _, _ in came[::3]]
    again = [(oid, since + count, 1) for oid, _, _ in came[::6]]
    return events(*came, *left, *again)


def mixed(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Events in another order than they happened, in three partitions."""
    return spark.createDataFrame(table).repartition(3, "oid")


def check_tidy(path: Path) -> None:
    """Nothing is left but what commits name."""
    files = files_at(path)
    assert not files.list(STAGED)
    assert not unnamed_set_files(files)
    assert TemporalSet.open(path).verify() == []


@pytest.mark.parametrize("is_held", [False, True])
def test_events_of_a_frame_in_any_order(spark, tmp_path, is_held):
    path = tmp_path / "a.wxt"
    found, plain = TemporalSet.create(path), TemporalSet.create()
    spark.conf.set(COALESCING, "false")  # So that the ranges of times stay several.
    try:
        for since in (0, 300):
            assert wxs.load_set(found if is_held else path, mixed(spark, day(since))) == 450
            plain.load(day(since))
    finally:
        spark.conf.unset(COALESCING)
    assert spans_of(TemporalSet.open(path)) == spans_of(plain)
    found.refresh()
    assert spans_of(found) == spans_of(plain)
    check_tidy(path)


def test_a_set_in_memory_and_one_without_events(spark, tmp_path):
    found = TemporalSet.create()
    assert wxs.load_set(found, mixed(spark, day(0))) == 450
    assert found.contains("u7", 299)
    assert not found.contains("u3", 300)
    TemporalSet.create(tmp_path / "a.wxt")
    assert wxs.load_set(tmp_path / "a.wxt", mixed(spark, events())) == 0
    assert TemporalSet.open(tmp_path / "a.wxt").schema is None


def test_names_and_types_of_any_kind(spark, tmp_path):
    frame = spark.sql(
        "select named_struct('street', 'main', 'number', id) as `the.id`, 1L as op,"
        " timestamp'2026-03-01 10:00:00' + make_dt_interval(0, id) as `at`, map('a', id) as m"
        " from (select 5L as id union all select 6L)"
    )
    TemporalSet.create(tmp_path / "a.wxt")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    spark.conf.set(LARGE_TYPES, "true")
    try:
        names = {"oid": "the.id", "time": "at"}
        assert wxs.load_set(tmp_path / "a.wxt", frame.select("m", "at", "`the.id`", "op"), **names)
        held = TemporalSet.create()
        wxs.load_set(held, frame, **names)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.conf.unset(LARGE_TYPES)
    types = ["timestamp[us, tz=UTC]", "map<string, int64>"]
    for found in (TemporalSet.open(tmp_path / "a.wxt"), held):
        assert [*map(str, found.schema.types[1:])] == types
        came = dt.datetime(2026, 3, 1, 15, tzinfo=dt.UTC)
        assert found.contains(("main", 5), came)
        assert not found.contains(("main", 5), came - dt.timedelta(seconds=1))
        assert found.row(("main", 6), "2026-03-01T16:00Z") == {"m": [("a", 6)]}


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda frame: frame.drop("op"), MissingColumn, "op='...'"),
        (lambda frame: frame.drop("v"), SchemaMismatch, "carry"),
        (lambda frame: frame.withColumn("op", sf.lit("+")), SchemaMismatch, "says what happened"),
        (lambda frame: frame.withColumn("time", sf.current_date()), BadTime, "none of this set"),
        (lambda frame: frame.withColumn("oid", sf.lit(None).cast("string")), NullKeys, "null"),
        (lambda frame: frame.withColumn("oid", sf.lit("u9")), AlreadyInSet, "'u9' is added"),
        (lambda frame: frame.withColumn("op", -sf.col("op")), NotInSet, "is removed"),
        (lambda frame: frame.withColumn("time", sf.col("time") - 90), TimeBackwards, "before the"),
        (lambda frame: frame.withColumn("v", sf.raise_error(sf.lit("no"))), SparkFailed, "no"),
    ],
)
def test_bad_events_are_named_and_change_nothing(spark, tmp_path, change, error, said, is_held):
    path = tmp_path / "a.wxt"
    found = TemporalSet.create(path)
    found.load(events(("u9", 100, 1)))
    found.commit()
    before = spans_of(found)
    frame = change(mixed(spark, events(("u1", 101, 1), ("u2", 102, 1))))
    with pytest.raises(error, match=said):
        wxs.load_set(found if is_held else path, frame)
    assert spans_of(found) == before
    assert found.refresh() == 1
    check_tidy(path)


def test_what_is_no_set_is_named(spark, tmp_path):
    with pytest.raises(NotAnIndex, match=r"TemporalSet\.create"):
        wxs.load_set(tmp_path, mixed(spark, events()))
    with pytest.raises(StreamOutOfStep, match="foreachBatch"):
        wxs.set_sink(tmp_path)(mixed(spark, events()), 0)


def test_others_may_commit_while_tasks_are_at_work(spark, tmp_path):
    path = tmp_path / "a.wxt"
    TemporalSet.create(path)

    def meddle(batches):
        for batch in batches:
            other = TemporalSet.open(path)
            if not other.changes:
                other.add("other", 0, {"v": 7})
                other.commit()
            yield batch

    frame = mixed(spark, day(1, 6)).coalesce(1).mapInArrow(meddle, DDL)
    wxs.load_set(path, frame)
    there = TemporalSet.open(path).snapshot(4)["oid"].to_pylist()
    assert sorted(there) == ["other", "u1", "u2", "u3", "u4"]


def test_a_task_writes_a_file_when_it_has_enough():
    batches = day(0).to_batches(max_chunksize=10)
    portions = [*in_portions([batches[0].slice(0, 0), *batches], 3 * batches[0].nbytes)]
    assert len(portions) > 5
    assert all(len(each) < 6 for each in portions)
    assert pa.Table.from_batches([batch for each in portions for batch in each]) == day(0)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_events_of_one_time_are_not_torn_apart(size):
    told = [("a", 1, 1), ("b", 2, -1), ("b", 2, 1), ("c", 2, 1), ("d", 4, 1), ("e", 5, 1)]
    table = events(*told)
    pieces = [table.slice(first, size) for first in range(0, len(table), size)]
    found = [*whole_instants(pieces, "time")]
    assert pa.concat_tables(found) == table
    seen = [time for each in found for time in {*each["time"].to_pylist()}]
    assert sorted(seen) == [1, 2, 4, 5]
    assert not [*whole_instants([], "time")]


class Feed:
    """A query from a folder of files into a set, by a sink or by the data source."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.source = spark, Source(folder / "source")
        self.checkpoint = folder / "checkpoint"

    def run(self, target: Path | Callable[[DataFrame, int], object]) -> None:
        """Hand over what is there, a file a batch."""
        writer = self.source.stream(self.spark, DDL).writeStream
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(
            availableNow=True
        )
        if callable(target):
            writer.foreachBatch(target).start().awaitTermination()
        else:
            writer.format("wavedex").start(str(target)).awaitTermination()


@pytest.mark.parametrize("by_source", [False, True])
def test_each_batch_of_a_stream_is_there_once(spark, tmp_path, by_source):
    path, feed = tmp_path / "a.wxt", Feed(spark, tmp_path)
    found, plain = TemporalSet.create(path), TemporalSet.create()
    told: list[tuple[int, int]] = []
    sink = wxs.set_sink(path, say=lambda number, count: told.append((number, count)))
    target = path if by_source else sink
    for since in (0, 300):
        feed.source.send(day(since))
        plain.load(day(since))
    feed.run(target)
    for file in (feed.checkpoint / "commits").glob("*1*"):
        file.unlink()  # As if it had been cut off after the sink and before Spark noted it.
    feed.run(target)
    found.refresh()
    assert spans_of(found) == spans_of(plain)
    assert by_source or told == [(0, 450), (1, 450), (1, 0)]
    assert [*found.marks.values()] == [1]
    check_tidy(path)


def test_a_stream_that_goes_back_in_time_stops(spark, tmp_path):
    path, feed = tmp_path / "a.wxt", Feed(spark, tmp_path)
    found = TemporalSet.create(path)
    for since in (300, 100):
        feed.source.send(day(since))
    with pytest.raises(StreamingQueryException, match="TimeBackwards: An event is from 100"):
        feed.run(wxs.set_sink(path))
    assert (found.refresh(), found.first) == (1, 300)
    assert [*found.marks.values()] == [0]
    check_tidy(path)
