"""The demo runs, and says what the flights say."""

from __future__ import annotations

import runpy

import pytest

import wavedex as wx
from kit.paths import ROOT

DEMO = ROOT / "demo" / "flights.py"


@pytest.fixture(scope="module")
def demo():
    return runpy.run_path(str(DEMO))


def test_the_demo_indexes_forty_days_through_spark_and_every_answer_is_right(demo, tmp_path, capfd):
    demo["main"](["--days", "40", "--folder", str(tmp_path)])
    said = capfd.readouterr()
    assert "34,701 flights" in said.out
    assert "498 without a tail number were skipped" in said.out
    assert "Spark SQL" in said.out
    assert "batch 6 of 6: 4,343 rows read, 4,005 kept (338 without a key)" in said.err
    assert "; 34,203 kept in all, " in said.err
    path = tmp_path / "flights.wx"
    assert f"wavedex verify {path}" in said.out
    idx = wx.open(path)
    assert idx.probe("N14228").num_rows == 13
    assert idx.scan().read_all().num_rows == 25_384
    assert len(idx.slots) == 30


def test_the_flights_are_those_of_2013(demo):
    flights = demo["read_flights"]()
    assert flights.num_rows == 336_776
    assert flights["tailnum"].null_count == 2_512
    assert str(flights["departs"][0]) == "2013-01-01 05:15:00"
    days = demo["split_days"](flights, 365)
    assert sum(day.num_rows for day in days) == flights.num_rows


def test_the_demo_replaces_only_an_index_of_an_earlier_run(demo, tmp_path):
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(SystemExit, match="not an index"):
        demo["clear"](tmp_path)
    assert (tmp_path / "letters.txt").read_text() == "mine"


def test_a_wrong_answer_stops_the_demo(demo):
    flights = demo["read_flights"]().slice(0, 10)
    answers = demo["Answers"]()
    with pytest.raises(SystemExit, match="index has 9 rows, the CSV 10"):
        answers.ask("some", lambda: flights.slice(0, 9), flights)
