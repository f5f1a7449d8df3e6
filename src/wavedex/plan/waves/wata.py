"""Throw-away waves: no slot is deleted, whole sub-indexes are (WATA*, Section 3.3, Figure 16).

The newest sub-index grows slot by slot. The oldest is dropped in the transition in which its last
live slot expires, and its name is given to the slot that has just arrived. Until then it serves
slots that are over, so the window is soft.

Never deletes from a sub-index, and so needs two of them at least: a single one could never be
thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Add, Build, Drop, Operation
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wave import Wave, even_sizes


@dataclass(frozen=True)
class Wata(Wave):
    """WATA*: wait, and throw away."""

    name: ClassVar[str] = "wata"
    hard: ClassVar[bool] = False
    fewest_indexes: ClassVar[int] = 2

    @property
    def extra_slots(self) -> int:
        """How many expired slots may be held: ceil((W-1)/(n-1)) - 1 (Theorem 2)."""
        return max(self.cluster_sizes()) - 1

    def cluster_sizes(self) -> Sequence[int]:
        """Return n - 1 even clusters of all slots but the newest, which is a cluster of its own."""
        return [*even_sizes(self.window - 1, self.indexes - 1), 1]

    def clusters(self) -> Sequence[int]:
        """Return the even clusters of W - 1 slots: the newest is the first of one that grows."""
        return even_sizes(self.window - 1, self.indexes - 1)

    def handled(self, size: int) -> tuple[int, int]:
        """Return one slot for each slot: what is over is thrown away."""
        return size, 0

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan one build or one add of the new slot.

        ENSURES: at most W + ceil((W - 1) / (n - 1)) - 1 slots are held in all (Theorem 2).
        """
        expiring = state.holder(slot - self.window)
        new = frozenset({slot})
        if state.length - len(state.indexes[expiring]) == self.window - 1:
            return [Drop(expiring), Build(new, expiring)]
        return [Add(new, state.holder(state.newest))]
