"""Writing through the data source.

Batches and streams, each row once, and nothing left over when it fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_rows import Source, create, frame_of, rows, scanned, state, unnamed
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.names import LOCK
from wavedex.testing.oracle import same_rows


def save(frame: DataFrame, path: Path | str, mode: str = "append", **options: Any) -> None:
    frame.write.format("wavedex").mode(mode).options(**options).save(str(path))


@contextmanager
def refused(index: wx.WaveIndex, said: str) -> Iterator[None]:
    """Spark raises something that has these words in it.

    The index and its folder are as they were.
    """
    before, lying = state(index), unnamed(index)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is Spark's business
        yield
    assert said in str(caught.value)
    assert state(index) == before
    assert unnamed(index) == lying


@pytest.mark.parametrize("update", TECHNIQUES)
def test_batches_that_are_saved_are_appended(spark, tmp_path, update):
    theirs, ours = (
        create(tmp_path / "theirs", update=update),
        create(tmp_path / "ours", update=update),
    )
    for slots in [(1, 2), (3, 4, 5, 6), (8,)]:
        save(frame_of(spark, rows(*slots)), theirs.path)
        ours.append(rows(*slots))
    theirs.verify()
    assert same_rows(scanned(theirs), scanned(ours))
    assert theirs.sub_indexes == ours.sub_indexes
    theirs.vacuum()
    assert not unnamed(theirs)


def test_an_index_is_made_as_the_options_say(spark, tmp_path):
    path = tmp_path / "made.wx"
    options = {"key": "k", "time": "t", "slot": 10, "window": 3, "indexes": 2, "scheme": "del"}
    more = {
        "update": "packed-shadow",
        "shards": 3,
        "spread": "False",
        "growth": "1.5",
        "include": "k, v",
    }
    save(frame_of(spark, rows(1, 2)), path, **options, **more)
    made = wx.open(path)
    definition = made.definition
    assert (definition.window, definition.indexes, definition.scheme_name) == (3, 2, "del")
    assert (definition.update, definition.shards, definition.growth) == ("packed-shadow", 3, 1.5)
    assert made.schema.names == ["k", "t", "v"]
    save(frame_of(spark, rows(3, 4)), path, **options)
    assert same_rows(scanned(made), rows(2, 3, 4).to_pylist())


def test_options_that_make_no_index_leave_none(spark, tmp_path):
    frame = frame_of(spark, rows(1))
    for options, said in [
        ({}, "NotAnIndex"),
        ({"key": "k"}, "window"),
        (
            {"key": "k", "time": "t", "slot": 10, "window": "five"},
            "BadDefinition: Cannot read window='five'",
        ),
        ({"key": "w", "window": 5}, "MissingColumn"),
        ({"key": "k", "time": "t", "slot": 10, "window": 5, "scheme": "tidal"}, "UnknownScheme"),
    ]:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            save(frame, tmp_path / "none.wx", **options)
        assert said in str(caught.value), options
        assert not (tmp_path / "none.wx").exists()


def test_an_index_is_not_overwritten(spark, tmp_path):
    index = create(tmp_path / "kept.wx")
    index.append(rows(1))
    with refused(index, "BadDefinition: An index is only appended to"):
        save(frame_of(spark, rows(2)), index.path, mode="overwrite")


def test_a_batch_that_is_saved_again_changes_nothing(spark, tmp_path):
    index = create(tmp_path / "again.wx")
    save(frame_of(spark, rows(1, 2)), index.path)
    before = state(index)
    save(frame_of(spark, rows(1, 2)), index.path)
    assert state(index) == before
    assert not unnamed(index)


def test_a_batch_without_rows_changes_nothing(spark, tmp_path):
    index = create(tmp_path / "empty.wx")
    save(frame_of(spark, rows()), index.path)
    assert state(index)[0] == [0]


def test_lists_of_keys_are_exploded(spark, tmp_path):
    index = create(tmp_path / "lists.wx")
    save(
        spark.createDataFrame(
            [([1, 2], 10, "a"), ([], 11, "b")], "k array<bigint>, t int, v string"
        ),
        index.path,
    )
    assert same_rows(scanned(index), [{"k": 1, "t": 10, "v": "a"}, {"k": 2, "t": 10, "v": "a"}])


def test_what_is_wrong_is_named_and_leaves_nothing(spark, tmp_path):
    index = create(tmp_path / "kept.wx")
    index.append(rows(1, 2, 3, 4, 5, 6))
    frame = frame_of(spark, rows(7))
    with refused(index, "MissingColumn: The batch lacks 'v'"):
        save(frame.drop("v"), index.path)
    with refused(index, "SchemaMismatch: Column 'v' is of type int32"):
        save(frame.withColumn("v", sf.lit(1)), index.path)
    with refused(index, "OutsideWindow: Rows are older than the window"):
        save(frame.union(frame_of(spark, rows(1))), index.path)
    # In a task of its own: what another one stages after Spark has given up stays until vacuum
    # takes it a day later.
    alone = frame.coalesce(1)
    with refused(index, "NullTimes"):
        save(alone.withColumn("t", sf.expr("if(k = 3, null, t)")), index.path)
    with refused(index, "NullKeys: 1 of 7 rows have no 'k'"):
        save(frame.withColumn("k", sf.expr("if(k = 3, null, k)")), index.path)
    with refused(index, "no third key"):
        save(
            alone.withColumn("v", sf.expr("if(k = 3, raise_error('no third key'), v)")), index.path
        )
    with index.storage.lock(LOCK), refused(index, "ConcurrentWrite: Another writer is at work"):
        save(frame, index.path)
    save(frame, index.path)
    assert index.slots == [3, 4, 5, 6, 7]
    assert not unnamed(index)


class Feeder:
    """A query that feeds an index with the files of a folder.

    It is run as often as one likes from one checkpoint.
    """

    def __init__(self, spark: SparkSession, folder: Path, path: str, **options: str) -> None:
        self.spark = spark
        self.path = path
        self.options = {"checkpointLocation": str(folder / "checkpoint"), **options}
        self.source = Source(folder / "source")

    def send(self, *slots: int) -> None:
        self.source.send(rows(*slots))

    def run(self) -> None:
        """Feed what is there."""
        writer = (
            self.source.stream(self.spark).writeStream.format("wavedex").options(**self.options)
        )
        writer.trigger(availableNow=True).start(self.path).awaitTermination()


def test_a_stream_that_is_started_again_doubles_nothing(spark, tmp_path):
    index = create(tmp_path / "fed.wx")
    feeder = Feeder(spark, tmp_path / "one", index.path, delay="10")
    feeder.send(1, 2)
    feeder.send(2, 3)
    feeder.run()
    expected = [*rows(1, 2).to_pylist(), *rows(2, 3).to_pylist()]
    assert same_rows(scanned(index), expected)
    feeder.run()
    feeder.send(4)
    feeder.run()
    assert same_rows(scanned(index), [*expected, *rows(4).to_pylist()])
    index.verify()
    manifest = index.snapshot().manifest
    assert [progress.batch for progress in manifest.sources.streams.values()] == [2]
    assert manifest.open_slots == {3, 4}
    index.vacuum()
    assert not unnamed(index)


def test_a_batch_of_a_stream_that_comes_again_is_passed_over(spark, tmp_path):
    """The checkpoint was put back to before the last batch was noted, as after a crash."""
    index = create(tmp_path / "fed.wx")
    feeder = Feeder(spark, tmp_path / "one", index.path, delay="10")
    for slot in (1, 2):
        feeder.send(slot)
        feeder.run()
    for file in Path(tmp_path, "one/checkpoint/commits").glob("*1*"):
        file.unlink()
    before = state(index)
    feeder.run()
    assert state(index) == before
    feeder.send(3)
    feeder.run()
    assert same_rows(scanned(index), rows(1, 2, 3).to_pylist())
    index.vacuum()
    assert not unnamed(index)


def test_a_stream_says_its_delay_and_has_an_index_to_itself(spark, tmp_path):
    index = create(tmp_path / "fed.wx")
    first = Feeder(spark, tmp_path / "one", index.path, delay="10")
    first.send(1)
    first.run()
    second = Feeder(spark, tmp_path / "two", index.path, delay="10")
    second.send(2)
    with refused(index, "AnotherStream: The index is fed by the stream"):
        second.run()
    silent = Feeder(spark, tmp_path / "three", index.path)
    silent.send(2)
    with refused(index, "NoWatermark: Say how late rows may be with the option delay"):
        silent.run()
    third = Feeder(spark, tmp_path / "four", index.path, delay="10", takeover="true")
    third.send(2)
    third.run()
    assert same_rows(scanned(index), rows(1, 2).to_pylist())
    first.send(3)
    with pytest.raises(StreamingQueryException, match="AnotherStream"):
        first.run()
