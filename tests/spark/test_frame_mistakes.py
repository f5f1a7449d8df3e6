"""What a data frame can have wrong.

Each is said by name on the driver, and the index is as it was.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark.sql.functions as sf
import pytest

import wavedex as wx
from kit.spark_rows import SCHEMA, create, frame_of, rows, state, unnamed
from wavedex import spark as wxs
from wavedex.errors import (
    BadTime,
    ConcurrentWrite,
    Damaged,
    DiskFailed,
    GapTooLarge,
    MissingColumn,
    NotAnIndex,
    NullTimes,
    OutsideWindow,
    PreparationOwed,
    SchemaMismatch,
    SlotBackwards,
    SlotConflict,
    SparkFailed,
    WavedexError,
)
from wavedex.files.names import LOCK


@pytest.fixture
def index(tmp_path: Path) -> wx.WaveIndex:
    made = create(tmp_path / "kept.wx")
    made.append(rows(1, 2, 3, 4, 5, 6))
    return made


@contextlib.contextmanager
def refused(
    index: wx.WaveIndex, kind: type[WavedexError], match: str | None = None
) -> Iterator[None]:
    """Raises that error, and leaves the index and its folder as they were."""
    before, lying = state(index), unnamed(index)
    with pytest.raises(kind, match=match) as caught:
        yield
    assert type(caught.value) is kind
    assert state(index) == before
    assert unnamed(index) == lying
    index.verify()


def test_columns_that_do_not_fit(spark, index):
    frame = frame_of(spark, rows(7))
    with refused(index, MissingColumn, "lacks 'v'.*has k, t"):
        index.append(frame.drop("v"))
    with refused(index, SchemaMismatch, "no column 'w'"):
        index.append(frame.withColumn("w", sf.lit(1)))
    with refused(index, SchemaMismatch, "'v' is of type int"):
        index.append(frame.withColumn("v", sf.lit(1)))
    with refused(index, SchemaMismatch, "'t' is of type timestamp"):
        index.append(frame.withColumn("t", sf.current_timestamp()))
    with refused(index, SchemaMismatch, "'k' is of type list"):
        index.append(frame.withColumn("k", sf.array(sf.array("k"))))
    with refused(index, SchemaMismatch, "'k' twice"):
        index.append(frame.select("k", "k", "t", "v"))
    with refused(index, MissingColumn):
        index.amend(frame.drop("t"))


def test_a_type_that_arrow_does_not_have(spark, index):
    frame = frame_of(spark, rows(7)).withColumn("v", sf.expr("make_interval(1, 2)"))
    with refused(index, SchemaMismatch, "'v'"):
        index.append(frame)


def test_rows_that_do_not_fit(spark, index):
    frame = frame_of(spark, rows(7))
    with refused(index, NullTimes):
        index.append(frame.withColumn("t", sf.expr("if(k = 3, null, t)")))
    with refused(index, OutsideWindow, "older than the window"):
        index.append(frame.union(frame_of(spark, rows(1))))
    with refused(index, SlotConflict):
        index.append(frame_of(spark, rows(6, keys=3)))
    with refused(index, GapTooLarge):
        index.append(frame.withColumn("t", sf.col("t") + 10_000))
    with refused(index, OutsideWindow, "not arrived yet"):
        index.amend(frame)
    with refused(index, OutsideWindow, "older than the window"):
        index.amend(frame_of(spark, rows(1)))
    with refused(index, BadTime, "of slot 7"):
        index.append(frame, slot=8)
    with refused(index, BadTime):
        index.append(frame, slot="no slot")


def test_a_slot_that_was_passed_is_no_new_one(spark, tmp_path):
    index = create(tmp_path / "gap.wx")
    index.append(rows(1, 3))
    with refused(index, SlotBackwards):
        index.append(frame_of(spark, rows(2)))


def test_an_index_without_a_time_column_wants_a_slot(spark, tmp_path):
    index = create(tmp_path / "i.wx", SCHEMA.remove(1), time=None, slot=None)
    with refused(index, BadTime, "slot=N"):
        index.append(frame_of(spark, rows(1).select(["k", "v"])))


def test_a_path_without_an_index(spark, tmp_path):
    with pytest.raises(NotAnIndex):
        wxs.append(tmp_path / "nothing.wx", frame_of(spark, rows(1)))
    assert not (tmp_path / "nothing.wx").exists()


def test_tasks_that_fail_are_told_with_the_reason_below_the_traces(spark, index):
    frame = frame_of(spark, rows(7))
    broken = frame.withColumn("v", sf.when(frame.k == 3, sf.raise_error(sf.lit("no third key"))))
    with refused(index, SparkFailed, "no third key"):
        index.append(broken)
    with refused(index, SparkFailed, "no third key"):
        index.amend(broken)
    divided = sf.udf(lambda key: str(1 // (key - 3)), "string")
    with refused(index, SparkFailed, "ZeroDivisionError"):
        index.append(frame.withColumn("v", divided("k")))
    with pytest.raises(SparkFailed) as caught:
        index.append(broken)
    assert "\tat " not in str(caught.value)


def test_a_source_that_is_gone_when_the_rows_are_wanted(spark, index, tmp_path):
    frame_of(spark, rows(7)).write.parquet(str(tmp_path / "source"))
    frame = spark.read.parquet(str(tmp_path / "source"))
    shutil.rmtree(tmp_path / "source")
    with refused(index, SparkFailed, "exist"):
        index.append(frame)


def test_a_stream_is_no_batch(spark, index):
    stream = spark.readStream.format("rate").load()
    frame = stream.selectExpr("value as k", "value as t", "'' as v")
    with refused(index, SparkFailed, "writeStream"):
        index.append(frame)


def test_another_writer_is_at_work(spark, index):
    before = state(index)
    with (
        index.storage.lock(LOCK),
        pytest.raises(ConcurrentWrite, match="Try again when it has finished"),
    ):
        index.append(frame_of(spark, rows(7)))
    assert state(index) == before
    assert index.append(frame_of(spark, rows(7))).slots == [7]


def test_a_disk_that_refuses_is_named_by_the_task_that_met_it(spark, index):
    data = Path(index.path, "data")
    elsewhere = data.with_name("away")
    data.rename(elsewhere)
    try:
        with pytest.raises(DiskFailed, match=r"Cannot write .*\.arrow"):
            index.append(frame_of(spark, rows(7)))
    finally:
        elsewhere.rename(data)
    index.verify()


@pytest.mark.parametrize("update", ["packed-shadow", "runs"])
@pytest.mark.parametrize("damage", ["missing", "cut off"])
def test_a_damaged_file_is_named_as_it_is_here(spark, tmp_path, update, damage):
    """Old rows are read by the tasks that carry the plan out."""
    index = create(tmp_path / "i.wx", scheme="del", update=update)
    index.append(rows(1, 2, 3, 4, 5))
    for path in Path(index.path, "data").glob("*.arrow"):
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(b"cut off")
    kind = Damaged if update == "packed-shadow" else PreparationOwed
    said = r"\.arrow is missing" if damage == "missing" else r"\.arrow has 7 bytes, not \d+"
    with pytest.raises(kind, match=said) as caught:
        wxs.append(index.path, frame_of(spark, rows(6)))
    assert "Traceback" not in str(caught.value)
    assert str(caught.value).count("is damaged") == 1


def test_after_any_mistake_the_right_rows_still_enter(spark, index, tmp_path):
    frame = frame_of(spark, rows(7))
    for wrong in (frame.drop("v"), frame.withColumn("t", sf.lit(None).cast("bigint"))):
        with pytest.raises(WavedexError):
            index.append(wrong)
    plain = create(tmp_path / "plain.wx")
    for batch in (rows(1, 2, 3, 4, 5, 6), rows(7)):
        plain.append(batch)
    index.append(frame)
    assert state(index)[1:] == state(plain)[1:]
    index.vacuum()
    assert not unnamed(index)


def test_a_frame_is_not_mistaken_for_a_table_of_another_kind(spark, index):
    assert isinstance(frame_of(spark, rows(7)).toArrow(), pa.Table)
    with refused(index, SchemaMismatch, "Cannot read a Column"):
        index.feed(sf.col("k"), stream="s", number=0, delay=0)
