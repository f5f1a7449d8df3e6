"""The rows of slots from a file: one number a line, or a column of a Parquet, CSV or JSON file.

They are in the order of the slots. A file of columns may also say which slot each row is. Then the
slots must follow one another.

Nothing is guessed where it could be otherwise. The column that counts is the one that was named,
else the only one of numbers, else the only one that is called a count. Whatever is wrong is said
with the place.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt

from wavedex.cli.files import ENDINGS, read_file
from wavedex.errors import BadSizes

COUNTED = ("rows", "row", "count", "counts", "size", "sizes", "n", "number", "entries")
SLOTTED = ("slot", "slots", "day", "date", "time", "hour", "week", "month", "year", "label")
"""What columns of counts and of slots are usually called."""


def read_sizes(path: Path, column: str | None = None) -> list[int]:
    """The rows of each slot, oldest first. Raises BadSizes or Unreadable."""
    if not path.is_file():
        raise BadSizes(f"{path} is {'no file' if path.exists() else 'not there'}. Check the path.")
    suffix = path.suffix.lower()
    if suffix in (*ENDINGS, ".gz"):
        sizes = _from_table(path, read_file(path, pa.schema([])), column)
    elif column is None:
        sizes = _from_lines(path)
    else:
        raise BadSizes(f"{path} has lines and no columns. Leave {column!r} out.")
    if not sizes:
        raise BadSizes(f"{path} is empty. Give the rows of each slot, one number a line.")
    return sizes


def _from_lines(path: Path) -> list[int]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise BadSizes(
            f"{path} is no text. Give one number a line, or a .parquet, .csv or .json file."
        ) from None
    sizes = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if not line.strip().isdecimal():
            raise BadSizes(
                f"{path}:{number}: {line.strip()[:40]!r} is no number of rows. Give one whole "
                "number a line."
            )
        sizes.append(int(line))
    return sizes


def _from_table(path: Path, table: pa.Table, column: str | None) -> list[int]:
    for name in table.column_names:
        if name.strip().isdecimal():
            raise BadSizes(
                f"{path} has a column called {name!r}: its first line should name the columns. "
                "For one number a line without a name, call the file .txt."
            )
    counted = _counted(path, table, column)
    for name in table.column_names:
        if name != counted and _is_slot(name, table.schema.field(name).type):
            _check_order(path, name, table.column(name))
    values = table.column(counted).to_pylist()
    sizes = []
    for number, value in enumerate(values, start=1):
        if value is None or value != value or value < 0 or value != int(value):
            raise BadSizes(
                f"{path}: row {number} has {value!r} in {counted!r}. Give a whole number, 0 or "
                "more, for each slot."
            )
        sizes.append(int(value))
    return sizes


def _counted(path: Path, table: pa.Table, column: str | None) -> str:
    """The column that has the rows of each slot."""
    numbers = [
        field.name
        for field in table.schema
        if pt.is_integer(field.type) or pt.is_floating(field.type) or pt.is_decimal(field.type)
    ]
    if column is not None:
        if column not in table.column_names:
            raise BadSizes(
                f"{path} has no column {column!r}. It has {', '.join(table.column_names)}."
            )
        if column not in numbers:
            kind = table.schema.field(column).type
            raise BadSizes(
                f"Column {column!r} of {path} is of type {kind}. Name one that counts rows."
            )
        return column
    likely = [name for name in numbers if not _is_slot(name, table.schema.field(name).type)]
    if len(likely) > 1:
        likely = [name for name in likely if name.casefold() in COUNTED]
    if len(likely) != 1:
        raise BadSizes(
            f"Cannot tell which column of {path} counts the rows of slots. It has "
            f"{', '.join(table.column_names)}: name one with --sizes-column."
        )
    return likely[0]


def _is_slot(name: str, kind: pa.DataType) -> bool:
    return bool(name.casefold() in SLOTTED or pt.is_date(kind) or pt.is_timestamp(kind))


def _check_order(path: Path, name: str, column: pa.ChunkedArray) -> None:
    """Raise BadSizes where slots do not follow one another."""
    kind = column.type
    if not (pt.is_integer(kind) or pt.is_date(kind) or pt.is_timestamp(kind)):
        return
    slots = column.to_pylist()
    for number, (before, after) in enumerate(pairwise(slots), start=2):
        if before is None or after is None or after <= before:
            raise BadSizes(
                f"{path}: row {number} has {after} in {name!r} after {before}. Give the slots in "
                "their order, each once."
            )
        if name.casefold() in ("slot", "slots") and pt.is_integer(kind) and after != before + 1:
            raise BadSizes(
                f"{path}: row {number} has slot {after} after slot {before}. Give the slots "
                "between too, with 0 rows."
            )
