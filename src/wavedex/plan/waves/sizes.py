"""What a scheme holds at most, for slots of given sizes (Section 3.3, Figure 11).

Steps a scheme through slots whose rows are known and adds up what its sub-indexes hold. Nothing is
indexed. Slots are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wavedex.errors import BadDefinition
from wavedex.plan.operations import Plan
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wave import Scheme


@dataclass(frozen=True)
class SizeRatio:
    """What a scheme holds at most, beside the largest window."""

    held: int
    """The most rows that were ever held, temporaries included."""
    window: int
    """The most rows that a window ever had."""

    @property
    def ratio(self) -> float:
        """What lazy deletion costs: 1 where nothing but the window is ever held."""
        return self.held / self.window


class SlotSize(NamedTuple):
    """What is held after one slot."""

    slot: int
    """The slot that came last."""
    window: int
    """The rows of the window."""
    held: int
    """All rows that are held, temporaries included."""


def walk(scheme: Scheme, until: int, sizes: Sequence[int] = ()) -> Iterator[tuple[Plan, WaveState]]:
    """Yield the plan and the state of each slot up to `until`; slots beyond `sizes` have no rows.

    A scheme that weighs slots starts from W empty ones, the others with slot W, as the paper's
    tables do.
    """
    first = 0 if scheme.weighs else scheme.window
    plan, state = scheme.start(first)
    if not scheme.weighs:
        yield plan, state
    for slot in range(first + 1, until + 1):
        plan, state = scheme.transition(state, slot, sizes[slot - 1] if slot <= len(sizes) else 0)
        yield plan, state


def size_ratio(scheme: Scheme, sizes: Sequence[int]) -> SizeRatio:
    """Return what the scheme holds at most of slots of these sizes, beside the largest window.

    Raises BadDefinition where there is less than a window of them, or nothing in any.

    >>> from wavedex.plan.waves.catalogue import scheme
    >>> size_ratio(scheme("wata", 3, 2), [4, 1, 1, 4, 1, 1]).held
    10
    """
    if len(sizes) < scheme.window or not any(sizes) or min(sizes) < 0:
        raise BadDefinition(
            f"sizes has {len(sizes)} slots: give the rows of at least {scheme.window}, "
            "as many as the window has, none below 0 and not all of them 0."
        )
    held = max(slot.held for slot in slot_sizes(scheme, sizes))
    return SizeRatio(held, largest_window(sizes, scheme.window))


def slot_sizes(scheme: Scheme, sizes: Sequence[int]) -> Iterator[SlotSize]:
    """Yield the rows of the window and the rows that the scheme holds, slot by slot."""
    rows = dict(enumerate(sizes, start=1))
    for _, state in walk(scheme, len(sizes), sizes):
        newest = state.newest
        held = sum(rows.get(slot, 0) for slots in state.layout.values() for slot in slots)
        yield SlotSize(newest, sum(sizes[max(newest - scheme.window, 0) : newest]), held)


def largest_window(sizes: Sequence[int], window: int) -> int:
    """Return the most rows that `window` slots after one another have.

    >>> largest_window([4, 1, 1, 4, 2], window=2)
    6
    """
    return max((sum(sizes[at : at + window]) for at in range(len(sizes))), default=0)
