"""The arguments and options that several commands share, each said once."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from wavedex.cli.files import FileKind


class RowFormat(StrEnum):
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
        help="Rows from this slot number, date or datetime on; a slot or date counts whole. A "
        "lifetime index compares insertion times.",
    ),
]
Until = Annotated[
    str | None, typer.Option(metavar="T", help="Rows up to this slot number, date or datetime.")
]
Shorten = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DURATION",
        help="Answer as if the windows were shorter by this much, such as '4 minutes'; or "
        "COLUMN=DURATION, or COLUMN=ROWS, for windows by themselves, several times. For lifetime "
        "indexes.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(metavar="ORDER", help="time for the oldest rows first, -time for the newest."),
]
Last = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="The latest N rows: of each key, or of all in a scan."),
]
Where = Annotated[
    str | None,
    typer.Option(metavar="SQL", help='Only rows that meet this, such as "amount > 100".'),
]
From = Annotated[
    FileKind | None,
    typer.Option(
        "--from",
        help="What the files hold, where their names do not say.",
        show_default=False,
    ),
]
Wait = Annotated[
    str | None,
    typer.Option(metavar="LENGTH", help="How long to wait for another writer, such as '30 s'."),
]
Arrived = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=N",
        help="For counted windows: the newest position of each stream, by its column; several "
        "times.",
    ),
]
NoValue = Annotated[
    str, typer.Option(metavar="TEXT", help="What stands for no value in a CSV file, unquoted.")
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="COLUMN=TYPE", help="The type of a column of text, several times."
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Keep types that were found without asking.")
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
Check = Annotated[
    bool,
    typer.Option(
        "--check", help="Compare every file with its checksum before it is answered from."
    ),
]
Formats = Annotated[
    RowFormat | None,
    typer.Option(
        "--format",
        help="table for people (the default), JSON lines, CSV, or an Arrow IPC stream.",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option(metavar="N", min=1, help="The most rows that a table shows.")]
RowsAsJson = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def chosen_format(name: RowFormat | None, as_json: bool) -> RowFormat:
    """What `--format` and `--json` together say. Raises BadParameter where they differ."""
    if as_json and name not in (None, RowFormat.json):
        raise typer.BadParameter("--json is short for --format json; give one of them.")
    return RowFormat.json if as_json else name or RowFormat.table


def refuse(others: str, **options: object) -> None:
    """Raise BadParameter for an option that was given and goes with others."""
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"--{name.replace('_', '-')} goes with {others}.")


def pairs_of(option: str, texts: Sequence[str]) -> dict[str, str]:
    """What an option says of columns, by name.

    Raises BadParameter where it says nothing of one, or says it twice.

    >>> pairs_of("--arrived", ["left=17", "right = 4"])
    {'left': '17', 'right': '4'}
    """
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = (piece.strip() for piece in text.rpartition("="))
        if not sign or not name or not value:
            raise typer.BadParameter(f"{text!r} is not COLUMN=VALUE.", param_hint=f"'{option}'")
        if name in pairs:
            raise typer.BadParameter(f"{name!r} is said twice.", param_hint=f"'{option}'")
        pairs[name] = value
    return pairs


def whole(text: str, option: str) -> int:
    """The number that an option gives. Raises BadParameter where it gives no number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a whole number.", param_hint=f"'{option}'"
        ) from None


def column_names(columns: str | None) -> list[str] | None:
    """The names in `--columns`.

    >>> column_names("user, amount")
    ['user', 'amount']
    """
    return None if columns is None else [name.strip() for name in columns.split(",")]
