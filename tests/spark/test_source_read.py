"""Reading through the data source.

Types, options, SQL, empty windows, and what is said when something is wrong.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_rows import collected, create, rows, scanned
from wavedex.spark.types import spark_schema
from wavedex.testing.oracle import same_rows

NAIVE = dt.datetime(2024, 5, 6, 7, 8, 9, 123456)
OLD = dt.datetime(1931, 2, 3, 4, 5, 6)
AWARE = NAIVE.replace(tzinfo=dt.UTC)
DAY = dt.date(2024, 5, 6)

# A column of the index: its type, values, and how Spark shows them: type and values.
TYPES: dict[str, tuple[pa.DataType, list[Any], str, list[Any]]] = {
    "u8": (pa.uint8(), [0, 255], "smallint", [0, 255]),
    "u16": (pa.uint16(), [0, 65_535], "int", [0, 65_535]),
    "u32": (pa.uint32(), [0, 2**32 - 1], "bigint", [0, 2**32 - 1]),
    "u64": (pa.uint64(), [0, 2**64 - 1], "decimal(20,0)", [Decimal(0), Decimal(2**64 - 1)]),
    "i8": (pa.int8(), [-128, None], "tinyint", [-128, None]),
    "i16": (pa.int16(), [-(2**15), None], "smallint", [-(2**15), None]),
    "f16": (pa.float16(), [0.5, None], "float", [0.5, None]),
    "f32": (pa.float32(), [0.1, float("inf")], "float", [0.10000000149011612, float("inf")]),
    "flag": (pa.bool_(), [True, None], "boolean", [True, None]),
    "text": (pa.large_string(), ["grün", None], "string", ["grün", None]),
    "view": (pa.string_view(), ["one", "two"], "string", ["one", "two"]),
    "word": (pa.dictionary(pa.int8(), pa.string()), ["a", None], "string", ["a", None]),
    "bytes": (pa.large_binary(), [b"\x00", b""], "binary", [b"\x00", b""]),
    "fixed": (pa.binary(2), [b"ab", None], "binary", [b"ab", None]),
    "price": (
        pa.decimal128(9, 2),
        [Decimal("1.50"), None],
        "decimal(9,2)",
        [Decimal("1.50"), None],
    ),
    "d32": (pa.date32(), [DAY, None], "date", [DAY, None]),
    "d64": (pa.date64(), [DAY, None], "timestamp_ntz", [dt.datetime(2024, 5, 6), None]),
    "s": (pa.timestamp("s"), [OLD, None], "timestamp_ntz", [OLD, None]),
    "ms": (
        pa.timestamp("ms", "UTC"),
        [AWARE.replace(microsecond=1000)],
        "timestamp",
        [NAIVE.replace(microsecond=1000)],
    ),
    "us": (pa.timestamp("us"), [NAIVE, OLD], "timestamp_ntz", [NAIVE, OLD]),
    "ns": (pa.timestamp("ns", "Asia/Tokyo"), [AWARE, None], "timestamp", [NAIVE, None]),
    "span": (
        pa.duration("ns"),
        [dt.timedelta(days=-1)],
        "interval day to second",
        [dt.timedelta(days=-1)],
    ),
    "list": (pa.list_(pa.int64()), [[1, None], []], "array<bigint>", [[1, None], []]),
    "long": (pa.large_list(pa.string()), [["x"], None], "array<string>", [["x"], None]),
    "pair": (pa.list_(pa.int32(), 2), [[1, 2], [3, 4]], "array<int>", [[1, 2], [3, 4]]),
    "both": (
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        [{"a": 1, "b": "x"}],
        "struct<a:int,b:string>",
        [(1, "x")],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)]], "map<string,bigint>", [{"a": 1}]),
}


def load(spark: SparkSession, index: wx.WaveIndex, **options: str) -> DataFrame:
    return spark.read.format("wavedex").options(**options).load(index.path)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    made = create(tmp_path_factory.mktemp("indexes") / "read.wx", keep_commits=9)
    for slots in [(1,), (2, 3, 4), (5, 6), (7,)]:
        made.append(rows(*slots))
    return made


def test_every_type_has_its_like_in_spark(spark, tmp_path):
    """One table with a column of each; the columns of two values have two rows."""
    fields = [(name, kind) for name, (kind, *_) in TYPES.items()]
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), *fields])
    columns = {
        name: pa.array((values * 2)[:2], kind) for name, (kind, values, _, _) in TYPES.items()
    }
    index = create(tmp_path / "types.wx", schema)
    index.append(pa.table({"k": pa.array([0, 1]), "t": pa.array([10, 10]), **columns}))
    frame = load(spark, index)
    for name, (_, _, shown, _) in TYPES.items():
        assert frame.schema[name].dataType.simpleString() == shown, name
    found = frame.orderBy("k").collect()
    for name, (_, _, _, values) in TYPES.items():
        assert [row[name] for row in found] == (values * 2)[:2], name
    changed = load(spark, index, changes="true").orderBy("k").drop("_change", "_at", "_commit")
    assert changed.collect() == found


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal256(50, 2),
        pa.decimal128(5, -2),
        pa.time32("s"),
        pa.list_(pa.uint64()),
    ],
    ids=str,
)
def test_a_type_that_spark_lacks_is_named_and_may_be_left_out(spark, tmp_path, kind):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("odd", kind)])
    index = create(tmp_path / "odd.wx", schema)
    index.append(pa.table({"k": [1], "t": [10], "odd": pa.nulls(1, kind)}, schema))
    with pytest.raises(Exception, match="SchemaMismatch: Spark has no type for column 'odd'"):
        load(spark, index).collect()
    assert load(spark, index, columns="k,t").collect() == [(1, 10)]


def test_columns_are_chosen_by_an_option(spark, index):
    frame = load(spark, index, columns=" v, k ")
    assert frame.columns == ["v", "k"]
    assert same_rows(collected(frame), scanned(index, columns=["v", "k"]))
    assert load(spark, index, columns="v").where("v = '3-1'").count() == 1


@pytest.mark.parametrize(
    ("since", "until"), [("4", None), (None, "5"), ("4", "5"), ("6", "4"), ("90", None)]
)
def test_a_span_of_time_is_chosen_by_options(spark, index, since, until):
    options = {name: given for name, given in (("since", since), ("until", until)) if given}
    expected = scanned(index, since=since, until=until)
    assert same_rows(collected(load(spark, index, **options)), expected)
    some = load(spark, index, keys="[2, 3]", **options).where("t > 41")
    expected = [row for row in expected if row["k"] in (2, 3) and row["t"] > 41]
    assert same_rows(collected(some), expected)


def test_what_a_soft_window_still_holds_is_shown_when_asked_for(spark, index):
    held = scanned(index, expired=True)
    assert len(held) > len(scanned(index))
    assert same_rows(collected(load(spark, index, expired="true")), held)
    assert same_rows(collected(load(spark, index)), scanned(index))


def test_an_index_without_a_time_column(spark, tmp_path):
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    index = create(tmp_path / "i.wx", schema, time=None, slot=None)
    index.append(rows(1).select(["k", "v"]), slot=4)
    index.append(rows(2).select(["k", "v"]), slot=5)
    assert load(spark, index).columns == ["k", "v"]
    assert same_rows(
        collected(load(spark, index, since="5")), rows(2).select(["k", "v"]).to_pylist()
    )


def test_an_empty_window_has_no_rows(spark, tmp_path):
    index = create(tmp_path / "new.wx")
    assert load(spark, index).schema == spark_schema(index.schema)
    assert load(spark, index).collect() == []
    assert load(spark, index, key="1").collect() == []
    assert load(spark, index, changes="true").collect() == []


def test_open_slots_of_a_stream_are_read_too(spark, tmp_path):
    index = create(tmp_path / "open.wx")
    index.append(rows(1))
    index.feed(rows(2, 3), stream="s", number=0, delay=5)
    assert index.snapshot().manifest.open_slots == {3}
    assert same_rows(collected(load(spark, index)), rows(1, 2, 3).to_pylist())
    assert load(spark, index, key="3").count() == 3


def test_sql_reads_an_index_by_its_path(spark, index):
    """Nothing was registered: Spark finds the format by itself."""
    spark.sql(
        f"create or replace temporary view entries using wavedex options (path '{index.path}')"
    )
    found = spark.sql("select k, max(t) as last from entries group by k order by k").collect()
    assert found == [(key, 70 + key) for key in range(7)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": "k,w"}, "MissingColumn: The index has no column 'w'. It has k, t, v"),
        ({"since": "soon"}, "BadTime: Cannot read 'soon' as a time"),
        ({"since": "2024-01-01"}, "BadTime: The slots of this index are numbers"),
        ({"expired": "perhaps"}, "BadDefinition: The option expired is 'perhaps'"),
        ({"keys": "1, 2"}, "BadKey: The option keys is '1, 2'. Write a list in JSON"),
        ({"changes": "true", "since_commit": "-1"}, "BadDefinition: The option since_commit"),
        (
            {"changes": "true", "since_commit": "99"},
            "CommitGone: Commit 99 was never there: the newest is",
        ),
    ],
)
def test_a_wrong_option_is_named_with_its_advice(spark, index, options, said):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is Spark's business
        load(spark, index, **options).collect()
    assert said in str(caught.value)


def test_a_path_without_an_index_is_named(spark, tmp_path):
    with pytest.raises(Exception, match=r"NotAnIndex: .* is no index: .*Check the path"):
        spark.read.format("wavedex").load(str(tmp_path / "nothing.wx")).collect()
    with pytest.raises(Exception, match="BadDefinition: Which index"):
        spark.read.format("wavedex").load().collect()
