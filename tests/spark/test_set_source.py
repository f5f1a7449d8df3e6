"""A set over time through the data source: as of a time, all lifespans, and events written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from wavedex.errors import BadDefinition, BadTime, CommitGone, MissingColumn, SchemaMismatch
from wavedex.files.names import LOG
from wavedex.spark.source.data_source import WavedexSource
from wavedex.spark.source.set_reader import SetReader
from wavedex.temporal import TemporalSet

NAMES = ["oid", "time", "op", "city", "small"]
TOLD = [
    ("ann", dt.date(2013, 3, 1), 1, "Oslo", 1),
    ("bob", dt.date(2013, 3, 2), 1, "Rome", 2),
    ("ann", dt.date(2013, 3, 4), -1, None, None),
    ("ann", dt.date(2013, 3, 4), 1, "Bonn", 3),
]
SCHEMA = pa.schema(
    [
        ("oid", pa.string()),
        ("time", pa.date32()),
        ("op", pa.int8()),
        ("city", pa.dictionary(pa.int8(), pa.string())),
        ("small", pa.uint16()),
    ]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = TemporalSet.create(tmp_path / "members.wxt")
    found.load(pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in TOLD], SCHEMA))
    found.commit()
    return tmp_path / "members.wxt"


def read(path: Path, **options: str) -> list[dict[str, object]]:
    """What the source reads, without Spark."""
    source = WavedexSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    batches = [batch for piece in reader.partitions() for batch in reader.read(piece)]
    return sorted((row for batch in batches for row in batch.to_pylist()), key=str)


def test_a_set_as_of_a_time_and_all_lifespans(spark, path):
    at = spark.read.format("wavedex").option("At", "2013-03-03").load(str(path))
    assert at.dtypes == [("oid", "string"), ("city", "string"), ("small", "int")]
    assert at.where("city = 'Rome'").collect() == [("bob", "Rome", 2)]
    assert read(path, at="2013-03-03") == [
        {"oid": "ann", "city": "Oslo", "small": 1},
        {"oid": "bob", "city": "Rome", "small": 2},
    ]
    assert read(path, at="2013-02-28") == []
    assert read(path, at="2013-03-05", columns="small, oid") == [
        {"small": 2, "oid": "bob"},
        {"small": 3, "oid": "ann"},
    ]
    first, second, last = (dt.date(2013, 3, day) for day in (1, 2, 4))
    assert read(path) == [
        {"oid": "ann", "start": first, "end": last, "city": "Oslo", "small": 1},
        {"oid": "ann", "start": last, "end": None, "city": "Bonn", "small": 3},
        {"oid": "bob", "start": second, "end": None, "city": "Rome", "small": 2},
    ]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"att": "5"}, BadDefinition, "'att' for reading a set over time. Did you mean 'at'?"),
        ({"key": "ann"}, BadDefinition, "There are path, at, columns."),
        ({"changes": "true"}, BadDefinition, "'changes' for reading a set over time"),
        ({"at": "soon"}, BadTime, "'soon' is no time of this set"),
        ({"columns": "oid, town"}, MissingColumn, "'town' in what is read of the set. There are"),
        ({"columns": "start", "at": "2013-03-03"}, MissingColumn, "'start'"),
    ],
)
def test_options_that_do_not_fit_a_set_are_named(path, options, error, said):
    with pytest.raises(error) as caught:
        WavedexSource({"path": str(path), **options}).schema()
    assert said in str(caught.value)


def test_what_cannot_be_had_of_a_set(path, tmp_path):
    TemporalSet.create(tmp_path / "new.wxt")
    with pytest.raises(SchemaMismatch, match="no events yet"):
        WavedexSource({"path": str(tmp_path / "new.wxt")}).schema()
    source = WavedexSource({"path": str(path)})
    with pytest.raises(BadDefinition, match="no stream from a set"):
        source.streamReader(source.schema())
    with pytest.raises(BadDefinition, match="only appended to"):
        source.writer(source.schema(), True)


def test_a_frame_stays_at_its_commit(spark, path):
    frame = spark.read.format("wavedex").load(str(path))
    found = TemporalSet.open(path)
    for number in range(5):
        found.add(f"new {number}", dt.date(2013, 4, 1), {"city": None, "small": None})
        found.commit()
    assert frame.count() == 3
    assert len(read(path)) == 8
    found.erase(["bob"])
    with pytest.raises(PySparkException, match=r"CommitGone: Commit 1 of .*unless ids were erased"):
        frame.collect()


def test_without_a_lease_a_commit_may_be_gone(path):
    source = WavedexSource({"path": str(path)})
    schema = source.schema()
    reader = source.reader(schema)
    assert isinstance(reader, SetReader)
    [piece] = reader.partitions()
    for lease in (path / LOG).glob("*.lease"):
        lease.unlink()
    found = TemporalSet.open(path)
    assert sum(batch.num_rows for batch in reader.read(piece)) == 3
    for number in range(3):
        found.add(f"new {number}", dt.date(2013, 4, 1))
        found.commit()
    with pytest.raises(CommitGone, match="Load the frame again"):
        next(iter(reader.read(piece)))


def test_events_are_written_in_any_order(spark, path):
    rows = [
        {"who": "cid", "day": dt.date(2013, 5, 1 + place), "sign": 1 - 2 * (place % 2)}
        for place in reversed(range(9))
    ]
    frame = spark.createDataFrame(rows).selectExpr("*", "'Ulm' as city", "1 as small")
    writer = frame.repartition(3).write.format("wavedex").mode("append")
    writer.options(oid="who", time="day", op="sign").save(str(path))
    found = TemporalSet.open(path)
    assert [each["start"].day for each in found.lifespans("cid").to_pylist()] == [1, 3, 5, 7, 9]
    with pytest.raises(PySparkException, match="TimeBackwards: An event is from 2013-05-01"):
        writer.save(str(path))
    assert found.refresh() == 2
    assert not [*(path / "staged").iterdir()]
    for options, error, said in [
        ({"key": "who"}, BadDefinition, "no option 'key' for writing to a set over time"),
        ({"Oid": "who", "time": "day"}, MissingColumn, "Events have a column 'op'"),
    ]:
        with pytest.raises(error, match=said):
            WavedexSource({"path": str(path), **options}).writer(frame.schema, False)
