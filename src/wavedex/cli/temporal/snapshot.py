"""The command `temporal snapshot`: who was in a set at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from wavedex.cli.asked import LIMIT_ROWS
from wavedex.cli.options import Formats, Limit, RowsAsJson, chosen_format
from wavedex.cli.rows import RowAnswer
from wavedex.cli.temporal.asked import TIME_HELP, SetPath, find_set


def snapshot(
    path: SetPath,
    time: Annotated[
        str | None,
        typer.Argument(metavar="TIME", help=f"{TIME_HELP} The last change if not given."),
    ] = None,
    low: Annotated[
        str | None, typer.Option(metavar="ID", help="Only ids from this one on, in their order.")
    ] = None,
    high: Annotated[str | None, typer.Option(metavar="ID", help="And up to this one.")] = None,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> RowAnswer:
    """Show the ids that were in a set at a time, and the rows that they carried."""
    chosen = chosen_format(kind, as_json)
    if (low is None) != (high is None):
        raise typer.BadParameter("--low ID and --high ID go together.")
    found = find_set(path)
    at = found.last if time is None else time
    if at is None:
        table = found.lifespans().drop_columns(["start", "end"])  # Nothing ever was in it.
    elif low is not None and high is not None:
        table = found.range(found.parse_id(low), found.parse_id(high), at)
    else:
        table = found.snapshot(at)
    return RowAnswer(table.to_reader(), chosen, limit)


COMMANDS: dict[Callable[..., Any], str] = {
    snapshot: "wavedex temporal snapshot members.wxt 2026-03-03 --format csv"
}
