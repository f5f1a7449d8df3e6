"""Remember the new slots, to index only old ones again (REINDEX+, Section 4.1, Figure 14).

The new slots of the cluster that is being replaced are kept apart in `Temp`. A transition adds the
new slot to it, makes the constituent a copy of it, and adds the old slots that are left to the
copy: about half of what REINDEX indexes. The paper's empty `Temp` is one that is not there, so
`Temp` exists while a cluster is half replaced and at no other time.

The window is hard. Never deletes, and prepares nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Add, Build, Copy, Drop, Operation
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wave import Wave


@dataclass(frozen=True)
class ReindexPlus(Wave):
    """REINDEX+: remember the new slots in `Temp`."""

    name: ClassVar[str] = "reindex+"

    def handled(self, size: int) -> tuple[int, int]:
        """Return one slot more than the cluster has, for each slot.

        The last slot needs no `Temp`, so it is one less.
        """
        return size * size + size - 1, 0

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan a copy of `Temp` and the old slots that are left (DaysToAdd in Figure 14)."""
        target, new = state.holder(slot - self.window), frozenset({slot})
        temp = state.temps.get("Temp", frozenset())
        left = state.indexes[target] - temp - {slot - self.window}
        if not temp and not left:  # one slot: Temp would be emptied in the same step
            return [Build(new, target)]
        if not temp:
            return [Build(new, "Temp"), Copy("Temp", target), Add(left, target)]
        if not left:
            return [Copy("Temp", target), Add(new, target), Drop("Temp")]
        return [Add(new, "Temp"), Copy("Temp", target), Add(left, target)]
