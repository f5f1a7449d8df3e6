"""The command `temporal contains`: whether ids were in a set at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from wavedex.cli.append import Texts
from wavedex.cli.asked import LIMIT_ROWS
from wavedex.cli.options import (
    Formats,
    From,
    Limit,
    NoValue,
    RowFormat,
    RowsAsJson,
    chosen_format,
    refuse,
)
from wavedex.cli.output import Answer
from wavedex.cli.rows import RowAnswer
from wavedex.cli.temporal.asked import TIME_HELP, Oid, SetPath, find_set
from wavedex.cli.temporal.files import read_for
from wavedex.errors import MissingColumn, WavedexError
from wavedex.rows.arrow import to_arrow
from wavedex.show.values import json_text, plain
from wavedex.show.words import printable

ANSWER = "contains"
"""The column of answers to many questions."""


def contains(
    path: SetPath,
    oid: Oid = None,
    time: Annotated[str | None, typer.Argument(metavar="TIME", help=TIME_HELP)] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Whether it was in the set at some time up to this, included."
        ),
    ] = None,
    asked: Annotated[
        Path | None,
        typer.Option(
            "--asked",
            metavar="FILE",
            help="Instead: rows with ids and times, each of which is asked; - is standard input.",
        ),
    ] = None,
    oid_column: Annotated[
        str | None, typer.Option("--oid", metavar="COLUMN", help="Its column of ids; else oid.")
    ] = None,
    time_column: Annotated[
        str | None, typer.Option("--time", metavar="COLUMN", help="Its column of times; else time.")
    ] = None,
    null: NoValue = "",
    zone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The zone of times in the file that name none."),
    ] = None,
    from_kind: From = None,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> Answer | RowAnswer:
    """Say whether an id was in the set at a time, and the row that it carried then.

    With --asked, the rows of a file with one column more, which says so of each.
    """
    chosen = chosen_format(kind, as_json)
    if (asked is None) == (oid is None) or (oid is not None and time is None):
        raise typer.BadParameter("give an id and a time, or --asked FILE.")
    found = find_set(path)
    if asked is not None:
        refuse("one id and one time", until=until)
        names = {"oid": oid_column or "oid", "time": time_column or "time"}
        table = read_for(found.schema, asked, names, Texts(null, zone, from_kind))
        _check_columns(asked, table, names)
        try:
            answers = found.contains_many(table.column(names["oid"]), table.column(names["time"]))
        except WavedexError as error:
            raise type(error)(f"{asked}: {error}") from None
        table = table.append_column(ANSWER, pa.chunked_array([to_arrow(answers)]))
        return RowAnswer(table.to_reader(), chosen, limit)
    assert oid is not None
    refuse("--asked FILE", oid=oid_column, time=time_column)
    if kind not in (None, RowFormat.table, RowFormat.json):
        raise typer.BadParameter(f"--format {kind.value} goes with --asked FILE.")
    value = found.parse_id(oid)
    if until is None:
        row = found.row(value, time)
        is_there = row is not None
    else:
        row, is_there = None, found.contains_during(value, time, until)
    data = {"oid": plain(value), "time": time, "contains": is_there, "row": plain(row)}
    if until is not None:
        data = {"oid": plain(value), "since": time, "until": until, "contains": is_there}
    carried = f", with {json_text(plain(row))}" if row else ""
    said = printable(("yes" if is_there else "no") + carried)
    return Answer(data, json_text(data) if chosen is RowFormat.json else said)


def _check_columns(file: Path, table: pa.Table, names: Mapping[str, str]) -> None:
    """Raise MissingColumn where a file has no column of ids or of times, or several."""
    for what, name in names.items():
        if table.column_names.count(name) != 1:
            raise MissingColumn(
                f"{file} must have a column {name!r}, once. It has "
                f"{', '.join(table.column_names)}. Say with --{what} what it is called."
            )


COMMANDS: dict[Callable[..., Any], str] = {
    contains: "wavedex temporal contains members.wxt ann 2026-03-03, "
    "or wavedex temporal contains blocked.wxt --asked requests.csv --oid address --time at"
}
