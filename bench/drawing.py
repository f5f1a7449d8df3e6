"""Pictures of results: the same bytes each time for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from wavedex.show.colours import PAPER, RULE
from wavedex.show.colours import SERIES as COLOURS

STYLE = {
    "svg.hashsalt": "wavedex",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.axisbelow": True,
}


def panels(
    rows: int, columns: int, width: float, height: float, same_height: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, each of this size in inches. REQUIRES: called within `STYLE`."""
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=same_height)
    return figure, list(axes.flat)


def legend(figure: Figure, axes: Axes, predicted: bool = False) -> None:
    """One legend below all panels, with the names of one of them.

    `predicted` adds what a dashed line means.
    """
    lines, names = axes.get_legend_handles_labels()
    if predicted:
        lines.append(Line2D([], [], ls="--", lw=1, color=COLOURS[-1]))
        names.append("predicted from the first point")
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)


def log_scale(axes: Axes) -> None:
    """A logarithmic height with plain numbers, wide enough that what is level looks level."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, high / 4), max(high, low * 4))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,.12g}")


def save(figure: Figure, path: Path) -> Path:
    """Write it as SVG, without the date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None})
    # matplotlib leaves spaces at the ends of lines.
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def stacked_bars(
    axes: Axes, names: Sequence[str], stacks: Sequence[tuple[str, Sequence[float]]], place: float
) -> None:
    """Bars one on top of another, a bar for each name.

    `place` moves them, so that two may stand side by side.
    """
    bottom = [0.0] * len(names)
    spots = [number + place for number in range(len(names))]
    for (label, values), colour in zip(stacks, COLOURS, strict=False):
        axes.bar(
            spots, values, 0.36, bottom, color=colour, label=label, alpha=0.9 - 0.4 * (place > 0)
        )
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    axes.set_xticks(range(len(names)), names)
    axes.grid(axis="y", color=RULE)
