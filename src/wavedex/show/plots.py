"""Charts in files, a PNG or an SVG as the name of the file says.

They are drawn by Matplotlib, which need not be installed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

from wavedex.errors import BadPlot
from wavedex.extras import check_installed
from wavedex.show.colours import RULE

SUFFIXES = (".png", ".svg")
_STYLE = {
    "svg.hashsalt": "wavedex",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": RULE,
}


def check_plot(path: Path | None) -> None:
    """Raise BadPlot or PackageMissing where a chart cannot be written to a path.

    Call it before there is anything to draw.
    """
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise BadPlot(f"Cannot draw {path}. Give a name that ends in {' or '.join(SUFFIXES)}.")
    if not path.parent.is_dir():
        raise BadPlot(f"There is no folder {path.parent}. Create it, or give another path.")
    check_installed("matplotlib")


def save_plot(path: Path, draw: Callable[[Any], None], inches: tuple[float, float]) -> None:
    """Let `draw` draw on the axes of a new figure, and write it.

    The same numbers give the same bytes.
    """
    mpl: Any = import_module("matplotlib")
    figure_module: Any = import_module("matplotlib.figure")
    styled: AbstractContextManager[Any] = mpl.rc_context(_STYLE)
    with styled:
        figure = figure_module.Figure(figsize=inches, layout="constrained")
        draw(figure.subplots())
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(path, dpi=150, metadata=metadata)
