"""A promise: what was measured next to its bound, and whether it holds.

And the sizes at which promises are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.measure import spread


@dataclass(frozen=True)
class Scale:
    """The sizes of what is measured.

    `openings` and `repeats` say how often fresh processes are started.
    """

    rows: int = 300_000
    window: int = 14
    probes: int = 10_000
    keys_at_once: tuple[int, ...] = (100_000, 1_000_000)
    expiring_rows: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    keys_opened: tuple[int, ...] = (10_000, 1_000_000, 5_000_000)
    merged_rows: int = 1_000_000
    merged_slots: int = 10
    openings: int = 5
    repeats: int = 7
    seed: int = 13


QUICK = Scale(
    rows=2_000,
    probes=300,
    keys_at_once=(1_000, 5_000),
    expiring_rows=(1_000, 3_000),
    keys_opened=(1_000,),
    merged_rows=2_000,
    merged_slots=3,
    openings=1,
    repeats=1,
)


def promise(
    name: str,
    values: Sequence[float],
    bound: float | None,
    unit: str,
    *,
    judged_by: str = "median",
    at_least: bool = False,
) -> dict[str, Any]:
    """The measured values next to their bound.

    Times are judged by their median, since the machine may do other things meanwhile; what is the
    same each time by its largest value. Without a bound it is given for comparison, and neither met
    nor unmet.
    """
    measured = spread(list(values))
    judged = measured[judged_by]
    met = None if bound is None else (judged >= bound if at_least else judged <= bound)
    sense = "at least" if at_least else "at most"
    return {
        "name": name,
        "measured": measured,
        "bound": bound,
        "unit": unit,
        "sense": sense,
        "judged_by": judged_by,
        "met": met,
    }
