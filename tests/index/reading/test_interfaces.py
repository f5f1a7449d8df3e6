"""Rows in and out through other libraries.

What pandas, Polars and Arrow hand in, and what they get back.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import wavedex as wx
from wavedex.errors import SchemaMismatch

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("at", pa.timestamp("us")),
        ("day", pa.date32()),
        ("kind", pa.string()),
        ("tags", pa.list_(pa.int64())),
    ]
)
ROWS = [
    {
        "user": f"user {n % 2}",
        "at": dt.datetime(2026, 1, 1, n),
        "day": dt.date(2026, 1, n + 1),
        "kind": None if n == 2 else "ab"[n % 2],
        "tags": [n, n + 1],
    }
    for n in range(4)
]
TABLE = pa.Table.from_pylist(ROWS, SCHEMA)
FRAME = TABLE.to_pandas()
POLARS = pl.from_arrow(TABLE)


class OnlyArray:
    """Offers one batch through Arrow's C interface, and nothing else."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


class OnlyStream:
    """Offers a stream through Arrow's C interface, and nothing else."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


def create(path, **options):
    options = {"key": "user", "time": "at", "window": 3, "indexes": 2, **options}
    return wx.WaveIndex.create(path, options.pop("schema", SCHEMA), **options)


def answered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: str(row["at"]))


TAKEN = {
    "a table": lambda: TABLE,
    "a batch": lambda: TABLE.to_batches()[0],
    "a reader": TABLE.to_reader,
    "a list of batches": lambda: TABLE.to_batches(max_chunksize=1),
    "a tuple of tables": lambda: (TABLE[:1], TABLE[1:]),
    "an array through the C interface": OnlyArray,
    "a stream through the C interface": OnlyStream,
    "an array of structs": lambda: TABLE.to_struct_array(),
    "a relation of DuckDB": lambda: duckdb.connect().from_arrow(TABLE),
    "pandas": lambda: FRAME,
    "pandas by a column": lambda: FRAME.set_index("user"),
    "pandas by two columns": lambda: FRAME.set_index(["user", "at"]),
    "pandas by numbers": lambda: FRAME.set_index(pd.Index([4, 4, 1, 0])),
    "pandas with nanoseconds": lambda: FRAME.astype({"at": "datetime64[ns]"}),
    "pandas with objects": lambda: FRAME.astype({"user": object, "kind": object}),
    "pandas with categories": lambda: FRAME.astype({"user": "category", "kind": "category"}),
    "pandas with its own strings": lambda: FRAME.astype({"user": "string", "kind": "string"}),
    "Polars": lambda: POLARS,
    "Polars in pieces": lambda: pl.concat([POLARS[:1], POLARS[1:]], rechunk=False),
    "Polars with categories": lambda: POLARS.with_columns(pl.col("kind").cast(pl.Categorical)),
    "Polars with an enum": lambda: POLARS.with_columns(pl.col("kind").cast(pl.Enum(["a", "b"]))),
    "Polars with milliseconds": lambda: POLARS.with_columns(pl.col("at").cast(pl.Datetime("ms"))),
}


@pytest.mark.parametrize("name", TAKEN)
def test_rows_arrive_from_whatever_holds_a_table(tmp_path, name):
    index = create(tmp_path / "x")
    assert index.append(TAKEN[name]()).rows == 4
    assert index.append(TABLE).slots == [], "the same rows are known again"
    assert answered(index.scan().read_all()) == ROWS
    assert index.amend(TAKEN[name]()).rows == 4
    assert index.scan().read_all().num_rows == 8


@pytest.mark.parametrize("name", TAKEN)
def test_a_stream_takes_whatever_holds_a_table(tmp_path, name):
    index = create(tmp_path / "x")
    assert index.feed(TAKEN[name](), stream="s", number=0, delay="1 hour").rows == 4
    assert answered(index.scan().read_all()) == ROWS


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda: POLARS.lazy(), r"collect\(\)"),
        (lambda: ROWS, "list of dict as a table. Make a table of dictionaries"),
        (lambda: {"user": ["a"]}, "Make a table of dictionaries"),
        (list, "empty list"),
        (lambda: [TABLE, "more"], "Cannot read a list"),
        (lambda: [TABLE, TABLE.drop_columns(["kind"])], "do not have the same columns"),
        (lambda: "rows.csv", "wavedex append"),
        (lambda: ds.dataset(TABLE), r"to_table\(\)"),
        (lambda: pa.Table, "Cannot read a type"),
        (lambda: None, "Cannot read a NoneType"),
        (lambda: POLARS["user"], "Cannot read a Series"),
        (lambda: FRAME["user"], "a Series as a table"),
        (lambda: pa.array([1]), "Cannot read a Int64Array"),
        (lambda: pd.DataFrame({"user": pd.Series([1, "x"], dtype=object)}), "Could not convert"),
        (lambda: FRAME.rename(columns={"kind": "user"}), "Duplicate column names"),
        (lambda: FRAME.rename_axis("number"), "no column 'number'. Drop it"),
        (lambda: POLARS.with_columns(pl.Series("kind", [{1}] * 4, pl.Object)), "'kind' of the fr"),
        (lambda: FRAME.astype({"at": str}), "Column 'at' is of type"),
    ],
)
def test_what_cannot_be_read_as_rows_is_refused_by_name(tmp_path, data, said):
    index = create(tmp_path / "x")
    for write in (index.append, index.amend):
        with pytest.raises(SchemaMismatch, match=said):
            write(data())
    with pytest.raises(SchemaMismatch, match=said):
        index.feed(data(), stream="s", number=0, delay="1 hour")
    assert index.slots == []


def test_an_index_of_pandas_with_a_name_is_a_column_even_where_it_only_counts(tmp_path):
    schema = pa.schema([("number", pa.int64()), ("at", pa.timestamp("us"))])
    index = create(tmp_path / "x", schema=schema, key="number")
    assert index.append(FRAME[["at"]].rename_axis("number")).rows == 4
    assert index.probe(3)["at"].to_pylist() == [ROWS[3]["at"]]


def test_nanoseconds_that_the_index_cannot_hold_are_not_cut(tmp_path):
    index = create(tmp_path / "x")
    exact = FRAME.astype({"at": "datetime64[ns]"})
    exact["at"] += pd.Timedelta(1, "ns")
    with pytest.raises(SchemaMismatch, match="would lose data"):
        index.append(exact)


TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), [-1, None]),
    "u64": (pa.uint64(), [2**63 + 5, 0]),
    "f32": (pa.float32(), [0.5, None]),
    "flag": (pa.bool_(), [True, None]),
    "text": (pa.string(), ["a", None]),
    "large": (pa.large_string(), ["a", ""]),
    "bytes": (pa.binary(), [b"\x00", None]),
    "sized": (pa.binary(2), [b"ab", None]),
    "date": (pa.date32(), [dt.date(2026, 1, 1), None]),
    "date64": (pa.date64(), [dt.date(2026, 1, 1), None]),
    "seconds": (pa.timestamp("s"), [dt.datetime(2026, 1, 1), None]),
    "zoned": (pa.timestamp("ns", "Europe/Berlin"), [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None]),
    "time": (pa.time64("us"), [dt.time(1, 2, 3), None]),
    "length": (pa.duration("ms"), [dt.timedelta(seconds=1), None]),
    "price": (pa.decimal128(10, 2), [decimal.Decimal("1.50"), None]),
    "coded": (pa.dictionary(pa.int32(), pa.string()), ["x", None]),
    "list": (pa.list_(pa.string()), [["a"], None]),
    "struct": (pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
}


def test_answers_of_all_types_become_frames_and_come_back(tmp_path):
    fields = [("key", pa.int64()), *((name, kind) for name, (kind, _) in TYPES.items())]
    schema = pa.schema(fields)
    rows = [{"key": 1, **{name: values[n] for name, (_, values) in TYPES.items()}} for n in (0, 1)]
    table = pa.Table.from_pylist(rows, schema)
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="key", window=3)
    index.append(table, slot=1)
    frame = index.probe(1).to_pandas()
    assert list(frame.columns) == schema.names
    pd.testing.assert_frame_equal(
        frame.sort_values("u64", ignore_index=True),
        table.to_pandas().sort_values("u64", ignore_index=True),
    )
    assert frame.equals(index.snapshot().probe(1).to_pandas())
    # Nested values, times of day and durations come out as Python objects, from which Arrow finds
    # the types again.
    again = wx.WaveIndex.create(tmp_path / "y", schema, key="key", window=3)
    assert again.append(pa.Table.from_pandas(frame, schema), slot=1).rows == 2
    assert again.probe(1).sort_by("u64").equals(index.probe(1).sort_by("u64"))
