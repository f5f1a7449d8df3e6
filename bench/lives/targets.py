"""A target: what was measured next to what it should be, and whether it is met."""

from __future__ import annotations

from typing import Any

from bench.command import table
from bench.race.standings import figure

Result = dict[str, Any]


def target(name: str, measured: float, bound: str, met: bool) -> Result:
    return {"name": name, "measured": measured, "bound": bound, "met": bool(met)}


def shown(targets: list[Result]) -> str:
    """The targets as a table."""
    rows = [
        [
            each["name"],
            figure(each["measured"]),
            each["bound"],
            "PASS" if each["met"] else "**FAIL**",
        ]
        for each in targets
    ]
    return table(["target", "measured", "should be", ""], rows)
