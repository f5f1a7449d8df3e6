"""Which row or column of a grid does a slot belong to? Its number alone decides.

Round-robin deals slots out one by one, so that all partitions grow alike. Chronological gives each
partition a cluster of consecutive slots of every window. Random is round-robin with an order that
is drawn anew for each round. It is for loads that come and go in step with round-robin (Sections
3.1 and 3.3 of the lifetime papers).

All three are pure functions of the number, which may be negative. Nothing is remembered from slot
to slot, and no generator is kept. The wave is a fourth way, for insertions only. It does remember:
see `wavedex.plan.waves.wata`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from wavedex.plan.operations import Slots

ROUND_ROBIN, CHRONOLOGICAL, RANDOM, WAVE = "round-robin", "chronological", "random", "wave"


@dataclass(frozen=True)
class Partition:
    """One side of a grid: slots dealt out to partitions."""

    name: str
    """How slots are dealt out: one of the PARTITIONS."""
    window: int
    """After this many slots clusters come round again."""
    parts: int
    """The number of partitions, which are numbered from 0."""
    side: str
    """Births or deaths. The random order is drawn from this and the seed."""
    seed: int
    """The random order is drawn from this and the side."""

    def part(self, slot: int) -> int:
        """Return the partition of a slot.

        >>> [Partition("chronological", 8, 3, "births", 0).part(slot) for slot in range(1, 10)]
        [0, 0, 0, 1, 1, 1, 2, 2, 0]
        """
        return PARTITIONS[self.name](self, slot)

    def split(self, slots: Iterable[int]) -> list[Slots]:
        """Return the slots of each partition among `slots`.

        >>> Partition("round-robin", 8, 2, "births", 0).split([1, 2, 3])
        [frozenset({1, 3}), frozenset({2})]
        """
        split: list[list[int]] = [[] for _ in range(self.parts)]
        for slot in slots:
            split[self.part(slot)].append(slot)
        return [frozenset(part) for part in split]


def _round_robin(side: Partition, slot: int) -> int:
    return (slot - 1) % side.parts


def _chronological(side: Partition, slot: int) -> int:
    """Clusters as in Figure 12 of the wave-index paper: the first W mod k have a slot more."""
    small, larger_ones = divmod(side.window, side.parts)
    position, in_larger = (slot - 1) % side.window, larger_ones * (small + 1)
    if position < in_larger:
        return position // (small + 1)
    return larger_ones + (position - in_larger) // small


def _random(side: Partition, slot: int) -> int:
    """ENSURES: k slots from one that follows a multiple of k are in k partitions."""
    block, position = divmod(slot - 1, side.parts)
    return _order(side.seed, side.side, block, side.parts)[position]


@lru_cache(maxsize=4096)
def _order(seed: int, side: str, block: int, parts: int) -> list[int]:
    """Shuffle the partitions for one block, by hashes that any machine computes alike."""

    def drawn(part: int) -> bytes:
        return hashlib.blake2b(f"{seed}:{side}:{block}:{part}".encode()).digest()

    return sorted(range(parts), key=drawn)


PARTITIONS: dict[str, Callable[[Partition, int], int]] = {
    ROUND_ROBIN: _round_robin,
    CHRONOLOGICAL: _chronological,
    RANDOM: _random,
}
