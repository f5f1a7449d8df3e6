"""At the edges: what fails in the midst, what is of an odd type, and what must not be held."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.online import Split, Window
from wavedex.online.queries import Changes, Histogram

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])
TIMED: dict[str, Any] = {"span": 100, "basic": 10, "time": "t"}


def index(path, **settings: Any) -> wx.WaveIndex:
    options: dict[str, Any] = {"slot": 100, "window": 10, "indexes": 2, **settings}
    return wx.WaveIndex.create(path, SCHEMA, key="k", time="t", **options)


def times(first: int, stop: int) -> dict[str, Any]:
    return {"t": [*range(first, stop)], "k": [1] * (stop - first)}


# -- archives --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [{**TIMED, "basic": 50}, {**TIMED, "basic": 5}, {**TIMED, "origin": 5}]
)
def test_a_window_is_not_restored_in_other_basic_windows(tmp_path, other):
    idx = index(tmp_path / "x.wx", slot=50, origin=0)
    w = Window.restore(idx, "a", **TIMED)
    w.push(times(0, 250))
    with pytest.raises(errors.BadDefinition, match="other basic windows"):
        Window.restore(idx, "a", **other)
    assert len(Window.restore(idx, "a", **TIMED)) == len(w)


def test_a_window_by_the_clock_is_not_restored_not_even_at_first(tmp_path):
    idx = index(tmp_path / "x.wx")
    with pytest.raises(errors.BadDefinition, match="time= is missing"):
        Window.restore(idx, "a", span="10 minutes", basic="1 minute")
    with pytest.raises(errors.BadDefinition, match="is no index"):
        Window.restore(5, "a", **TIMED)


def test_rows_that_an_archive_would_not_take_are_refused_before_any_is_taken(tmp_path):
    w = Window.restore(index(tmp_path / "x.wx"), "a", **TIMED)
    with pytest.raises(errors.NullKeys, match="nulls='skip'"):
        w.push({"t": [1, 12], "k": [1, None]}, stream="s", number=0)
    assert (w.waiting, w.streams.position) == (0, {})
    kept = index(tmp_path / "y.wx", nulls="skip")
    w = Window(SCHEMA, **TIMED)
    w.archive(kept, "a", every=3)
    w.push({"t": [1, 12, 40], "k": [1, None, 2]})
    assert len(w) == 2
    assert wx.live(w, kept).scan()["k"].to_pylist() == [1]


def test_an_archive_that_begins_late_begins_with_what_can_be_seen(tmp_path):
    idx = index(tmp_path / "x.wx")
    w = Window(SCHEMA, **TIMED)
    w.push(times(0, 55))
    w.archive(idx, "a", every=4)
    w.push(times(55, 100))
    both = wx.live(w, idx)
    for found in (both.scan(), both.scan(0), both.probe(1), both.probe(1, 0)):
        assert sorted(found["t"].to_pylist()) == [*range(90)]
    counted = Window(SCHEMA, rows=10, basic=5)
    counted.push(times(0, 7))
    other = index(tmp_path / "y.wx")
    counted.archive(other, "a").flush()
    assert len(other) == 5
    with pytest.raises(errors.BadDefinition, match=r"Window\.restore"):
        Window(SCHEMA, rows=10, basic=5).archive(other, "a")


def test_an_archive_that_fails_in_an_unforeseen_way_is_tried_again(tmp_path, monkeypatch):
    idx = index(tmp_path / "x.wx")
    w = Window(SCHEMA, **TIMED)
    archive = w.archive(idx, "a")

    def fail(*args: Any, **options: Any) -> None:
        raise OSError("the disk is on fire")

    with monkeypatch.context() as patch:
        patch.setattr(type(idx), "feed", fail)
        w.push(times(0, 25), stream="s", number=np.int64(0))
    assert isinstance(archive.error, OSError)
    w.push(times(25, 45), stream="s", number=1)
    assert archive.error is None
    assert sorted(idx.scan().read_all()["t"].to_pylist()) == [*range(40)]
    assert w.streams.position == {"s": 2}


@pytest.mark.parametrize(
    ("stream", "number"), [("s", "1"), ("s", 1.5), ("s", -1), (5, 0), (None, 0)]
)
def test_batches_are_counted(stream, number):
    w = Window(SCHEMA, **TIMED)
    with pytest.raises(errors.BadDefinition, match="number of the batch"):
        w.push(times(0, 5), stream=stream, number=number)
    assert w.waiting == 0


def test_batches_without_rows_do_not_pile_up():
    w = Window(SCHEMA, **TIMED)
    w.push(times(0, 5), stream="s", number=0)
    for number in range(1, 500):
        w.push(SCHEMA.empty_table(), stream="s", number=number)
    assert len(w.streams._open) == 1


# -- what fails in the midst -----------------------------------------------------------------------


def test_a_disk_that_fails_leaves_the_rows_in_memory(tmp_path, caplog):
    w = Window(
        {"s": pa.string(), "n": pa.int64()}, rows=4, basic=2, disk=tmp_path / "d", ring=["n"]
    )
    w.push({"s": [*"abcd"], "n": [1, 2, 3, 4]})
    shutil.rmtree(tmp_path / "d")
    for first in (5, 7, 9):
        w.push({"s": ["e", "f"], "n": [first, first + 1]})
        assert w.rows()["n"].to_pylist() == [first - 2, first - 1, first, first + 1]
    assert w.lookup("n", 10).to_pylist() == [{"s": "f", "n": 10}]
    assert "goes on in memory" in caplog.text


@pytest.mark.parametrize("split", [Split("counts", 2), Split("tree", 3)])
def test_rows_of_a_split_index_can_be_read_as_they_leave(split):
    w = Window({"s": pa.string()}, rows=2, basic=1, index={"s": split})
    told = w.subscribe(Changes())
    gone = []
    for text in "abcdefgh":
        w.push({"s": text})
        assert told.latest is not None
        gone += [row["s"] for row in told.latest.to_pylist() if row["_change"] < 0]
    assert gone == [*"abcdef"]


def test_text_that_is_no_text_is_refused_before_any_column_is_taken():
    w = Window({"a": pa.int64(), "host": pa.string()}, rows=4, basic=1, index=["a", "host"])
    w.push({"a": 1, "host": "p"})
    broken = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")
    )
    with pytest.raises(errors.SchemaMismatch, match="no text"):
        w.push(pa.record_batch([pa.array([100]), broken], names=["a", "host"]))
    w.push({"a": 2, "host": "q"})
    assert w.rows().to_pylist() == [{"a": 1, "host": "p"}, {"a": 2, "host": "q"}]


def test_a_window_that_was_closed_says_so_and_lets_go_of_its_index():
    w = Window({"s": pa.int64()}, rows=4, basic=2, index=["s"])
    w.push({"s": [1, 2, 3, 4]})
    for bad in ({"purge": "nonsense"}, {"keep_up": "no"}, {"disk": "s3://x/y"}):
        with pytest.raises(errors.BadDefinition):
            Window({"s": pa.int64()}, rows=4, basic=2, index={"s": w.index("s")}, **bad)
    for number in range(3):
        other = Window({"s": pa.int64()}, rows=4, basic=2, index={"s": w.index("s")})
        other.push({"s": [3, 4, 5, 6 + number]})
        assert w.intersect(other, "s")["s"].to_pylist() == [3, 4]
        other.close()
        with pytest.raises(errors.WindowBroken, match="closed"):
            other.push({"s": 1})
        assert w.histogram("s")["s"].to_pylist() == [1, 2, 3, 4]
    with pytest.raises(errors.MissingColumn, match="no index on 's'"):
        Window({"s": pa.int64()}, rows=2, basic=1, storage="aggr").index("s")
    grouped = Window({"s": pa.int64()}, rows=2, basic=1, index={"s": "group"}, groups={"s": [5]})
    with pytest.raises(errors.BadDefinition, match="shares an index"):
        Window(
            {"s": pa.int64()}, rows=2, basic=1, index={"s": grouped.index("s")}, groups={"s": [7]}
        )


# -- odd rows --------------------------------------------------------------------------------------


def test_dictionaries_have_words_of_their_own():
    kind = pa.dictionary(pa.int8(), pa.string())
    for settings in ({"index": ["x"]}, {}):
        w = Window({"x": kind}, rows=300, basic=50, **settings)
        for first in range(0, 300, 50):
            words = pa.array([f"word {n}" for n in range(first, first + 50)])
            w.push(pa.record_batch([words.dictionary_encode().cast(kind)], names=["x"]))
        assert w.rows()["x"].to_pylist() == [f"word {n}" for n in range(300)]
        assert w.histogram("x").num_rows == 300
        assert w.lookup("x", "word 299").num_rows == 1
    holed = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", None]))
    w = Window({"x": holed.type}, rows=2, basic=2, index=["x"])
    w.push({"x": holed})
    assert w.histogram("x").to_pylist() == [{"x": None, "count": 1}, {"x": "a", "count": 1}]


@pytest.mark.parametrize("rows", [{"a": [1.5]}, {"a": 2.7}, [{"a": 3.9}], {"a": np.array([0.5])}])
def test_nothing_is_lost_by_a_cast(rows):
    w = Window({"a": pa.int64()}, rows=4, basic=1)
    with pytest.raises(errors.SchemaMismatch):
        w.push(rows)
    w.push({"a": [1.0, 2.0]})
    assert w.rows()["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([{"a": 1, "b": "x"}, {"a": 2, "B": "oops"}], errors.MissingColumn),
        ([{"a": 1, "b": "x"}, {"b": "z", "c": 1}], errors.MissingColumn),
        ([{"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 1}], errors.SchemaMismatch),
        ([{"a": 1, "b": "x"}, 5], errors.SchemaMismatch),
        (pa.table([[1], [2], ["x"]], names=["a", "a", "b"]), errors.SchemaMismatch),
    ],
)
def test_every_row_has_the_columns_and_no_others(rows, error):
    w = Window({"a": pa.int64(), "b": pa.string()}, rows=4, basic=1)
    with pytest.raises(error):
        w.push(rows)
    assert len(w) == 0


def test_views_are_kept_as_plain_text():
    """Polars and others hand text over as views, of which Arrow takes no single rows."""
    views = pa.dictionary(pa.uint32(), pa.string_view())
    codes = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0], pa.uint32()), pa.array(["x", "y"], pa.string_view())
    )
    rows = pa.table(
        {"k": pa.array(["a", "b", "a"], pa.string_view()), "c": codes},
        schema=pa.schema([("k", pa.string_view()), ("c", views)]),
    )
    w = Window(rows, rows=3, basic=1, ring=["k"], index=["c"])
    w.push(rows)
    assert w.lookup("k", "a").to_pylist() == [{"k": "a", "c": "x"}] * 2
    assert w.histogram("c").to_pylist() == [{"c": "x", "count": 2}, {"c": "y", "count": 1}]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.string_view()), pa.run_end_encoded(pa.int32(), pa.int64())], ids=str
)
def test_a_type_of_which_no_rows_can_be_taken_is_refused(kind):
    with pytest.raises(errors.BadDefinition, match="Cast it to a plainer type"):
        Window({"k": pa.int64(), "v": kind}, rows=2, basic=1)


def test_a_row_may_have_lists_and_structs():
    kinds = {"tags": pa.list_(pa.string()), "at": pa.struct([("x", pa.int64())])}
    w = Window(kinds, rows=3, basic=1)
    w.push({"tags": ["a", "b"], "at": {"x": 1}})
    w.push({"tags": [["c"], None], "at": [{"x": 2}, None]})
    assert w.rows().to_pylist() == [
        {"tags": ["a", "b"], "at": {"x": 1}},
        {"tags": ["c"], "at": {"x": 2}},
        {"tags": None, "at": None},
    ]


def test_frames_may_be_written_to_while_their_rows_wait():
    frame = pd.DataFrame({"t": np.arange(10), "k": np.arange(10)})
    w = Window(SCHEMA, **{**TIMED, "delay": 50})
    w.push(frame)
    frame.loc[:, "k"] = -1
    w.advance(200)
    assert w.rows()["k"].to_pylist() == []
    w = Window(SCHEMA, **{**TIMED, "delay": 50})
    frame = pd.DataFrame({"t": np.arange(10), "k": np.arange(10)})
    w.push(frame)
    frame.loc[:, "k"] = -1
    w.advance(70)
    assert w.rows()["k"].to_pylist() == [*range(10)]


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("now", [2**70, "soon", 1.5, True])
def test_time_beyond_all_bounds_changes_nothing(now):
    w = Window(SCHEMA, **TIMED)
    w.push({"t": 1, "k": 1})
    with pytest.raises(errors.BadTime):
        w.advance(now)
    w.push({"t": 20, "k": 1})
    assert len(w) == 1
    assert w.advance(np.int64(30)) == 1
    nanos = Window({"at": pa.timestamp("ns")}, span="2 hours", basic="1 hour", time="at")
    with pytest.raises(errors.BadTime, match="out of the reach"):
        nanos.advance(dt.datetime(2400, 1, 1))
    with pytest.raises(errors.BadDefinition, match="delay="):
        Window(SCHEMA, **{**TIMED, "delay": 2**70})


def test_a_clock_that_is_put_back_makes_no_row_late():
    now = [dt.datetime(2026, 1, 5, 12, 1, tzinfo=dt.UTC)]
    w = Window({"a": pa.int64()}, span="2 minutes", basic="1 minute", clock=lambda: now[0])
    w.push({"a": 1})
    now[0] -= dt.timedelta(microseconds=5)
    w.push({"a": 2})
    assert w.waiting == 2


@pytest.mark.parametrize("first", [-10_000, 0, 10_000])
def test_values_are_purged_by_time_whenever_that_is(first):
    w = Window({"at": pa.timestamp("s"), "k": pa.int64()}, span="10 s", basic="1 s", time="at",
               index=["k"], purge="5 seconds")  # fmt: skip
    for second in range(first, first + 300):
        w.push({"at": dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second), "k": second})
    assert w.index("k").index.size <= 20


# -- memory ----------------------------------------------------------------------------------------


def test_a_part_of_a_large_batch_does_not_hold_all_of_it():
    w = Window({"s": pa.string()}, rows=100, basic=10)
    before = pa.total_allocated_bytes()
    w.push(pa.record_batch({"s": [str(number) * 20 for number in range(100_000)]}))
    assert pa.total_allocated_bytes() - before < 100_000
    assert w.rows()["s"].to_pylist()[-1] == "99999" * 20


def test_room_that_a_burst_took_is_given_back():
    w = Window(SCHEMA, **TIMED, ring=["k"])
    w.push({"t": np.arange(200_000) // 10_000, "k": np.arange(200_000) % 50})
    w.advance(40)
    assert w.nbytes > 3_000_000
    for at in range(200, 300, 10):
        w.push({"t": at, "k": at})
    assert w.contents.nbytes < 100_000
    assert w.lookup("k", 280).num_rows == 1
    assert w.rows()["t"].to_pylist() == [*range(200, 290, 10)]


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"index": 5}, {"ring": 5}, {"storage": 5}, {"groups": 5}, {"index": [["k"]]},
        {"index": {"k": None}}, {"buckets": 2**40}, {"storage_buckets": True}, {"shed": 1},
        {"shed": True}, {"seed": "x"}, {"seed": -1}, {"disk": 3}, {"index": {"k": Split([], 2)}},
        {"index": {"k": "group"}, "groups": {"k": 5}},
    ],
    ids=str,
)  # fmt: skip
def test_options_of_other_types_are_refused(settings):
    with pytest.raises(errors.BadDefinition):
        Window(SCHEMA, rows=10, basic=5, **settings)


@pytest.mark.parametrize("query", [5, Histogram, "histogram(k)", None])
def test_what_is_no_query_is_refused(query):
    w = Window(SCHEMA, **TIMED)
    for call in (w.subscribe, w.ask, w.explain):
        with pytest.raises(errors.BadQuery, match="is no query"):
            call(query)


ASKS: dict[str, Callable[[Window], object]] = {
    "columns of a lookup": lambda w: w.lookup("k", 1, 5),
    "one column by its letters": lambda w: w.ordered("k", "t"),
    "columns of a selection": lambda w: w.select("k > 1", [1]),
    "columns of a join": lambda w: w.join(w, "k", columns=5),
    "columns of rows": lambda w: w.rows("k"),
    "a condition": lambda w: w.select(["k > 1"]),
    "an attribute": lambda w: w.histogram(["k"]),
    "the attribute of a join": lambda w: w.join(w, ["k"]),
    "the other window of a join": lambda w: w.join(None, "k"),
    "the other window of a set": lambda w: w.union("w", "k"),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_what_cannot_be_read_as_a_question_is_refused(ask):
    w = Window(SCHEMA, rows=4, basic=2, ring=["k"])
    w.push(times(0, 4))
    with pytest.raises((errors.BadQuery, errors.MissingColumn)):
        ask(w)
