"""How a curve grows next to what was predicted, and where it bends upwards. Pure."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]
BEND = 1.25
"""So many times as much as predicted, from one point of a curve to its last, is called a bend."""


def growth_of(points: list[Result]) -> list[dict[str, float | None]]:
    """How many times as much as predicted from the first point.

    For each point of one curve and each measurement. None where the plan says that there is nothing
    to do.
    """
    first = points[0]

    def factor(point: Result, name: str) -> float | None:
        foreseen = [each["predicted"][name] for each in (first, point)]
        if not all(foreseen):
            return None
        growth = point["measured"][name] / first["measured"][name]
        return growth / (foreseen[1] / foreseen[0])

    return [{name: factor(point, name) for name in point["measured"]} for point in points]


def bends_of(points: list[Result], varied: str) -> list[Result]:
    """Where the curves of one index bend upwards.

    From which point on, and how much there is too much at the last. Curves that should fall are
    left out: where there is less to do, what a commit costs in any case is what remains.
    """
    growth = growth_of(points)
    bends = []
    for name in points[0]["measured"]:
        factors = [each[name] for each in growth]
        last = factors[-1]
        falls = points[-1]["predicted"][name] < points[0]["predicted"][name]
        if last is None or last < BEND or falls:
            continue
        begin = next(pos for pos, each in enumerate(factors) if each is not None and each >= BEND)
        bends.append(
            {
                "scheme": points[0]["scheme"],
                "update": points[0]["update"],
                "what": name,
                "from": points[begin][varied],
                "factor_at_the_last": last,
            }
        )
    return bends
