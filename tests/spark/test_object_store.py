"""Executors read and write an index on an object store, each with a client of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

import wavedex as wx
from kit.paths import KIT
from wavedex import spark as wxs

SERVER = KIT / "s3_server.py"
SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64())])


@pytest.fixture
def bucket() -> Iterator[str]:
    """A URI with a place for the name of an index.

    Executors take the options from it, and no keys: they are anonymous.
    """
    with subprocess.Popen(
        [sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        endpoint = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        yield f"s3://bucket/{{}}?endpoint_override={endpoint}&region=us-east-1&anonymous=true"
        server.terminate()


def test_spark_writes_and_reads_an_index_on_an_object_store(spark, bucket):
    address = bucket.format("spark.wx")
    wx.WaveIndex.create(address, SCHEMA, key="k", time="t", slot=10, window=5, shards=2)

    def frame(slot: int):
        return spark.createDataFrame(
            [(f"key {n}", slot * 10 + n) for n in range(5)], "k string, t long"
        )

    assert wxs.append(address, frame(1)).slots == [1]
    frame(2).write.format("wavedex").option("path", address).mode("append").save()
    index = wx.open(address)
    index.verify()
    assert sorted(index.probe("key 3")["t"].to_pylist()) == [13, 23]
    read = spark.read.format("wavedex").option("path", address).load()
    assert sorted(row.t for row in read.collect()) == [*range(10, 15), *range(20, 25)]
