"""An index that is kept in Parquet is read by Spark's own reader and by DuckDB.

They read it from the paths that it gives.
"""

from __future__ import annotations

import datetime as dt

import duckdb
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import spark as wxs
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("who", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])


@pytest.mark.parametrize("update", ["runs", "packed-shadow"])
def test_spark_and_duckdb_read_the_window_from_the_files(spark, tmp_path, update):
    idx = wx.WaveIndex.create(
        tmp_path / "x.wx", SCHEMA, key="who", time="at", window=3, indexes=2, update=update,
        format="parquet",
    )  # fmt: skip
    for day in range(5):
        frame = spark.sql(
            f"select concat('w', id % 7) who, timestamp'2026-01-0{day + 1}' at, id n from range(50)"
        )
        wxs.append(idx, frame)
    idx.verify()
    since = dt.datetime(2026, 1, 4, tzinfo=dt.UTC)
    paths = idx.files(since="2026-01-04")
    expected = idx.scan(since="2026-01-04").read_all().to_pylist()
    assert len(expected) == 100
    plain = spark.read.parquet(*paths).where("at >= timestamp'2026-01-04'")
    assert same_rows(plain.toArrow().to_pylist(), expected)
    with duckdb.connect() as connection:
        found = connection.execute(
            'select who, n from read_parquet($paths) where "at" >= $since',
            {"paths": paths, "since": since},
        )
        rows = found.fetchall()
    assert sorted(rows) == sorted((row["who"], row["n"]) for row in expected)
    assert idx.probe("w3").num_rows == sum(
        row["who"] == "w3" for row in idx.scan().read_all().to_pylist()
    )
    assert spark.read.format("wavedex").load(idx.path).count() == 150
