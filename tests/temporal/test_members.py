"""Sets over time as their users hold them: against an oracle, reopened, and with bad input."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wavedex as wx
from kit.set_events import NAMES, Told, all_bytes, spans_of
from wavedex.errors import (
    AlreadyExists,
    AlreadyInSet,
    BadDefinition,
    BadKey,
    BadTime,
    CommitGone,
    ConcurrentWrite,
    Forgotten,
    MissingColumn,
    NotAnIndex,
    NotInSet,
    NullKeys,
    NullTimes,
    ReadOnly,
    SchemaMismatch,
    StreamOutOfStep,
    TimeBackwards,
)
from wavedex.temporal import TemporalSet


@pytest.mark.parametrize("is_kept", [False, True])
def test_answers_are_those_of_an_oracle(tmp_path, is_kept):
    path = tmp_path / "a.wxt" if is_kept else None
    found, told = TemporalSet.create(path, page_records=8), Told(1)
    for step in range(20):
        found.load(told.events(told.rng.randrange(1, 60)))
        if is_kept and step % 3 == 0:
            found.commit()
        if is_kept and step % 7 == 0:
            found.commit()
            found = TemporalSet.open(path)
        told.check(found)
        assert found.verify() == []


@given(data=st.data(), seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_any_use_in_any_order(tmp_path_factory, data, seed):
    path, told = tmp_path_factory.mktemp("set") / "a.wxt", Told(seed)
    found = TemporalSet.create(path, page_records=6, buckets=2)
    for step in data.draw(st.lists(st.sampled_from("leocrx"), max_size=12)):
        if step == "l":
            found.load(told.events(told.rng.randrange(0, 40)))
        elif step == "e":
            for row in told.events(5).to_pylist():
                if row["op"] > 0:
                    found.add(row["oid"], row["time"], {"v": row["v"]})
                else:
                    found.remove(row["oid"], row["time"])
        elif step == "o":
            found.commit()
            found = TemporalSet.open(path)
        elif step == "c":
            found.commit()
        elif step == "r":
            found.commit()
            found.refresh()
        elif told.time:
            found.compact()
        if told.time:
            told.check(found, 10)
    assert found.verify() == []


def test_whoever_reads_sees_commits_when_he_looks_again(tmp_path):
    writer, told = TemporalSet.create(tmp_path / "a.wxt"), Told(2)
    reader = TemporalSet.open(tmp_path / "a.wxt")
    for _ in range(12):
        writer.load(told.events(40))
        before = spans_of(reader)
        number = writer.commit()
        assert spans_of(reader) == before
        assert reader.refresh() == number
        told.check(reader)
        assert len(writer._held.commit.segments) < 8


def test_many_small_commits_leave_few_files(tmp_path):
    found = TemporalSet.create(tmp_path / "a.wxt")
    for time in range(60):
        found.add(time, time)
        found.commit()
    assert len([*(tmp_path / "a.wxt" / "data").iterdir()]) < 20
    assert TemporalSet.open(tmp_path / "a.wxt").snapshot(50).num_rows == 51


def test_the_second_of_two_writers_is_told_and_can_go_on(tmp_path):
    one = TemporalSet.create(tmp_path / "a.wxt")
    other = TemporalSet.open(tmp_path / "a.wxt")
    one.add("ann", 1)
    one.commit()
    other.add("bob", 1)
    with pytest.raises(ConcurrentWrite, match="refresh"):
        other.commit()
    other.refresh()
    assert not other.contains("bob", 1)
    other.add("bob", 2)
    other.commit()
    assert sorted(TemporalSet.open(tmp_path / "a.wxt").snapshot(2)["oid"].to_pylist()) == [
        "ann", "bob",
    ]  # fmt: skip


def test_whatever_counts_as_rows_can_be_loaded():
    rows = {"oid": ["a", "b", "a"], "time": [1, 2, 3], "op": [1, 1, -1]}
    table = pa.table(rows)
    for events in (
        rows, table, table.to_batches()[0], pd.DataFrame(rows), pl.DataFrame(rows),
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        {name: np.array(values) for name, values in rows.items()},
    ):  # fmt: skip
        found = TemporalSet.create()
        assert found.load(events) == 3
        assert found.snapshot(2)["oid"].to_pylist() == ["a", "b"]
    other = table.rename_columns(["who", "at", "sign"])
    assert TemporalSet.create().load(other, oid="who", time="at", op="sign") == 3


def test_dates_and_instants():
    found = TemporalSet.create()
    found.add("ann", dt.date(2026, 3, 1))
    found.remove("ann", dt.date(2026, 3, 5))
    assert found.contains("ann", dt.date(2026, 3, 3))
    assert found.contains("ann", "2026-03-03")
    assert found.lifespans("ann").to_pylist() == [
        {"start": dt.date(2026, 3, 1), "end": dt.date(2026, 3, 5)}
    ]
    zoned = TemporalSet.create()
    zoned.add(("main st", 5), dt.datetime(2026, 3, 1, tzinfo=dt.UTC))
    assert zoned.contains(("main st", 5), "2026-03-01T01:00:00+00:00")
    assert not zoned.contains(("main st", 6), dt.datetime(2026, 4, 1, tzinfo=dt.UTC))
    with pytest.raises(BadTime, match="zone"):
        zoned.contains(("main st", 5), "2026-03-01")


def test_before_the_first_and_after_the_last_change():
    found = TemporalSet.create()
    assert not found.contains("ann", 5)
    assert found.contains_many(["ann"], [5]).tolist() == [False]
    assert found.snapshot(5).num_rows == found.lifespans("ann").num_rows == 0
    assert (found.first, found.last, len(found)) == (None, None, 0)
    found.add("ann", 5)
    assert [found.contains("ann", time) for time in (4, 5, 10**9)] == [False, True, True]
    assert found.snapshot(4).num_rows == 0
    assert (found.first, found.last, len(found)) == (5, 5, 1)


def test_an_end_that_equals_the_next_start():
    found = TemporalSet.create()
    for change, time in ((found.add, 1), (found.remove, 5), (found.add, 5), (found.remove, 9)):
        change("ann", time)
    assert [found.contains("ann", time) for time in (4, 5, 8, 9)] == [True, True, True, False]
    spans = found.lifespans("ann").to_pylist()
    assert spans == [{"start": 1, "end": 5}, {"start": 5, "end": 9}]


@pytest.mark.parametrize(
    ("events", "error", "said"),
    [
        ({"oid": ["a"], "time": [10], "op": [1]}, AlreadyInSet, "'a' is added at 10"),
        ({"oid": ["q"], "time": [10], "op": [-1]}, NotInSet, "'q' is removed at 10"),
        ({"oid": ["q"], "time": [4], "op": [1]}, TimeBackwards, "before the last change"),
        ({"oid": ["q", "r"], "time": [9, 8], "op": [1, 1]}, TimeBackwards, "row 1"),
        ({"oid": ["q", "q"], "time": [9, 9], "op": [1, 1]}, AlreadyInSet, "row 1"),
        ({"oid": ["q"], "time": [9], "op": [0]}, SchemaMismatch, "has 0 at row 0"),
        ({"oid": ["q"], "time": [9], "op": ["+"]}, SchemaMismatch, "says what happened"),
        ({"oid": ["q"], "time": [9]}, MissingColumn, "op='...'"),
        ({"oid": [None], "time": [9], "op": [1]}, SchemaMismatch, "Cast the column"),
        ({"oid": ["q", None], "time": [9, 9], "op": [1, 1]}, NullKeys, "null"),
        ({"oid": ["q"], "time": pa.nulls(1, pa.int64()), "op": [1]}, NullTimes, "null"),
        ({"oid": [5], "time": [9], "op": [1]}, SchemaMismatch, "are no ids of this set"),
        ({"oid": ["q"], "time": ["x"], "op": [1]}, BadTime, "none of this set"),
        ({"oid": ["q"], "time": [2**62], "op": [1]}, BadTime, "further off"),
        ({"oid": ["q"], "time": [9], "op": [1], "v": [1]}, SchemaMismatch, "carry"),
        ({"oid": ["q"], "time": [9, 9], "op": [1]}, SchemaMismatch, "same length"),
    ],
)  # fmt: skip
def test_bad_events_are_named_and_change_nothing(tmp_path, events, error, said):
    found = TemporalSet.create(tmp_path / "a.wxt")
    found.load({"oid": ["a", "b"], "time": [5, 6], "op": [1, 1]})
    found.commit()
    before, files = spans_of(found), all_bytes(tmp_path)
    with pytest.raises(error, match=said):
        found.load(events)
    assert spans_of(found) == before
    assert found.commit() == 1
    assert all_bytes(tmp_path) == files
    found.load({"oid": ["q"], "time": [9], "op": [1]})
    assert found.contains("q", 9)


def test_bad_questions_are_named():
    found = TemporalSet.create()
    found.add("ann", 5)
    with pytest.raises(BadKey, match="no id of this set"):
        found.contains(5, 5)
    with pytest.raises(BadTime, match="no time of this set"):
        found.contains("ann", 1.5)
    with pytest.raises(BadTime, match="as many"):
        found.contains_many(["ann", "bob"], [1, 2, 3])
    assert found.contains_many(["ann", "bob"], 5).tolist() == [True, False]
    assert not found.contains_during("ann", 9, 3)
    assert found.range("z", "a", 5).num_rows == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "b-tree"}, "There are: pph-s"),
        ({"page_bytes": 10}, "at least"),
        ({"page_bytes": 4096, "page_records": 5}, "not both"),
        ({"usefulness": 0}, "usefulness"),
        ({"colour": "red"}, "'colour' is nothing that can be set"),
        ({"hashing": "cuckoo"}, "There are: 'linear'"),
        ({"low": 0.5, "high": 0.2}, "no bounds"),
        ({"buckets": 0}, "no number of buckets"),
        ({"splits": "often"}, "splits"),
        ({"trees": "shelf"}, "neither"),
        ({"ids": pa.int64()}, "types of ids and of times"),
        ({"ids": pa.float64(), "times": pa.int64()}, "An id cannot be"),
        ({"ids": pa.int64(), "times": pa.string()}, "A time cannot be"),
    ],
)
def test_sets_that_cannot_be(tmp_path, options, said):
    with pytest.raises(BadDefinition, match=said):
        TemporalSet.create(tmp_path / "a.wxt", **options)
    assert not (tmp_path / "a.wxt").exists()


def test_places_that_are_taken_or_empty(tmp_path):
    TemporalSet.create(tmp_path / "a.wxt")
    with pytest.raises(AlreadyExists, match=r"TemporalSet\.open"):
        TemporalSet.create(tmp_path / "a.wxt")
    with pytest.raises(NotAnIndex, match="no set over time"):
        TemporalSet.open(tmp_path)
    with pytest.raises(ReadOnly, match="in memory"):
        TemporalSet.create().refresh()
    with pytest.raises(NotAnIndex, match="is a set over time"):
        wx.open(tmp_path / "a.wxt")
    schema = pa.schema([("k", pa.int64())])
    wx.WaveIndex.create(tmp_path / "b.wx", schema, key="k", window=2)
    with pytest.raises(NotAnIndex, match="is an index"):
        TemporalSet.open(tmp_path / "b.wx")


def test_batches_of_a_stream_count_once(tmp_path):
    found, told = TemporalSet.create(tmp_path / "a.wxt"), Told(5)
    for number in range(5):
        events = told.events(20)
        assert found.load(events, stream="s", number=number) == 20
        assert found.load(events, stream="s", number=number) == 0
        found.commit()
        found = TemporalSet.open(tmp_path / "a.wxt")
        assert found.load(events, stream="s", number=number) == 0
    told.check(found)
    with pytest.raises(StreamOutOfStep, match="Load batch 5 first"):
        found.load(told.events(1), stream="s", number=7)
    with pytest.raises(BadDefinition, match="both"):
        found.load(told.events(1), stream="s")


def test_what_is_forgotten_is_gone_and_named(tmp_path):
    found, told = TemporalSet.create(tmp_path / "a.wxt"), Told(6)
    found.load(told.events(600))
    horizon = told.time // 2
    expected = [each for each in spans_of(found) if each["end"] is None or each["end"] > horizon]
    gone = found.forget(horizon)
    assert gone > 0
    for each in (found, TemporalSet.open(tmp_path / "a.wxt")):
        assert spans_of(each) == expected
        assert each.horizon == horizon
        for name in NAMES:
            at = told.rng.randrange(horizon, told.time)
            assert each.contains(name, at) == told.members.contains(name, at)
        with pytest.raises(Forgotten, match=f"before {horizon}"):
            each.contains(NAMES[0], horizon - 1)
        with pytest.raises(Forgotten):
            each.contains_many(NAMES, [horizon - 1] * len(NAMES))
        assert each.verify() == []
    found.load(told.events(50))
    found.commit()
    assert TemporalSet.open(tmp_path / "a.wxt").forget(0) == 0
    assert TemporalSet.open(tmp_path / "a.wxt").horizon == horizon


def test_erased_ids_leave_no_byte(tmp_path):
    secret, marked = "secret-name", 0x5EC12E7
    found, told = TemporalSet.create(tmp_path / "a.wxt"), Told(7)
    found.load(told.events(100))
    found.add(secret, told.time, {"v": marked})
    found.commit()
    assert secret.encode() in all_bytes(tmp_path)
    expected = [each for each in spans_of(found) if each["oid"] != secret]
    assert found.erase([secret]) == 1
    assert spans_of(found) == expected
    content = all_bytes(tmp_path)
    assert secret.encode() not in content
    assert marked.to_bytes(8, "little") not in content
    told.check(TemporalSet.open(tmp_path / "a.wxt"))
    assert found.erase([secret, "nobody"]) == 0


def test_joins_say_which_ids_were_in_both_and_when():
    ours, theirs = Told(8), Told(9)
    sets = []
    for told in (ours, theirs):
        sets.append(TemporalSet.create())
        sets[-1].load(told.events(300))
    expected = []
    for name in NAMES:
        for start, end in ours.members.lifespans(name):
            for first, last in theirs.members.lifespans(name):
                ends = [each for each in (end, last) if each is not None]
                until = min(ends) if ends else None
                if until is None or max(start, first) < until:
                    expected.append((name, max(start, first), until))
    found = [
        (each["oid"], each["start"], each["end"]) for each in sets[0].join(sets[1]).to_pylist()
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len(found) > 100
    other = TemporalSet.create()
    assert sets[0].join(other).num_rows == 0
    other.add(5, 5)
    with pytest.raises(SchemaMismatch, match="ids of type"):
        sets[0].join(other)


def test_rows_that_ids_carry():
    found = TemporalSet.create()
    found.add("ann", 1, {"city": "Oslo", "age": 3})
    found.remove("ann", 5)
    found.add("ann", 7, {"city": "Rome", "age": 4})
    assert found.row("ann", 4) == {"city": "Oslo", "age": 3}
    assert found.row("ann", 6) is None
    assert found.snapshot(8).to_pylist() == [{"oid": "ann", "city": "Rome", "age": 4}]
    assert found.lifespans("ann")["city"].to_pylist() == ["Oslo", "Rome"]
    with pytest.raises(BadDefinition, match="'city', 'age'"):
        found.add("bob", 9, {"city": "Bonn"})
    assert not found.contains("bob", 9)


def test_a_set_as_of_an_earlier_commit(tmp_path):
    found, told = TemporalSet.create(tmp_path / "a.wxt"), Told(10)
    assert found.schema is None
    before = []
    for _ in range(4):
        found.load(told.events(30))
        found.commit()
        before.append(spans_of(found))
    earlier = TemporalSet.open(tmp_path / "a.wxt", commit=3)
    assert spans_of(earlier) == before[2]
    assert earlier.schema.names == ["oid", "time", "v"]
    earlier.add("new", told.time)
    with pytest.raises(ConcurrentWrite):
        earlier.commit()
    assert earlier.refresh() == 4
    assert spans_of(earlier) == before[3]
    for gone in (1, 9):
        with pytest.raises(CommitGone, match=rf"Commit {gone} of .* There are \[3, 4\]"):
            TemporalSet.open(tmp_path / "a.wxt", commit=gone)
