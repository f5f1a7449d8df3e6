"""Spark's tasks write sub-indexes into packages as they write files of ours.

Into SQLite, and into PostgreSQL.
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import wavedex as wx
from kit.postgresql_server import Server, missing
from wavedex import spark as wxs
from wavedex.engine.techniques import TECHNIQUES

SCHEMA = pa.schema([("who", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])


@pytest.fixture(scope="module")
def server():
    if missing():
        pytest.skip(missing())
    started = Server()
    yield started
    started.remove()


def check_frames(spark, path, server="", **how) -> None:
    index = wx.WaveIndex.create(path, SCHEMA, key="who", time="at", window=3, indexes=2, **how)

    def frame(day: int):
        return spark.sql(
            f"select concat('w', id % 7) who, timestamp'2026-01-0{day}' at, id n from range(50)"
        )

    for day in (1, 2, 3):
        wxs.append(index, frame(day))
    for day in (4, 5):
        writing = frame(day).write.format("wavedex").mode("append")
        writing.option("server", server).save(index.path)
    index = wx.open(index.path)
    index.verify()
    assert index.probe("w3").num_rows == 3 * 7
    assert sorted(index.scan().read_all()["n"].to_pylist()) == sorted([*range(50)] * 3)
    reading = spark.read.format("wavedex").option("server", server).load(index.path)
    assert reading.where("who = 'w3'").count() == 21
    index.vacuum()
    index.verify()


@pytest.mark.parametrize("update", TECHNIQUES)
def test_frames_go_into_sqlite(spark, tmp_path, update):
    check_frames(spark, tmp_path / "x.wx", update=update, format="sqlite")


@pytest.mark.parametrize("update", ["in-place", "runs"])
def test_frames_go_into_postgresql(spark, tmp_path, server, update):
    check_frames(spark, tmp_path / "x.wx", server.uri, update=update, format=server.uri)


def test_the_source_connects_to_no_server_that_nobody_asked_for(spark, tmp_path, server):
    # Under another name than the one by which others have asked for it in this session.
    unasked = f"{server.uri}&connect_timeout=30"
    index = wx.WaveIndex.create(
        tmp_path / "x.wx", SCHEMA, key="who", time="at", window=3, format=unasked
    )
    index.append(
        pa.Table.from_pylist([{"who": "a", "at": dt.datetime(2026, 1, 1), "n": 1}], SCHEMA)
    )
    with pytest.raises(Exception, match="WAVEDEX_SERVERS"):
        spark.read.format("wavedex").load(index.path).count()
