"""A stream into a lifetime index whose driver is killed while rows are staged.

The next one goes on, and each row is there once. The driver is killed by a task of its own, in the
middle of the rows of a chosen micro-batch, when the lock is held and nothing of the batch is
committed. The session that tests share goes on from its checkpoint.
"""

from __future__ import annotations

import signal
from pathlib import Path

from pyspark.sql import SparkSession

from kit.spark_lives import Lives, create, lives, table
from kit.spark_processes import DEADLINE_S, processes, python
from kit.spark_rows import Source, scanned, unnamed
from wavedex import spark as wxs
from wavedex.testing.oracle import same_rows

NOWS = [3, 7, 8, 13]
KILLED = 2
"""The micro-batch in which the driver dies."""
DDL = "k bigint, b bigint, e bigint, v string"

DRIVER = """
import os
import signal
import sys

from wavedex import spark as wxs

base, killed, ddl = sys.argv[1:]
spark = wxs.session(
    "local[2]",
    conf={"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"},
)
take = wxs.sink(f"{base}/i.wx")


def deadly(driver):
    def run(batches):
        for batch in batches:
            yield batch
            os.kill(driver, signal.SIGKILL)

    return run


def each(frame, number):
    if number == int(killed):
        frame = frame.mapInArrow(deadly(os.getpid()), frame.schema)
    take(frame, number)


rows = spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1).parquet(f"{base}/source")
query = rows.writeStream.foreachBatch(each).trigger(availableNow=True)
query.option("checkpointLocation", f"{base}/checkpoint").start().awaitTermination()
"""


def finish(spark: SparkSession, base: Path, source: Source) -> None:
    """Go on from the checkpoint of the query until all is read."""
    writer = source.stream(spark, DDL).writeStream.foreachBatch(wxs.sink(base / "i.wx"))
    writer = writer.option("checkpointLocation", str(base / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_a_driver_that_dies_half_way_loses_and_doubles_nothing(spark, tmp_path):
    index = create(tmp_path / "i.wx")
    source = Source(tmp_path / "source")
    oracle, taken = Lives(), Lives()
    for number, now in enumerate(NOWS):
        rows = lives(8, now - 3, now, 9)
        source.send(table(rows))
        oracle.update(now, rows)
        if number < KILLED:
            taken.update(now, rows)
    with processes(tmp_path) as start:
        driver = start(python(DRIVER, tmp_path, KILLED, DDL))
        assert driver.child.wait(DEADLINE_S) == -signal.SIGKILL, driver.story()
        driver.clear()
    index.verify()
    assert same_rows(scanned(index), taken.rows)
    finish(spark, tmp_path, source)
    finish(spark, tmp_path, source)
    assert same_rows(scanned(index), oracle.rows)
    assert [each["batch"] for each in index.describe()["streams"].values()] == [len(NOWS) - 1]
    index.verify()
    index.vacuum()
    assert not unnamed(index)
