"""The command `tune`: which growth factor of contiguous buckets suits a sample of user data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from wavedex.advisor.growth import GROWTHS, Tried, Tuning
from wavedex.advisor.growth import tune as run_tune
from wavedex.cli.files import read_file
from wavedex.cli.options import column_names
from wavedex.cli.output import Answer, working
from wavedex.show.colours import SERIES as COLOURS
from wavedex.show.plots import check_plot, save_plot
from wavedex.show.words import human_bytes

if TYPE_CHECKING:
    from rich.console import Console

TRIED = ",".join(f"{factor:g}" for factor in GROWTHS)


def tune(
    sample: Annotated[
        list[Path],
        typer.Argument(
            metavar="SAMPLE",
            help="Parquet, CSV or JSON lines. Without --time, each file is a slot, in the order "
            "of time.",
        ),
    ],
    key: Annotated[str, typer.Option(metavar="COLUMN", help="The key; several columns as A,B.")],
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of times, which makes slots.")
    ] = None,
    slot: Annotated[
        str, typer.Option(metavar="LENGTH", help="How long a slot is, such as '1 hour'.")
    ] = "1 day",
    zone: Annotated[str, typer.Option(metavar="ZONE", help="The zone of days and months.")] = "UTC",
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The columns that the index would keep, instead of all."),
    ] = None,
    growth: Annotated[
        str, typer.Option(metavar="G,G", help="The factors to try, each above 1.")
    ] = TRIED,
    first_room: Annotated[
        int, typer.Option(metavar="N", help="The entries that the smallest room holds.")
    ] = 4,
    copying: Annotated[
        float,
        typer.Option(
            metavar="X", help="What a byte that is copied costs against a byte of room on disk."
        ),
    ] = 1.0,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also draw space against copying to a .png or .svg file."
        ),
    ] = None,
) -> Answer:
    """Try growth factors for update="in-place" on a sample, and say which costs least.

    They are tried in real files.
    """
    check_plot(plot)
    factors = [_factor(text) for text in growth.split(",")]
    keys = column_names(key) or []
    with working(f"Trying {len(factors)} growth factors"):
        found = run_tune(
            [read_file(path, pa.schema([])) for path in sample],
            key=keys[0] if len(keys) == 1 else keys,
            time=time,
            slot=slot,
            zone=zone,
            include=column_names(columns),
            growth=factors,
            first_room=first_room,
            copying=copying,
        )
    if plot is not None:
        _draw(found, plot)
    return Answer(_to_json(found), partial(_show, found), is_deep=True)


def _factor(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text.strip()!r} is not a number.", param_hint="'--growth'"
        ) from None


def _to_json(found: Tuning) -> dict[str, Any]:
    return {
        "slots": found.slots,
        "rows": found.rows,
        "keys": found.keys,
        "copying": found.copying,
        "growth": found.best.growth,
        "reason": found.reason,
        "tried": [
            {
                **asdict(one),
                "copied": one.copied,
                "cost": one.cost(found.copying),
            }
            for one in found.tried
        ],
    }


def _show(found: Tuning, console: Console) -> None:
    from rich.table import Table

    console.print(f"{found.rows:,} rows of {found.keys:,} keys in {found.slots:,} slots")
    table = Table(header_style="bold")
    heads = (
        *("growth", "rows", "room", "in buckets", "room / rows"),
        *("copied", "copied / added", "moves", "s", "cost"),
    )
    for head in heads:
        table.add_column(head, justify="right")
    for one in found.tried:
        table.add_row(
            *_cells(one, found.copying), style="bold green" if one == found.best else None
        )
    console.print(table)
    console.print(found.reason, markup=False)


def _cells(one: Tried, copying: float) -> list[str]:
    return [
        f"{one.growth:g}",
        human_bytes(one.used_bytes),
        human_bytes(one.room_bytes),
        human_bytes(one.bucket_bytes),
        f"{one.space:.2f}",
        human_bytes(one.copied_bytes),
        f"{one.copied:.2f}",
        f"{one.moves:,}",
        f"{one.seconds:.2f}",
        f"{one.cost(copying):.2f}",
    ]


def _draw(found: Tuning, path: Path) -> None:
    def curve(axes: Any) -> None:
        tried = sorted(found.tried, key=lambda one: one.growth)
        across, up = [one.space for one in tried], [one.copied for one in tried]
        axes.plot(across, up, "o-", color=COLOURS[0], linewidth=1.2, markersize=5)
        axes.plot([found.best.space], [found.best.copied], "o", color=COLOURS[1], markersize=9)
        for one in tried:
            axes.annotate(
                f"{one.growth:g}",
                (one.space, one.copied),
                xytext=(6, 6),
                textcoords="offset points",
            )
        axes.set(
            xlabel="bytes of room for a byte of rows",
            ylabel="bytes copied for a byte added",
            title=f"Growth factors for {found.keys:,} keys: {found.best.growth:g} costs least",
            ylim=(0, None),
        )

    save_plot(path, curve, (6.4, 3.6))


COMMANDS: dict[Callable[..., Any], str] = {
    tune: 'wavedex tune sales.parquet --key customer --time sold_at --slot "1 day"'
}
