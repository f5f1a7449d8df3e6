"""What a lifetime index refuses, by name, and that nothing is changed then."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import wavedex as wx
from kit.life_rows import SCHEMA, table
from wavedex import errors

GOOD = {
    "key": "k", "inserted": "b", "expires": "e", "max_lifetime": 16, "refresh": 2, "grid": (2, 2),
}  # fmt: skip
TIMED = pa.schema(
    [("k", pa.int64()), ("b", pa.timestamp("us")), ("e", pa.timestamp("us")), ("ttl", pa.int64())]
)


def without(name, **options):
    return {**{key: value for key, value in GOOD.items() if key != name}, **options}


BAD = {
    "a grid of more rows than refreshes": (
        {**GOOD, "grid": (9, 2)}, errors.BadGrid, "between 2 and 8",
    ),
    "a grid of one row": ({**GOOD, "grid": (1, 2)}, errors.BadGrid, "rows is 1"),
    "no grid": ({**GOOD, "grid": "square"}, errors.BadGrid, "grid='square'"),
    "a grid of halves": ({**GOOD, "grid": (2, 2.5)}, errors.BadDefinition, "2.5"),
    "a lifetime of half a refresh": ({**GOOD, "max_lifetime": 15}, errors.BadGrid, "Give 14 or 16"),
    "more refreshes than can be planned for": (
        {**GOOD, "max_lifetime": 2_000_000}, errors.BadGrid, "1,000,000 refreshes",
    ),
    "no lifetime": ({**GOOD, "max_lifetime": 0}, errors.BadGrid, "at least 2"),
    "a lifetime in words": ({**GOOD, "max_lifetime": "long"}, errors.BadDefinition, "no duration"),
    "an unknown method": ({**GOOD, "method": "rebuilt"}, errors.UnknownScheme, "no-rebuild"),
    "an unknown partition": (
        {**GOOD, "partition": ("round-robin", "sorted")}, errors.UnknownScheme, "chronological",
    ),
    "one partition": ({**GOOD, "partition": "random"}, errors.BadGrid, "partition='random'"),
    "a lazy method with another side": (
        {**GOOD, "method": "lazy-rebuild", "partition": ("random", "round-robin")},
        errors.BadGrid, "wave",
    ),
    "an end that is the beginning": ({**GOOD, "expires": "b"}, errors.BadDefinition, "both"),
    "counts without windows": (
        without("expires", method="count-rebuild", counts=["k"]), errors.BadDefinition, "a dict",
    ),
    "spans without windows": ({**GOOD, "spans": ["b"]}, errors.BadDefinition, "a dict"),
    "no end": (without("expires"), errors.BadDefinition, "either expires="),
    "two ends": ({**GOOD, "lifetime": "k"}, errors.BadDefinition, "either expires="),
    "counts without a count method": (
        {**GOOD, "counts": {"k": 3}}, errors.BadDefinition, "count-rebuild",
    ),
    "an end with a count method": (
        {**GOOD, "method": "count-rebuild"}, errors.BadDefinition, "neither expires=",
    ),
    "a window of no rows": (
        without("expires", method="count-rebuild", counts={"k": 0}), errors.BadDefinition, "counts",
    ),
    "positions that are none": (
        without("expires", method="count-rebuild", counts={"v": 3}),
        errors.BadDefinition, "no positions",
    ),
    "a column that is not there": ({**GOOD, "expires": "until"}, errors.MissingColumn, "until"),
    "ends of another type": ({**GOOD, "expires": "v"}, errors.BadDefinition, "Cast"),
    "a lifetime of text": (without("expires", lifetime="v"), errors.BadDefinition, "lifetime is"),
    "buckets in words": ({**GOOD, "buckets": "many"}, errors.BadDefinition, "buckets"),
    "no buckets": ({**GOOD, "buckets": 0.5}, errors.BadDefinition, "buckets="),
    "reach backwards": ({**GOOD, "reach": (-1, 1)}, errors.BadDefinition, "reach"),
    "half a reach": ({**GOOD, "reach": (1,)}, errors.BadGrid, "reach"),
    "a format that is not chained": (
        {**GOOD, "method": "no-rebuild", "format": "parquet"}, errors.BadDefinition, "chained",
    ),
    "spans of another type": ({**GOOD, "spans": {"v": 3}}, errors.BadDefinition, "Cast"),
    "spans in words": ({**GOOD, "spans": {"b": "long"}}, errors.BadDefinition, "no duration"),
    "a seed that is none": ({**GOOD, "seed": -1}, errors.BadDefinition, "seed"),
    "a refresh of nothing": ({**GOOD, "refresh": 0}, errors.BadDefinition, "refresh=0"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_answers_that_do_not_go_together_are_refused_and_nothing_is_made(tmp_path, case):
    options, error, said = BAD[case]
    with pytest.raises(error, match=said):
        wx.LifetimeIndex.create(tmp_path / "index", SCHEMA, **options)
    assert not (tmp_path / "index").exists()


def test_refreshes_of_months_are_refused(tmp_path):
    with pytest.raises(errors.BadDefinition, match="not always as long"):
        wx.LifetimeIndex.create(
            tmp_path / "index", TIMED, key="k", inserted="b", expires="e",
            max_lifetime="60 days", refresh="1 month",
        )  # fmt: skip


def test_an_integer_is_no_lifetime_of_a_timestamp(tmp_path):
    with pytest.raises(errors.BadDefinition, match="duration"):
        wx.LifetimeIndex.create(
            tmp_path / "index", TIMED, key="k", inserted="b", lifetime="ttl",
            max_lifetime="60 days", refresh="1 day",
        )  # fmt: skip


@pytest.mark.parametrize("lives", [pa.duration("s"), pa.int64(), pa.int32()])
def test_a_lifetime_of_dates_is_refused_with_what_works(tmp_path, lives):
    schema = pa.schema([("k", pa.int64()), ("b", pa.date32()), ("n", lives)])
    with pytest.raises(errors.BadDefinition, match=r"Cast 'b' to a timestamp, or give expires="):
        wx.LifetimeIndex.create(
            tmp_path / "index", schema, key="k", inserted="b", lifetime="n",
            max_lifetime="60 days", refresh="1 day",
        )  # fmt: skip
    assert not (tmp_path / "index").exists()


@pytest.fixture
def life(tmp_path):
    index = wx.LifetimeIndex.create(tmp_path / "index", SCHEMA, **GOOD)
    index.update(10, table([{"k": 1, "b": 9, "e": 20, "v": "a"}]))
    return index


ROW = {"k": 1, "b": 11, "e": 20, "v": "a"}
ROWS = {
    "a lifetime longer than the bound": ({"e": 28}, errors.LifetimeTooLong, "max_lifetime"),
    "a lifetime longer than a number": (
        {"b": -10, "e": 2**63 - 1},
        errors.LifetimeTooLong,
        "max_lifetime",
    ),
    "an end before the beginning": ({"e": 10}, errors.EndBeforeBeginning, "before they begin"),
    "a row from the future": ({"b": 13}, errors.FromTheFuture, "after the instant"),
    "no birth": ({"b": None}, errors.NullTimes, "'b'"),
    "no end": ({"e": None}, errors.NullTimes, "'e'"),
    "no key": ({"k": None}, errors.NullKeys, "'k'"),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_cannot_be_are_refused_and_nothing_is_changed(life, case):
    change, error, said = ROWS[case]
    commit = life.snapshot().commit
    with pytest.raises(error, match=said):
        life.update(12, table([ROW, {**ROW, **change}]))
    assert life.snapshot().commit == commit
    assert life.scan().read_all().num_rows == 1


def test_instants_that_cannot_be_are_refused_and_nothing_is_changed(life):
    commit = life.snapshot().commit
    for act in (life.update, life.retract, life.prolong):
        with pytest.raises(errors.RefreshBackwards, match="refreshed at 10"):
            act(9, table([ROW]))
        for now in ("noon", 1.5, None, True, dt.datetime(2026, 1, 1), 2**62, -(2**70)):
            with pytest.raises(errors.BadTime, match="now="):
                act(now, table([ROW]))
    assert life.snapshot().commit == commit


def test_rows_that_are_not_there_are_neither_retracted_nor_prolonged(life):
    commit = life.snapshot().commit
    for act in (life.retract, life.prolong):
        with pytest.raises(errors.RowNotThere, match="'v': 'other'"):
            act(12, table([{**ROW, "v": "other"}]))
    with pytest.raises(errors.LifetimeTooLong):
        life.prolong(12, table([{"k": 1, "b": 9, "e": 29, "v": "a"}]))
    with pytest.raises(errors.EndBeforeBeginning):
        life.prolong(12, table([{"k": 1, "b": 9, "e": 8, "v": "a"}]))
    assert life.snapshot().commit == commit


def test_a_lifetime_that_no_number_can_hold_is_too_long(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])
    options = {**GOOD, "expires": None, "lifetime": "n"}
    life = wx.LifetimeIndex.create(tmp_path / "index", schema, **options)
    for born in (-10, 0, 10):
        with pytest.raises(errors.LifetimeTooLong):
            life.update(12, pa.table({"k": [1], "b": [born], "n": [2**63 - 1]}, schema))
    assert life.snapshot().commit == 0


def test_a_lifetime_finer_than_the_times_is_refused(tmp_path):
    kinds = (pa.string(), pa.timestamp("s"), pa.duration("ms"))
    schema = pa.schema(list(zip(("k", "b", "n"), kinds, strict=True)))
    life = wx.LifetimeIndex.create(
        tmp_path / "index", schema, key="k", inserted="b", lifetime="n", max_lifetime="1 hour",
        refresh="1 minute",
    )  # fmt: skip
    noon = dt.datetime(2026, 1, 1, 12)
    row = {"k": "a", "b": noon, "n": dt.timedelta(milliseconds=1500)}
    with pytest.raises(errors.SchemaMismatch, match="finer unit"):
        life.update(noon, pa.Table.from_pylist([row], schema))
    assert life.snapshot().commit == 0


def test_entries_know_the_times_of_all_rows_that_they_were_made_of(tmp_path):
    schema = SCHEMA.append(pa.field("left", pa.int64()))
    life = wx.LifetimeIndex.create(tmp_path / "index", schema, **GOOD, spans={"left": 16})
    with pytest.raises(errors.NullTimes, match="'left'"):
        life.update(12, pa.Table.from_pylist([ROW], schema))
    assert life.snapshot().commit == 0


def test_an_empty_index_has_nothing_to_retract_or_prolong(tmp_path):
    life = wx.LifetimeIndex.create(tmp_path / "index", SCHEMA, **GOOD)
    for act in (life.retract, life.prolong):
        with pytest.raises(errors.RowNotThere):
            act(12, table([ROW]))
        assert act(12, table([])).rows == 0
    assert life.scan().read_all().num_rows == 0
    assert life.probe(1, shorten=4, since=3).num_rows == 0
    life.verify()


@pytest.mark.parametrize("refreshed", [True, False])
def test_shorter_windows_that_cannot_be_are_refused(tmp_path, life, refreshed):
    if not refreshed:
        life = wx.LifetimeIndex.create(tmp_path / "new", SCHEMA, **GOOD)
    for shorten, said in (("short", "number"), ({"b": 3}, "spans="), (-1, "number")):
        with pytest.raises(errors.BadTime, match=said):
            life.probe(1, shorten=shorten)
        with pytest.raises(errors.BadTime, match=said):
            life.scan(shorten=shorten)


def test_a_batch_that_does_not_fit_is_refused(life):
    with pytest.raises(errors.MissingColumn, match="'e'"):
        life.update(12, pa.table({"k": [1], "b": [11], "v": ["a"]}))
    with pytest.raises(errors.BadTime, match="counted"):
        life.update(12, table([ROW]), arrived={"b": 1})


MIGRATIONS = {
    "a method that guesses": ({"method": "count-rebuild"}, errors.BadDefinition, "same sort"),
    "a grid that does not fit": ({"grid": (9, 3)}, errors.BadGrid, "between 2 and 8"),
    "an unknown method": ({"method": "wave"}, errors.UnknownScheme, "choose one"),
    "an unknown strategy": ({"grid": (4, 2), "strategy": "slowly"}, errors.BadDefinition, "slowly"),
    "other shards while draining": (
        {"shards": 3, "grid": (4, 2), "strategy": "drain"}, errors.BadDefinition, "shards=3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MIGRATIONS)
def test_a_migration_that_cannot_be_is_refused_and_nothing_is_changed(life, case):
    options, error, said = MIGRATIONS[case]
    commit = life.snapshot().commit
    with pytest.raises(error, match=said):
        life.migrate(**options)
    assert life.snapshot().commit == commit
    assert life.migrate(grid=(2, 2)).changed == {}


def test_the_kinds_of_index_are_not_mixed_up(tmp_path, life):
    with pytest.raises(errors.NotAnIndex, match="no wave index"):
        wx.WaveIndex.open(life.path)
    wx.WaveIndex.create(tmp_path / "wave", SCHEMA, key="k", time="b", slot=2, window=3)
    with pytest.raises(errors.NotAnIndex, match="no lifetime index"):
        wx.LifetimeIndex.open(tmp_path / "wave")
    assert isinstance(wx.open(tmp_path / "wave"), wx.WaveIndex)
    assert isinstance(wx.open(life.path), wx.LifetimeIndex)
