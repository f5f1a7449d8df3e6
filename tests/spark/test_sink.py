"""The streaming sink.

What foreachBatch hands over is there once, open slots at once, and mistakes stop the query.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_rows import (
    SCHEMA,
    Source,
    collected,
    create,
    frame_of,
    rows,
    scanned,
    state,
    unnamed,
)
from wavedex import spark as wxs
from wavedex.engine.techniques import TECHNIQUES
from wavedex.errors import StreamOutOfStep
from wavedex.index.wave.feed import Fed
from wavedex.testing.oracle import same_rows

Batch = Callable[[DataFrame, int], object]


class Query:
    """A query from a folder of files to a sink, run as often as one likes from one checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.source = Source(folder / "source")
        self.checkpoint = str(folder / "checkpoint")

    def run(
        self, each: Batch, shape: Callable[[DataFrame], DataFrame] = lambda frame: frame
    ) -> None:
        """Hand over what is there, a file a batch."""
        frame = shape(self.source.stream(self.spark))
        writer = frame.writeStream.foreachBatch(each).option("checkpointLocation", self.checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path / "query")


@pytest.mark.parametrize("update", TECHNIQUES)
def test_rows_can_be_asked_for_after_their_batch_and_are_sealed_in_time(query, tmp_path, update):
    index = create(tmp_path / "i.wx", update=update)
    plain = create(tmp_path / "plain.wx", update=update)
    told: list[Fed] = []
    batches = [rows(1), rows(1, 2), rows(3, 4), rows(2, 5), rows(), rows(9)]

    def take(frame: DataFrame, number: int) -> None:
        wxs.sink(index.path, delay=10, say=lambda _, fed: told.append(fed))(frame, number)
        found = plain.feed(batches[number], stream="here", number=number, delay=10)
        assert (told[-1].rows, told[-1].late, told[-1].sealed) == (
            found.rows,
            found.late,
            found.sealed,
        )
        assert same_rows(scanned(index), scanned(plain))
        assert same_rows(index.probe(3).to_pylist(), plain.probe(3).to_pylist())

    for batch in batches:
        query.source.send(batch)
    query.run(take)
    assert len(told) == len(batches)
    assert [fed.sealed for fed in told][2:] == [[1, 2], [3], [], [4, 5, 6, 7]]
    assert told[3].late == 7
    index.verify()
    assert index.sub_indexes == plain.sub_indexes
    index.vacuum()
    assert not unnamed(index)


def test_a_query_that_is_started_again_doubles_nothing(query, tmp_path):
    index = create(tmp_path / "i.wx")
    told: list[tuple[int, bool]] = []
    sink = wxs.sink(index.path, delay=10, say=lambda n, fed: told.append((n, fed.repeated)))
    for slot in (1, 2):
        query.source.send(rows(slot))
        query.run(sink)
    for file in Path(query.checkpoint, "commits").glob("*1*"):
        file.unlink()  # As if it had been cut off after the sink and before Spark noted it.
    query.run(sink)
    query.source.send(rows(3))
    query.run(sink)
    assert told == [(0, False), (1, False), (1, True), (2, False)]
    assert same_rows(scanned(index), rows(1, 2, 3).to_pylist())


def test_rows_that_come_too_late_are_counted_and_kept_apart(query, tmp_path):
    index = create(tmp_path / "i.wx")
    told: list[Fed] = []
    letters = tmp_path / "letters"
    sink = wxs.sink(index.path, delay=0, dead_letters=letters, say=lambda _, fed: told.append(fed))
    for batch in (rows(1, 2), rows(5), pa.concat_tables([rows(2, keys=3), rows(6)])):
        query.source.send(batch)
    query.run(sink)
    assert [fed.late for fed in told] == [0, 0, 3]
    files = sorted(letters.iterdir())
    assert [file.suffix for file in files] == [".parquet"]
    assert same_rows(pq.read_table(files[0]).to_pylist(), rows(2, keys=3).to_pylist())
    assert same_rows(scanned(index), rows(1, 2, 5, 6).to_pylist())
    assert index.snapshot().manifest.totals["late"] == 3


def test_the_delay_may_be_that_of_the_watermark(query, spark, tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", "UTC")), ("v", pa.string())])
    index = create(tmp_path / "i.wx", schema, slot="1 hour")
    told: list[Fed] = []

    def hours(frame: DataFrame) -> DataFrame:
        return frame.withColumn("t", sf.timestamp_seconds(sf.col("t") * 360))

    sink = wxs.sink(index.path, say=lambda _, fed: told.append(fed))
    query.source.send(rows(1, 2))
    query.run(sink, lambda frame: hours(frame).withWatermark("t", "30 minutes"))
    assert [fed.sealed for fed in told] == [[1]]
    assert index.snapshot().manifest.open_slots == {2}
    other = Query(spark, tmp_path / "other")
    other.source.send(rows(1, 2))
    before = state(index)
    with pytest.raises(StreamingQueryException, match=r"NoWatermark: .*df\.withWatermark"):
        other.run(sink, hours)
    with pytest.raises(StreamingQueryException, match="MissingColumn: The batch lacks 't'"):
        other.run(sink, lambda frame: frame.drop("t"))
    assert state(index) == before


def test_another_query_is_refused_until_it_takes_over(query, spark, tmp_path):
    index = create(tmp_path / "i.wx")
    query.source.send(rows(1))
    query.run(wxs.sink(index.path, delay=10))
    other = Query(spark, tmp_path / "other")
    other.source.send(rows(2))
    before = state(index)
    with pytest.raises(
        StreamingQueryException, match="AnotherStream: The index is fed by the stream"
    ):
        other.run(wxs.sink(index.path, delay=10))
    assert state(index) == before
    assert not unnamed(index)
    other.run(wxs.sink(index.path, delay=10, takeover=True))
    assert same_rows(scanned(index), rows(1, 2).to_pylist())
    query.source.send(rows(3))
    with pytest.raises(StreamingQueryException, match="AnotherStream"):
        query.run(wxs.sink(index.path, delay=10))


def test_the_checkpoint_of_another_index_is_refused(query, tmp_path):
    one, other = create(tmp_path / "one"), create(tmp_path / "other")
    for slot in (1, 2):
        query.source.send(rows(slot))
    query.run(wxs.sink(one.path, delay=10))
    query.source.send(rows(3))
    before = state(other)
    with pytest.raises(StreamingQueryException, match="StreamOutOfStep: Batch 2 of the stream"):
        query.run(wxs.sink(other.path, delay=10))
    assert state(other) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop("v"), "MissingColumn: The batch lacks 'v'"),
        (lambda frame: frame.drop("t"), "MissingColumn: The batch lacks 't'"),
        (
            lambda frame: frame.withColumn("v", sf.lit(1)),
            "SchemaMismatch: Column 'v' is of type int32",
        ),
        (
            lambda frame: frame.withColumn("w", sf.lit(1)),
            "SchemaMismatch: The index has no column 'w'",
        ),
        (lambda frame: frame.withColumn("k", sf.lit(None).cast("bigint")), "NullKeys: 7 of 7 rows"),
        (lambda frame: frame.withColumn("t", sf.col("t") + 1000), "GapTooLarge: "),
        (lambda frame: frame.withColumn("v", sf.raise_error(sf.lit("no more"))), "no more"),
    ],
)
def test_rows_of_another_kind_stop_the_query_and_leave_the_index(query, tmp_path, change, said):
    """The first batch is right, and the next run brings other columns or rows."""
    index = create(tmp_path / "i.wx")
    query.source.send(rows(1))
    query.run(wxs.sink(index.path, delay=10))
    query.source.send(rows(2))
    before = state(index)
    with pytest.raises(StreamingQueryException) as caught:
        query.run(wxs.sink(index.path, delay=10), change)
    assert said in str(caught.value)
    assert state(index) == before
    assert not unnamed(index)
    query.run(wxs.sink(index.path, delay=10))
    assert same_rows(scanned(index), rows(1, 2).to_pylist())


def test_a_sink_is_for_streams(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    with pytest.raises(StreamOutOfStep, match="foreachBatch"):
        wxs.sink(index.path, delay=10)(frame_of(spark, rows(1)), 0)


def test_a_stream_and_appends_share_an_index_as_long_as_they_do_not_meet(query, spark, tmp_path):
    index = create(tmp_path / "i.wx")
    index.append(frame_of(spark, rows(1, 2)))
    query.source.send(rows(3, 4))
    query.run(wxs.sink(index.path, delay=5))
    with pytest.raises(wx.errors.SlotConflict, match="a stream is filling it"):
        index.append(frame_of(spark, rows(4)))
    late: dict[str, Any] = {"k": 70, "t": 41, "v": "late"}
    index.amend(frame_of(spark, pa.Table.from_pylist([late], SCHEMA)))
    read = collected(spark.read.format("wavedex").load(index.path))
    assert same_rows(read, [*rows(1, 2, 3, 4).to_pylist(), late])
    index.verify()
