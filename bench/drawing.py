"""Pictures of results: the same bytes each time for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#2f6f99", "#d08a1a", "#1f7a5c", "#97557b", "#77736a")
"""Okabe and Ito's, darkened, which can be told apart by nearly everybody."""
STYLE = {
    "svg.hashsalt": "wavedex",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "#fbfaf7",
    "axes.facecolor": "#fbfaf7",
    "axes.axisbelow": True,
}


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, each of this size in inches. REQUIRES: called within `STYLE`."""
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def save(figure: Figure, path: Path) -> Path:
    """Write it as SVG, without the date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def stacked_bars(
    axes: Axes, names: Sequence[str], stacks: Sequence[tuple[str, Sequence[float]]], place: float
) -> None:
    """Bars one on top of another, a bar for each name; `place` moves them, so that two may stand side by side."""
    bottom = [0.0] * len(names)
    spots = [number + place for number in range(len(names))]
    for (label, values), colour in zip(stacks, COLOURS, strict=False):
        axes.bar(spots, values, 0.36, bottom, color=colour, label=label, alpha=0.9 - 0.4 * (place > 0))
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    axes.set_xticks(range(len(names)), names)
    axes.grid(axis="y", color="#dcd8ce")
