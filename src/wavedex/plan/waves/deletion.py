"""Delete what has expired, add what is new, in the same constituent (DEL, Section 3.1, Figure 12).

The constituent that holds the expired slot loses it and gets the new one. With `ahead`, the half
that needs no new data is done before the slot arrives (the pre-computation of Table 10). A copy
without the slot that will expire stands ready as T0. It gets the new slot and takes the
constituent's name.

The window is hard. The only scheme that deletes from a sub-index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Add, Copy, Delete, Operation, Rename
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wave import Wave


@dataclass(frozen=True)
class Deletion(Wave):
    """DEL; with `ahead`, copy and delete before the slot arrives."""

    ahead: bool = False

    name: ClassVar[str] = "del"
    needs_delete: ClassVar[bool] = True

    def handled(self, size: int) -> tuple[int, int]:
        """Return a delete and an add for each slot.

        With `ahead`, a copy and the delete come before the slot arrives.
        """
        return (size, size * (size + 1)) if self.ahead else (2 * size, 0)

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan delete and add; or, where a copy stands ready, add and rename."""
        expired, new = frozenset({slot - self.window}), frozenset({slot})
        target = state.holder(slot - self.window)
        if self.ahead:
            return [Add(new, "T0"), Rename("T0", target)]
        return [Delete(expired, target), Add(new, target)]

    def prepare(self, state: WaveState) -> list[Operation]:
        """With `ahead`, plan the copy that lacks the slot that expires next."""
        if not self.ahead:
            return []
        oldest, _ = self.oldest(state)
        return [Copy(state.holder(oldest), "T0"), Delete(frozenset({oldest}), "T0")]
