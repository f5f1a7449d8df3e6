"""The command `probe`: the rows of a key, or of all keys between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pyarrow as pa
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
)
from wavedex.cli.rows import RowAnswer
from wavedex.index.opening import open_index


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
    last: Last = None,
    where: Where = None,
    order: Order = None,
    shorten: Shorten = None,
    columns: Columns = None,
    expired: Expired = False,
    commit: Commit = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The rows of the key at a past time, as far as commits have them; goes with "
            "--columns only.",
        ),
    ] = None,
    check: Check = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show the whole records to which the rows point.")
    ] = False,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> RowAnswer:
    """Look up the rows of one key, or of all keys between two, oldest first.

    With --last, the latest rows of each key.
    """
    chosen = chosen_format(kind, as_json)
    idx = find_asked(index, commit, shorten, check)
    parse = idx.definition.spec.key_type.parse
    asked: dict[str, Any] = {
        "since": since,
        "until": until,
        "columns": column_names(columns),
        "expired": expired,
        "follow": follow,
        "order": order or "time",
        "last": last,
        "where": where,
    }
    if as_of is not None:
        found = _as_of(index, key, to, as_of, asked)
    elif to is None:
        found = idx.probe(parse(key), **asked)
    else:
        found = idx.probe_range(parse(key), parse(to), **asked)
    return RowAnswer(found.to_reader(), chosen, limit)


def _as_of(index: str, key: str, to: str | None, time: str, asked: dict[str, Any]) -> pa.Table:
    """The rows of a key at a past time."""
    beside = [name for name in ("since", "until", "last", "where") if asked[name] is not None]
    if to is not None or beside or asked["expired"] or asked["follow"]:
        raise typer.BadParameter("goes with the key and --columns only.", param_hint="'--as-of'")
    idx = open_index(index)
    parse = idx.definition.spec.key_type.parse
    return idx.probe(parse(key), columns=asked["columns"], as_of=time)


COMMANDS: dict[Callable[..., Any], str] = {
    probe: "wavedex probe sales.wx S1 --since 2026-01-05 --columns sold_at,amount, "
    'or wavedex probe calls.wx A --to F --shorten "4 minutes"',
}
