"""What is told of commits: a line in the log, and calls for metrics."""

from __future__ import annotations

import datetime as dt
import logging
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.timestamp("us", "UTC"))])


def rows(*days: int) -> pa.Table:
    times = [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in days]
    return pa.table({"user": ["ann"] * len(days), "at": times}, SCHEMA)


def create(path: Path, **options: object) -> wx.WaveIndex:
    return wx.WaveIndex.create(path, SCHEMA, key="user", time="at", window=3, **options)


def test_every_commit_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[wx.Committed] = []
    stop = wx.observe(seen.append)
    idx = create(tmp_path / "i.wx", nulls="skip")
    with caplog.at_level(logging.INFO, "wavedex"):
        for day in range(1, 6):
            idx.append(rows(day))
        idx.erase(["ann"])
    stop()
    idx.append(rows(6))
    appends = [each for each in seen if each.operation == "append"]
    assert [each.rows for each in appends] == [1] * 5
    assert appends[-1].newest == "2026-01-05"
    assert appends[-1].left == ("2026-01-02",)
    assert appends[-1].path == idx.path
    assert seen[-1].operation == "erase"
    assert all(each.bytes > 0 and each.seconds > 0 for each in appends)
    assert [each.commit for each in seen] == sorted({each.commit for each in seen})
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [str(each) for each in seen]
    assert any("append of 2026-01-05" in line and "2026-01-02 left" in line for line in lines)


def test_what_was_left_out_is_told(tmp_path: Path) -> None:
    seen: list[wx.Committed] = []
    stop = wx.observe(seen.append)
    idx = create(tmp_path / "i.wx", nulls="skip", late="drop")
    idx.append(rows(1, 2, 3, 4))
    table = pa.concat_tables([rows(1, 5), pa.table({"user": [None], "at": rows(5)["at"]}, SCHEMA)])
    idx.append(table)
    stop()
    last = next(each for each in reversed(seen) if each.operation == "append")
    assert (last.rows, last.late, last.null_keys) == (1, 1, 1)
    assert "1 too late, 1 without a key" in str(last)


def test_an_observer_that_fails_disturbs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: wx.Committed) -> None:
        raise RuntimeError("no metrics today")

    seen: list[wx.Committed] = []
    stops = [wx.observe(fail), wx.observe(seen.append)]
    idx = create(tmp_path / "i.wx")
    assert idx.append(rows(1)).rows == 1
    for stop in stops:
        stop()
        stop()  # Twice does no harm.
    assert seen
    assert "no metrics today" in caplog.text


def test_a_commit_that_cannot_be_told_of_is_in_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stop = wx.observe(lambda event: None)
    idx = create(tmp_path / "i.wx")
    monkeypatch.setattr("wavedex.index.core.writer.Committed", lambda **_: 1 / 0)
    assert idx.append(rows(1)).rows == 1
    stop()
    assert "ZeroDivisionError" in caplog.text
    assert len(idx) == 1


def test_instants_are_described_as_dates(tmp_path: Path) -> None:
    idx = create(tmp_path / "i.wx")
    idx.feed(rows(1, 2), stream="s", number=0, delay="1 hour")
    told = idx.describe()
    assert told["watermarks"] == {"s": "2026-01-01T23:00+00:00"}
    assert told["streams"]["s"]["watermark"] == 1767308400000000
