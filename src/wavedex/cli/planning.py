"""The command `plan`: what a scheme does, slot by slot, as the wave-index paper's tables have it, and how much it holds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from wavedex.cli.options import AsJson
from wavedex.cli.plots import check_plot
from wavedex.cli.rows import WIDE
from wavedex.cli.sizing import measure_sizes, show_sizes, sized_scheme
from wavedex.cli.slot_sizes import read_sizes
from wavedex.engine.technique import technique
from wavedex.plan import SCHEMES, options_of, plan_table


def plan(
    scheme: Annotated[
        str,
        typer.Argument(
            metavar="SCHEME", help=f"One of {', '.join(SCHEMES)}; several, with --sizes, as A,B."
        ),
    ],
    window: Annotated[int, typer.Option(metavar="W", help="The number of slots kept.")],
    indexes: Annotated[
        str,
        typer.Option(
            metavar="N", help="The number of sub-indexes; several, with --sizes, as 2,3,4."
        ),
    ],
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
    sizes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The rows of each slot: one number a line, or a column of a Parquet, CSV or JSON file. "
            "Shows what the scheme would hold of them, or with --until what it would do.",
        ),
    ] = None,
    sizes_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Which column has them, where that cannot be told."),
    ] = None,
    max_size: Annotated[
        int | None,
        typer.Option(
            metavar="M",
            help="The most rows that a window will have, for bounded schemes; else that of --sizes.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the sizes to a .png or .svg file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a scheme does from slot W, the first full window, on; with --sizes, how much it would hold."""
    if plot is not None and (sizes is None or until is not None):
        raise typer.BadParameter("--plot draws what --sizes shows, without --until.")
    if sizes_column is not None and sizes is None:
        raise typer.BadParameter("--sizes-column is a column of the file that --sizes names.")
    check_plot(plot)
    rows = [] if sizes is None else read_sizes(sizes, sizes_column)
    names, counts = _listed(scheme), [_whole(text) for text in _listed(indexes)]
    if max_size is not None and not any("max_size" in _taken(name) for name in names):
        raise typer.BadParameter(f"--max-size goes with bounded schemes, not with {scheme}.")
    several = len(names) > 1
    chosen = [
        sized_scheme(name, window, count, rows, max_size, _options(name, several, spread, update))
        for name in names
        for count in counts
    ]
    if sizes is not None and until is None:
        show_sizes(measure_sizes(chosen, rows), as_json, plot)
        return
    if len(chosen) != 1:
        raise typer.BadParameter(
            "several schemes or numbers of sub-indexes are compared with --sizes."
        )
    planned = plan_table(chosen[0], 2 * window if until is None else until, rows)
    if as_json:
        typer.echo("[\n" + ",\n".join(json.dumps(row) for row in planned) + "\n]")
    else:
        _draw(planned)


def _options(name: str, several: bool, spread: bool, update: str | None) -> dict[str, Any]:
    """What was said of a scheme besides its numbers; of several, what goes with it."""
    options: dict[str, Any] = {}
    if spread and (not several or "spread" in _taken(name)):
        options["spread"] = True
    if update is not None and technique(update).name == "simple-shadow" and name == "del":
        options["ahead"] = True
    return options


def _taken(name: str) -> list[str]:
    return options_of(name) if name in SCHEMES else []


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a whole number.", param_hint="'--indexes'"
        ) from None


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
    plan: "wavedex plan wata --window 10 --indexes 4 --until 14, "
    "or wavedex plan wata,wata-bounded --window 7 --indexes 2,3,4 --sizes rows.csv"
}
