"""The commands that read rows: `probe` and `scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

import wavedex
from wavedex.cli.options import (
    Columns,
    Commit,
    Expired,
    Formats,
    Index,
    Limit,
    RowsAsJson,
    Since,
    Until,
    chosen_format,
    column_names,
)
from wavedex.cli.rows import write_rows
from wavedex.cli.sql import querying

LIMIT_ROWS = 50


def probe(
    index: Index,
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="The key; one that begins with a minus goes after --."),
    ],
    since: Since = None,
    until: Until = None,
    columns: Columns = None,
    expired: Expired = False,
    commit: Commit = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show the whole records to which the rows point.")
    ] = False,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> None:
    """Look up the rows of one key, oldest first."""
    chosen = chosen_format(kind, as_json)
    idx = _asked(index, commit)
    parsed = idx.definition.spec.key_type.parse(key)
    wanted = column_names(columns)
    time = idx.definition.time
    found = idx.probe(parsed, since, until, _with_time(wanted, time), expired, follow)
    if time is not None:
        found = found.sort_by(time)
    if wanted is not None:
        found = found.select(wanted)
    write_rows(found.to_reader(), chosen, limit)


def scan(
    index: Index,
    since: Since = None,
    until: Until = None,
    columns: Columns = None,
    expired: Expired = False,
    commit: Commit = None,
    sql: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="A query of DuckDB's over the table `entries`."),
    ] = None,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> None:
    """Read all rows of the window, or ask SQL of them."""
    chosen = chosen_format(kind, as_json)
    idx = _asked(index, commit)
    asked = (since, until, column_names(columns), expired)
    if sql is None:
        write_rows(idx.scan(*asked), chosen, limit)
        return
    with querying(lambda connection: idx.to_duckdb(connection, "entries", *asked), sql) as answer:
        write_rows(answer, chosen, limit)


def _asked(index: str, commit: int | None) -> wavedex.WaveIndex | wavedex.Snapshot:
    """The index, or its window at a commit."""
    return wavedex.open(index) if commit is None else wavedex.open(index, commit=commit)


def _with_time(columns: list[str] | None, time: str | None) -> list[str] | None:
    """The columns and the one that the rows are ordered by."""
    if columns is None or time is None or time in columns:
        return columns
    return [*columns, time]


COMMANDS: dict[Callable[..., Any], str] = {
    probe: "wavedex probe sales.wx S1 --since 2026-01-05 --columns sold_at,amount",
    scan: 'wavedex scan sales.wx --sql "select suppkey, sum(amount) from entries group by all"',
}
