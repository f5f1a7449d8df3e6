"""Reindex before the slot arrives, so that one add is enough (REINDEX++, Section 4.2, Figure 15).

For the cluster that expires there is a ladder T0, T1, ..., Tk: Ti holds its i newest slots, T0
none. A transition adds the new slot to the largest rung left and gives it the constituent's name.
Preparation then adds the new slots so far (DaysToAdd) to the next rung, or, when none is left,
raises the ladder of the next cluster.

With `spread` no preparation after Start names more than one old slot: each new slot goes to every
rung left at once, and the next ladder grows by one rung a slot. The transitions are the same either
way. The window is hard; nothing is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Add, Build, Operation, Rename
from wavedex.plan.state import WaveState
from wavedex.plan.waves.ladder import grow_next, hand_over, rung_slots, rungs
from wavedex.plan.waves.wave import Wave


@dataclass(frozen=True)
class ReindexPlusPlus(Wave):
    """REINDEX++; with `spread`, the preparation is spread evenly over the slots."""

    spread: bool = False

    name: ClassVar[str] = "reindex++"

    def handled(self, size: int) -> tuple[int, int]:
        """Return an add for each slot, and the preparation.

        Half of the preparation raises the ladder, the other half feeds it.
        """
        return size, 2 * rung_slots(size - 1)

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan one add to the largest rung left, which becomes the constituent."""
        top = rungs(state, "T")[-1]
        return [Add(frozenset({slot}), top), Rename(top, state.holder(slot - self.window))]

    def prepare(self, state: WaveState) -> list[Operation]:
        """Plan what makes the next rung lack only the new slot, or else the next ladder."""
        oldest, cluster = self.oldest(state)
        ladder = rungs(state, "T")
        if not ladder:
            return [Build(frozenset(), "T0"), *hand_over(state, oldest, first=1)]
        if not self.spread:
            return [Add(cluster - {oldest} - state.temps[ladder[-1]], ladder[-1])]
        # Each rung left stands for one old slot of the cluster; the next cluster begins after them.
        new = frozenset({state.newest})
        feed = [Add(new, rung) for rung in ladder]
        return [*feed, *grow_next(state, begin=oldest + len(ladder))]
