"""How do several slots arrive at once? One plan that leads from the present layout to the last one.

1. The planner is stepped once for each slot, and nothing is done.
2. Each constituent of the last layout is compared with what has its name now: equal ones are left
   alone, one that only grew gets what it lacks, any other is built afresh.
3. The temporaries of the last layout likewise, as preparation; those that are gone are dropped.

The answers are those of slot by slot; the work is that of one job. A fold never deletes from a
sub-index, and never copies or renames one: what an intermediate slot would have moved about is not
there to be moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavedex.plan.operations import Add, Build, Drop, Layout, Operation, Plan
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wave import Scheme


def plan_fold(
    scheme: Scheme,
    state: WaveState,
    slots: Sequence[int],
    sizes: Mapping[int, int] | None = None,
) -> tuple[Plan, WaveState]:
    """Plan the arrival of `slots` together, and return the state that they lead to.

    `sizes` has the rows of each slot, for the schemes that look at them; a slot that it lacks has
    none. One slot gets the scheme's own plan.

    REQUIRES: `slots` are consecutive and begin one past the newest slot of `state`.
    ENSURES: the state is the one of slot by slot, and the plan, applied to the layout of `state`,
    gives its layout.
    COST: one planner step a slot; the plan is no longer than two layouts.
    """
    sizes = sizes or {}
    plan, last = Plan(), state
    for slot in slots:
        plan, last = scheme.transition(last, slot, sizes.get(slot, 0))
    if len(slots) > 1:
        plan = Plan(_lead(state.indexes, last.indexes), _lead(state.temps, last.temps))
    return plan, last


def _lead(present: Layout, last: Layout) -> tuple[Operation, ...]:
    """Plan the way from the layout `present` to the layout `last`, name by name."""
    plan: list[Operation] = [Drop(name) for name in present if name not in last]
    for name, slots in last.items():
        held = present.get(name)
        if held is None or not held <= slots:
            plan.append(Build(slots, name))
        elif held != slots:
            plan.append(Add(slots - held, name))
    return tuple(plan)
