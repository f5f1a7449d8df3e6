"""The command `probe`: the rows of a key, or of all keys between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from wavedex.cli.asked import LIMIT_ROWS, find_asked
from wavedex.cli.options import (
    Check,
    Columns,
    Commit,
    Expired,
    Formats,
    Index,
    Limit,
    RowsAsJson,
    Shorten,
    Since,
    Until,
    chosen_format,
    column_names,
)
from wavedex.cli.rows import RowAnswer


def probe(
    index: Index,
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="The key; one that begins with a minus goes after --."),
    ],
    to: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="All keys from KEY up to this one, both included."),
    ] = None,
    since: Since = None,
    until: Until = None,
    shorten: Shorten = None,
    columns: Columns = None,
    expired: Expired = False,
    commit: Commit = None,
    check: Check = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show the whole records to which the rows point.")
    ] = False,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> RowAnswer:
    """Look up the rows of one key, or of all keys between two, oldest first."""
    chosen = chosen_format(kind, as_json)
    idx = find_asked(index, commit, shorten, check)
    parse = idx.definition.spec.key_type.parse
    wanted = column_names(columns)
    time = idx.definition.time
    asked = (since, until, _with_time(wanted, time), expired, follow)
    if to is None:
        found = idx.probe(parse(key), *asked)
    else:
        found = idx.probe_range(parse(key), parse(to), *asked)
    if time is not None:
        found = found.sort_by(time)
    if wanted is not None:
        found = found.select(wanted)
    return RowAnswer(found.to_reader(), chosen, limit)


def _with_time(columns: list[str] | None, time: str | None) -> list[str] | None:
    """The columns and the one that the rows are ordered by."""
    if columns is None or time is None or time in columns:
        return columns
    return [*columns, time]


COMMANDS: dict[Callable[..., Any], str] = {
    probe: "wavedex probe sales.wx S1 --since 2026-01-05 --columns sold_at,amount, "
    'or wavedex probe calls.wx A --to F --shorten "4 minutes"',
}
