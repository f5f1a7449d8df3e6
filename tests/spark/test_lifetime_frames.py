"""Lifetime indexes that are refreshed by Spark.

They hold what the local engine makes them hold, step by step.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from kit import spark_rows
from kit.spark_lives import COUNTED, Lives, create, lives, positions, table
from kit.spark_rows import frame_of, scanned, state, unnamed
from wavedex import errors
from wavedex import spark as wxs
from wavedex.testing.oracle import same_rows

NOWS = [3, 4, 9, 19, 19, 43]


def said(done: wx.Refreshed) -> dict[str, Any]:
    return {name: value for name, value in asdict(done).items() if name != "commit"}


def check(index: wx.LifetimeIndex, plain: wx.LifetimeIndex, oracle: Lives) -> None:
    """Both hold what the oracle has, in the same sub-indexes."""
    assert same_rows(scanned(index), oracle.rows)
    assert same_rows(scanned(plain), oracle.rows)
    assert same_rows(index.probe(3).to_pylist(), oracle.probe(3))
    assert same_rows(scanned(index, since=7, until=18), oracle.born(7, 18))
    assert index.sub_indexes == plain.sub_indexes


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild", "lazy-rebuild"])
def test_refreshes_by_spark_are_those_of_the_local_engine(spark, tmp_path, method):
    index, plain = (create(tmp_path / name, method=method) for name in ("spark", "plain"))
    oracle, last = Lives(), 0
    for now in NOWS:
        rows = lives(7, min(last, now - 1), now, 14)
        done = index.update(now, frame_of(spark, table(rows)))
        assert said(done) == said(plain.update(now, table(rows)))
        oracle.update(now, rows)
        check(index, plain, oracle)
        last = now
    index.verify()
    index.vacuum()
    assert not unnamed(index)


def test_counted_windows_are_those_of_the_local_engine(spark, tmp_path):
    index, plain = (create(tmp_path / name, method="count-rebuild") for name in ("spark", "plain"))
    oracle, last = Lives(), 0
    for now, come in [(2, 5), (4, 9), (8, 30), (9, 31), (14, 33), (31, 40)]:
        rows = positions(last, come + 1, now)
        done = wxs.update(index.path, now, frame_of(spark, table(rows, COUNTED)), {"n": come})
        assert said(done) == said(plain.update(now, table(rows, COUNTED), arrived={"n": come}))
        oracle.count(come, rows)
        check(index, plain, oracle)
        last = come + 1
    index.verify()
    index.vacuum()
    assert not unnamed(index)


def test_what_spark_applies_is_what_the_local_engine_applies(spark, tmp_path):
    index, plain = (create(tmp_path / name) for name in ("spark", "plain"))
    first = lives(7, 0, 4, 14)
    for each in (index, plain):
        each.update(4, table(first))
    gone, held = [row for row in first if row["e"] > 8][:2]
    given = {
        "insert": table(lives(9, 2, 8, 9)),  # some of them late
        "retract": table([gone]),
        "prolong": table([{**held, "e": 20}]),
    }
    frames = {name: frame_of(spark, rows) for name, rows in given.items()}
    known = index.commit
    done = wxs.apply(index.path, 8, **frames, stream="s", number=0)
    assert said(done) == said(plain.apply(8, **given, stream="s", number=0))
    assert wxs.apply(index.path, 8, **frames, stream="s", number=0).repeated
    assert same_rows(scanned(index), scanned(plain))
    told = index.changes(known).read_all().drop_columns(["_commit"]).to_pylist()
    assert told
    assert same_rows(told, plain.changes(known).read_all().drop_columns(["_commit"]).to_pylist())
    key = scanned(index)[0]["k"]
    keys = frame_of(spark, pa.table({"k": [key]}))
    assert wxs.apply(index.path, 9, retract=wx.matching(keys)).retracted
    assert not index.probe(key).num_rows
    index.verify()


def test_apply_needs_a_frame_and_a_lifetime_index(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    with pytest.raises(errors.BadDefinition, match=r"wavedex.open\(path\).apply"):
        wxs.apply(index.path, 3, retract=wx.matching({"k": [1]}))
    wave = spark_rows.create(tmp_path / "wave.wx")
    with pytest.raises(errors.NotAnIndex, match="its rows leave by themselves"):
        wxs.apply(wave.path, 3, insert=frame_of(spark, table(lives(1, 0, 2, 9))))


def test_rows_may_say_themselves_what_the_time_is(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    oracle = Lives()
    for now, rows in [(5, lives(1, 0, 5, 9)), (12, lives(2, 5, 12, 9)), (12, lives(3, 6, 9, 9))]:
        latest = max(row["b"] for row in rows)
        done = wxs.append(index.path, frame_of(spark, table(rows)))
        oracle.update(max(latest, index.describe()["now"]), rows)
        assert (done.slot, index.describe()["now"]) == (now // 2, now)
        assert same_rows(scanned(index), oracle.rows)
    before = state(index)
    again = wxs.append(index.path, frame_of(spark, table(rows)))
    assert again.repeated
    assert wxs.append(index.path, frame_of(spark, table([]))).rows == 0
    assert state(index) == before
    assert not unnamed(index)


def test_counted_windows_come_as_far_as_the_largest_position(spark, tmp_path):
    index = create(tmp_path / "i.wx", method="count-rebuild", nulls="skip")
    nobody = {"k": None, "b": 90, "n": 900}
    first = [*positions(0, 6, 2), nobody]
    done = wxs.append(index.path, frame_of(spark, table(first, COUNTED)))
    assert (done.rows, done.null_keys, done.slot) == (6, 1, 1)
    late = positions(3, 5, 1)  # which neither turns the clock back nor the stream
    for rows in (positions(6, 20, 5), late):
        wxs.append(index.path, frame_of(spark, table(rows, COUNTED)))
    oracle = Lives()
    oracle.count(19, positions(6, 20, 5))
    assert same_rows(scanned(index), oracle.rows)
    assert index.describe()["now"] == 5
    index.verify()


@pytest.mark.parametrize(
    ("row", "error", "said"),
    [
        ({"b": 11, "e": 30}, errors.LifetimeTooLong, "longer than max_lifetime, 8 refreshes"),
        ({"b": 11, "e": 9}, errors.EndBeforeBeginning, "1 of"),
        ({"b": 13, "e": 14}, errors.FromTheFuture, "Rows were inserted at 13"),
        ({"b": 11, "e": None}, errors.NullTimes, "have no 'e'"),
        ({"b": 11, "e": 12, "k": None}, errors.NullKeys, "have no 'k'"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_by_name(spark, tmp_path, row, error, said):
    index = create(tmp_path / "i.wx")
    index.update(10, table(lives(1, 0, 10, 9)))
    before = state(index)
    rows = [*lives(2, 10, 12, 9), {"k": 1, "v": "wrong", **row}]
    with pytest.raises(error, match=said):
        index.update(12, frame_of(spark, table(rows)))
    assert state(index) == before
    assert not unnamed(index)


def test_what_is_wrong_with_a_frame_is_said_before_anything_runs(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    frame = frame_of(spark, table(lives(1, 0, 10, 9)))
    index.update(10, frame)
    before = state(index)
    with pytest.raises(errors.RefreshBackwards, match="before that"):
        index.update(9, frame)
    with pytest.raises(errors.MissingColumn, match="lacks 'e'"):
        index.update(12, frame.drop("e"))
    with pytest.raises(errors.BadTime, match="counted windows"):
        wxs.update(index.path, 12, frame, {"n": 3})
    with pytest.raises(errors.BadTime, match="slot= is for wave indexes"):
        wxs.append(index.path, frame, 3)
    with pytest.raises(errors.BadDefinition, match="need no special call"):
        wxs.amend(index.path, frame)
    far = frame.selectExpr("k", "b + 1000 b", "e + 1000 e", "v")
    with pytest.raises(errors.GapTooLarge, match=r"update\(now\) first"):
        wxs.append(index.path, far)
    assert state(index) == before
    assert not unnamed(index)
    index.update(1000)  # as it says
    done = wxs.append(index.path, far)
    assert done.rows + done.over == frame.count()
    wave = spark_rows.create(tmp_path / "wave.wx")
    with pytest.raises(errors.NotAnIndex, match="is no lifetime index"):
        wxs.update(wave.path, 3, frame_of(spark, spark_rows.rows(1)))


def test_spark_carries_out_what_else_is_written_to_the_index(spark, tmp_path):
    index = wxs.open(create(tmp_path / "i.wx").path, spark)
    rows = [{"k": n % 5, "b": 4 + n % 6, "e": 13 + n % 7, "v": str(n)} for n in range(20)]
    gone, moved, *others = rows
    index.update(10, table(rows))
    index.retract(10, table([gone]))
    index.prolong(11, table([{**moved, "e": 26}]))
    index.migrate(grid="4x2", method="lazy-rebuild", shards=3)
    index.update(14, table([]))
    index.erase([4])
    oracle = Lives()
    oracle.update(14, [{**moved, "e": 26}, *(row for row in others if row["k"] != 4)])
    assert same_rows(scanned(index), oracle.rows)
    index.verify()


def test_lists_of_keys_are_exploded(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    frame = spark.createDataFrame(
        [([1, 2], 3, 9, "a"), ([], 4, 9, "b")], "k array<bigint>, b bigint, e bigint, v string"
    )
    assert index.update(4, frame).rows == 2
    assert index.probe(2).to_pylist() == [{"k": 2, "b": 3, "e": 9, "v": "a"}]


def test_times_may_be_timestamps_and_ends_durations(spark, tmp_path):
    schema = pa.schema(
        [("k", pa.int64()), ("at", pa.timestamp("s", "UTC")), ("left", pa.duration("s"))]
    )
    index = wx.LifetimeIndex.create(
        tmp_path / "i.wx",
        schema,
        key="k",
        inserted="at",
        lifetime="left",
        max_lifetime="8 minutes",
        refresh="1 minute",
    )
    frame = spark.sql(
        "select id k, timestamp_seconds(60 * id) at, make_dt_interval(0, 0, id) left "
        "from range(1, 6)"
    )
    assert wxs.append(index.path, frame).rows == 3
    assert sorted(index.scan().read_all()["k"].to_pylist()) == [3, 4, 5]
    assert index.update(dt.datetime(1970, 1, 1, 0, 8, tzinfo=dt.UTC)).slot == 8
    assert sorted(index.scan().read_all()["k"].to_pylist()) == [5]


def test_a_frame_of_keys_is_joined_with_what_lives(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    rows = lives(1, 0, 10, 30)
    index.update(10, table(rows))
    index.update(12, table(lives(2, 10, 12, 9)))
    keys = spark.createDataFrame([(3, "c"), (4, "d"), (99, "z")], "k bigint, w string")

    def joined(**asked):
        frame = wxs.probe(index.path, keys, columns=["e", "v"], **asked)
        return sorted(map(tuple, frame.collect()), key=repr)

    def plain(**asked):
        found = [
            (key, word, row["e"], row["v"])
            for key, word in ((3, "c"), (4, "d"))
            for row in index.probe(key, **asked).to_pylist()
        ]
        return sorted(found, key=repr)

    assert joined() == plain()
    assert joined(since=9, until=10) == plain(since=9, until=10)
    assert joined(shorten=4) == plain(shorten=4)
    assert len({len(joined()), len(joined(since=9, until=10)), len(joined(shorten=4))}) == 3
    with pytest.raises(errors.BadTime):
        joined(shorten={"nothing": 3})
    wave = spark_rows.create(tmp_path / "wave.wx")
    with pytest.raises(errors.BadDefinition, match="shorten is for lifetime indexes"):
        wxs.probe(wave.path, keys, shorten=3)
