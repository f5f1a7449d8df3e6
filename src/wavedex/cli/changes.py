"""The command `changes`: what came and what went, from a commit on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import pyarrow as pa
import typer

from wavedex.cli.asked import LIMIT_ROWS
from wavedex.cli.options import Formats, Index, RowFormat, RowsAsJson, chosen_format
from wavedex.cli.output import Answer
from wavedex.cli.rows import RowAnswer
from wavedex.index.core.changes import Position, read_position
from wavedex.index.core.follower import Follower
from wavedex.index.opening import AnyIndex, open_index
from wavedex.show.words import printable

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
    name: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Read as a follower: from where one of this name stopped. What it has not read is "
            "kept. --since is where a new one begins.",
        ),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="End the follower, and keep nothing for it.")
    ] = False,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"The most rows that a table shows; {LIMIT_ROWS} if not given. A follower gets "
            "all rows.",
            show_default=False,
        ),
    ] = None,
) -> Iterator[RowAnswer | Answer]:
    """Read what came (+1) and what went (-1), when, and with which commit."""
    chosen = chosen_format(kind, as_json)
    first = None if since is None else read_position(since)
    last = None if until is None else read_position(until)
    if follow and last is not None:
        raise typer.BadParameter("--follow goes on for ever. Leave out --until.")
    if name is not None and last is not None:
        raise typer.BadParameter("a follower reads up to the newest commit. Leave out --until.")
    if name is not None and limit is not None:
        raise typer.BadParameter(
            "what a follower has read is not shown again, so it gets all rows. Leave out --limit."
        )
    if forget and name is None:
        raise typer.BadParameter("--forget ends a follower: give its name, as --as NAME.")
    idx = open_index(index)
    if forget:
        assert name is not None
        idx.follow(name).forget()
        yield Answer({"forgotten": name}, f"{printable(name)} is no follower any more")
        return
    if name is None:
        most = LIMIT_ROWS if limit is None else limit
        batches = _followed(idx, first) if follow else idx.changes(first, last)
        yield from _answers(idx, batches, chosen, follow, most)
        return
    follower = idx.follow(name, first)
    if follow or chosen is not RowFormat.table:
        yield from _answers(idx, _followed_as(follower, idx, follow), chosen, follow, None)
    else:
        # A table is written when all its rows are there, so it must be out before that is said.
        yield RowAnswer(follower.changes(), chosen, None)
        follower.advance()


def _answers(
    idx: AnyIndex,
    batches: Iterable[pa.RecordBatch],
    kind: RowFormat,
    follow: bool,
    most: int | None,
) -> Iterator[RowAnswer]:
    """The rows as one answer; a table for each batch where there is no end to them."""
    if follow and kind is RowFormat.table:
        for batch in batches:
            yield RowAnswer(pa.Table.from_batches([batch]).to_reader(), kind, most)
    else:
        yield RowAnswer(
            pa.RecordBatchReader.from_batches(idx.change_feed.schema, batches), kind, most
        )


def _followed(idx: AnyIndex, since: Position | None) -> Iterator[pa.RecordBatch]:
    """What changes, commit by commit, for ever."""
    while True:
        newest = idx.commit
        if newest == since:
            time.sleep(EVERY_S)
            continue
        yield from idx.changes(since, newest)
        since = newest


def _followed_as(follower: Follower, idx: AnyIndex, follow: bool) -> Iterator[pa.RecordBatch]:
    """What a follower has not read. Whoever asks for the next batch has written the one before."""
    while True:
        if follower.position != idx.commit:
            yield from follower.changes()
            follower.advance()
        elif follow:
            time.sleep(EVERY_S)
        if not follow:
            return


COMMANDS: dict[Callable[..., Any], str] = {
    changes: "wavedex changes sales.wx --since 41 --follow --json"
}
