"""The change feed through the data source.

In batch and as a stream that is stopped and started again.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import wavedex as wx
from kit import life_rows
from kit.folding import bag_of, check_order
from kit.spark_rows import SCHEMA, collected, create, rows, scanned
from wavedex.log.manifest import Log
from wavedex.spark.source.changes import RUNS_MAX
from wavedex.testing.oracle import same_rows


class Follower:
    """A query that writes the changes below a folder.

    It is run as often as one likes from one checkpoint.
    """

    def __init__(self, spark: SparkSession, index: Any, folder: Path, **options: str) -> None:
        self.spark = spark
        self.index = index
        self.folder = folder
        self.options = {"changes": "true", **options}

    def run(self) -> None:
        """Follow until all that is there was seen."""
        stream = self.spark.readStream.format("wavedex").options(**self.options)
        query = (
            stream.load(self.index.path)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .option("path", str(self.folder / "seen"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    def seen(self) -> list[dict[str, Any]]:
        return collected(self.spark.read.parquet(str(self.folder / "seen")))

    def window(self) -> Counter[tuple[Any, ...]]:
        """What is in the window if one counts rows in and out."""
        counts: Counter[tuple[Any, ...]] = Counter()
        for row in self.seen():
            change = row.pop("_change")
            del row["_at"], row["_commit"]
            counts[tuple(row.values())] += change
        assert all(count >= 0 for count in counts.values())
        return +counts


def held(index: wx.WaveIndex) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in scanned(index))


def newest(index: wx.WaveIndex) -> int:
    return Log(index.storage).commits()[-1]


def late(slot: int) -> pa.Table:
    return pa.Table.from_pylist([{"k": n, "t": slot * 10, "v": "late"} for n in (1, 50)], SCHEMA)


@pytest.mark.parametrize("update", ["runs", "in-place"])
def test_changes_in_batch_are_those_that_the_index_tells(spark, tmp_path, update):
    index = create(tmp_path / "i.wx", update=update, keep_commits=99)
    for slots in [(1,), (2, 3, 4), (5, 6), (8,)]:
        index.append(rows(*slots))
    index.amend(late(8))
    last = newest(index)
    for since, until in [(None, None), (1, last), (last - 1, None), (last, None), (None, 2)]:
        asked = {"since_commit": since, "until_commit": until}
        options = {name: str(number) for name, number in asked.items() if number is not None}
        frame = spark.read.format("wavedex").options(changes="true", **options).load(index.path)
        assert frame.columns == ["k", "t", "v", "_change", "_at", "_commit"]
        expected = index.changes(since, until).read_all().to_pylist()
        assert same_rows(collected(frame), expected), asked


@pytest.mark.parametrize("update", ["runs", "in-place"])
def test_a_stream_of_changes_adds_up_to_the_window_however_often_it_is_started(
    spark, tmp_path, update
):
    index = create(tmp_path / "i.wx", update=update, keep_commits=99)
    follower = Follower(spark, index, tmp_path)
    index.append(rows(1, 2))
    follower.run()
    assert follower.window() == held(index)
    for slots in [(3,), (4, 5, 6), (8,)]:
        index.append(rows(*slots))
    index.amend(late(6))
    index.feed(rows(9, 10), stream="s", number=0, delay=20)
    follower.run()
    assert follower.window() == held(index)
    seen = len(follower.seen())
    follower.run()
    assert len(follower.seen()) == seen  # Nothing has happened in between.
    index.feed(rows(11, 12), stream="s", number=1, delay=0)
    follower.run()
    assert follower.window() == held(index)


@pytest.mark.parametrize("name", [None, "totals"])
@pytest.mark.parametrize("starting", ["s:0", "commit"])
def test_a_stream_may_begin_after_a_commit_or_a_batch(spark, tmp_path, starting, name):
    index = create(tmp_path / "i.wx", keep_commits=99)
    index.feed(rows(1), stream="s", number=0, delay=0)
    known = newest(index)
    index.feed(rows(2), stream="s", number=1, delay=0)
    options = {"starting": str(known) if starting == "commit" else starting}
    follower = Follower(spark, index, tmp_path, **options, **({"follower": name} if name else {}))
    for number in (2, 3):
        follower.run()
        assert same_rows(follower.seen(), index.changes(known).read_all().to_pylist())
        assert index.followers.keys() == ({name} if name else set())
        assert all(commit >= known for commit in index.followers.values())
        index.feed(rows(number + 1), stream="s", number=number, delay=0)


@pytest.mark.parametrize("name", [{}, {"follower": "totals"}])
def test_a_stream_that_would_begin_after_what_is_gone_says_so(spark, tmp_path, name):
    index = create(tmp_path / "i.wx", keep_commits=2)
    for slot in range(1, 6):
        index.append(rows(slot))
    with pytest.raises(StreamingQueryException, match="CommitGone: Commit 1 is not there"):
        Follower(spark, index, tmp_path, starting="1", **name).run()
    assert index.followers == {}


def test_a_batch_of_a_stream_stands_for_its_commit_in_options_too(spark, tmp_path):
    index = create(tmp_path / "i.wx", keep_commits=99)
    for number in range(3):
        index.feed(rows(number + 1), stream="s", number=number, delay=0)
    frame = spark.read.format("wavedex").options(changes="true", since_commit="s:0")
    expected = index.changes(("s", 0)).read_all().to_pylist()
    assert expected
    assert same_rows(collected(frame.load(index.path)), expected)
    with pytest.raises(Exception, match="The option since_commit is 's:x'"):
        frame.option("since_commit", "s:x").load(index.path).collect()


def refreshed(life: wx.LifetimeIndex, now: int) -> None:
    """A refresh with a late row, and a row that gets another end, one that is retracted."""
    late = [{"k": 1, "b": now - 3, "e": now + 9, "v": "late"}]
    life.update(now, life_rows.table([*life_rows.rows_at(now), *late]))
    held = {"k": 1, "b": now - 3, "e": now + 12, "v": "late"}
    life.prolong(now, life_rows.table([held]))
    life.retract(now, life_rows.table([{**held}]))


def test_a_stream_of_changes_of_a_lifetime_index_adds_up_to_what_lives(spark, tmp_path):
    life_rows.make(tmp_path / "x", "rebuild", keep_commits=99)
    life = wx.open(tmp_path / "x")
    follower = Follower(spark, life, tmp_path)
    for now in (24, 26, 30):
        follower.run()
        assert follower.window() == bag_of(scanned(life))
        refreshed(life, now)
    follower.run()
    assert follower.window() == bag_of(scanned(life))
    told = life.changes(0).read_all()
    check_order(told)
    frame = spark.read.format("wavedex").options(changes="true", since_commit="0").load(life.path)
    assert same_rows(collected(frame), told.to_pylist())


def test_a_stream_may_begin_with_what_comes_next(spark, tmp_path):
    index = create(tmp_path / "i.wx", keep_commits=99)
    index.append(rows(1, 2))
    before = held(index)
    follower = Follower(spark, index, tmp_path, starting="latest")
    follower.run()
    index.append(rows(3, 4))
    follower.run()
    assert follower.window() == held(index) - before


def test_a_stream_may_begin_with_an_empty_index(spark, tmp_path):
    index = create(tmp_path / "i.wx", keep_commits=99)
    follower = Follower(spark, index, tmp_path)
    follower.run()
    index.append(rows(1))
    follower.run()
    assert follower.window() == held(index)


def test_a_stream_that_slept_too_long_is_told(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    index.append(rows(1))
    follower = Follower(spark, index, tmp_path)
    follower.run()
    for slot in range(2, 7):
        index.append(rows(slot))
    with pytest.raises(
        StreamingQueryException, match=r"CommitGone: Commit \d+ is not there.*keep_commits"
    ):
        follower.run()


def test_a_stream_with_a_name_may_sleep_for_long(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    index.append(rows(1))
    follower = Follower(spark, index, tmp_path, follower="seen")
    for first in (2, 8, 14):
        follower.run()
        assert follower.window() == held(index)
        for slot in range(first, first + 6):
            index.append(rows(slot))
        assert index.followers["seen"] in index.commits or index.followers["seen"] is None
    follower.run()
    assert follower.window() == held(index)


def test_a_stream_that_is_far_behind_reads_runs_of_commits(spark, tmp_path):
    index = create(tmp_path / "i.wx", keep_commits=999)
    for slot in range(1, 2 * RUNS_MAX):
        index.append(rows(slot), prepare="later")
    options = {"changes": "true", "since_commit": "0"}
    frame = spark.read.format("wavedex").options(**options).load(index.path)
    assert frame.rdd.getNumPartitions() <= RUNS_MAX * index.definition.shards
    assert same_rows(collected(frame), index.changes(0).read_all().to_pylist())


def test_a_stream_with_the_checkpoint_of_another_index_is_told(spark, tmp_path):
    one, other = create(tmp_path / "one", keep_commits=99), create(tmp_path / "other")
    for slot in range(1, 5):
        one.append(rows(slot))
    Follower(spark, one, tmp_path).run()
    other.append(rows(1))
    with pytest.raises(StreamingQueryException, match="CommitGone"):
        Follower(spark, other, tmp_path).run()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"changes": "false"}, "BadDefinition: A stream from an index is the feed of its changes"),
        (
            {"starting": "yesterday"},
            "BadDefinition: The option starting is 'yesterday'. Say window",
        ),
    ],
)
def test_a_wrong_option_of_a_stream_is_named(spark, tmp_path, options, said):
    index = create(tmp_path / "i.wx")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is Spark's business
        Follower(spark, index, tmp_path, **options).run()
    assert said in str(caught.value)
