"""What every wave scheme is: a small immutable value that plans the next slot.

`Scheme` is what the rest of the library knows of one. `Wave` is what all of them share:

- the check of W and n;
- Start (Appendix A): the window split into consecutive clusters, one constituent each;
- the order of a slot: `arrive` plans what makes it queryable, the layout is stepped, `prepare`
  plans what later slots will need.

A scheme adds `arrive` and `prepare` and is about as long as its figure.

Plans and never performs: no file, no clock, no randomness. The same state and slot give the same
plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from wavedex.errors import BadDefinition
from wavedex.plan.operations import Build, Operation, Plan
from wavedex.plan.slot_set import Slots, slots_of
from wavedex.plan.state import WaveState


class Scheme(Protocol):
    """A policy that says which sub-index holds which slots. Two that plan alike are equal."""

    def __hash__(self) -> int:
        """By what they are made of."""

    @property
    def name(self) -> str:
        """Its name in the catalogue."""

    @property
    def window(self) -> int:
        """W, the number of slots that are live."""

    @property
    def indexes(self) -> int:
        """n, the number of constituents."""

    @property
    def hard(self) -> bool:
        """Whether the constituents hold the window and nothing older."""

    @property
    def extra_slots(self) -> int:
        """How many slots beyond the window may be held; 0 where the window is hard."""

    @property
    def needs_delete(self) -> bool:
        """Whether its plans delete slots from a sub-index."""

    @property
    def weighs(self) -> bool:
        """Whether it looks at the sizes of slots."""

    def clusters(self) -> Sequence[int]:
        """Return the sizes of the clusters that come round again and again, in slots, in order."""

    def handled(self, size: int) -> tuple[int, int]:
        """Return how many slots are handled for a cluster of `size` slots, all in all.

        The first number is for transitions, the second for preparations.
        """

    def start(self, newest: int) -> tuple[Plan, WaveState]:
        """Plan the first window, the W slots up to `newest`."""

    def transition(self, state: WaveState, slot: int, size: int = 0) -> tuple[Plan, WaveState]:
        """Plan the arrival of `slot`, of `size` rows.

        REQUIRES: `slot` is one past the newest slot of `state`.
        ENSURES: every live slot is in exactly one constituent; the state is the one after the
        preparation.
        """


@dataclass(frozen=True)
class Wave(ABC):
    """A scheme of W slots (`window`) in n constituents (`indexes`)."""

    window: int
    indexes: int

    name: ClassVar[str]
    hard: ClassVar[bool] = True
    needs_delete: ClassVar[bool] = False
    weighs: ClassVar[bool] = False
    fewest_indexes: ClassVar[int] = 1
    needs: ClassVar[Mapping[str, str]] = {}
    """What to say of each option that has no default."""

    def __post_init__(self) -> None:
        for what, count in (("window", self.window), ("indexes", self.indexes)):
            if type(count) is not int:
                raise BadDefinition(f"{what} is {count!r}: give a whole number.")
        if self.window < self.fewest_indexes:
            raise BadDefinition(
                f"window is {self.window}: give {self.name} a window of at least "
                f"{self.fewest_indexes} slot{'s' * (self.fewest_indexes > 1)}."
            )
        if not self.fewest_indexes <= self.indexes <= self.window:
            raise BadDefinition(
                f"indexes is {self.indexes}: give {self.name} between {self.fewest_indexes} and "
                f"{self.window} sub-indexes, no more than the window has slots."
            )

    @property
    def extra_slots(self) -> int:
        """How many slots beyond the window may be held; 0 where the window is hard."""
        return 0

    def cluster_sizes(self) -> Sequence[int]:
        """Return how many slots each constituent holds at Start, the oldest first (Figure 12)."""
        return even_sizes(self.window, self.indexes)

    def clusters(self) -> Sequence[int]:
        """Return the sizes of the clusters that come round again and again, in slots, in order."""
        return self.cluster_sizes()

    @abstractmethod
    def handled(self, size: int) -> tuple[int, int]:
        """Return how many slots are handled for a cluster of `size` slots, all in all.

        The first number is for transitions, the second for preparations.
        """

    @abstractmethod
    def arrive(self, state: WaveState, slot: int) -> list[Operation]:
        """Plan what makes `slot` queryable: the paper's Transition."""

    def prepare(self, state: WaveState) -> list[Operation]:
        """Plan what later slots will need; `state` is what the transition, or Start, led to."""
        return []

    def start(self, newest: int) -> tuple[Plan, WaveState]:
        """Plan the first window, the W slots up to `newest`, each cluster consecutive."""
        low = newest - self.window + 1
        builds: list[Operation] = []
        for number, size in enumerate(self.cluster_sizes(), start=1):
            builds.append(Build(slots_of(range(low, low + size)), f"I{number}"))
            low += size
        return self._settle(WaveState(newest, {}, {}), newest, builds)

    def transition(self, state: WaveState, slot: int, size: int = 0) -> tuple[Plan, WaveState]:
        """Plan the arrival of `slot`; its size makes no difference to these schemes.

        REQUIRES: `slot` is one past the newest slot of `state`.
        """
        assert slot == state.newest + 1, f"slot {slot} does not follow slot {state.newest}"
        return self._settle(state, slot, self.arrive(state, slot))

    def oldest(self, state: WaveState) -> tuple[int, Slots]:
        """Return the oldest live slot, the next to expire, and all that its constituent holds."""
        slot = state.newest - self.window + 1
        return slot, state.indexes[state.holder(slot)]

    def _settle(
        self, state: WaveState, slot: int, transition: list[Operation]
    ) -> tuple[Plan, WaveState]:
        arrived = state.after(slot, transition)
        preparation = self.prepare(arrived)
        prepared = arrived.after(slot, preparation) if preparation else arrived
        return Plan(tuple(transition), tuple(preparation)), prepared


def even_sizes(total: int, parts: int) -> list[int]:
    """Split `total` into `parts` sizes that differ by at most one, the larger ones first.

    >>> even_sizes(10, 4)
    [3, 3, 2, 2]
    """
    small, larger_ones = divmod(total, parts)
    return [small + 1] * larger_ones + [small] * (parts - larger_ones)
