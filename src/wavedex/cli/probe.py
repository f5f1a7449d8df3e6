"""The commands that read rows: `probe` and `scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

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
    pairs_of,
    refuse,
    whole,
)
from wavedex.cli.rows import write_rows
from wavedex.cli.sql import querying
from wavedex.index import LifeSnapshot, Snapshot
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.opening import AnyIndex, open_index

LIMIT_ROWS = 50


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
) -> None:
    """Look up the rows of one key, or of all keys between two, oldest first."""
    chosen = chosen_format(kind, as_json)
    idx = _asked(index, commit, shorten, check)
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
    write_rows(found.to_reader(), chosen, limit)


def scan(
    index: Index,
    since: Since = None,
    until: Until = None,
    shorten: Shorten = None,
    columns: Columns = None,
    expired: Expired = False,
    commit: Commit = None,
    check: Check = False,
    sql: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="A query of DuckDB's over the table `entries`."),
    ] = None,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> None:
    """Read all rows that live, or ask SQL of them."""
    chosen = chosen_format(kind, as_json)
    idx = _asked(index, commit, shorten, check)
    asked = (since, until, column_names(columns), expired)
    if sql is None:
        write_rows(idx.scan(*asked), chosen, limit)
        return
    with querying(lambda connection: idx.to_duckdb(connection, "entries", *asked), sql) as answer:
        write_rows(answer, chosen, limit)


def _asked(
    index: str, commit: int | None, shorten: list[str] | None, check: bool
) -> AnyIndex | Snapshot:
    """The index, or what is to be seen of it: at a commit, with shorter windows, of files that were checked."""
    idx = open_index(index, check=check)
    if not isinstance(idx.definition, LifeDefinition):
        refuse("lifetime indexes, and this is a wave index", shorten=shorten or None)
    if commit is None and not shorten:
        return idx
    snapshot = idx.snapshot(commit)
    if not shorten:
        return snapshot
    assert isinstance(snapshot, LifeSnapshot)
    return snapshot.shortened(_shorter(snapshot.definition, shorten))


def _shorter(definition: LifeDefinition, texts: list[str]) -> str | dict[str, Any]:
    """By how much windows are shorter: all of them alike, or each by the name of a column."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = pairs_of("--shorten", texts)
    if not definition.counts:
        return pairs
    return {name: whole(value, "--shorten") for name, value in pairs.items()}


def _with_time(columns: list[str] | None, time: str | None) -> list[str] | None:
    """The columns and the one that the rows are ordered by."""
    if columns is None or time is None or time in columns:
        return columns
    return [*columns, time]


COMMANDS: dict[Callable[..., Any], str] = {
    probe: "wavedex probe sales.wx S1 --since 2026-01-05 --columns sold_at,amount, "
    'or wavedex probe calls.wx A --to F --shorten "4 minutes"',
    scan: 'wavedex scan sales.wx --sql "select suppkey, sum(amount) from entries group by all"',
}
