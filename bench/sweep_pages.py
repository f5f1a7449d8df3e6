"""The sweeps for people.

Tables of what was measured and of how it grows next to the prediction, and a picture each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from bench.command import table
from bench.drawing import COLOURS, STYLE, legend, log_scale, panels, save
from bench.race.standings import figure
from wavedex.show.colours import RULE

Result = dict[str, Any]
HEADS = {
    "transition_ms": "transition ms",
    "preparation_ms": "preparation ms",
    "written_mb": "MB written",
    "probe_us": "probe µs",
    "probe_many_ms": "1,000 keys ms",
    "scan_ms": "scan ms",
    "open_and_probe_ms": "open and probe ms",
    "disk_per_raw": "disk to raw",
}
VARIED = {"rows": "rows a slot", "window": "slots in the window", "indexes": "sub-indexes"}


def markdown(report: Result) -> str:
    """The tables and pictures of all sweeps."""
    return "\n\n".join(_page(sweep) for sweep in report["sweeps"])


def _page(sweep: Result) -> str:
    varied, fixed = VARIED[sweep["varied"]], sweep["fixed"]
    stays = ", ".join(f"{value:,} {VARIED[name]}" for name, value in fixed.items())
    heads = [varied, "scheme, update", *HEADS.values()]
    measured, growth = [], []
    for curve in sweep["curves"]:
        for point, factors in zip(curve["points"], curve["growth"], strict=True):
            label = [
                f"{point[sweep['varied']]:,}",
                f"`{point['scheme']}`, `{point['update']}`",
            ]
            measured.append(label + [figure(point["measured"][name]) for name in HEADS])
            growth.append(label + [_factor(factors[name]) for name in HEADS])
    return "\n\n".join(
        [
            f"![How the costs grow with {varied}](../pictures/{picture_of(sweep)})",
            f"Measured, with {stays}:",
            table(heads, measured),
            "How many times as much as predicted from the first point of the curve:",
            table(heads, growth),
            _bends(sweep, varied),
        ]
    )


def _bends(sweep: Result, varied: str) -> str:
    if not sweep["bends"]:
        return f"No curve bends upwards with more {varied}."
    lines = [
        f"- `{bend['scheme']}`, `{bend['update']}`, {HEADS[bend['what']]}: "
        f"from {bend['from']:,} {varied} on, "
        f"{bend['factor_at_the_last']:.2f} times the prediction at the last point"
        for bend in sweep["bends"]
    ]
    return "\n".join([f"Curves that bend upwards with more {varied}:", "", *lines])


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def picture_of(sweep: Result) -> str:
    return f"performance-sweep-{sweep['name']}.svg"


def draw(report: Result, folder: Path) -> list[Path]:
    """A picture for each sweep, a panel for each measurement.

    What was measured is a line, what was predicted a dashed one.
    """
    return [_draw(sweep, folder / picture_of(sweep)) for sweep in report["sweeps"]]


def _draw(sweep: Result, path: Path) -> Path:
    with mpl.rc_context(STYLE):
        sheet, axes = panels(2, 4, 2.9, 2.4)
        for panel, (name, head) in zip(axes, HEADS.items(), strict=True):
            for curve, colour in zip(sweep["curves"], COLOURS, strict=False):
                _draw_curve(panel, curve["points"], sweep["varied"], name, colour)
            panel.set_title(head)
            panel.set_xscale("log")
            log_scale(panel)
            panel.grid(color=RULE)
            panel.minorticks_off()
            ticks = sorted(
                {point[sweep["varied"]] for c in sweep["curves"] for point in c["points"]}
            )
            panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45)
        for panel in axes[4:]:
            panel.set_xlabel(VARIED[sweep["varied"]])
        legend(sheet, axes[0], predicted=True)
    return save(sheet, path)


def _draw_curve(panel: Any, points: list[Result], varied: str, name: str, colour: str) -> None:
    """What was measured, and what the plan predicts from the first point.

    Where there is nothing to do, no point.
    """
    some = [point for point in points if point["predicted"][name]]
    if not some:
        return
    values = [point[varied] for point in some]
    label = f"{some[0]['scheme']} {some[0]['update']}"
    panel.plot(values, [p["measured"][name] for p in some], "o-", ms=3, color=colour, label=label)
    scale = some[0]["measured"][name] / some[0]["predicted"][name]
    predicted = [point["predicted"][name] * scale for point in some]
    panel.plot(values, predicted, "--", lw=1, color=colour)
