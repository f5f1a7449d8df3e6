"""Columns of every type come out as they went in, from whatever table they came.

Nothing is lost on the way.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from kit.matrix import in_turn
from kit.ways import PARQUET, WAYS
from wavedex.engine.techniques import TECHNIQUES
from wavedex.testing.oracle import same_rows

D = decimal.Decimal
UTC = dt.UTC
FLAT = {
    "int8": (pa.int8(), [-128, None, 127]),
    "uint64": (pa.uint64(), [0, None, 2**64 - 1]),
    "float16": (pa.float16(), [np.float16(1.5), None, np.float16("nan"), np.float16("-inf")]),
    "float32": (pa.float32(), [1.5, None, math.nan, math.inf, -0.0]),
    "float64": (pa.float64(), [0.1, None, math.nan, -math.inf, 5e-324]),
    "bool": (pa.bool_(), [True, None, False]),
    "string": (pa.string(), ["", None, "é" * 40, "\0"]),
    "large_string": (pa.large_string(), ["", None, "日本"]),
    "binary": (pa.binary(), [b"", None, b"\xff\0"]),
    "large_binary": (pa.large_binary(), [b"", None, b"\xff\0" * 50]),
    "fixed_size_binary": (pa.binary(3), [b"abc", None, b"\0\0\0", b"xyz"]),
    "date32": (pa.date32(), [dt.date(1, 1, 1), None, dt.date.max]),
    "date64": (pa.date64(), [dt.date(1969, 12, 31), None]),
    "time32": (pa.time32("ms"), [dt.time(23, 59, 59, 999_000), None]),
    "time64": (pa.time64("us"), [dt.time(23, 59, 59, 999_999), None]),
    "timestamp": (pa.timestamp("us"), [dt.datetime(1900, 1, 1), None]),
    "zoned": (
        pa.timestamp("ms", "America/New_York"),
        [dt.datetime(2024, 3, 10, 7, tzinfo=UTC), None],
    ),
    "duration": (pa.duration("us"), [dt.timedelta(-5, 3), None]),
    "decimal32": (pa.decimal32(5, 2), [D("-123.45"), None]),
    "decimal64": (pa.decimal64(15, 2), [D("-123.45"), None]),
    "decimal128": (pa.decimal128(38, 4), [D("-123456789012345678901234567890.1234"), None]),
    "decimal256": (pa.decimal256(70, 1), [D("-0.1"), None]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", None, "bb", "a", ""]),
    "sorted dictionary": (pa.dictionary(pa.int32(), pa.string(), True), ["a", None, "bb", "a", ""]),
}
NESTED = {
    "null": (pa.null(), [None, None]),
    "list": (pa.list_(pa.int64()), [[1, None], None, [], [2]]),
    "large_list": (pa.large_list(pa.string()), [["x", None], None, []]),
    "fixed_size_list": (pa.list_(pa.float32(), 2), [[1.0, None], None, [2.0, 3.0]]),
    "struct": (
        pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]),
        [{"a": 1, "b": ["x", None]}, None, {"a": None, "b": None}, {"a": 2, "b": []}],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1), ("b", None)], None, []]),
    "list of structs of lists": (
        pa.list_(pa.struct([("x", pa.list_(pa.bool_()))])),
        [[{"x": [True, None]}, None], None, [{"x": None}], []],
    ),
    "dictionary of numbers": (pa.dictionary(pa.int32(), pa.int64()), [5, None, 6, 5]),
    "list of dictionaries": (
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
        [["a", "b"], None, []],
    ),
}
IMMUTABLE = ["packed-shadow", "runs"]
NOT_IN_PARQUET = ["duration", "list of dictionaries"]
IN_PARQUET = [name for name in (*FLAT, *NESTED) if name not in NOT_IN_PARQUET]
CHANGING = [update for update in TECHNIQUES if update not in IMMUTABLE]


def values_of(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_dictionary(kind):
        plain = pa.array(values, kind.value_type)
        coded = plain.dictionary_encode()
        return pa.DictionaryArray.from_arrays(coded.indices.cast(kind.index_type), coded.dictionary)
    return pa.array(values, kind)


def kept_as(kind: pa.DataType) -> pa.DataType:
    """Dictionaries of several batches need room for all their values."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    return kind


def type_of(value: Any) -> str:
    return str(getattr(value, "type", value))


def bits(values: list[Any]) -> list[str]:
    """As text, so that NaN equals NaN and -0.0 does not equal 0.0."""
    return sorted(map(repr, values))


def make(path, schema: pa.Schema, way: str = "runs", **more: Any) -> wx.WaveIndex:
    options = {"window": 3, "indexes": 2, "shards": 2, "first_room": 1, "scheme": "wata", **more}
    if "time" not in options and "t" in schema.names:
        options |= {"time": "t", "slot": 10}
    return wx.WaveIndex.create(path, schema, key="k", **options, **WAYS[way])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way", "scheme"),
    [
        *in_turn(["del", "reindex++"], FLAT, TECHNIQUES),
        *in_turn(["del", "reindex++"], NESTED, IMMUTABLE),
        *itertools.product(IN_PARQUET, ["runs in parquet"], ["del"]),
    ],
)
def test_values_of_every_type_come_out_as_they_went_in(tmp_path, name, way, scheme):
    kind, values = {**FLAT, **NESTED}[name]
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", kind)])
    index = make(tmp_path / "x", schema, way, scheme=scheme)
    column = values_of(kind, values)
    expected = column.to_pylist()
    count = len(values)
    for slot in range(6):
        times = pa.array([slot * 10] * count)
        batch = pa.table([pa.array(range(count)), times, column], schema=schema)
        index.append(batch)
        assert index.append(batch.take(list(range(count))[::-1])).slots == [], "not the same rows"
    index.amend(pa.table([pa.array(range(count)), pa.array([40] * count), column], schema=schema))
    index.verify()
    for asked in (index.snapshot(), wx.open(tmp_path / "x")):
        found = asked.scan().read_all()
        assert found.schema == index.schema
        assert found.schema.field("v").type == kept_as(kind)
        found.validate(full=True)
        assert bits(found["v"].to_pylist()) == bits(expected * 4)
        for key in range(count):
            answer = asked.probe(key)
            answer.validate(full=True)
            assert bits(answer["v"].to_pylist()) == bits([expected[key]] * 4)
        assert bits(asked.probe_many(range(count), 4, 4)["v"].to_pylist()) == bits(expected * 2)
        assert bits(asked.probe_range(0, 1, 5)["v"].to_pylist()) == bits(expected[:2])


@pytest.mark.parametrize("update", CHANGING)
@pytest.mark.parametrize("name", [name for name in NESTED if not name.startswith("dictionary of")])
def test_nested_columns_are_refused_where_files_change(tmp_path, name, update):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", NESTED[name][0])])
    with pytest.raises(wx.errors.BadDefinition, match="cannot be updated in place"):
        make(tmp_path / "x", schema, update)
    assert not (tmp_path / "x").exists()
    make(tmp_path / "x", schema, update, include=[])


@pytest.mark.parametrize("name", NOT_IN_PARQUET)
def test_columns_that_parquet_does_not_keep_are_refused_there(tmp_path, name):
    kind, _ = {**FLAT, **NESTED}[name]
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", kind)])
    for way in PARQUET:
        with pytest.raises(wx.errors.BadDefinition, match=r"'v' .* cannot be kept in Parquet"):
            make(tmp_path / "x", schema, way)
        assert not (tmp_path / "x").exists()
    make(tmp_path / "x", schema, "runs in parquet", include=[])


WIDE = pa.schema(
    [("a", pa.string()), ("k", pa.int64()), ("b", pa.list_(pa.int8())), ("t", pa.int64())]
)


@pytest.mark.parametrize("way", WAYS)
def test_only_the_included_columns_are_kept_besides_key_and_time(tmp_path, way):
    index = make(tmp_path / "x", WIDE, way, include=["a"])
    rows = [{"a": "x", "k": 1, "b": [1], "t": 5}]
    index.append(pa.Table.from_pylist(rows, WIDE))
    assert index.schema.names == ["a", "k", "t"]
    assert index.probe(1).to_pylist() == [{"a": "x", "k": 1, "t": 5}]
    index.append(
        pa.Table.from_pylist([{"k": 2, "t": 15, "a": "y"}])
    )  # what is not kept may be absent
    assert index.probe(2, columns=["t", "a"]).to_pylist() == [{"t": 15, "a": "y"}]
    with pytest.raises(wx.errors.MissingColumn):
        index.probe(1, columns=["b"])


@pytest.mark.parametrize("way", WAYS)
def test_columns_can_be_chosen_in_every_kind_of_question(tmp_path, way):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])
    index = make(tmp_path / "x", schema, way)
    index.append(pa.Table.from_pylist([{"k": 1, "t": 5, "v": "a"}], schema))
    for ask in (
        lambda **how: index.probe(1, **how),
        lambda **how: index.probe_many([1], **how),
        lambda **how: index.probe_range(0, 2, **how),
        lambda **how: index.scan(**how).read_all(),
        lambda **how: index.probe(99, **how),
        lambda **how: index.scan(50, 60, **how).read_all(),
    ):
        assert ask(columns=["v", "k"]).schema.names == ["v", "k"]
        assert ask().schema == schema
        with pytest.raises(wx.errors.MissingColumn):
            ask(columns=["v", "nobody"])


@pytest.mark.slow
@pytest.mark.parametrize("way", [*TECHNIQUES, "runs in parquet"])
@pytest.mark.parametrize("scheme", ["wata", "del"])
def test_without_a_time_column_the_slot_is_given_and_never_seen(tmp_path, way, scheme):
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    index = make(tmp_path / "x", schema, way, scheme=scheme)
    rows = {slot: [{"k": slot % 3, "v": f"{slot}"}, {"k": 7, "v": None}] for slot in range(-3, 6)}
    for slot, some in rows.items():
        index.append(pa.Table.from_pylist(some, schema), slot=slot)
        assert index.append(pa.Table.from_pylist(some[::-1], schema), slot=slot).slots == []
    index.amend(pa.Table.from_pylist([{"k": 7, "v": "late"}], schema), slot=4)
    rows[4].append({"k": 7, "v": "late"})
    index.verify()
    assert index.slots == [3, 4, 5]
    live = [row for slot in (3, 4, 5) for row in rows[slot]]
    for asked in (index, wx.open(tmp_path / "x"), index.snapshot()):
        assert same_rows(asked.scan().read_all().to_pylist(), live)
        assert same_rows(asked.probe(7, 4, 4).to_pylist(), [r for r in rows[4] if r["k"] == 7])
        for table in (
            asked.scan().read_all(),
            asked.scan(4, expired=True).read_all(),
            asked.probe(7),
            asked.probe(12345),
            asked.probe_many([1, 7]),
            asked.probe_range(0, 9),
        ):
            assert table.schema == schema
    with pytest.raises(wx.errors.MissingColumn):
        index.probe(7, columns=["__slot"])
    with pytest.raises(wx.errors.BadTime):
        index.append(pa.Table.from_pylist([{"k": 1, "v": "x"}], schema))


def moment(day: int, hour: int = 12, zone: Any = None) -> dt.datetime:
    return dt.datetime(2024, 3, day, hour, tzinfo=zone)


TIMES = {
    "date32 by days": (pa.date32(), "1 day", "UTC", lambda day: dt.date(2024, 3, day)),
    "date64 by days": (pa.date64(), "1 day", "UTC", lambda day: dt.date(2024, 3, day)),
    "numbers of one": (pa.int64(), 1, "UTC", lambda day: day),
    "small numbers": (pa.int8(), 10, "UTC", lambda day: day * 10 + 7),
    "numbers without a sign": (pa.uint16(), 10, "UTC", lambda day: day * 10 + 7),
    "large numbers without a sign": (pa.uint64(), 10, "UTC", lambda day: day * 10),
    "seconds": (pa.timestamp("s"), "1 day", "UTC", moment),
    "milliseconds in UTC": (
        pa.timestamp("ms", "UTC"), "1 day", "UTC", lambda d: moment(d, zone=UTC),
    ),
    "microseconds in Berlin": (
        pa.timestamp("us", "UTC"), "1 day", "Europe/Berlin", lambda day: moment(day, 23, UTC),
    ),
    "nanoseconds": (pa.timestamp("ns"), "1 day", "UTC", moment),
    "hours": (pa.timestamp("us"), "24 hours", "UTC", moment),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", [*TECHNIQUES, "runs in parquet"])
@pytest.mark.parametrize("name", TIMES)
def test_time_columns_of_every_type_are_cut_into_slots(tmp_path, name, way):
    kind, slot, zone, time_of = TIMES[name]
    schema = pa.schema([("k", pa.int64()), ("at", kind), ("n", pa.int64())])
    index = make(tmp_path / "x", schema, way, time="at", slot=slot, zone=zone)
    for day in range(1, 8):
        index.append(
            pa.table([[1, 2], pa.array([time_of(day)] * 2, kind), [day, day]], schema=schema)
        )
    index.verify()
    slots = index.slots
    assert len(slots) == 3
    assert slots[-1] - slots[0] == 2
    for asked in (index, wx.open(tmp_path / "x")):
        assert sorted(asked.probe(1)["n"].to_pylist()) == [5, 6, 7]
        assert asked.probe(2, slots[1], slots[1])["n"].to_pylist() == [6]
        assert asked.probe(2, slots[1], slots[0])["n"].to_pylist() == []
        assert sorted(asked.scan(slots[1]).read_all()["n"].to_pylist()) == [6, 6, 7, 7]
        assert asked.probe(1).schema == schema
        if not isinstance(slot, int):
            shift = 1 if zone == "Europe/Berlin" else 0  # 23:00 in UTC is the next day there
            whole = asked.probe(1, f"2024-03-{6 + shift:02d}", dt.date(2024, 3, 6 + shift))
            assert whole["n"].to_pylist() == [6]
        if pa.types.is_timestamp(kind):
            exact = time_of(6)
            assert asked.probe(1, exact, exact)["n"].to_pylist() == [6]
            later = exact + dt.timedelta(seconds=1)
            assert asked.probe(1, later, None)["n"].to_pylist() == [7]


BASE = pa.schema(
    [("k", pa.string()), ("t", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("f", pa.float64())]
)
ROWS = [
    {"k": "a", "t": dt.datetime(2024, 1, 1, 5, tzinfo=UTC), "n": 1, "f": 0.5},
    {"k": "b", "t": dt.datetime(2024, 1, 1, 6, tzinfo=UTC), "n": 2, "f": None},
    {"k": "a", "t": dt.datetime(2024, 1, 1, 7, tzinfo=UTC), "n": 3, "f": -1.0},
]


def frames() -> dict[str, Any]:
    table = pa.Table.from_pylist(ROWS, BASE)
    frame = table.to_pandas()
    return {
        "a table": table,
        "a record batch": table.to_batches()[0],
        "a table of chunks": pa.concat_tables([table[:1], table[1:1], table[1:]]),
        "a slice": pa.concat_tables([table, table, table]).combine_chunks()[3:6],
        "columns in another order": table.select(["f", "n", "t", "k"]),
        "a reader": table.to_reader(),
        "pandas": frame,
        "pandas with an index of its own": frame.set_index(pd.Index([5, 7, 9])),
        "pandas, filtered": pd.concat([frame, frame])[:3],
        "pandas with categories": frame.astype({"k": "category"}),
        "pandas with Arrow types": frame.convert_dtypes(dtype_backend="pyarrow"),
        "pandas with nanoseconds": frame.astype({"t": "datetime64[ns, UTC]"}),
        "polars": pl.from_arrow(table),
        "polars with small numbers": pl.from_arrow(table).with_columns(pl.col("n").cast(pl.Int8)),
        "a dictionary column": table.set_column(0, "k", table["k"].dictionary_encode()),
        "large strings": table.set_column(0, "k", table["k"].cast(pa.large_string())),
        "small numbers": table.set_column(2, "n", table["n"].cast(pa.uint8())),
        "short floats": table.set_column(3, "f", table["f"].cast(pa.float32())),
        "another zone": table.set_column(1, "t", table["t"].cast(pa.timestamp("s", "Asia/Tokyo"))),
    }  # fmt: skip


@pytest.mark.parametrize("name", frames())
def test_rows_arrive_from_every_kind_of_table(tmp_path, name):
    index = make(tmp_path / "x", BASE, time="t", slot="1 day")
    assert index.append(frames()[name]).rows == 3
    assert index.append(pa.Table.from_pylist(ROWS, BASE)).slots == [], "these are not the same rows"
    index.verify()
    assert index.schema == BASE
    assert same_rows(
        [{**row, "t": row["t"].astimezone(UTC)} for row in index.scan().read_all().to_pylist()],
        [{**row, "t": row["t"].astimezone(UTC)} for row in ROWS],
    )


@pytest.mark.parametrize(
    "data",
    [ROWS, {"k": ["a"]}, None, "table", 5, pa.array([1])],
    ids=lambda data: type(data).__name__,
)
def test_what_is_no_table_is_refused(tmp_path, data):
    index = make(tmp_path / "x", BASE, time="t", slot="1 day")
    with pytest.raises(wx.errors.SchemaMismatch):
        index.append(data)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (pa.int64(), pa.array([1, 2, 3], pa.int8())),
        (pa.int8(), pa.array([1, -128, 127], pa.int64())),
        (pa.uint64(), pa.array([1, 2, 3], pa.int8())),
        (pa.float64(), pa.array([0.5, None, math.nan], pa.float32())),
        (pa.string(), pa.array(["a", None, "b"], pa.large_string())),
        (pa.string(), pa.array(["a", None, "b" * 30], pa.string_view())),
        (pa.large_binary(), pa.array([b"a", None, b"b"])),
        (pa.string(), pa.array(["a", None, "b"]).dictionary_encode()),
        (pa.dictionary(pa.int32(), pa.string()), pa.array(["a", None, "b"])),
        (pa.timestamp("ns"), pa.array([1, None, 2], pa.timestamp("s"))),
        (pa.timestamp("s"), pa.array([1_000_000_000, None, 0], pa.timestamp("ns"))),
        (pa.timestamp("us", "UTC"), pa.array([1, None, 2], pa.timestamp("us", "Asia/Tokyo"))),
        (pa.date64(), pa.array([1, None, 2], pa.date32())),
        (pa.decimal128(12, 4), pa.array([D("1.25"), None, D("2")])),
        (pa.list_(pa.int64()), pa.array([[1], None, []], pa.large_list(pa.int64()))),
        (pa.int32(), pa.nulls(3)),
        (pa.struct([("a", pa.string())]), pa.nulls(3)),
    ],
    ids=type_of,
)
def test_a_column_of_another_width_or_unit_is_taken_where_no_value_changes(tmp_path, kind, column):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", kind)])
    index = make(tmp_path / "x", schema)
    index.append(pa.table([[1, 2, 3], [1, 1, 1], column], names=["k", "t", "v"]))
    found = index.scan().read_all()
    assert found.schema == schema
    given = column.cast(kind).to_pylist()
    assert bits(found["v"].to_pylist()) == bits(given)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (pa.int8(), pa.array([128])),
        (pa.uint8(), pa.array([-1])),
        (pa.int64(), pa.array([2**63], pa.uint64())),
        (pa.int64(), pa.array([1.0])),
        (pa.float64(), pa.array([1])),
        (pa.string(), pa.array([1])),
        (pa.int64(), pa.array(["1"])),
        (pa.string(), pa.array([b"a"])),
        (pa.binary(), pa.array(["a"])),
        (pa.bool_(), pa.array([1])),
        (pa.int64(), pa.array([True])),
        (pa.timestamp("s"), pa.array([1], pa.timestamp("ms"))),
        (pa.timestamp("ns"), pa.array([2**62], pa.timestamp("s"))),
        (pa.timestamp("us"), pa.array([1], pa.timestamp("us", "UTC"))),
        (pa.timestamp("us"), pa.array([1], pa.date32())),
        (pa.date32(), pa.array([1], pa.timestamp("us"))),
        (pa.date32(), pa.array([1], pa.date64())),
        (pa.decimal128(10, 1), pa.array([D("1.25")])),
        (pa.decimal128(3, 0), pa.array([D("1234")])),
        (pa.list_(pa.int8()), pa.array([[300]])),
        (pa.binary(3), pa.array([b"abcd"])),
        (pa.float32(), pa.array([0.1])),
        (pa.float16(), pa.array([0.1], pa.float32())),
        (pa.list_(pa.float32()), pa.array([[0.1]])),
        (pa.list_(pa.string()), pa.array([[1]])),
        (pa.list_(pa.timestamp("us", "UTC")), pa.array([[1]], pa.list_(pa.timestamp("us")))),
        (pa.struct([("a", pa.int64())]), pa.array([{"a": 1, "b": 2}])),
        (pa.struct([("a", pa.string())]), pa.array([{"a": 1}])),
    ],
    ids=type_of,
)
def test_a_column_that_would_lose_something_is_refused_and_nothing_is_written(
    tmp_path, kind, column
):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", kind)])
    index = make(tmp_path / "x", schema)
    with pytest.raises(wx.errors.SchemaMismatch, match="'v'"):
        index.append(pa.table([[1], [1], column], names=["k", "t", "v"]))
    assert index.snapshot().commit == 0
    assert index.slots == []


def test_a_column_that_allows_no_nulls_refuses_them(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), pa.field("v", pa.int64(), False)])
    index = make(tmp_path / "x", schema)
    with pytest.raises(wx.errors.SchemaMismatch, match="nulls"):
        index.append(pa.table([[1, 2], [1, 1], [5, None]], names=["k", "t", "v"]))
    index.append(pa.table([[1, 2], [1, 1], [5, 6]], names=["k", "t", "v"]))
    assert index.scan().read_all().schema == schema


@pytest.mark.parametrize("way", WAYS)
def test_chunks_with_dictionaries_of_their_own_are_brought_together(tmp_path, way):
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", kind)])
    index = make(tmp_path / "x", schema, way)
    for slot in range(5):
        chunks = [pa.array([f"{slot}", "both"]), pa.array(["both", None, f"{slot + 100}"])]
        column = pa.chunked_array([chunk.dictionary_encode() for chunk in chunks])
        index.append(pa.table([[0, 1, 2, 3, 4], [slot * 10] * 5, column], schema=schema))
    index.verify()
    assert sorted(index.probe(0)["v"].to_pylist()) == ["2", "3", "4"]
    assert sorted(index.probe(4)["v"].to_pylist()) == ["102", "103", "104"]
    assert index.probe(3)["v"].to_pylist() == [None] * 3
    assert index.probe_many([1, 2])["v"].to_pylist() == ["both"] * 6
