"""The data source over lifetime indexes.

What lives is read, with shorter windows too, and batches are saved as refreshes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import DataFrame

import wavedex as wx
from kit import spark_rows
from kit.spark_lives import COUNTED, Lives, create, lives, positions, table
from kit.spark_rows import collected, frame_of, scanned, state, unnamed
from wavedex.index.lifetime.clock import LifeClock
from wavedex.testing.oracle import same_rows


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> wx.LifetimeIndex:
    """An index with rows in its grid and in its delta, and some that are over and still there."""
    made = create(tmp_path_factory.mktemp("lives") / "i.wx", spans={"b": 16}, shards=3)
    for now in (4, 9, 14, 15):
        made.update(now, table(lives(3, now - 5, now, 30)))
    assert made.describe()["open"] is not None
    return made


@pytest.fixture
def load(spark, index):
    def load_with(**options: str) -> DataFrame:
        return spark.read.format("wavedex").options(**options).load(index.path)

    return load_with


def test_what_lives_is_read_and_what_is_asked_of_it(load, index):
    assert same_rows(collected(load()), scanned(index))
    for asked in ({"since": "4", "until": "6"}, {"expired": "true"}, {"shorten": "3"}):
        typed: dict[str, Any] = {"expired": True} if "expired" in asked else asked
        found = collected(load(**asked))
        assert same_rows(found, scanned(index, **typed))
        assert 0 < len(found) != len(scanned(index))
    by_name = collected(load(shorten='{"b": 9}', columns="v, b"))
    assert same_rows(by_name, scanned(index, shorten={"b": 9}, columns=["v", "b"]))
    assert all(row["b"] > 15 - 16 + 9 for row in by_name)


def test_keys_are_chosen_by_options_and_filters_are_left_to_spark(load, index):
    for options, keys in [({"key": "3"}, [3]), ({"keys": "[1, 4]", "since": "4"}, [1, 4])]:
        frame = load(shorten="2", **options).where("e > 18")
        living = scanned(index, shorten=2, since=options.get("since"))
        expected = [row for row in living if row["k"] in keys and row["e"] > 18]
        assert expected
        assert same_rows(collected(frame), expected)
    assert load(key="3").rdd.getNumPartitions() < load().rdd.getNumPartitions()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shorten": "soon"}, "BadTime: "),
        ({"shorten": "{"}, "BadDefinition: The option shorten is '{'"),
        ({"shorten": '{"x": 3}'}, "BadTime: shorten names 'x'"),
    ],
)
def test_what_cannot_be_asked_is_said_by_name(load, options, said):
    with pytest.raises(Exception, match=said):
        load(**options).collect()


def test_changes_and_shorter_windows_are_not_mixed_up(spark, index, tmp_path):
    wave = spark_rows.create(tmp_path / "wave.wx")
    wave.append(spark_rows.rows(1))
    with pytest.raises(Exception, match="BadDefinition: shorten is for lifetime indexes"):
        spark.read.format("wavedex").option("shorten", "3").load(wave.path).collect()
    with pytest.raises(Exception, match="no option 'shorten' for reading changes"):
        spark.read.format("wavedex").options(changes="true", shorten="3").load(index.path).collect()


def save(frame: DataFrame, path: Any, **options: Any) -> None:
    frame.write.format("wavedex").mode("append").options(**options).save(str(path))


@contextmanager
def refused(index: wx.LifetimeIndex, said: str) -> Iterator[None]:
    """Spark raises something that has these words in it.

    The index and its folder are as they were.
    """
    before, lying = state(index), unnamed(index)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is Spark's business
        yield
    assert said in str(caught.value)
    assert state(index) == before
    assert unnamed(index) == lying


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_batches_that_are_saved_are_refreshes(spark, tmp_path, method):
    theirs, ours = (create(tmp_path / name, method=method) for name in ("theirs", "ours"))
    oracle, last = Lives(), 0
    for now, latest in [(5, 5), (12, 12), (13, 12)]:
        rows = lives(6, last, latest, 12)
        options = {} if now == latest else {"now": now}
        save(frame_of(spark, table(rows)), theirs.path, **options)
        ours.update(now, table(rows))
        oracle.update(now, rows)
        assert same_rows(scanned(theirs), oracle.rows)
        last = latest - 1
    assert theirs.sub_indexes == ours.sub_indexes
    before = state(theirs)
    save(frame_of(spark, table(rows)), theirs.path)  # which were saved
    save(frame_of(spark, table([])), theirs.path)
    assert state(theirs) == before
    theirs.verify()
    theirs.vacuum()
    assert not unnamed(theirs)


def test_counted_windows_are_guessed_when_all_rows_are_there(spark, tmp_path):
    theirs, ours = (create(tmp_path / n, method="count-rebuild") for n in ("theirs", "ours"))
    oracle, last = Lives(), 0
    for now, come in [(2, 5), (7, 21), (16, 27)]:
        rows = positions(last, come + 1, now)
        options = {"now": now} if now == 7 else {}
        save(frame_of(spark, table(rows, COUNTED)), theirs.path, **options)
        ours.update(now, table(rows, COUNTED), arrived={"n": come})
        oracle.count(come, rows)
        assert same_rows(scanned(theirs), oracle.rows)
        assert LifeClock.of(theirs.manifest).arrivals == LifeClock.of(ours.manifest).arrivals
        last = come + 1
    assert theirs.sub_indexes == ours.sub_indexes
    theirs.verify()
    theirs.vacuum()
    assert not unnamed(theirs)


def test_an_index_is_made_as_the_options_say(spark, tmp_path):
    path = tmp_path / "made.wx"
    options = {
        "kind": "lifetime",
        "key": "k",
        "inserted": "b",
        "counts": json.dumps({"n": 9}),
        "max_lifetime": 16,
        "refresh": 2,
        "grid": "4x2",
        "method": "count-rebuild",
        "partition": "random, chronological",
        "reach": "2, 1",
        "seed": 7,
        "buckets": "3.5",
    }
    save(frame_of(spark, table(positions(0, 5, 3), COUNTED)), path, **options)
    made = wx.open(path).definition
    assert (made.sides, made.window, made.counts) == ((4, 2), 8, {"n": 9})
    assert (made.partition, made.reach, made.seed) == (("random", "chronological"), (2, 1), 7)
    assert made.buckets == 3.5
    for wrong, said in [
        ({"kind": "lifetme"}, "BadDefinition: kind is 'lifetme'"),
        ({"reach": "two"}, "BadDefinition: The option reach is 'two'"),
        ({"grid": "99x2"}, "BadGrid"),
    ]:
        with pytest.raises(Exception, match=said):
            save(
                frame_of(spark, table(positions(0, 5, 3), COUNTED)),
                tmp_path / "none.wx",
                **{**options, **wrong},
            )
        assert not (tmp_path / "none.wx").exists()


def test_what_is_wrong_is_named_and_leaves_nothing(spark, tmp_path):
    index = create(tmp_path / "kept.wx")
    index.update(10, table(lives(1, 0, 10, 9)))
    frame = frame_of(spark, table(lives(2, 10, 12, 9))).coalesce(1)
    with refused(index, "LifetimeTooLong: "):
        save(frame.selectExpr("k", "b", "b + 17 e", "v"), index.path)
    with refused(index, "FromTheFuture: "):
        save(frame, index.path, now=11)
    with refused(index, "now='soon'"):
        save(frame, index.path, now="soon")
    with refused(index, "GapTooLarge: "):
        save(frame.selectExpr("k", "b + 99 b", "e + 99 e", "v"), index.path)
    wave = spark_rows.create(tmp_path / "wave.wx")
    with refused(wave, "BadDefinition: The option now is for lifetime indexes"):
        save(frame_of(spark, spark_rows.rows(1)), wave.path, now=3)
