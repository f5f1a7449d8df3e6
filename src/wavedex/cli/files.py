"""Files as tables: Parquet, CSV and JSON lines, in the types of an index.

The types are those of the index where the file leaves them open.

Parquet says itself what its columns are. A column of text takes the type that the index has for it,
so that a code like 007 stays one, and nothing is guessed. A time without a zone is local to the
zone that is given. Binary is hex, as it is printed.

Columns that the index does not know are read as they seem. The index then refuses them by name.
Whatever is wrong with a file is said before anything of it is appended.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import Unreadable
from wavedex.index.core.arrival import is_instant, is_local, to_instants
from wavedex.rows import compute as pc

BLOCK_BYTES = 1 << 24
"""How much of a text is parsed at a time: a row must fit into it."""


_HAS_ZONE = r"[T ]\d\d.*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"
"""How the text of a time with a zone ends."""
TEXTS = (".csv", ".jsonl", ".ndjson", ".json")


def read_file(path: Path, schema: pa.Schema, null: str = "", zone: str = "UTC") -> pa.Table:
    """Read a file. Raises Unreadable, and BadTime.

    `null` is what stands for no value in a CSV file. Texts without a zone are local to `zone` where
    the column has one.
    """
    kind = _kind_of(path)
    if not path.is_file():
        raise Unreadable(
            f"{path} is {'no file' if path.exists() else 'not there'}. Check the path."
        )
    try:
        if kind == ".parquet":
            return _read_parquet(path)
        table = _read_csv(path, schema, null) if kind == ".csv" else _read_json(path, schema)
        return _from_text(table, schema, zone)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"Cannot read {path}. {error}") from None


def _kind_of(path: Path) -> str:
    """How the file's name ends, without .gz. Raises Unreadable for a kind that is not known."""
    *_, before, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    if last == ".gz" and before in TEXTS:
        return before
    if last == ".parquet" or last in TEXTS:
        return last
    raise Unreadable(
        f"Cannot tell what {path} holds. Give a .parquet, .csv, .jsonl, .ndjson or .json file; "
        "text may be compressed as .gz."
    )


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet

    # As one file: a folder named like "day=5" above it adds no column.
    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read()


def _read_csv(path: Path, schema: pa.Schema, null: str) -> pa.Table:
    import pyarrow.csv

    types = {
        field.name: pa.string()
        if _is_bytes(field.type) or is_instant(_value_type(field.type))
        else _value_type(field.type)
        for field in schema
    }
    with pa.input_stream(path, compression="detect") as source:
        return pyarrow.csv.read_csv(
            source,
            read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types,
                null_values=[null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _read_json(path: Path, schema: pa.Schema) -> pa.Table:
    asked = pa.schema([(field.name, _json_type(field.type)) for field in schema])
    table = _parse_json(path, asked)
    # A column that was asked for and is in no row comes back as nulls; so does one that has only
    # nulls.
    doubtful = {name for name in asked.names if table.column(name).null_count == table.num_rows}
    if doubtful:
        sure = pa.schema([field for field in asked if field.name not in doubtful])
        missing = doubtful - set(_parse_json(path, sure).column_names)
        table = table.drop_columns(sorted(missing))
    return table


def as_of_zone(table: pa.Table, schema: pa.Schema, zone: str, own: str) -> pa.Table:
    """Times without a zone, which are local to `zone`, as the schema has them.

    Those of the schema are local to `own`. Raises BadTime where a zone does not say which instants
    are meant.
    """
    for at, name in enumerate(table.column_names):
        kind = _value_type(schema.field(name).type) if name in schema.names else None
        column = table.column(at)
        if kind is None or zone == own or not is_local(column.type) or not pt.is_timestamp(kind):
            continue
        instants = to_instants(column, name, zone)
        if is_local(kind):
            instants = pc.local_timestamp(instants.cast(pa.timestamp(column.type.unit, own)))
        table = table.set_column(at, name, instants)
    return table


def _parse_json(path: Path, schema: pa.Schema) -> pa.Table:
    import pyarrow.json

    with pa.input_stream(path, compression="detect") as source:
        return pyarrow.json.read_json(
            source,
            read_options=pyarrow.json.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="infer"
            ),
        )


def _json_type(kind: pa.DataType) -> pa.DataType:
    """What JSON has for a type.

    Times are text: Arrow's JSON reader would take them without their zone.
    """
    kind = _value_type(kind)
    if pt.is_duration(kind):
        return pa.int64()
    is_text = pt.is_timestamp(kind) or pt.is_date(kind) or pt.is_time(kind) or _is_bytes(kind)
    return pa.string() if is_text else kind


def _from_text(table: pa.Table, schema: pa.Schema, zone: str) -> pa.Table:
    """The columns that were read as text or counts, in the index's types."""
    for at, name in enumerate(table.column_names):
        kind = _value_type(schema.field(name).type) if name in schema.names else None
        column = table.column(at)
        if kind is None or column.type == kind:
            continue
        try:
            if pt.is_string(column.type) and is_instant(kind):
                column = _instants(column, name, kind, zone)
            table = table.set_column(at, name, _converted(column, kind))
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(f"Column {name!r} is no {kind}: {error}") from None
    return table


def _instants(column: pa.ChunkedArray, name: str, kind: pa.DataType, zone: str) -> pa.ChunkedArray:
    """Texts as times with a zone: by the zone that they name, or else by `zone`."""
    named = pc.match_substring_regex(column, _HAS_ZONE)
    nothing = pa.scalar(None, column.type)
    local = pc.if_else(named, nothing, column).cast(pa.timestamp(kind.unit))
    return pc.coalesce(
        pc.if_else(named, column, nothing).cast(kind),
        to_instants(local, name, zone).cast(kind),
    )


def _converted(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if pt.is_string(column.type) and (_is_bytes(kind) or pt.is_time(kind)):
        parse = bytes.fromhex if _is_bytes(kind) else dt.time.fromisoformat
        values = [None if value is None else parse(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, kind)])
    return column.cast(kind)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pt.is_dictionary(kind) else kind


def _is_bytes(kind: pa.DataType) -> bool:
    sized = pt.is_fixed_size_binary(kind)
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind) or sized)
