"""Throw-away waves that go by the sizes of slots (Section 3.3, after Kleinberg and others).

As with WATA* the newest sub-index grows, and one whose last live slot expires is thrown away at
once. But here the rows decide when a sub-index is closed and the next one begun: each kind says
when (`closes`). So there may be fewer sub-indexes than n at a time. Names that are not in use hold
no slot. A sub-index is also closed with W - 1 slots. No bound needs that, and none is broken by it:
old slots go even where sizes are not what they were said to be.

Slots without rows cost nothing and could still keep a name in use. That matters where the next
sub-index is due and no name is free. If all that is live in the oldest has no rows, those empty
slots move to the next oldest, which outlives them. If it has rows, the sizes were not what they
were said to be. Then the newest sub-index takes the slot and grows beyond its due
(`WaveState.sizes` shows it). A window that is too large is better than one that lacks a slot.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from wavedex.plan.operations import Add, Build, Drop, Operation, Plan, Slots
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wata import Wata

_NONE: Slots = frozenset()


@dataclass(frozen=True)
class Sized(Wata):
    """A throw-away wave whose sub-indexes are closed by the sizes of their slots."""

    weighs: ClassVar[bool] = True

    @property
    def extra_slots(self) -> int:
        """How many expired slots may be held: no live sub-index reaches back over 2 W - 1 slots."""
        return self.window - 1

    @abstractmethod
    def closes(self, state: WaveState, slot: int) -> bool:
        """Whether the newest sub-index is closed when `slot` comes."""

    def cluster_sizes(self) -> list[int]:
        """Return W and zeros: no size is known at Start, and the first sub-index has all slots."""
        return [self.window, *[0] * (self.indexes - 1)]

    def transition(self, state: WaveState, slot: int, size: int = 0) -> tuple[Plan, WaveState]:
        """Plan the arrival of `slot`, of `size` rows.

        REQUIRES: `slot` is one past the newest slot of `state`.
        ENSURES: at most one sub-index holds rows that are over.
        """
        return super().transition(state.grown({slot: size}), slot)

    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan where the slot goes, and throw away what it pushes out."""
        new = frozenset({slot})
        newest, oldest = state.holder(slot - 1), state.holder(slot - self.window)
        live = frozenset(held for held in state.indexes[oldest] if held > slot - self.window)
        is_over = not live
        is_long = len(state.indexes[newest]) >= self.window - 1
        if not is_long and not self.closes(state, slot):
            emptied: list[Operation] = [Drop(oldest), Build(_NONE, oldest)] if is_over else []
            return [*emptied, Add(new, newest)]
        if is_over:
            return [Drop(oldest), Build(new, oldest)]
        unused = next((name for name, slots in state.indexes.items() if not slots), None)
        if unused is not None:
            return [Build(new, unused)]
        if state.rows(live) == 0:
            return [Add(live, state.holder(max(live) + 1)), Drop(oldest), Build(new, oldest)]
        return [Add(new, newest)]
