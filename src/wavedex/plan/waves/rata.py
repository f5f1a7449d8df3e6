"""Throw-away waves with a hard window (RATA*, Section 4.3, Figure 17).

Plans as WATA* does, or as any other wave that throws sub-indexes away. But for each slot of the
oldest sub-index a temporary stands ready without the slot that expires, and takes the sub-index's
name. The ladder T0, T1, ... of such temporaries is used from the largest down; T0 holds one slot.
It is raised in the preparation of the slot with which a sub-index begins to expire. With `spread`
it has grown by then, one rung a slot, while the sub-index before it expired. So no preparation
after Start names more than one old slot (end of Section 4.3).

The transitions are the same either way. Never deletes from a sub-index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Drop, Operation, Rename
from wavedex.plan.slot_set import last_of
from wavedex.plan.state import WaveState
from wavedex.plan.waves.ladder import grow_next, hand_over, rung_slots, rungs
from wavedex.plan.waves.wata import Wata


@dataclass(frozen=True)
class Reindexing(Wata):
    """Makes the window of a throw-away wave hard. It stands before the wave among the bases."""

    hard: ClassVar[bool] = True

    @property
    def extra_slots(self) -> int:
        """None: the window is hard."""
        return 0

    def handled(self, size: int) -> tuple[int, int]:
        """Return what the wave handles, and a cluster's ladder, which lacks the oldest slot."""
        return super().handled(size)[0], rung_slots(size - 1)

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan as the wave does; where its oldest sub-index would wait, a rung replaces it."""
        plan = super().arrive(state, slot)
        expiring, ladder = state.holder(slot - self.window), rungs(state, "T")
        if Drop(expiring) in plan:
            return [*plan, *map(Drop, ladder)]
        return [*plan, Rename(ladder[-1], expiring)]

    def prepare(self, state: WaveState) -> list[Operation]:
        """Plan the ladder of the cluster that begins to expire."""
        oldest, cluster = self.oldest(state)
        if len(rungs(state, "T")) < len(cluster) - 1:
            return hand_over(state, oldest, first=0)
        return []


@dataclass(frozen=True)
class Rata(Reindexing):
    """RATA*; with `spread`, the preparation is spread evenly over the slots."""

    spread: bool = False

    name: ClassVar[str] = "rata"

    def prepare(self, state: WaveState) -> list[Operation]:
        """Plan the ladder of the cluster that begins to expire, or a rung of the one after it."""
        ladder = super().prepare(state)
        if ladder or not self.spread:
            return ladder
        return grow_next(state, begin=last_of(self.oldest(state)[1]) + 1)
