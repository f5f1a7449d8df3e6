"""The pictures of docs/performance.md: who is where, at one glance.

The same results give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from bench.drawing import STYLE, save
from bench.race.catalogue import WAVES
from bench.race.standings import COLUMNS, Column, Course, courses, title
from wavedex.show.colours import EDGES, FAINT

Report = dict[str, Any]
Result = dict[str, Any]

OURS, THEIRS = EDGES[:2]
"""Some of the colours of the pictures of schemes, which nearly everybody can tell apart."""
PANEL_INCHES = (4.6, 4.2)
MARK, HALF_LINE, LETTER_POINTS = 4, 4.5, 3.9
"""In points: half a mark, half the height of a label, the width of a letter."""
MOVES_MAX = 300


@dataclass(frozen=True)
class Box:
    """Where something is, in points."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high


@dataclass(frozen=True)
class Picture:
    """Two columns against each other."""

    name: str
    across: Column
    up: Column


BY_NAME = {column.name: column for column in COLUMNS}
PICTURES = (
    Picture("performance-probe-transition", BY_NAME["transition_s"], BY_NAME["probe_us"]),
    Picture("performance-probe-scan", BY_NAME["scan_s"], BY_NAME["probe_us"]),
)


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw every picture and return the files."""
    found = list(courses(report))
    paths = []
    with mpl.rc_context(STYLE):
        for picture in PICTURES:
            width, height = PANEL_INCHES
            rows = -(-len(found) // 2)
            columns = min(len(found), 2)
            figure = Figure((width * columns, height * rows), layout="constrained")
            panels = figure.subplots(rows, columns, squeeze=False)
            for panel in panels.flat[len(found) :]:
                panel.set_visible(False)
            for panel, (course, results) in zip(panels.flat, found, strict=False):
                _draw_panel(panel, picture, course, results)
            paths.append(save(figure, folder / f"{picture.name}.svg"))
    return paths


def _draw_panel(panel: Axes, picture: Picture, course: Course, results: list[Result]) -> None:
    panel.set(
        title=title(course),
        xscale="log",
        yscale="log",
        xlabel=f"{picture.across.head}, median, better to the left",
        ylabel=f"{picture.up.head.removesuffix(' (p99)')}, median, better below",
    )
    panel.grid(alpha=0.25, linewidth=0.5)
    panel.margins(x=0.25, y=0.12)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    points = []
    for result in results:
        ours = result["contestant"] in WAVES
        across, up = picture.across.value(result), picture.up.value(result)
        panel.plot(across, up, "o" if ours else "s", color=OURS if ours else THEIRS, markersize=5)
        points.append((across, up, result["contestant"], ours))
    _label(panel, points)


def _label(panel: Axes, points: list[tuple[float, float, str, bool]]) -> None:
    """Names beside points.

    Right or left of them, or as little above or below as keeps them clear of all else.
    """
    panel.autoscale_view()
    to_points = 72 / panel.figure.dpi
    places = [panel.transData.transform((across, up)) * to_points for across, up, _, _ in points]
    taken = [Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in places]
    for (across, up, name, ours), (x, y) in zip(points, places, strict=True):
        width = LETTER_POINTS * len(name)
        tried = (
            (Box(x + dx, y + dy - HALF_LINE, x + dx + width, y + dy + HALF_LINE), dx, dy)
            for dy in sorted(range(-MOVES_MAX, MOVES_MAX + 1, 3), key=abs)
            for dx in (MARK + 2, -MARK - 2 - width)
        )
        box, dx, dy = next(each for each in tried if not any(map(each[0].meets, taken)))
        taken.append(box)
        panel.annotate(
            name,
            (across, up),
            xytext=(dx, dy),
            textcoords="offset points",
            verticalalignment="center",
            color=OURS if ours else THEIRS,
            fontsize=7,
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": FAINT} if dy else None,
        )
