"""What a shell says of a grid: its method, its shape as GxE, how its two sides are partitioned."""

from __future__ import annotations

import typer

from wavedex.cli.options import whole
from wavedex.index.lifetime.answers import read_shape
from wavedex.plan import METHODS, SCHEMES, Grid
from wavedex.plan import grid as grid_of


def is_grid(name: str, shape: str | None) -> bool:
    """Whether a method of grids is meant, and no wave scheme.

    `wata` is both, and with a shape it is a grid's.
    """
    return shape is not None or (name in METHODS and name not in SCHEMES)


def chosen_grid(
    method: str,
    window: int,
    shape: str | None,
    indexes: str | None,
    partition: str | None,
    seed: int | None,
) -> Grid:
    """The grid that the options say.

    Raises BadParameter where they cannot be read, BadGrid where it cannot be.
    """
    rows, columns = _numbers(method, shape, indexes)
    sides = None if partition is None else sides_of(partition)
    return grid_of(method, window, rows, columns, sides, 0 if seed is None else seed)


def shape_of(text: str) -> tuple[int, int]:
    """The rows and columns in `--grid`. Raises BadParameter where they cannot be read."""
    shape = read_shape(text)
    if shape is None:
        raise typer.BadParameter(
            f"{text!r} is not rows x columns, such as 2x2.", param_hint="'--grid'"
        )
    return shape


def sides_of(text: str) -> list[str]:
    """The two partitions in `--partition`. Raises BadParameter where there are not two."""
    sides = [part.strip() for part in text.split(",")]
    if len(sides) != 2:
        raise typer.BadParameter(
            f"{text!r} is not BIRTHS,DEATHS, such as random,round-robin.",
            param_hint="'--partition'",
        )
    return sides


def _numbers(method: str, shape: str | None, indexes: str | None) -> tuple[int, int]:
    if shape is not None and indexes is not None:
        raise typer.BadParameter("--grid says how many sub-indexes there are; leave --indexes out.")
    if shape is not None:
        return shape_of(shape)
    sides = METHODS[method].sides
    if indexes is None or len(sides) == 2:
        also = " or --indexes N" * (len(sides) == 1)
        raise typer.BadParameter(f"{method} needs --grid GxE{also}.")
    count = whole(indexes, "--indexes")
    return (count, 1) if "births" in sides else (1, count)
