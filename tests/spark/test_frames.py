"""Data frames appended by Spark give the answers of the same rows appended here."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import wavedex as wx
from kit.spark_rows import SCHEMA, create, frame_of, rows, scanned, state, unnamed
from wavedex import spark as wxs
from wavedex.engine.techniques import TECHNIQUES
from wavedex.spark.batches import ROWS_MAX, ROWS_SETTING
from wavedex.testing.oracle import same_rows


def assert_alike(one: wx.WaveIndex, other: wx.WaveIndex, *keys: object) -> None:
    """Both indexes are sound and give the same answers."""
    one.verify()
    assert same_rows(scanned(one), scanned(other))
    assert same_rows(scanned(one, since=one.slots[-1]), scanned(other, since=other.slots[-1]))
    for key in keys:
        assert same_rows(one.probe(key).to_pylist(), other.probe(key).to_pylist())
    assert one.sub_indexes == other.sub_indexes
    assert one.slots == other.slots


def late(slot: int) -> pa.Table:
    return pa.Table.from_pylist([{"k": n, "t": slot * 10, "v": "late"} for n in (1, 50)], SCHEMA)


@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("scheme", ["wata", "rata", "del"])
def test_spark_and_this_process_append_and_amend_alike(spark, tmp_path, scheme, update):
    options = {"scheme": scheme, "update": update}
    ours, theirs = create(tmp_path / "ours", **options), create(tmp_path / "theirs", **options)
    for slots in [(1,), (2, 3, 4), (5, 6), (8,)]:
        done = theirs.append(frame_of(spark, rows(*slots)))
        assert replace(done, commit=0) == replace(ours.append(rows(*slots)), commit=0)
        assert_alike(theirs, ours, 3)
    done = theirs.amend(frame_of(spark, late(6)))
    assert replace(done, commit=0) == replace(ours.amend(late(6)), commit=0)
    assert_alike(theirs, ours, 1, 50)
    assert theirs.probe(50).num_rows == 1
    theirs.vacuum()
    assert not unnamed(theirs)


@pytest.mark.parametrize(
    ("scheme", "update"), [("wata", "runs"), ("reindex++", "packed-shadow"), ("del", "in-place")]
)
def test_spark_and_this_process_take_turns_on_one_index(spark, tmp_path, scheme, update):
    mixed = create(tmp_path / "mixed", scheme=scheme, update=update)
    plain = create(tmp_path / "plain", scheme=scheme, update=update)
    for slot in range(1, 8):
        batch = rows(slot)
        mixed.append(frame_of(spark, batch) if slot % 2 else batch)
        plain.append(batch)
        assert_alike(mixed, plain, 3)


@pytest.mark.parametrize("shards", [1, 3, 40])
@pytest.mark.parametrize("update", ["runs", "packed-shadow"])
def test_any_number_of_shards_gives_the_same_answers(spark, tmp_path, shards, update):
    """Forty are more than there are partitions of a shuffle, and more than there are keys."""
    assert int(spark.conf.get("spark.sql.shuffle.partitions")) < 40
    theirs = create(tmp_path / "theirs", shards=shards, update=update)
    ours = create(tmp_path / "ours", shards=shards, update=update)
    for slots in [(1, 2), (3, 4, 5, 6)]:
        batch = rows(*slots, keys=30)
        theirs.append(frame_of(spark, batch))
        ours.append(batch)
    assert_alike(theirs, ours, *range(30))


def test_nine_of_ten_rows_may_have_one_key(spark, tmp_path):
    """And a task may get its rows in many pieces."""
    spark.conf.set(ROWS_SETTING, "1000")
    skewed = spark.range(20_000).selectExpr(
        "if(id % 10 = 0, id, 7L) as k", "10 + id % 20 as t", "cast(id as string) as v"
    )
    index = create(tmp_path / "skewed.wx", shards=4)
    try:
        assert index.append(skewed).rows == 20_000
    finally:
        spark.conf.set(ROWS_SETTING, str(ROWS_MAX))
    index.verify()
    assert index.probe(7).num_rows == 18_000
    assert same_rows(index.probe(7).to_pylist(), skewed.where("k = 7").toArrow().to_pylist())
    assert same_rows(scanned(index), skewed.toArrow().to_pylist())


def test_an_empty_index_takes_a_whole_backfill_and_counts_what_it_pushed_out(spark, tmp_path):
    theirs, ours = create(tmp_path / "theirs"), create(tmp_path / "ours")
    backfill = rows(*range(1, 13))
    done = wxs.append(tmp_path / "theirs", frame_of(spark, backfill))
    assert done == ours.append(backfill)
    assert (done.expired, done.rows) == (7 * 7, 5 * 7)
    assert_alike(theirs, ours, 3)


def test_a_frame_that_comes_again_changes_nothing(spark, tmp_path):
    index = create(tmp_path / "again.wx")
    index.append(frame_of(spark, rows(1, 2)))
    before = state(index)
    again = index.append(frame_of(spark, rows(2, 1)))
    assert (again.slots, again.rows) == ([], 0)
    assert index.append(rows(2)).slots == []
    assert state(index) == before
    assert not unnamed(index)


def test_frames_without_rows(spark, tmp_path):
    index, nothing = create(tmp_path / "empty.wx"), frame_of(spark, rows())
    assert index.append(nothing) == wx.Appended(0)
    assert index.amend(nothing).rows == 0
    index.append(frame_of(spark, rows(1)))
    before = state(index)
    assert index.append(nothing).slots == []
    assert state(index) == before
    assert index.append(nothing, slot=2).slots == [2]
    assert index.slots[-1] == 2
    index.verify()


def test_an_index_without_a_time_column_is_told_the_slot(spark, tmp_path):
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    theirs = create(tmp_path / "theirs", schema, time=None, slot=None)
    ours = create(tmp_path / "ours", schema, time=None, slot=None)
    for slot in (3, 4, 6):
        batch = rows(slot).select(["k", "v"])
        done = wxs.append(theirs, frame_of(spark, batch), slot=slot)
        assert replace(done, commit=0) == replace(ours.append(batch, slot=slot), commit=0)
    late = pa.table({"k": [1, 60], "v": ["late", "late"]}, schema)
    assert theirs.amend(frame_of(spark, late), slot=4).slots == [4]
    ours.amend(late, slot=4)
    assert_alike(theirs, ours, 1, 60)


def test_rows_that_are_too_old_are_dropped_and_counted_where_the_index_says_so(spark, tmp_path):
    theirs, ours = create(tmp_path / "a.wx", late="drop"), create(tmp_path / "b.wx", late="drop")
    for index in (theirs, ours):
        index.append(rows(10, 11))
    batch = pa.concat_tables([rows(2), rows(12)])
    done = theirs.append(frame_of(spark, batch))
    assert done == ours.append(batch)
    assert (done.late, done.rows) == (7, 7)
    assert theirs.amend(frame_of(spark, late(1))).late == 2
    assert_alike(theirs, ours, 3)


def test_only_the_columns_that_the_index_keeps_are_kept(spark, tmp_path):
    index = create(tmp_path / "some.wx", include=["k"])
    index.append(frame_of(spark, rows(1)))
    assert same_rows(scanned(index), rows(1).select(["k", "t"]).to_pylist())


def test_columns_with_odd_names_and_in_another_order(spark, tmp_path):
    schema = pa.schema([("a key.with `dots`", pa.int64()), ("t", pa.int64()), ("V v", pa.string())])
    index = create(tmp_path / "odd.wx", schema, key="a key.with `dots`")
    batch = rows(1).rename_columns(schema.names)
    index.append(frame_of(spark, batch.select(["V v", "a key.with `dots`", "t"])))
    assert same_rows(scanned(index), batch.to_pylist())


def test_the_zone_of_the_session_does_not_matter(spark, tmp_path):
    """A timestamp of Spark is an instant, and a day of the index one of its own zone."""
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("ms", "America/New_York"))])
    options = {"slot": "1 day", "zone": "America/New_York"}
    theirs, ours = (
        create(tmp_path / "a", schema, **options),
        create(tmp_path / "b", schema, **options),
    )
    times = [1_700_000_000_000 + n * 3_600_000 for n in range(60)]
    batch = pa.table([range(60), pa.array(times, schema.field("t").type)], schema)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = spark.createDataFrame([*enumerate(times)], "k bigint, ms bigint")
        done = theirs.append(frame.selectExpr("k", "timestamp_millis(ms) as t"))
        frame.selectExpr("k", "timestamp_millis(ms) as t").write.format("wavedex").mode(
            "append"
        ).save(theirs.path)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert done == ours.append(batch)
    assert len(done.slots) == 4
    assert_alike(theirs, ours, 0, 59)


def test_an_index_takes_its_columns_and_first_rows_from_a_frame(spark, tmp_path):
    frame = frame_of(spark, rows(1, 2, 3))
    options = {"key": "k", "time": "t", "slot": 10, "window": 3}
    idx = wx.WaveIndex.create(tmp_path / "i", frame, **options, rows=True)
    assert idx.schema.names == frame.columns
    assert same_rows(scanned(idx), rows(1, 2, 3).to_pylist())
