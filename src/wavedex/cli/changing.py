"""The commands that change what an index is or forget what it holds: `migrate` and `erase`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

import wavedex
from wavedex.cli.options import AsJson, Index


def migrate(
    index: Index,
    scheme: Annotated[str | None, typer.Option(metavar="NAME", help="Another scheme.")] = None,
    indexes: Annotated[
        int | None, typer.Option(metavar="N", help="Another number of sub-indexes.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            metavar="W",
            help="Another window: a longer one starts to fill, a shorter one forgets at once.",
        ),
    ] = None,
    update: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another update technique.")
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Another file format.")
    ] = None,
    shards: Annotated[
        int | None, typer.Option(metavar="N", help="Another number of shards.")
    ] = None,
    max_size: Annotated[
        int | None,
        typer.Option(metavar="ROWS", help="The largest window, for the schemes that need it."),
    ] = None,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain",
            help="Let the old sub-indexes drain instead of building the new ones at once.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change how an index is kept, while readers go on."""
    done = wavedex.open(index).migrate(
        scheme=scheme,
        indexes=indexes,
        window=window,
        update=update,
        format=file_format,
        shards=shards,
        max_size=max_size,
        strategy="drain" if drain else "rebuild",
    )
    if as_json:
        typer.echo(json.dumps({"commit": done.commit, "changed": done.changed}))
    elif done.changed:
        said = ", ".join(f"{name} {value}" for name, value in done.changed.items())
        typer.echo(f"commit {done.commit:,}: {said}")
    else:
        typer.echo("nothing to change: the index is kept so already")


def erase(
    index: Index,
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEY", help="The keys; one that begins with a minus goes after --."),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase all rows of some keys, from every file. Earlier commits go with them."""
    idx = wavedex.open(index)
    parse = idx.definition.spec.key_type.parse
    wanted = [parse(key) for key in keys]
    if not yes:
        rows = idx.probe_many(wanted, expired=True).num_rows
        typer.confirm(f"Erase {rows:,} row{'s' * (rows != 1)} for good?", abort=True, err=True)
    done = idx.erase(wanted)
    if as_json:
        typer.echo(json.dumps({"commit": done.commit, "rows": done.rows}))
    else:
        typer.echo(f"{done.rows:,} row{'s' * (done.rows != 1)} erased, commit {done.commit:,}")


COMMANDS: dict[Callable[..., Any], str] = {
    migrate: "wavedex migrate sales.wx --scheme rata --indexes 3",
    erase: "wavedex erase sales.wx S1 --yes",
}
