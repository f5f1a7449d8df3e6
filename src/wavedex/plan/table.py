"""What does a scheme do, slot by slot? The tables of the paper, as `wavedex plan --json` has them.

Slots are numbered from 1, so the first row is slot W, which is Start, and each further row is the
next slot's transition and preparation, and the layout after both. A scheme that weighs slots starts
from a window of empty ones, and its first row is slot 1.

Draws and stores nothing; it returns plain JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wavedex.errors import BadDefinition
from wavedex.plan.operations import Plan
from wavedex.plan.sizes import walk
from wavedex.plan.state import WaveState
from wavedex.plan.wave import Scheme


def plan_table(scheme: Scheme, until: int, sizes: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return one object a slot, from slot W to slot `until`, both included; `sizes` are their rows.

    Raises BadDefinition where `until` is before slot W, since the first row is the first full
    window.

    >>> from wavedex.plan.catalogue import scheme
    >>> plan_table(scheme("wata", 10, 4), until=11)[1]["ops"]
    ['add({11}, I4)']
    """
    if until < scheme.window:
        raise BadDefinition(
            f"until is slot {until}: give slot {scheme.window} or a later one, "
            f"where the first window of {scheme.window} slots is full."
        )
    return [_row(plan, state) for plan, state in walk(scheme, until, sizes)]


def _row(plan: Plan, state: WaveState) -> dict[str, Any]:
    layout = state.to_json()
    return {
        "slot": state.newest,
        "ops": [str(operation) for operation in plan.transition],
        "prepare": [str(operation) for operation in plan.preparation],
        "indexes": layout["indexes"],
        "temps": layout["temps"],
    }
