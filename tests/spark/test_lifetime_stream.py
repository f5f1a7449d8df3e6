"""Streams into lifetime indexes.

Each micro-batch is one refresh, each row is there once, and a wrong clock stops the query.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit import spark_rows
from kit.spark_lives import COUNTED, SCHEMA, Lives, create, lives, positions, table
from kit.spark_rows import Source, scanned, state, unnamed
from wavedex import spark as wxs
from wavedex.index.lifetime.clock import LifeClock
from wavedex.testing.oracle import same_rows

DDL = {
    SCHEMA: "k bigint, b bigint, e bigint, v string",
    COUNTED: "k bigint, b bigint, n bigint",
}


class Query:
    """A query from a folder of files, run as often as one likes from one checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path, schema: pa.Schema = SCHEMA) -> None:
        self.spark = spark
        self.schema = schema
        self.source = Source(folder / "source")
        self.checkpoint = str(folder / "checkpoint")

    def send(self, rows: list[dict[str, Any]]) -> None:
        self.source.send(table(rows, self.schema))

    def writer(self) -> Any:
        rows = self.source.stream(self.spark, DDL[self.schema])
        return rows.writeStream.option("checkpointLocation", self.checkpoint)

    def run(self, each: Any) -> None:
        """Hand over what is there, a file a batch."""
        writer = self.writer().foreachBatch(each)
        writer.trigger(availableNow=True).start().awaitTermination()

    def save(self, path: str, **options: str) -> None:
        """The same through the data source."""
        writer = self.writer().format("wavedex").options(**options)
        writer.trigger(availableNow=True).start(path).awaitTermination()

    def forget_the_last_batch(self, number: int) -> None:
        """As if the query had been cut off after the index was written, before Spark noted it."""
        for file in Path(self.checkpoint, "commits").glob(f"*{number}*"):
            file.unlink()


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path / "query")


def test_each_micro_batch_is_a_refresh_as_without_spark(query, tmp_path):
    index, plain = create(tmp_path / "i.wx"), create(tmp_path / "plain.wx")
    same = [{"k": 1, "b": 12, "e": 20, "v": "twice"}]
    batches = [[], lives(1, 0, 5, 9), [], lives(2, 5, 12, 9), same, same, lives(3, 4, 7, 5)]
    oracle = Lives()
    told: list[wx.Refreshed] = []

    def take(frame: DataFrame, number: int) -> None:
        wxs.sink(index.path, say=lambda _, did: told.append(did))(frame, number)
        rows = batches[number]
        found = plain.feed(table(rows), stream="here", number=number)
        assert (told[-1].rows, told[-1].over, told[-1].slot) == (found.rows, found.over, found.slot)
        now = index.describe()["now"]
        oracle.update(-1 if now is None else now, rows)
        assert same_rows(scanned(index), oracle.rows)
        assert same_rows(scanned(plain), oracle.rows)

    for rows in batches:
        query.send(rows)
    query.run(take)
    assert [did.slot for did in told] == [None, 2, 2, 6, 6, 6, 6]
    assert index.sub_indexes == plain.sub_indexes
    index.verify()
    index.vacuum()
    assert not unnamed(index)


@pytest.mark.parametrize("through", ["sink", "source"])
def test_a_query_that_is_started_again_doubles_nothing(query, tmp_path, through):
    index = create(tmp_path / "i.wx", method="no-rebuild")

    def run() -> None:
        query.run(wxs.sink(index.path)) if through == "sink" else query.save(index.path)

    oracle = Lives()
    for now in (4, 9):
        rows = lives(5, now - 4, now, 8)
        query.send(rows)
        run()
        oracle.update(now, rows)
    before = state(index)
    query.forget_the_last_batch(1)
    run()
    assert state(index) == before
    rows = lives(5, 9, 14, 8)
    query.send(rows)
    run()
    oracle.update(14, rows)
    assert same_rows(scanned(index), oracle.rows)
    assert [each["batch"] for each in index.describe()["streams"].values()] == [2]
    index.vacuum()
    assert not unnamed(index)


@pytest.mark.parametrize("through", ["sink", "source"])
def test_counted_windows_follow_the_largest_positions(spark, tmp_path, through):
    query = Query(spark, tmp_path / "query", COUNTED)
    index = create(tmp_path / "i.wx", method="count-rebuild")
    for rows in [positions(0, 6, 2), positions(6, 20, 5), positions(3, 5, 1), []]:
        query.send(rows)
    query.run(wxs.sink(index.path)) if through == "sink" else query.save(index.path)
    oracle = Lives()
    oracle.count(19, positions(6, 20, 5))
    assert same_rows(scanned(index), oracle.rows)
    manifest = index.snapshot().manifest
    assert (LifeClock.of(manifest).now, LifeClock.of(manifest).came) == (5, {"n": 19})
    index.verify()


def test_a_row_from_far_ahead_stops_the_query_and_wipes_nothing(query, tmp_path):
    index = create(tmp_path / "i.wx")
    query.send(lives(1, 0, 5, 9))
    query.run(wxs.sink(index.path))
    before = state(index)
    query.send([*lives(2, 5, 9, 5), {"k": 1, "b": 22, "e": 23, "v": "far"}])
    with pytest.raises(StreamingQueryException, match="GapTooLarge: A row was inserted"):
        query.run(wxs.sink(index.path))
    assert state(index) == before
    assert not unnamed(index)
    index.update(8)
    query.run(wxs.sink(index.path))
    assert index.describe()["now"] == 22


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("k", "b", "b + 17 e", "v"), "LifetimeTooLong: "),
        (("k", "b", "b - 1 e", "v"), "EndBeforeBeginning: "),
        (("k", "b", "cast(null as bigint) e", "v"), "NullTimes: "),
        (("k", "b", "e", "1 v"), "SchemaMismatch: Column 'v' is of type int32"),
    ],
)
def test_rows_that_are_wrong_stop_the_query_by_name(query, tmp_path, change, said):
    index = create(tmp_path / "i.wx")
    query.send(lives(1, 0, 5, 9))
    before = state(index)
    with pytest.raises(StreamingQueryException) as caught:
        query.run(lambda frame, number: wxs.sink(index.path)(frame.selectExpr(*change), number))
    assert said in str(caught.value)
    assert state(index) == before
    assert not unnamed(index)


def test_one_stream_feeds_an_index_until_another_takes_over(query, spark, tmp_path):
    index = create(tmp_path / "i.wx")
    query.send(lives(1, 0, 5, 9))
    query.run(wxs.sink(index.path))
    other = Query(spark, tmp_path / "other")
    other.send(lives(2, 5, 9, 9))
    before = state(index)
    for through in (lambda: other.run(wxs.sink(index.path)), lambda: other.save(index.path)):
        with pytest.raises(StreamingQueryException, match="AnotherStream: The index is fed by"):
            through()
    assert state(index) == before
    other.run(wxs.sink(index.path, takeover=True))
    assert index.describe()["now"] == 9


def test_a_lifetime_index_knows_no_delay_and_no_dead_letters(query, tmp_path):
    index = create(tmp_path / "i.wx")
    query.send(lives(1, 0, 5, 9))
    before = state(index)
    for name, given in [("delay", "10"), ("dead_letters", str(tmp_path / "late"))]:
        with pytest.raises(StreamingQueryException, match=f"BadDefinition: {name} is for wave"):
            query.run(wxs.sink(index.path, **{name: given}))
        with pytest.raises(Exception, match=f"{name} is for wave"):
            query.save(index.path, **{name: given})
    assert state(index) == before
    wave = spark_rows.create(tmp_path / "wave.wx")
    with pytest.raises(Exception, match="NoWatermark"):
        query.save(wave.path)
