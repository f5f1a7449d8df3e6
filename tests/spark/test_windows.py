"""Windows in memory on a stream of Spark: each row once, however often the driver is killed."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import wavedex as wx
from kit.matrix import RUNS_ALL
from kit.spark_processes import Process, processes, python, wait_until
from kit.spark_rows import SCHEMA, Source, create, rows, scanned
from wavedex import spark as wxs
from wavedex.errors import BadDefinition
from wavedex.online import Window
from wavedex.testing.oracle import same_rows

KILLS = 12 if RUNS_ALL else 2
SEED = 20260301
SETTINGS: dict[str, Any] = {"span": 30, "basic": 10, "time": "t", "delay": 10, "ring": ["k"]}


def run(spark, source: Source, folder: Path, each: Any) -> None:
    writer = source.stream(spark).writeStream.foreachBatch(each)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def as_pushed(batches: list[pa.Table], schema: pa.Schema = SCHEMA) -> Window:
    window = Window(schema, **SETTINGS)
    for batch in batches:
        window.push(batch.select(schema.names))
    return window


def test_a_stream_is_pushed_and_a_batch_that_comes_again_is_not(spark, tmp_path):
    source, window = Source(tmp_path / "source"), Window(SCHEMA, **SETTINGS)
    batches = [rows(0), rows(1, 2), rows(), rows(3, 5)]
    for batch in batches[:3]:
        source.send(batch)
    run(spark, source, tmp_path, window.sink())
    # As if it had been cut off after the window and before Spark noted it.
    (tmp_path / "checkpoint" / "commits" / "2").unlink()
    (tmp_path / "checkpoint" / "commits" / ".2.crc").unlink(missing_ok=True)
    source.send(batches[3])
    run(spark, source, tmp_path, window.sink())
    whole = as_pushed(batches)
    assert len(window) == 21
    assert same_rows(window.rows().to_pylist(), whole.rows().to_pylist())
    assert window.waiting == whole.waiting == 7
    assert window.streams.position == {"spark": 4}


def test_an_index_and_a_window_have_the_same_rows_and_the_window_its_columns(spark, tmp_path):
    index = create(tmp_path / "i.wx", window=9)
    source, schema = Source(tmp_path / "source"), pa.schema([*SCHEMA][:2])
    window = Window(schema, **SETTINGS)
    batches = [rows(0), rows(1, 2), rows(), rows(3, 5)]
    for batch in batches:
        source.send(batch)
    run(spark, source, tmp_path, wxs.sink(index.path, delay=10, window=window))
    assert same_rows(scanned(index), pa.concat_tables(batches).to_pylist())
    whole = as_pushed(batches, schema)
    assert same_rows(window.rows().to_pylist(), whole.rows().to_pylist())
    again = Window.restore(wx.open(index.path), schema=schema, **SETTINGS)
    assert again.streams.position == window.streams.position
    assert same_rows(again.rows().to_pylist(), whole.rows().to_pylist())
    assert again.waiting == whole.waiting


def test_what_a_window_lacks_is_said_before_the_index_has_the_batch(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    source = Source(tmp_path / "source")
    source.send(rows(1))
    window = Window(SCHEMA.append(pa.field("more", pa.int64())), **SETTINGS)
    with pytest.raises(StreamingQueryException, match="MissingColumn: The batch lacks 'more'"):
        run(spark, source, tmp_path, wxs.sink(index.path, delay=10, window=window))
    assert not index.manifest.sources.streams
    with pytest.raises(BadDefinition, match="does not go with apply_by="):
        wxs.sink(index.path, window=window, apply_by="op")


DRIVER = """
import json
import os
import sys

report_to = os.dup(1)  # which Java does not inherit
os.dup2(2, 1)

import wavedex as wx
from wavedex import spark as wxs
from wavedex.online import Window

base, settings = sys.argv[1], json.loads(sys.argv[2])
window = Window.restore(wx.open(f"{base}/i.wx"), **settings)
spark = wxs.session("local[2]", conf={"spark.driver.memory": "1g"})
source = spark.readStream.schema("k bigint, t bigint, v string").option("maxFilesPerTrigger", 1)
take = wxs.sink(f"{base}/i.wx", delay=10, window=window)


def each(frame, number):
    take(frame, number)
    said = {"number": number, "rows": window.rows().to_pylist(), "waiting": window.waiting}
    os.write(report_to, json.dumps(said).encode() + b"\\n")


query = (
    source.parquet(f"{base}/source")
    .writeStream.foreachBatch(each)
    .option("checkpointLocation", f"{base}/checkpoint")
    .trigger(processingTime="0 seconds")
    .start()
)
query.awaitTermination()
"""


def test_a_driver_that_is_killed_again_and_again_has_each_row_once_in_the_end(tmp_path):
    create(tmp_path / "i.wx", window=9)
    source, draw = Source(tmp_path / "source"), random.Random(SEED)
    sent: list[pa.Table] = []

    def send(count: int) -> None:
        for _ in range(count):
            slot = len(sent) // 2
            sent.append(rows(*{slot, max(slot - draw.randrange(2), 0)}, keys=draw.randrange(1, 7)))
            source.send(sent[-1])

    with processes(tmp_path) as start:

        def driver() -> Process:
            return start(python(DRIVER, tmp_path, json.dumps(SETTINGS)))

        for _ in range(KILLS):
            running = driver()
            send(draw.randrange(2, 5))
            count = draw.randrange(1, 3)
            wait_until(lambda r=running, n=count: len(r.lines) >= n, "a batch", running)
            time.sleep(draw.random() / 3)
            running.kill()
            running.clear()
        send(3)
        running = driver()
        whole = as_pushed(sent)
        # A batch may have two files: Spark notes a file before it notes the batch.
        newest, waiting = bag(whole.rows().to_pylist()), whole.waiting

        def has_all() -> bool:
            said = json.loads(running.lines[-1]) if running.lines else {"rows": [], "waiting": 0}
            return bag(said["rows"]) == newest and said["waiting"] == waiting

        wait_until(has_all, "the last batch", running)
        said = json.loads(running.lines[-1])
        running.kill()
        running.clear()
    assert bag(said["rows"]) == newest
    assert said["waiting"] == whole.waiting
    assert len(whole) > 10
    index = wx.open(tmp_path / "i.wx")
    index.verify()
    assert same_rows(scanned(index), scanned_of(sent, index))


def bag(found: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in found)


def scanned_of(sent: list[pa.Table], index: wx.WaveIndex) -> list[dict[str, Any]]:
    """The rows of all batches whose slots the index has."""
    slots = set(index.slots)
    return [row for row in pa.concat_tables(sent).to_pylist() if row["t"] // 10 in slots]
