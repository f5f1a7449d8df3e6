"""The command `plan`: what a scheme does, slot by slot, as the wave-index paper's tables have it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from wavedex.cli.options import AsJson
from wavedex.cli.rows import WIDE
from wavedex.engine.technique import technique
from wavedex.plan import SCHEMES, plan_table
from wavedex.plan import scheme as scheme_of


def plan(
    scheme: Annotated[str, typer.Argument(metavar="SCHEME", help=f"One of {', '.join(SCHEMES)}.")],
    window: Annotated[int, typer.Option(metavar="W", help="The number of slots kept.")],
    indexes: Annotated[int, typer.Option(metavar="N", help="The number of sub-indexes.")],
    until: Annotated[
        int | None,
        typer.Option(
            metavar="SLOT", help="The last slot to plan; 2 W if not given.", show_default=False
        ),
    ] = None,
    spread: Annotated[
        bool,
        typer.Option("--spread", help="Spread the preparation over the slots (reindex++, rata)."),
    ] = False,
    update: Annotated[
        str | None,
        typer.Option(
            metavar="TECHNIQUE",
            help="The update technique to plan for; with simple-shadow, del deletes ahead.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a scheme does from slot W, the first full window, on."""
    options: dict[str, bool] = {"spread": True} if spread else {}
    if update is not None and technique(update).name == "simple-shadow" and scheme == "del":
        options["ahead"] = True
    planned = plan_table(
        scheme_of(scheme, window, indexes, **options), 2 * window if until is None else until
    )
    if as_json:
        typer.echo("[\n" + ",\n".join(json.dumps(row) for row in planned) + "\n]")
    else:
        _draw(planned)


def _draw(planned: list[dict[str, Any]]) -> None:
    """One row a slot; preparation and temporaries only where the scheme has any."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells: dict[str, list[str]] = {
        "operations": ["\n".join(row["ops"]) for row in planned],
        "preparation": ["\n".join(row["prepare"]) for row in planned],
        "sub-indexes": [_sets(row["indexes"]) for row in planned],
        "temporaries": [_sets(row["temps"]) for row in planned],
    }
    shown = {name: column for name, column in cells.items() if any(column)}
    table = Table(show_lines=True, header_style="bold")
    table.add_column("slot", justify="right")
    for name in shown:
        table.add_column(name, overflow="fold")
    for at, row in enumerate(planned):
        table.add_row(str(row["slot"]), *(Text(column[at]) for column in shown.values()))
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=WIDE)
    console.print(table)


def _sets(layout: Mapping[str, list[int]]) -> str:
    return "\n".join(f"{name} {{{', '.join(map(str, slots))}}}" for name, slots in layout.items())


COMMANDS: dict[Callable[..., Any], str] = {
    plan: "wavedex plan wata --window 10 --indexes 4 --until 14"
}
