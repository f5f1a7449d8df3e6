"""Rows on standard output: a table for people, JSON lines, CSV, or an Arrow stream.

All but the table are written batch by batch as they are read. The table shows the first rows and
counts the others. No format ever holds more than a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
import typer

from wavedex.cli.options import RowFormat
from wavedex.cli.output import console_for
from wavedex.cli.values import csv_column, json_column, json_text
from wavedex.show.words import printable

SLICE_ROWS = 8_192
"""This many rows become Python objects at a time: a batch of a scan can be a whole shard."""


@dataclass(frozen=True)
class RowAnswer:
    """Rows as the answer of a command."""

    reader: pa.RecordBatchReader
    kind: RowFormat
    limit: int
    """The most that a table shows."""

    def write(self, as_json: bool) -> None:
        """Write all of them to standard output."""
        if self.kind is RowFormat.table:
            _write_table(self.reader, self.limit)
            return
        out = typer.get_binary_stream("stdout")
        _WRITERS[self.kind](self.reader, out)
        out.flush()


def _slices(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        for start in range(0, batch.num_rows, SLICE_ROWS):
            yield batch.slice(start, SLICE_ROWS)


def _write_json(reader: pa.RecordBatchReader, out: Any) -> None:
    names = reader.schema.names
    for batch in _slices(reader):
        columns = [json_column(column) for column in batch.columns]
        lines = [
            json_text(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)
        ]
        out.write(("\n".join(lines) + "\n").encode(errors="replace"))


def _write_csv(reader: pa.RecordBatchReader, out: Any) -> None:
    import pyarrow.csv

    names = reader.schema.names
    empty = [csv_column(pa.nulls(0, field.type)) for field in reader.schema]
    schema = pa.schema([(name, column.type) for name, column in zip(names, empty, strict=True)])
    with pyarrow.csv.CSVWriter(out, schema) as writer:
        for batch in _slices(reader):
            columns = [csv_column(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _write_arrow(reader: pa.RecordBatchReader, out: Any) -> None:
    with pa.ipc.new_stream(out, reader.schema) as writer:
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
    console = console_for(is_table=True)
    console.print(table)
    rest = f", of which the first {limit:,} are shown: --limit N shows more"
    console.print(f"{count:,} row{'s' * (count != 1)}{rest if count > limit else ''}")


def _cell(value: Any) -> Any:
    from rich.text import Text

    if value is None:
        return Text("null", style="dim")
    return Text(printable(value if isinstance(value, str) else json_text(value)))


_WRITERS = {RowFormat.json: _write_json, RowFormat.csv: _write_csv, RowFormat.arrow: _write_arrow}
