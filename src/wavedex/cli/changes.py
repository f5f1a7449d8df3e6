"""The command `changes`: what came and what went, from a commit on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pyarrow as pa
import typer

from wavedex.cli.asked import LIMIT_ROWS
from wavedex.cli.options import Formats, Index, Limit, RowFormat, RowsAsJson, chosen_format
from wavedex.cli.rows import RowAnswer
from wavedex.index.core.changes import Position, read_position
from wavedex.index.opening import AnyIndex, open_index

EVERY_S = 0.2
"""How long to wait before the index is asked again whether there is a newer commit."""


def changes(
    index: Index,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="COMMIT|STREAM:NUMBER",
            help="After which commit, or after which batch of a stream. All that is there came, if "
            "not given.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="COMMIT|STREAM:NUMBER", help="Up to which; the newest if not given."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as commits come, until interrupted.")
    ] = False,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> Iterator[RowAnswer]:
    """Read what came (+1) and what went (-1), when, and with which commit."""
    chosen = chosen_format(kind, as_json)
    first = None if since is None else read_position(since)
    last = None if until is None else read_position(until)
    if follow and last is not None:
        raise typer.BadParameter("--follow goes on for ever. Leave out --until.")
    idx = open_index(index)
    if not follow:
        yield RowAnswer(idx.changes(first, last), chosen, limit)
    elif chosen is RowFormat.table:
        for batch in _followed(idx, first):
            yield RowAnswer(pa.Table.from_batches([batch]).to_reader(), chosen, limit)
    else:
        rows = pa.RecordBatchReader.from_batches(idx.change_feed.schema, _followed(idx, first))
        yield RowAnswer(rows, chosen, limit)


def _followed(idx: AnyIndex, since: Position | None) -> Iterator[pa.RecordBatch]:
    """What changes, commit by commit, for ever."""
    while True:
        newest = idx.commit
        if newest == since:
            time.sleep(EVERY_S)
            continue
        yield from idx.changes(since, newest)
        since = newest


COMMANDS: dict[Callable[..., Any], str] = {
    changes: "wavedex changes sales.wx --since 41 --follow --json"
}
