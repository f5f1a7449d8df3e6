"""Times without a zone in frames and options are local to the zone of the index.

That holds whatever zone the session has.
"""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import spark as wxs

ZONE = "America/New_York"
TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("k", pa.string()), ("at", TIME), ("over", TIME)])


@pytest.fixture
def abroad(spark):
    """The session with a zone that is neither that of the index nor UTC."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def frame_of(spark, *hours):
    """Rows with times without a zone."""
    rows = ", ".join(
        f"('a', timestamp_ntz'2026-06-10 {hour:02}:00:00', "
        f"timestamp_ntz'2026-06-11 {hour:02}:00:00')"
        for hour in hours
    )
    return spark.sql(f"select * from values {rows} as rows(k, at, over)")


def hours_of(frame):
    found = frame.select("at").toArrow().column("at").cast(TIME).to_pylist()
    return sorted(each.astimezone(ZoneInfo(ZONE)).hour for each in found)


def local(hour):
    return dt.datetime(2026, 6, 10, hour)


def test_a_wave_index_reads_them_so(abroad, tmp_path):
    path = str(tmp_path / "x")
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="at", slot="1 hour", window=24, indexes=2, zone=ZONE
    )
    index.append(frame_of(abroad, 9, 10))
    frame_of(abroad, 11).write.format("wavedex").mode("append").save(path)
    reader = abroad.read.format("wavedex")
    assert hours_of(reader.load(path)) == [9, 10, 11]
    assert hours_of(reader.option("since", "2026-06-10T10:00").load(path)) == [10, 11]
    until = abroad.read.format("wavedex").option("until", "2026-06-10T10:00")
    assert hours_of(until.load(path)) == [9, 10]
    keys = abroad.createDataFrame([("a",)], "k string")
    assert hours_of(wxs.probe(path, keys, since=local(10), until=local(10))) == [10]


def test_a_lifetime_index_reads_them_so(abroad, tmp_path):
    path = str(tmp_path / "x")
    life = wx.LifetimeIndex.create(
        path, SCHEMA, key="k", inserted="at", expires="over", max_lifetime="2 days",
        refresh="1 hour", zone=ZONE,
    )  # fmt: skip
    life.update(local(10), frame_of(abroad, 9, 10))
    writer = frame_of(abroad, 11).write.format("wavedex").mode("append")
    writer.option("now", "2026-06-10T12:00").save(path)
    assert life.describe()["now_at"] == "2026-06-10T16:00+00:00"
    assert hours_of(abroad.read.format("wavedex").load(path)) == [9, 10, 11]
    since = abroad.read.format("wavedex").option("since", "2026-06-10T10:00")
    assert hours_of(since.load(path)) == [10, 11]
    keys = abroad.createDataFrame([("a",)], "k string")
    assert hours_of(wxs.probe(path, keys, until=local(10))) == [9, 10]
    life.update("2026-06-11T09:30")
    assert hours_of(abroad.read.format("wavedex").load(path)) == [10, 11]
