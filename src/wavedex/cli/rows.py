"""Rows on standard output: a table for people, JSON lines, CSV, or an Arrow stream.

All but the table are written batch by batch as they are read, and at once. The table shows the
first rows and counts the others. No format ever holds more than a batch, but for a table of all
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
import typer

from wavedex.cli.options import RowFormat
from wavedex.cli.output import WIDE, console_for
from wavedex.show.values import csv_column, json_column, json_text
from wavedex.show.words import printable

NULL = "null"
"""How no value is shown."""
CELL_MOST = 40
"""A cell of a table has at most so many letters where it is drawn for a terminal."""
FRAME = 3
"""What the frame takes beside each column."""
SLICE_ROWS = 8_192
"""This many rows become Python objects at a time: a batch of a scan can be a whole shard."""


@dataclass(frozen=True)
class RowAnswer:
    """Rows as the answer of a command."""

    reader: pa.RecordBatchReader
    kind: RowFormat
    limit: int | None
    """The most that a table shows; None for all."""

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
        out.flush()


def _write_csv(reader: pa.RecordBatchReader, out: Any) -> None:
    import pyarrow.csv

    names = reader.schema.names
    empty = [csv_column(pa.nulls(0, field.type)) for field in reader.schema]
    schema = pa.schema([(name, column.type) for name, column in zip(names, empty, strict=True)])
    with pyarrow.csv.CSVWriter(out, schema) as writer:
        for batch in _slices(reader):
            columns = [csv_column(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            out.flush()


def _write_arrow(reader: pa.RecordBatchReader, out: Any) -> None:
    with pa.ipc.new_stream(out, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
            out.flush()


def _write_table(reader: pa.RecordBatchReader, limit: int | None) -> None:
    from rich.table import Table
    from rich.text import Text

    count = 0
    columns: list[list[str | None]] = [[] for _ in reader.schema]
    for batch in reader:
        shown = batch if limit is None else batch.slice(0, max(0, limit - count))
        count += batch.num_rows
        for cells, column in zip(columns, shown.columns, strict=True):
            cells += map(_cell, json_column(column))
    if not count:
        typer.echo("No rows.", err=True)
        return
    console = console_for(is_table=True)
    most = CELL_MOST if console.width < WIDE else WIDE
    names = [printable(name) for name in reader.schema.names]
    widths = [
        min(most, max(len(NULL if each is None else each) for each in (name, *cells)))
        for name, cells in zip(names, columns, strict=True)
    ]
    kept = fitting(widths, console.width)
    table = Table(header_style="bold")
    for at in kept:
        name = Text("…" if at is None else names[at])
        is_number = at is not None and _is_number(reader.schema.field(at))
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=True,
            overflow="ellipsis",
            max_width=most,
        )
    left_out: list[str | None] = ["…"] * len(columns[0])
    for row in zip(*(left_out if at is None else columns[at] for at in kept), strict=True):
        table.add_row(*(Text(NULL, style="dim") if each is None else Text(each) for each in row))
    console.print(table)
    said = f"{count:,} row{'s' * (count != 1)}"
    if limit is not None and count > limit:
        said += f", of which the first {limit:,} are shown: --limit N shows more"
    if None in kept:
        said += f"; {len(kept) - 1} of {len(names)} columns: --columns A,B chooses"
    console.print(said)


def _is_number(field: pa.Field) -> bool:
    kind = field.type
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def fitting(widths: Sequence[int], room: int) -> list[int | None]:
    """The columns that fit side by side, with None in place of those in the middle that do not.

    >>> fitting([5, 5, 5, 5], 40), fitting([5, 5, 5, 5], 30), fitting([50, 50], 30)
    ([0, 1, 2, 3], [0, 1, None, 3], [0, None])
    """
    room -= 1
    if sum(width + FRAME for width in widths) <= room:
        return [*range(len(widths))]
    room -= 1 + FRAME
    left: list[int | None] = [0]
    right: list[int | None] = []
    room -= widths[0] + FRAME
    for turn in range(1, len(widths)):
        at = len(widths) - 1 - len(right) if turn % 2 else len(left)
        room -= widths[at] + FRAME
        if room < 0:
            break
        (right if turn % 2 else left).append(at)
    return [*left, None, *reversed(right)]


def _cell(value: Any) -> str | None:
    if value is None:
        return None
    return printable(value if isinstance(value, str) else json_text(value))


_WRITERS = {RowFormat.json: _write_json, RowFormat.csv: _write_csv, RowFormat.arrow: _write_arrow}
