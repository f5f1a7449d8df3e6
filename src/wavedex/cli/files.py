"""Files as tables: Parquet, Arrow, CSV and JSON lines, or standard input that holds one of them.

Parquet and Arrow say themselves what their columns are. A column of text takes the type that the
index has for it, so that a code like 007 stays one, and nothing is guessed. A time without a zone
is local to the zone that is given. Binary is hex, as it is printed.

For an index that is to be, `wavedex.cli.guesses` finds types that fit every value.

Columns that the index does not know are read as they seem. The index then refuses them by name.
Whatever is wrong with a file is said before anything of it is appended.
"""

from __future__ import annotations

import datetime as dt
import io
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from wavedex.cli.guesses import guess_times, guess_types
from wavedex.errors import Unreadable
from wavedex.index.core.arrival import is_instant, is_local, to_instants
from wavedex.progress import step, underway
from wavedex.rows import compute as pc

BLOCK_BYTES = 1 << 24
"""How much of a text is parsed at a time: a row must fit into it."""
STDIN = "-"
"""The name of standard input."""

_HAS_ZONE = r"[T ]\d\d.*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"
"""How the text of a time with a zone ends."""


class FileKind(StrEnum):
    """What a file holds."""

    parquet = "parquet"
    arrow = "arrow"
    csv = "csv"
    json = "json"


ENDINGS = {
    ".parquet": FileKind.parquet,
    ".arrow": FileKind.arrow,
    ".arrows": FileKind.arrow,
    ".feather": FileKind.arrow,
    ".ipc": FileKind.arrow,
    ".csv": FileKind.csv,
    ".jsonl": FileKind.json,
    ".ndjson": FileKind.json,
    ".json": FileKind.json,
}
_BEGINNINGS = {
    b"PAR1": FileKind.parquet,
    b"ARROW1": FileKind.arrow,
    b"\xff\xff\xff\xff": FileKind.arrow,
    b"{": FileKind.json,
}
"""How content begins that is not CSV."""
_TEXTS = (FileKind.csv, FileKind.json)
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""How text is compressed in a file whose name ends so."""


@dataclass(frozen=True)
class Source:
    """A file to read, or what came through standard input."""

    name: str
    kind: FileKind
    content: Path | pa.Buffer

    @property
    def is_text(self) -> bool:
        """Whether its columns do not say of which type they are."""
        return self.kind in _TEXTS

    def open(self) -> Any:
        """A stream of its bytes. Text that is compressed is read as text."""
        if not isinstance(self.content, Path):
            return pa.BufferReader(self.content)
        stream = pa.PythonFile(_Told(self.content, self.name), "r")
        codec = _PACKED.get(self.content.suffix.lower()) if self.is_text else None
        return stream if codec is None else pa.CompressedInputStream(stream, codec)

    @property
    def bytes(self) -> int:
        """Its size."""
        content = self.content
        return content.stat().st_size if isinstance(content, Path) else content.size


class _Told(io.FileIO):
    """A file that tells how far it is read."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path)
        self._told_as = name

    def read(self, size: int | None = -1) -> bytes:
        """Read, and tell how much it was."""
        found = super().read(-1 if size is None else size)
        step(self._told_as, len(found))
        return found


def find_source(path: Path, said: FileKind | None = None) -> Source:
    """What a path names, and what it holds: as is said, or by its name. Raises Unreadable.

    Standard input is read to its end, and tells by its beginning what it holds.
    """
    if str(path) == STDIN:
        content = pa.py_buffer(sys.stdin.buffer.read())
        return Source("standard input", said or _kind_of_content(content), content)
    kind = said or _kind_of(path)
    if not path.is_file():
        raise Unreadable(
            f"{path} is {'no file' if path.exists() else 'not there'}. Check the path."
        )
    return Source(str(path), kind, path)


def read_source(
    source: Source, schema: pa.Schema | None, null: str = "", zone: str = "UTC"
) -> pa.Table:
    """Read it in the types of a schema, or in those that fit. Raises Unreadable, and BadTime.

    `null` is what stands for no value in a CSV file. Texts without a zone are local to `zone` where
    the column has one.
    """
    with underway(source.name, "read", 0, source.bytes):
        return _read(source, schema, null, zone)


def _read(source: Source, schema: pa.Schema | None, null: str, zone: str) -> pa.Table:
    try:
        if source.kind is FileKind.parquet:
            return _read_parquet(source)
        if source.kind is FileKind.arrow:
            return _read_arrow(source)
        if schema is None:
            if source.kind is FileKind.csv:
                return guess_types(_read_csv(source, None, null))
            return guess_times(_read_json_texts(source))
        is_csv = source.kind is FileKind.csv
        table = _read_csv(source, schema, null) if is_csv else _read_json(source, schema)
        return _from_text(table, schema, zone)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"Cannot read {source.name}. {error}") from None


def read_file(path: Path, schema: pa.Schema, null: str = "", zone: str = "UTC") -> pa.Table:
    """Read a file in the types of a schema. Raises Unreadable, and BadTime."""
    return read_source(find_source(path), schema, null, zone)


def _kind_of(path: Path) -> FileKind:
    """How the file's name ends, without .gz. Raises Unreadable for a kind that is not known."""
    *_, before, last = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    kind = ENDINGS.get(before if last == ".gz" else last)
    if kind is None or (last == ".gz" and kind not in _TEXTS):
        raise Unreadable(
            f"Cannot tell what {path} holds. Give a .parquet, .arrow, .csv, .jsonl, .ndjson or "
            ".json file, or say it with --from; text may be compressed as .gz."
        )
    return kind


def _kind_of_content(content: pa.Buffer) -> FileKind:
    start = content.slice(0, min(64, content.size)).to_pybytes().lstrip(b" \r\n\t\xef\xbb\xbf")
    for beginning, kind in _BEGINNINGS.items():
        if start.startswith(beginning):
            return kind
    return FileKind.csv


def _read_parquet(source: Source) -> pa.Table:
    import pyarrow.parquet

    # As one file: a folder named like "day=5" above it adds no column.
    with source.open() as stream, pyarrow.parquet.ParquetFile(stream) as file:
        return file.read()


def _read_arrow(source: Source) -> pa.Table:
    """A file of Arrow's, or a stream, as `--format arrow` writes it."""
    with source.open() as stream:
        is_file = stream.read(6) == b"ARROW1"
        stream.seek(0)
        if is_file:
            return pa.ipc.open_file(stream).read_all()
        return pa.ipc.open_stream(stream).read_all()


def _read_csv(source: Source, schema: pa.Schema | None, null: str) -> pa.Table:
    """The columns in the types of a schema, or all of them as text."""
    import pyarrow.csv

    read = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES)
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    if schema is None:
        with (
            source.open() as stream,
            pyarrow.csv.open_csv(stream, read_options=read, parse_options=parse) as reader,
        ):
            names = reader.schema.names
        schema = pa.schema([(name, pa.string()) for name in names])
    types = {
        field.name: pa.string()
        if _is_bytes(field.type) or is_instant(_value_type(field.type))
        else _value_type(field.type)
        for field in schema
    }
    with source.open() as stream:
        return pyarrow.csv.read_csv(
            stream,
            read_options=read,
            parse_options=parse,
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types,
                null_values=[null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _read_json_texts(source: Source) -> pa.Table:
    """The columns as they seem, but for times: Arrow would take them without their zone."""
    found = _parse_json(source, pa.schema([]))
    times = [field.name for field in found.schema if pt.is_timestamp(field.type)]
    if not times:
        return found
    texts = [
        field.with_type(pa.string()) if field.name in times else field for field in found.schema
    ]
    return _parse_json(source, pa.schema(texts))


def _read_json(source: Source, schema: pa.Schema) -> pa.Table:
    asked = pa.schema([(field.name, _json_type(field.type)) for field in schema])
    table = _parse_json(source, asked)
    # A column that was asked for and is in no row comes back as nulls; so does one that has only
    # nulls.
    doubtful = {name for name in asked.names if table.column(name).null_count == table.num_rows}
    if doubtful:
        sure = pa.schema([field for field in asked if field.name not in doubtful])
        missing = doubtful - set(_parse_json(source, sure).column_names)
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


def _parse_json(source: Source, schema: pa.Schema) -> pa.Table:
    import pyarrow.json

    with source.open() as stream:
        return pyarrow.json.read_json(
            stream,
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
