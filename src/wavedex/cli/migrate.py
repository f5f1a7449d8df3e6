"""The commands that change what an index is or forget what it holds: `migrate` and `erase`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

import wavedex
from wavedex.cli.grids import shape_of, sides_of
from wavedex.cli.options import AsJson, Index, refuse
from wavedex.index.core.migration import Migrated
from wavedex.index.opening import open_index


def migrate(
    index: Index,
    scheme: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another scheme, of a wave index.")
    ] = None,
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
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another method, of a lifetime index.")
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(metavar="GxE", help="Another grid: insertion by expiration partitions."),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            metavar="BIRTHS,DEATHS",
            help="How the grid partitions: round-robin, chronological or random.",
        ),
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
    idx = open_index(index)
    of_waves: dict[str, Any] = {
        "scheme": scheme,
        "indexes": indexes,
        "window": window,
        "update": update,
        "max_size": max_size,
    }
    of_grids: dict[str, Any] = {"method": method, "grid": grid, "partition": partition}
    both: dict[str, Any] = {
        "format": file_format,
        "shards": shards,
        "strategy": "drain" if drain else "rebuild",
    }
    done: Migrated
    if isinstance(idx, wavedex.LifetimeIndex):
        refuse("wave indexes, and this is a lifetime index", **of_waves)
        shape = None if grid is None else shape_of(grid)
        sides = None if partition is None else sides_of(partition)
        done = idx.migrate(method=method, grid=shape, partition=sides, **both)
    else:
        refuse("lifetime indexes, and this is a wave index", **of_grids)
        done = idx.migrate(**of_waves, **both)
    if as_json:
        typer.echo(json.dumps({"commit": done.commit, "changed": done.changed}))
    elif done.changed:
        said = ", ".join(f"{name} {_shown(name, value)}" for name, value in done.changed.items())
        typer.echo(f"commit {done.commit:,}: {said}")
    else:
        typer.echo("nothing to change: the index is kept so already")


def _shown(name: str, value: object) -> str:
    """A setting as it is given.

    >>> _shown("grid", [2, 3]), _shown("partition", ["random", "round-robin"]), _shown("shards", 4)
    ('2x3', 'random,round-robin', '4')
    """
    if not isinstance(value, list):
        return str(value)
    return ("x" if name == "grid" else ",").join(map(str, value))


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
    idx = open_index(index)
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
    migrate: "wavedex migrate sales.wx --scheme rata --indexes 3, "
    "or wavedex migrate calls.wx --method no-rebuild --grid 2x4 --drain",
    erase: "wavedex erase sales.wx S1 --yes",
}
