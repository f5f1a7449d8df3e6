"""Mistakes that people make in their first ten minutes, and what they are told."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadDefinition, BadKey, BadTime, SchemaMismatch

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])


@pytest.fixture
def idx(tmp_path: Path) -> wx.WaveIndex:
    made = wx.WaveIndex.create(tmp_path / "i.wx", SCHEMA, key="user", time="at", window=7)
    times = [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in range(1, 11)]
    made.append(pa.table({"user": ["ann"] * 10, "at": times, "n": [*range(10)]}, SCHEMA))
    return made


def test_one_key_goes_in_a_list(idx: wx.WaveIndex) -> None:
    for call in (idx.erase, idx.probe_many):
        with pytest.raises(BadKey, match=r"Pass a list, even of one: \['ann'\]"):
            call("ann")
    assert len(idx) == 7


def test_a_number_of_slots_is_no_slot(idx: wx.WaveIndex) -> None:
    said = r"since=5 is slot 5, 1970-01-06, and the window begins with 2026-01-04.*last\(5\)"
    for ask in (lambda: idx.probe("ann", since=5), lambda: idx.scan(5), lambda: idx.files(5)):
        with pytest.raises(BadTime, match=said):
            ask()
    assert idx.probe("ann", since=idx.slots[-2]).num_rows == 2
    assert idx.probe("ann", since=idx.slots[0] - 50).num_rows == 7
    assert idx.probe("ann", since=19_000).num_rows == 7
    assert idx.last(5).probe("ann").num_rows == 5


def test_numbers_are_slots_where_slots_are_numbers(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("t", pa.int64())])
    idx = wx.WaveIndex.create(tmp_path / "i", schema, key="k", time="t", slot=1, window=7)
    idx.append(pa.table({"k": ["a"], "t": [1000]}, schema))
    assert idx.probe("a", since=5).num_rows == 1


def test_gaps_among_whole_numbers_are_told_by_their_name(idx: wx.WaveIndex) -> None:
    when = pd.Timestamp("2026-01-11", tz="UTC")
    frame = pd.DataFrame({"user": ["ann", "bob"], "at": [when] * 2, "n": [1, None]})
    with pytest.raises(SchemaMismatch, match=r"1 of its values are missing \(NaN\).*Int64"):
        idx.append(frame)
    frame["n"] = frame["n"].astype("Int64")
    assert idx.append(frame).rows == 2


@pytest.mark.parametrize(
    ("longest", "refresh", "said"),
    [
        ("15 minutes", "2 minutes", "Give 14 minutes or 16 minutes"),
        ("1 minute", "2 minutes", "shorter than a refresh of '2 minutes'. Give at least 2 minutes"),
    ],
)
def test_lengths_that_would_fit_are_offered(
    tmp_path: Path, longest: str, refresh: str, said: str
) -> None:
    schema = pa.schema([*SCHEMA, ("until", pa.timestamp("us", "UTC"))])
    with pytest.raises(BadDefinition, match=said):
        wx.LifetimeIndex.create(
            tmp_path / "l", schema, key="user", inserted="at", expires="until",
            max_lifetime=longest, refresh=refresh,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("ATL,1", ("ATL", 1)),
        ("ATL, 1", ("ATL", 1)),
        ('"Albany, NY",1', ("Albany, NY", 1)),
        ('["Albany, NY", 1]', ("Albany, NY", 1)),
        ('"say ""hi""",1', ('say "hi"', 1)),
    ],
)
def test_a_key_of_two_columns_is_typed_as_csv_has_it(
    tmp_path: Path, typed: str, key: tuple[str, int]
) -> None:
    schema = pa.schema([("origin", pa.string()), ("gate", pa.int64()), ("t", pa.int64())])
    idx = wx.WaveIndex.create(
        tmp_path / "i", schema, key=["origin", "gate"], time="t", slot=1, window=3
    )
    parse = idx.definition.spec.key_type.parse
    assert parse(typed) == key
    with pytest.raises(BadKey, match="Give origin,gate with commas between them"):
        parse("ATL")
