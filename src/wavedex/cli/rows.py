"""Rows on standard output: a table for people, JSON lines, CSV, or an Arrow stream.

All but the table, which shows the first rows and counts the others, are written batch by batch as they are read: no
format ever holds more than a batch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt
import typer

from wavedex.cli.options import Format
from wavedex.cli.values import csv_column, json_column, json_text

if TYPE_CHECKING:
    from rich.console import Console

SLICE_ROWS = 8_192
"""So many rows become Python objects at a time: a batch of a scan can be a whole shard."""
WIDE = 10_000
"""The width of a table that is not for a terminal, wide enough for rows never to be cut."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def write_rows(reader: pa.RecordBatchReader, kind: Format, limit: int) -> None:
    """Write all rows of a reader to standard output; of a table at most `limit` are shown."""
    if kind is Format.table:
        _write_table(reader, limit)
        return
    sink = typer.get_binary_stream("stdout")
    {Format.json: _write_json, Format.csv: _write_csv, Format.arrow: _write_arrow}[kind](
        reader, sink
    )
    sink.flush()


def printable(text: str) -> str:
    r"""The text, with everything that would steer a terminal written out.

    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def table_console() -> Console:
    """Where tables are printed: a terminal as wide as it is, and whatever else so wide that no row is cut."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=WIDE)
    return console


def _slices(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        for start in range(0, batch.num_rows, SLICE_ROWS):
            yield batch.slice(start, SLICE_ROWS)


def _write_json(reader: pa.RecordBatchReader, sink: Any) -> None:
    names = reader.schema.names
    for batch in _slices(reader):
        columns = [json_column(column) for column in batch.columns]
        lines = [
            json_text(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)
        ]
        sink.write(("\n".join(lines) + "\n").encode(errors="replace"))


def _write_csv(reader: pa.RecordBatchReader, sink: Any) -> None:
    import pyarrow.csv

    names = reader.schema.names
    empty = [csv_column(pa.nulls(0, field.type)) for field in reader.schema]
    schema = pa.schema([(name, column.type) for name, column in zip(names, empty, strict=True)])
    with pyarrow.csv.CSVWriter(sink, schema) as writer:
        for batch in _slices(reader):
            columns = [csv_column(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _write_arrow(reader: pa.RecordBatchReader, sink: Any) -> None:
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_table(reader: pa.RecordBatchReader, limit: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for field in reader.schema:
        number = (
            pt.is_integer(field.type) or pt.is_floating(field.type) or pt.is_decimal(field.type)
        )
        name = Text(printable(field.name))
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    count = 0
    for batch in reader:
        shown = batch.slice(0, max(0, limit - count))
        count += batch.num_rows
        if shown.num_rows:
            columns = [json_column(column) for column in shown.columns]
            for row in zip(*columns, strict=True):
                table.add_row(*(_cell(value) for value in row))
    if not count:
        typer.echo("No rows.", err=True)
        return
    console = table_console()
    console.print(table)
    rest = f", of which the first {limit:,} are shown: --limit N shows more"
    console.print(f"{count:,} row{'s' * (count != 1)}{rest if count > limit else ''}")


def _cell(value: Any) -> Any:
    from rich.text import Text

    if value is None:
        return Text("null", style="dim")
    return Text(printable(value if isinstance(value, str) else json_text(value)))
