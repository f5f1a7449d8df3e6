"""The command `migrate`: an index kept in another way, while readers go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from wavedex.cli.grids import shape_of, sides_of
from wavedex.cli.options import Index, Wait, refuse
from wavedex.cli.output import Answer, working
from wavedex.index.kinds import KINDS, kind_of
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
        str | None,
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
    wait: Wait = None,
) -> Answer:
    """Change how an index is kept, while readers go on."""
    idx = open_index(index)
    kind = kind_of(idx)
    asked: dict[str, Any] = {
        "scheme": scheme,
        "indexes": indexes,
        "window": window,
        "update": update,
        "max_size": max_size,
        "method": method,
        "grid": None if grid is None else shape_of(grid),
        "partition": None if partition is None else sides_of(partition),
        "format": file_format,
        "shards": shards,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    for name in given.keys() - {*kind.migrations}:
        (other,) = (each.name for each in KINDS.values() if name in each.migrations)
        refuse(f"{other} indexes, and this is a {kind.name} index", **{name: given[name]})
    with working(f"Migrating {index}"):
        done = idx.migrate(**given, strategy="drain" if drain else "rebuild", wait=wait)
    changed = ", ".join(f"{name} {_shown(name, value)}" for name, value in done.changed.items())
    said = f"commit {done.commit:,}: {changed}"
    return Answer(
        {"commit": done.commit, "changed": done.changed},
        said if done.changed else "nothing to change: the index is kept so already",
    )


def _shown(name: str, value: object) -> str:
    """A setting as it is given.

    >>> _shown("grid", [2, 3]), _shown("partition", ["random", "round-robin"]), _shown("shards", 4)
    ('2x3', 'random,round-robin', '4')
    """
    if not isinstance(value, list):
        return str(value)
    return ("x" if name == "grid" else ",").join(map(str, value))


COMMANDS: dict[Callable[..., Any], str] = {
    migrate: "wavedex migrate sales.wx --scheme rata --indexes 3, "
    "or wavedex migrate calls.wx --method no-rebuild --grid 2x4 --drain",
}
