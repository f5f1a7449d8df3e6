"""Rows that say what is to be done with them: inserted, retracted or prolonged, from Spark.

Whichever way they come, the index has what the same call without Spark makes of them.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_lives import COUNTED, SCHEMA, create, table
from kit.spark_rows import Source, frame_of, scanned, unnamed
from kit.spark_rows import create as create_wave
from wavedex import errors
from wavedex import spark as wxs
from wavedex.cli.output import figures
from wavedex.pipelines.pipeline import read_pipeline
from wavedex.spark.runner import run
from wavedex.testing.oracle import same_rows

Row = dict[str, Any]
DDL = "k bigint, b bigint, e bigint, v string, op string"
FIRST = [{"k": n % 3, "b": 4, "e": 14, "v": f"row {n}"} for n in range(6)]


def row(key: int, birth: int, end: int, value: str, said: Any) -> Row:
    return {"k": key, "b": birth, "e": end, "v": value, "op": said}


BATCH = [
    row(7, 6, 12, "new", "insert"),
    row(8, 5, 9, "late", "insert"),
    row(0, 4, 14, "row 0", "retract"),
    row(1, 4, 20, "row 1", "prolong"),
    row(9, 6, 11, "new", "insert"),
]
AFTER = [
    row(7, 7, 15, "next", "insert"),
    row(7, 6, 12, "new", "retract"),
]


@pytest.fixture
def index(tmp_path) -> wx.LifetimeIndex:
    made = create(tmp_path / "i.wx", shards=3)
    made.update(4, table(FIRST))
    return made


def twin(folder: Path, *batches: list[Row]) -> list[Row]:
    """What the same batches make without Spark."""
    made = create(folder / "twin.wx")
    made.update(4, table(FIRST))
    for number, batch in enumerate(batches):
        made.apply(None, rows=pa.Table.from_pylist(batch), by="op", stream="s", number=number)
    return scanned(made)


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return frame_of(spark, pa.Table.from_pylist(rows)).repartition(3)


def test_a_frame_is_applied_in_one_commit(spark, tmp_path, index):
    before = index.commit
    done = wxs.apply(index.path, None, rows=frame(spark, BATCH), by="op")
    assert (done.rows, done.retracted, done.prolonged) == (3, 1, 1)
    assert done.commit == before + 1
    assert same_rows(scanned(index), twin(tmp_path, BATCH))
    index.verify()
    assert not unnamed(index)


def test_frames_with_times_are_inserted_retracted_and_prolonged(spark, tmp_path):
    schema = pa.schema([("k", pa.string()), *((n, pa.timestamp("us", "UTC")) for n in "be")])
    index = wx.LifetimeIndex.create(
        tmp_path / "t.wx", schema, key="k", inserted="b", expires="e", max_lifetime="16 minutes",
        refresh="2 minutes",
    )  # fmt: skip

    def at(minute: int) -> dt.datetime:
        return dt.datetime(2026, 1, 5, 12, minute, tzinfo=dt.UTC)

    def rows(*several: tuple[str, int, int]) -> DataFrame:
        said = [(key, at(birth), at(end)) for key, birth, end in several]
        return spark.createDataFrame(said, "k string, b timestamp, e timestamp")

    def ends() -> dict[str, dt.datetime]:
        return {each["k"]: each["e"] for each in scanned(index)}

    wxs.apply(index.path, at(2), insert=rows(("a", 1, 9), ("b", 1, 17), ("c", 2, 6)))
    batch = {"insert": rows(("d", 3, 9)), "retract": rows(("a", 1, 9))}
    for is_repeated in (False, True):
        done = wxs.apply(
            index.path, at(4), **batch, prolong=rows(("b", 1, 20)), stream="s", number=0
        )
        assert done.repeated == is_repeated
        assert ends() == {"b": at(20), "c": at(6), "d": at(9)}
    before = index.commit
    with pytest.raises(errors.RowNotThere, match="'a'"):
        wxs.apply(index.path, at(5), insert=rows(("e", 4, 9)), retract=rows(("a", 1, 9)))
    broken = rows(("c", 2, 6)).selectExpr("k", "b", "if(k = 'c', raise_error('worn out'), e) as e")
    with pytest.raises(errors.SparkFailed, match="worn out"):
        wxs.apply(index.path, at(5), retract=broken)
    assert (index.commit, len(ends())) == (before, 3)
    wxs.apply(index.path, at(5), retract=wx.matching(rows(("d", 3, 9)).select("k", "b")))
    index.retract(at(5), rows(("c", 2, 6)))
    assert ends() == {"b": at(20)}


def test_the_data_source_applies_a_batch_and_a_stream(spark, tmp_path, index):
    writer = frame(spark, BATCH).write.format("wavedex").mode("append")
    writer.option("apply_by", "op").save(index.path)
    assert same_rows(scanned(index), twin(tmp_path, BATCH))
    index.verify()
    other = create(tmp_path / "other.wx")
    other.update(4, table(FIRST))
    source = Source(tmp_path / "source")
    for batch in (BATCH, AFTER):
        source.send(pa.Table.from_pylist(batch))
    for _ in range(2):
        query = (
            source.stream(spark, DDL)
            .writeStream.format("wavedex")
            .options(path=other.path, apply_by="op", checkpointLocation=f"{tmp_path}/noted")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    twin_rows = create(tmp_path / "both.wx")
    twin_rows.update(4, table(FIRST))
    for batch in (BATCH, AFTER):
        twin_rows.apply(None, rows=pa.Table.from_pylist(batch), by="op")
    assert same_rows(scanned(other), scanned(twin_rows))
    assert [each["batch"] for each in other.describe()["streams"].values()] == [1]
    other.verify()
    assert not unnamed(other)


def test_a_micro_batch_is_applied_once_and_another_of_its_number_is_refused(spark, tmp_path, index):
    source = tmp_path / "source"
    source.mkdir()
    pa.parquet.write_table(pa.Table.from_pylist(BATCH), source / "0.parquet")

    def feed(checkpoint: str) -> None:
        files = spark.readStream.schema(frame(spark, BATCH).schema).parquet(str(source))
        take = wxs.sink(index.path, apply_by="op")

        def twice(batch: DataFrame, number: int) -> None:
            take(batch, number)
            take(batch, number)

        query = files.writeStream.foreachBatch(twice).trigger(availableNow=True)
        query.option("checkpointLocation", str(tmp_path / checkpoint)).start().awaitTermination()

    feed("noted")
    expected = twin(tmp_path, BATCH)
    assert same_rows(scanned(index), expected)
    with pytest.raises(StreamingQueryException, match="AnotherStream: The index is fed by"):
        feed("another")
    assert same_rows(scanned(index), expected)


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_pipeline_applies(spark, tmp_path, mode):
    source = tmp_path / "source"
    source.mkdir()
    first = [{**each, "op": "insert"} for each in FIRST]
    for number, batch in enumerate([first, BATCH]):
        pa.parquet.write_table(pa.Table.from_pylist(batch), source / f"{number}.parquet")
        text = f"""
            [source]
            format = "parquet"
            path = "source/{number}.parquet"
            mode = "{mode}"
            schema = "k bigint, b bigint, e bigint, v string, op string"
            [index]
            path = "i.wx"
            kind = "lifetime"
            apply_by = "op"
            key = "k"
            inserted = "b"
            expires = "e"
            max_lifetime = 16
            refresh = 2
        """
        if mode == "stream":
            text = text.replace(f"source/{number}.parquet", "source")
            text += """
            [stream]
            checkpoint = "noted"
            trigger = "available-now"
            """
        (tmp_path / "p.toml").write_text(text)
        steps: list[Any] = []
        run(read_pipeline(tmp_path / "p.toml"), once=True, tell=steps.append)
        assert sum(step.last_rows for step in steps) == (6, 3)[number]
        assert sum(step.last_read for step in steps) == (6, 5)[number]
        said = ("6 rows read, 6 kept, ", "5 rows read, 3 kept, 1 retracted, 1 with another end, ")
        assert any(figures(step).startswith(said[number]) for step in steps)
    made = wx.open(tmp_path / "i.wx")
    assert "op" not in made.schema.names
    assert same_rows(scanned(made), twin(tmp_path, BATCH))


def test_counted_windows_take_rows_with_instructions(spark, tmp_path):
    counted = create(tmp_path / "n.wx", method="count-rebuild")
    rows = [{"k": n % 3, "b": 3, "n": n, "op": 1} for n in range(8)]
    wxs.apply(counted.path, None, rows=frame(spark, rows), by="op")
    again = [{"k": 1, "b": 3, "n": 4, "op": -1}, {"k": 5, "b": 5, "n": 9, "op": 1}]
    frame(spark, again).write.format("wavedex").mode("append").option("apply_by", "op").save(
        counted.path
    )
    found = sorted(each["n"] for each in scanned(counted))
    assert found == [0, 1, 2, 3, 5, 6, 7, 9]
    refused = pa.Table.from_pylist([{"k": 1, "b": 5, "n": 5, "op": "prolong"}])
    with pytest.raises(errors.BadDefinition, match="no ends that could be changed"):
        counted.apply(None, rows=refused, by="op")
    assert counted.schema.equals(COUNTED)


@pytest.mark.parametrize(
    ("said", "error", "text"),
    [
        ("upsert", errors.SchemaMismatch, "says 'upsert' of a row"),
        (None, errors.SchemaMismatch, "says None of a row"),
        ("2", errors.SchemaMismatch, "says '2' of a row"),
    ],
)
def test_what_nobody_can_do_is_refused_and_changes_nothing(spark, index, said, error, text):
    rows = [*BATCH, row(1, 4, 14, "row 1", said)]
    before = index.commit
    with pytest.raises(error, match=text):
        index.apply(None, rows=pa.Table.from_pylist(rows), by="op")
    with pytest.raises(error, match=text):
        wxs.apply(index.path, None, rows=frame(spark, rows), by="op")
    with pytest.raises(Exception, match=text):
        frame(spark, rows).write.format("wavedex").mode("append").option("apply_by", "op").save(
            index.path
        )
    assert (index.commit, index.scan().read_all().num_rows) == (before, len(FIRST))
    assert not unnamed(index)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("array('insert')", "of type list.* cannot be read as text"),
        ("struct('insert' as a)", "of type struct.* cannot be read as text"),
        ("unhex('ff')", "of type binary.* cannot be read as text"),
    ],
)
def test_a_column_that_cannot_say_what_is_to_be_done_is_refused(spark, index, column, said):
    rows = frame(spark, BATCH).selectExpr("k", "b", "e", "v", f"{column} as op")
    before = index.commit
    with pytest.raises(errors.SchemaMismatch, match=said):
        wxs.apply(index.path, None, rows=rows, by="op")
    with pytest.raises(Exception, match=said):
        rows.write.format("wavedex").mode("append").option("apply_by", "op").save(index.path)
    assert index.commit == before
    assert not unnamed(index)


def test_instructions_that_are_there_twice_are_refused(spark, index):
    rows = frame(spark, BATCH).selectExpr("*", "op as op")
    before = index.commit
    with pytest.raises(errors.SchemaMismatch, match="column 'op' twice"):
        wxs.apply(index.path, None, rows=rows, by="op")
    with pytest.raises(Exception, match=r"twice|COLUMN_ALREADY_EXISTS"):
        rows.write.format("wavedex").mode("append").option("apply_by", "op").save(index.path)
    assert index.commit == before
    assert not unnamed(index)


def test_a_row_that_is_not_there_undoes_the_whole_batch(spark, index):
    rows = [*BATCH, row(5, 4, 14, "nobody", "retract")]
    before = index.commit
    with pytest.raises(errors.RowNotThere, match="nobody"):
        wxs.apply(index.path, None, rows=frame(spark, rows), by="op")
    with pytest.raises(Exception, match="RowNotThere"):
        frame(spark, rows).write.format("wavedex").mode("append").option("apply_by", "op").save(
            index.path
        )
    assert index.commit == before
    assert not unnamed(index)


def test_what_does_not_go_together_is_refused(spark, tmp_path, index):
    rows = pa.Table.from_pylist(BATCH)
    for given in ({"rows": rows}, {"by": "op"}, {"rows": rows, "by": "op", "insert": rows}):
        with pytest.raises(errors.BadDefinition, match="Give either insert="):
            index.apply(None, **given)
    for asked in (index, index.path):
        with pytest.raises(errors.MissingColumn, match="no column 'what'"):
            wxs.apply(asked, None, rows=frame(spark, BATCH), by="what")
    wave = create_wave(tmp_path / "wave.wx")
    with pytest.raises(Exception, match="apply_by is for lifetime indexes"):
        frame(spark, BATCH).write.format("wavedex").mode("append").option("apply_by", "op").save(
            wave.path
        )
    (tmp_path / "p.toml").write_text(
        '[source]\nformat = "rate"\n[index]\npath = "w.wx"\nkey = "k"\ntime = "t"\nwindow = 3\n'
        'apply_by = "op"\n'
    )
    with pytest.raises(errors.BadPipeline, match=r"p\.toml:8: apply_by is for lifetime indexes"):
        read_pipeline(tmp_path / "p.toml")


def test_an_index_is_created_without_the_column_that_says_what_to_do(spark, tmp_path):
    path = str(tmp_path / "new.wx")
    rows = [{**each, "op": "insert"} for each in FIRST]
    options = {
        "kind": "lifetime", "key": "k", "inserted": "b", "expires": "e", "max_lifetime": "16",
        "refresh": "2", "apply_by": "op",
    }  # fmt: skip
    frame(spark, rows).write.format("wavedex").mode("append").options(**options).save(path)
    made = wx.open(path)
    assert made.schema.names == SCHEMA.names
    assert same_rows(scanned(made), FIRST)
