"""Build the constituent afresh for every slot (REINDEX, Section 3.2, Figure 13).

The constituent that held the expired slot is built again, from what is live of it and the new slot.
It is always packed, and each transition indexes W/n slots.

The window is hard. Never deletes, and prepares nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Build, Operation
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wave import Wave


@dataclass(frozen=True)
class Reindex(Wave):
    """REINDEX: replace the expired slot by building again."""

    name: ClassVar[str] = "reindex"

    def handled(self, size: int) -> tuple[int, int]:
        """Return the slots of a build for each slot."""
        return size * size, 0

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan one build of the cluster, with the new slot in place of the expired one."""
        target = state.holder(slot - self.window)
        return [Build(state.indexes[target] - {slot - self.window} | {slot}, target)]
