"""The command `scan`: all rows that live, or what SQL makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    Last,
    Limit,
    Order,
    RowsAsJson,
    Shorten,
    Since,
    Until,
    Where,
    chosen_format,
    column_names,
    refuse,
)
from wavedex.cli.rows import RowAnswer
from wavedex.cli.sql import querying


def scan(
    index: Index,
    since: Since = None,
    until: Until = None,
    last: Last = None,
    where: Where = None,
    order: Order = None,
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
) -> Iterator[RowAnswer]:
    """Read all rows that live, or ask SQL of them."""
    chosen = chosen_format(kind, as_json)
    idx = find_asked(index, commit, shorten, check)
    asked = (since, until, column_names(columns), expired)
    if sql is None:
        rows = idx.scan(*asked, order=order, last=last, where=where)
        yield RowAnswer(rows, chosen, limit)
        return
    refuse("rows as they are; say it in the query", order=order, last=last, where=where)
    with querying(lambda connection: idx.to_duckdb(connection, "entries", *asked), sql) as answer:
        yield RowAnswer(answer, chosen, limit)


COMMANDS: dict[Callable[..., Any], str] = {
    scan: 'wavedex scan sales.wx --sql "select suppkey, sum(amount) from entries group by all"',
}
