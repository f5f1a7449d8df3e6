"""What does a scheme do, slot by slot? The tables of the paper, as `wavedex plan --json` has them.

Slots are numbered from 1. The first row is slot W, which is Start. Each further row is the next
slot's transition and preparation, and the layout after both. A scheme that weighs slots starts from
a window of empty ones, and its first row is slot 1. The table of a grid is that of the lifetime
papers' figures: one row a refresh, from slot p on, which is Start.

Draws and stores nothing; it returns plain JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wavedex.errors import BadDefinition
from wavedex.plan.grids.grid import Grid
from wavedex.plan.grids.state import GridState
from wavedex.plan.grids.touched import touched
from wavedex.plan.operations import Layout, Plan
from wavedex.plan.state import WaveState
from wavedex.plan.waves.sizes import walk
from wavedex.plan.waves.wave import Scheme


def plan_table(scheme: Scheme, until: int, sizes: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return one object a slot, from slot W to slot `until`, both included; `sizes` are their rows.

    Raises BadDefinition where `until` is before slot W, since the first row is the first full
    window.

    >>> from wavedex.plan.waves.catalogue import scheme
    >>> plan_table(scheme("wata", 10, 4), until=11)[1]["ops"]
    ['add({11}, I4)']
    """
    _check_until(until, scheme.window)
    return [_row(plan, state) for plan, state in walk(scheme, until, sizes)]


def grid_table(grid: Grid, until: int) -> list[dict[str, Any]]:
    """Return one object a slot, from slot p to slot `until`, both included.

    Each says what its refresh touches. Raises BadDefinition where `until` is before slot p.

    >>> from wavedex.plan.grids.grid import grid
    >>> grid_table(grid("rebuild", 8, 2, 2), until=9)[1]["touched"]
    ['I1', 'I2', 'I3']
    """
    _check_until(until, grid.window)
    plan, state = grid.start(grid.window)
    rows = [{**_row(plan, state), **touched(plan, {})._asdict()}]
    for slot in range(grid.window + 1, until + 1):
        before = state.indexes
        plan, state = grid.transition(state, slot)
        rows.append({**_row(plan, state), **touched(plan, before)._asdict()})
    return rows


def _check_until(until: int, window: int) -> None:
    if until < window:
        raise BadDefinition(
            f"until is slot {until}: give slot {window} or a later one, "
            f"where the first window of {window} slots is full."
        )


def _row(plan: Plan, state: WaveState | GridState) -> dict[str, Any]:
    return {
        "slot": state.newest,
        "ops": [str(operation) for operation in plan.transition],
        "prepare": [str(operation) for operation in plan.preparation],
        "indexes": _sorted(state.indexes),
        "temps": _sorted(state.temps),
    }


def _sorted(layout: Layout) -> dict[str, list[int]]:
    return {name: sorted(slots) for name, slots in layout.items()}
