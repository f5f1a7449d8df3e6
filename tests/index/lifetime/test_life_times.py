"""Instants and spans of time as users of a lifetime index give them, and as they are told."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadTime, FromTheFuture, RefreshBackwards
from wavedex.slots.ends import ends

NUMBERS = pa.schema([("k", pa.string()), ("at", pa.int64()), ("over", pa.int64())])


def numbered(path, **options):
    settings = {"max_lifetime": 16, "refresh": 2, "grid": (2, 2), **options}
    return wx.LifetimeIndex.create(
        path, NUMBERS, key="k", inserted="at", expires="over", **settings
    )


def rows(*some):
    return pa.Table.from_pylist([{"k": "a", "at": at, "over": over} for at, over in some], NUMBERS)


@pytest.mark.parametrize(
    ("kind", "refresh", "instant", "said"),
    [
        (pa.int64(), 2, 17, "17"),
        (pa.int32(), 2, -3, "-3"),
        (pa.timestamp("us", "UTC"), "2 minutes", 1_767_615_780_000_000, "2026-01-05T12:23+00:00"),
        (pa.timestamp("us"), "2 minutes", 1_767_615_780_000_001, "2026-01-05T12:23:00.000001"),
        (pa.timestamp("ns", "UTC"), "1 day", 86_400 * 10**9, "1970-01-02T00:00+00:00"),
        (pa.timestamp("ns"), "1 day", 5, "1970-01-01T00:00:00.000000005"),
        (pa.timestamp("s", "America/New_York"), "1 day", 0, "1970-01-01T00:00+00:00"),
        (pa.timestamp("ms"), "1 week", 86_400_000, "1970-01-02T00:00"),
        (pa.date32(), "1 day", 20_000, "2024-10-04"),
        (pa.date64(), "1 day", 20_000 * 86_400_000, "2024-10-04T00:00"),
    ],
)
def test_an_instant_is_told_so_that_it_can_be_given_again(kind, refresh, instant, said):
    slots = ends(kind, refresh)
    assert slots.moment(instant) == said
    assert slots.instant(said) == instant


@pytest.mark.parametrize(
    ("refresh", "said"), [("2 minutes", "2 minutes"), ("1 day", "1 day"), ("week", "1 week")]
)
def test_the_time_between_refreshes_is_told(refresh, said):
    assert ends(pa.timestamp("us"), refresh).period == said
    assert ends(pa.int64(), 5).period == "5"


@pytest.mark.parametrize("now", ["noon", None, 2.5, True, dt.date(2026, 1, 5), "2026-01-05"])
def test_where_times_are_numbers_now_is_one(now):
    with pytest.raises(BadTime, match="whole number"):
        ends(pa.int64(), 2).instant(now)


@pytest.mark.parametrize("now", [17, "18", "noon", None, 2.5])
def test_where_they_are_not_now_is_none(now):
    with pytest.raises(BadTime, match=r"datetime|a number"):
        ends(pa.timestamp("us"), "1 day").instant(now)


def test_a_number_in_since_and_until_is_an_insertion_time(tmp_path):
    life = numbered(tmp_path / "x")
    life.update(8, rows((3, 10), (4, 11), (5, 12), (8, 13)))
    assert sorted(life.scan(since=4).read_all()["at"].to_pylist()) == [4, 5, 8]
    assert sorted(life.scan(since="4", until=5).read_all()["at"].to_pylist()) == [4, 5]
    assert life.probe("a", until=3)["at"].to_pylist() == [3]
    assert life.slot_number(5) == life.slot_number(6) == 3
    for wrong in (dt.date(2026, 1, 5), dt.datetime(2026, 1, 5)):
        with pytest.raises(BadTime, match="give since and until as numbers"):
            life.scan(since=wrong)
    with pytest.raises(BadTime, match="Cannot read 'soon'"):
        life.scan(until="soon")


def test_what_is_wrong_with_an_instant_is_told_as_people_write_it(tmp_path):
    schema = pa.schema([("k", pa.string()), ("at", pa.date32()), ("over", pa.date32())])
    life = wx.LifetimeIndex.create(
        tmp_path / "x", schema, key="k", inserted="at", expires="over", max_lifetime="8 days",
        refresh="1 day", grid=(2, 2),
    )  # fmt: skip
    first, second = dt.date(2026, 1, 5), dt.date(2026, 1, 6)
    batch = pa.table({"k": ["a"], "at": [second], "over": [dt.date(2026, 1, 9)]}, schema)
    with pytest.raises(FromTheFuture, match=r"inserted at 2026-01-06, .* refresh, 2026-01-05"):
        life.update(first, batch)
    life.update(second, batch)
    with pytest.raises(RefreshBackwards, match="refreshed at 2026-01-06, and 2026-01-05 is"):
        life.update(first)
    assert life.describe()["now_at"] == "2026-01-06"
