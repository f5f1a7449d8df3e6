"""Lengths of time as people type them, for slots and for windows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadDefinition, BadTime
from wavedex.slots import duration_ns, slotting
from wavedex.slots.widths import UNITS, Width, read_width

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.timestamp("us", "UTC")), ("n", pa.int64())])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("1d", Width(1, "day")),
        ("15m", Width(15, "minute")),
        ("15min", Width(15, "minute")),
        ("2 mins", Width(2, "minute")),
        ("3mo", Width(3, "month")),
        ("6 H", Width(6, "hour")),
        ("2hrs", Width(2, "hour")),
        ("30s", Width(30, "second")),
        ("1 w", Width(1, "week")),
        ("1q", Width(1, "quarter")),
        ("2y", Width(2, "year")),
        ("Month", Width(1, "month")),
        (" 4 weeks ", Width(4, "week")),
        (dt.timedelta(days=7), Width(7, "day")),
        (dt.timedelta(hours=36), Width(36, "hour")),
        (dt.timedelta(minutes=90), Width(90, "minute")),
        (dt.timedelta(seconds=61), Width(61, "second")),
    ],
)
def test_a_length_is_read_as_people_type_it(said: Any, meant: Width) -> None:
    assert read_width(said) == meant
    assert read_width(str(meant)) == meant


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_read_alone_and_in_the_plural(unit: str) -> None:
    assert read_width(unit) == Width(1, unit)
    assert read_width(f"12 {unit}s") == Width(12, unit)


@pytest.mark.parametrize(
    "said", ["", "1", "d1", "1.5 days", "-1 day", "1 ds", "soon", 2, None, dt.timedelta(days=-1)]
)
def test_what_is_no_length_is_none(said: Any) -> None:
    assert read_width(said) is None


@pytest.mark.parametrize(
    ("slot", "same"),
    [("1d", "1 day"), (dt.timedelta(days=1), "day"), (dt.timedelta(minutes=15), "15 minutes")],
)
def test_slots_are_the_same_however_their_length_is_said(slot: Any, same: str) -> None:
    for zone in ("UTC", "America/New_York"):
        kind = pa.timestamp("us", "UTC")
        assert slotting(kind, slot, zone) == slotting(kind, same, zone)


@pytest.mark.parametrize("slot", [dt.timedelta(0), dt.timedelta(milliseconds=1), "0 days", "1 ds"])
def test_a_slot_is_a_whole_number_of_seconds(slot: Any) -> None:
    with pytest.raises(BadDefinition, match="Cannot read slot="):
        slotting(pa.timestamp("us"), slot)


def test_a_duration_is_no_month() -> None:
    assert duration_ns("10m") == 600 * 10**9
    with pytest.raises(BadTime, match="as a duration"):
        duration_ns("1mo")


@pytest.mark.parametrize(
    ("slot", "window", "slots"),
    [
        ("1 day", "30 days", 30),
        ("1 day", "2 weeks", 14),
        ("6h", "30d", 120),
        ("15 minutes", dt.timedelta(days=1), 96),
        ("month", "1 year", 12),
        ("quarter", "2y", 8),
        ("1 week", "28 days", 4),
        ("1 day", 30, 30),
        ("2 days", "15", 15),
    ],
)
def test_a_window_is_said_in_slots_or_in_time(
    tmp_path: Path, slot: str, window: Any, slots: int
) -> None:
    idx = wx.WaveIndex.create(tmp_path / "i", SCHEMA, key="k", time="t", slot=slot, window=window)
    assert idx.definition.window == slots
    idx.migrate(window=window)
    assert idx.definition.window == slots


@pytest.mark.parametrize(
    ("slot", "window", "said"),
    [
        ("1 week", "10 days", "Give 1 week or 2 weeks, or the number of slots"),
        ("1 day", "1 hour", "Give 1 day, or the number of slots"),
        ("1 day", "1 month", "not always the same number of slots of 1 day"),
        ("month", "30 days", "not always the same number of slots of 1 month"),
        ("1 day", "soon", "give a number of slots, or a length of time such as '30 days'"),
        ("1 day", "0 days", "window=0 is not a whole number of at least 1"),
    ],
)
def test_a_window_that_is_no_number_of_slots_is_refused(
    tmp_path: Path, slot: str, window: Any, said: str
) -> None:
    with pytest.raises(BadDefinition, match=said):
        wx.WaveIndex.create(tmp_path / "i", SCHEMA, key="k", time="t", slot=slot, window=window)
    assert not (tmp_path / "i").exists()


def test_slots_of_numbers_have_no_window_in_time(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match="the slots of this index are numbers"):
        wx.WaveIndex.create(tmp_path / "i", SCHEMA, key="k", time="n", slot=1, window="30 days")
    with pytest.raises(BadDefinition, match="Cannot read window='five': give a number of slots"):
        wx.WaveIndex.create(tmp_path / "i", SCHEMA, key="k", time="n", slot=1, window="five")


def test_refreshes_are_said_the_same_way(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, ("until", pa.timestamp("us", "UTC"))])
    for number, (refresh, longest) in enumerate(
        [("2m", "16m"), (dt.timedelta(minutes=2), dt.timedelta(minutes=16))]
    ):
        life = wx.LifetimeIndex.create(
            tmp_path / f"{number}",
            schema,
            key="k",
            inserted="t",
            expires="until",
            refresh=refresh,
            max_lifetime=longest,
        )
        assert life.definition.window == 8
