"""What does a scheme promise? How many slots it may hold too many, and how much it handles for each slot that comes.

The work is counted in slots (Section 5): a build or an addition handles the slots that it names, a deletion those that it
takes away, a copy all that it copies; renaming and dropping are free. It is found by planning on, slot by slot, so that it
holds for any scheme, spread or not. What a slot is worth in bytes depends on the update technique, and is the engine's
business to foretell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from wavedex.plan.operations import Add, Build, Copy, Delete, Layout, Operation, apply
from wavedex.plan.wave import Scheme

_STEPS_MAX = 200
"""How many slots are planned at most: a cycle of the longest windows would take seconds."""


@dataclass(frozen=True)
class Promise:
    """What a scheme promises: slots handled for each slot, until it can be queried and ahead for later ones."""

    hard: bool
    extra_slots: int
    transition_slots: float
    preparation_slots: float

    @property
    def transition_share(self) -> float:
        """How much of the work is done before a slot can be queried."""
        return self.transition_slots / (self.transition_slots + self.preparation_slots)


@lru_cache(maxsize=64)
def promise(scheme: Scheme) -> Promise:
    """Return what a scheme promises, on slots of one row each.

    COST: a planner step for each slot of a window, or for 200.

    >>> from wavedex.plan import scheme
    >>> promise(scheme("reindex", 10, 2)).transition_slots
    5.0
    """
    state = scheme.start(0)[1]
    warm = min(scheme.window, _STEPS_MAX)
    transition = preparation = 0
    for slot in range(1, 2 * warm + 1):
        plan, following = scheme.transition(state, slot, 1)
        if slot > warm:
            transition += _slots_handled(state.layout, plan.transition)
            between = apply(state.layout, plan.transition)
            preparation += _slots_handled(between, plan.preparation)
        state = following
    return Promise(scheme.hard, scheme.extra_slots, transition / warm, preparation / warm)


def _slots_handled(layout: Layout, operations: Iterable[Operation]) -> int:
    count = 0
    for operation in operations:
        match operation:
            case Build(slots, _) | Add(slots, _) | Delete(slots, _):
                count += len(slots)
            case Copy(source, _):
                count += len(layout[source])
        layout = apply(layout, [operation])
    return count
