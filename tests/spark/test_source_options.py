"""Options that nobody knows are refused by name, and those that Spark adds by itself are not."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import StructType

import wavedex as wx
from kit.spark_rows import Source, create, rows
from wavedex.errors import BadDefinition
from wavedex.spark.source.data_source import WavedexSource
from wavedex.spark.types import spark_schema


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    made = create(tmp_path_factory.mktemp("indexes") / "x.wx")
    made.append(rows(1))
    return made


def ask(index: wx.WaveIndex, what: str, options: dict[str, str]) -> Any:
    """What Spark does with the source, to read or to write, in batch or as a stream."""
    source = WavedexSource({"path": index.path, **options})
    schema: StructType = spark_schema(index.schema)
    if what == "schema":
        return source.schema()
    if what.endswith("eader"):
        return getattr(source, what)(schema)
    return getattr(source, what)(schema, False)


CHANGES = {"changes": "true"}
STREAM = {"stream": "s", "delay": "5"}


@pytest.mark.parametrize(
    ("what", "options", "said"),
    [
        ("schema", {"Colums": "k"}, "'Colums' for reading. Did you mean 'columns'?"),
        ("reader", {"colums": "k"}, "'colums' for reading. Did you mean 'columns'?"),
        ("reader", {"pushdown": "true"}, "'pushdown' for reading. There are path, columns, key, "),
        ("reader", {"window": "5"}, "'window' for reading. There are"),
        ("reader", {"checkpointLocation": "x"}, "'checkpointLocation' for reading. There are"),
        ("writer", {"queryName": "x"}, "'queryName' for writing to a wave index."),
        ("reader", {"since_commit": "1"}, "'since_commit' for reading."),
        ("schema", CHANGES | {"key": "1"}, "'key' for reading changes. There are path, changes"),
        ("reader", CHANGES | {"starting": "latest"}, "'starting' for reading changes."),
        (
            "reader",
            CHANGES | {"until": "4"},
            "There are path, changes, since_commit, until_commit, server.",
        ),
        ("streamReader", CHANGES | {"since_commit": "3"}, "'since_commit' for following changes"),
        ("writer", {"windw": "5"}, "'windw' for writing to a wave index. Did you mean 'window'?"),
        ("writer", {"keys": "[1]"}, "'keys' for writing to a wave index. Did you mean 'key'?"),
        ("writer", {"inserted": "t"}, "'inserted' for writing to a wave index."),
        ("writer", {"delay": "5"}, "'delay' for writing to a wave index."),
        ("streamWriter", STREAM | {"dead_leters": "x"}, "Did you mean 'dead_letters'?"),
        ("streamWriter", STREAM | {"now": "5"}, "'now' for writing to a wave index."),
    ],
)
def test_an_option_that_is_not_known_is_refused_by_name(index, what, options, said):
    with pytest.raises(BadDefinition) as caught:
        ask(index, what, options)
    assert "There is no option '" in str(caught.value)
    assert said in str(caught.value)


def test_columns_that_a_schema_contradicts_are_refused(index):
    with pytest.raises(BadDefinition, match=r"names v, k, and \.schema\(\.\.\.\) k, t, v"):
        ask(index, "reader", {"columns": "v, k"})
    assert ask(index, "reader", {"columns": "k, t,v"}) is not None


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("schema", {"columns": "k", "key": "1", "since": "1", "until": "2", "expired": "false"}),
        ("reader", {"keys": "[1]", "changes": "false"}),
        ("schema", CHANGES | {"since_commit": "1", "starting": "latest"}),
        ("reader", CHANGES | {"since_commit": "1", "until_commit": "2"}),
        ("streamReader", CHANGES | {"starting": "latest"}),
        ("writer", {"kind": "wave", "key": "k", "max_gap": "9", "keep_for": "1 hour"}),
        ("streamWriter", STREAM | {"takeover": "true", "dead_letters": "x", "time": "t"}),
        ("streamWriter", STREAM | {"queryname": "q", "checkpointlocation": "c"}),
    ],
)
def test_an_option_that_is_known_is_taken(index, what, options):
    assert ask(index, what, options) is not None


def test_what_spark_adds_by_itself_is_let_through(spark, tmp_path):
    """Names in any case, a query with a name, a checkpoint.

    And what it would only pass over is said.
    """
    path = str(tmp_path / "x.wx")
    writer = spark.createDataFrame(rows(1)).coalesce(1).write.format("wavedex").mode("append")
    writer.options(Key="k", TIME="t", slot=10, Window=5).save(path)
    source = Source(tmp_path / "source")
    source.send(rows(2))
    query = source.stream(spark).writeStream.format("wavedex").queryName("named")
    query = query.options(checkpointLocation=str(tmp_path / "checkpoint"), Delay=1)
    query.trigger(availableNow=True).start(path).awaitTermination()
    assert spark.read.format("wavedex").option("Key", 3).load(path).count() == 2
    for wrong, said in [
        (
            lambda: spark.read.format("wavedex").load([path, path]),
            "no option 'paths' for reading. Did you mean 'path'",
        ),
        (
            lambda: spark.sql(
                f"create temporary view bad using wavedex options (path '{path}', kee 3)"
            ),
            "Did you mean 'key'",
        ),
        (
            lambda: spark.sql(f"create table bad using wavedex options (path '{path}')"),
            "Spark 4.3 does not hand the options of a table",
        ),
    ]:
        with pytest.raises(Exception, match="BadDefinition") as caught:
            wrong()
        assert said in str(caught.value)
