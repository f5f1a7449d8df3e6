"""The command `plan`: what a scheme does, slot by slot, and how much it holds.

It is shown as the papers' tables and figures have it. A wave scheme is planned for a number of
sub-indexes, a method of variable lifetimes for a grid of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from wavedex.cli.grids import chosen_grid, is_grid
from wavedex.cli.options import refuse, whole
from wavedex.cli.output import Answer
from wavedex.cli.planned import show_planned
from wavedex.cli.sizing import measure_sizes, show_sizes, sized_scheme
from wavedex.cli.slot_sizes import read_sizes
from wavedex.engine.techniques import technique
from wavedex.plan import METHODS, SCHEMES, grid_table, options_of, plan_table
from wavedex.show.plots import check_plot


def plan(
    scheme: Annotated[
        str,
        typer.Argument(
            metavar="SCHEME",
            help=f"One of {', '.join(SCHEMES)}; several, with --sizes, as A,B. "
            f"Or, for variable lifetimes, one of {', '.join(METHODS)}.",
        ),
    ],
    window: Annotated[int, typer.Option(metavar="W", help="The number of slots kept.")],
    indexes: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="The number of sub-indexes; several, with --sizes, as 2,3,4."
        ),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="GxE",
            help="For variable lifetimes: partitions of insertions by partitions of expirations.",
        ),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option(
            metavar="SLOT", help="The last slot to plan; 2 W if not given.", show_default=False
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            metavar="BIRTHS,DEATHS",
            help="How a grid partitions insertions and expirations: round-robin, chronological or "
            "random.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="What random partitions are drawn from; 0 if not given.",
            show_default=False,
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
            help="The rows of each slot: one number a line, or a column of a Parquet, CSV or JSON "
            "file. Shows what the scheme would hold of them, or with --until what it would do.",
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
            help="The most rows that a window will have, for bounded schemes; else that of "
            "--sizes.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the sizes to a .png or .svg file."),
    ] = None,
) -> Answer:
    """Show what a scheme does from slot W, the first full window, on.

    With --sizes, show how much it would hold.
    """
    last = 2 * window if until is None else until
    if is_grid(scheme, grid):
        refuse("wave schemes", spread=spread or None, update=update, max_size=max_size, plot=plot)
        refuse("wave schemes", sizes=sizes, sizes_column=sizes_column)
        asked = chosen_grid(scheme, window, grid, indexes, partition, seed)
        return show_planned(grid_table(asked, last))
    refuse("methods of grids", partition=partition, seed=seed)
    if indexes is None:
        raise typer.BadParameter(f"{scheme} needs --indexes N.")
    if plot is not None and (sizes is None or until is not None):
        raise typer.BadParameter("--plot draws what --sizes shows, without --until.")
    if sizes_column is not None and sizes is None:
        raise typer.BadParameter("--sizes-column is a column of the file that --sizes names.")
    check_plot(plot)
    rows = [] if sizes is None else read_sizes(sizes, sizes_column)
    names, counts = _listed(scheme), [whole(text, "--indexes") for text in _listed(indexes)]
    if max_size is not None and not any("max_size" in _taken(name) for name in names):
        raise typer.BadParameter(f"--max-size goes with bounded schemes, not with {scheme}.")
    several = len(names) > 1
    chosen = [
        sized_scheme(name, window, count, rows, max_size, _options(name, several, spread, update))
        for name in names
        for count in counts
    ]
    if sizes is not None and until is None:
        return show_sizes(measure_sizes(chosen, rows), plot)
    if len(chosen) != 1:
        raise typer.BadParameter(
            "several schemes or numbers of sub-indexes are compared with --sizes."
        )
    return show_planned(plan_table(chosen[0], last, rows))


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


COMMANDS: dict[Callable[..., Any], str] = {
    plan: "wavedex plan wata --window 10 --indexes 4 --until 14, "
    "or wavedex plan rebuild --window 8 --grid 2x2, "
    "or wavedex plan wata,wata-bounded --window 7 --indexes 2,3,4 --sizes rows.csv"
}
