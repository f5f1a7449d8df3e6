"""The arguments and options that several commands share, each said once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    json = "json"
    csv = "csv"
    arrow = "arrow"


Index = Annotated[str, typer.Argument(metavar="INDEX", help="The folder of the index, or its URI.")]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="Rows from this slot number, date or datetime on; a slot or date counts whole.",
    ),
]
Until = Annotated[
    str | None, typer.Option(metavar="T", help="Rows up to this slot number, date or datetime.")
]
Commit = Annotated[
    int | None, typer.Option(metavar="N", help="The window as commit N left it, if it is kept.")
]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B", help="The columns to show, instead of all.")
]
Expired = Annotated[
    bool, typer.Option("--expired", help="Also show expired rows that are still held.")
]
Formats = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="table for people (the default), JSON lines, CSV, or an Arrow IPC stream.",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option(metavar="N", min=1, help="The most rows that a table shows.")]
RowsAsJson = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def chosen_format(name: Format | None, as_json: bool) -> Format:
    """What `--format` and `--json` together say. Raises BadParameter where they differ."""
    if as_json and name not in (None, Format.json):
        raise typer.BadParameter("--json is short for --format json; give one of them.")
    return Format.json if as_json else name or Format.table


def column_names(columns: str | None) -> list[str] | None:
    """The names in `--columns`.

    >>> column_names("user, amount")
    ['user', 'amount']
    """
    return None if columns is None else [name.strip() for name in columns.split(",")]
