"""Spark's tasks write sub-indexes into packages as they write files of ours: into SQLite, and into PostgreSQL."""

from __future__ import annotations

import pyarrow as pa
import pytest
from postgresql_server import Server, missing

import wavedex as wx
from wavedex import spark as wxs
from wavedex.engine.technique import TECHNIQUES

SCHEMA = pa.schema([("who", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])


@pytest.fixture(scope="module")
def server():
    if missing():
        pytest.skip(missing())
    started = Server()
    yield started
    started.remove()


def check_frames(spark, path, **how) -> None:
    index = wx.WaveIndex.create(path, SCHEMA, key="who", time="at", window=3, indexes=2, **how)

    def frame(day: int):
        return spark.sql(
            f"select concat('w', id % 7) who, timestamp'2026-01-0{day}' at, id n from range(50)"
        )

    for day in (1, 2, 3):
        wxs.append(index, frame(day))
    for day in (4, 5):
        frame(day).write.format("wavedex").mode("append").save(index.path)
    index = wx.open(index.path)
    index.verify()
    assert index.probe("w3").num_rows == 3 * 7
    assert sorted(index.scan().read_all()["n"].to_pylist()) == sorted([*range(50)] * 3)
    assert spark.read.format("wavedex").load(index.path).where("who = 'w3'").count() == 21
    index.vacuum()
    index.verify()


@pytest.mark.parametrize("update", TECHNIQUES)
def test_frames_go_into_sqlite(spark, tmp_path, update):
    check_frames(spark, tmp_path / "x.wx", update=update, format="sqlite")


@pytest.mark.parametrize("update", ["in-place", "runs"])
def test_frames_go_into_postgresql(spark, tmp_path, server, update):
    check_frames(spark, tmp_path / "x.wx", update=update, format=server.uri)
