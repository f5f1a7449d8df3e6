"""What does a scheme promise? How many extra slots it may hold, and its work for each new slot.

The work is counted in slots (Section 5). A build or an addition handles the slots that it names, a
deletion those that it takes away, a copy all that it copies. Renaming and dropping are free.

A scheme says itself how much a cluster makes it handle. Here that is averaged over a whole cycle,
after which all clusters have come round. What a slot is worth in bytes depends on the update
technique; the engine predicts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from wavedex.plan.waves.wave import Scheme


@dataclass(frozen=True)
class Promise:
    """What a scheme promises."""

    hard: bool
    """Whether nothing older than the window is held."""
    extra_slots: int
    """How many slots beyond the window may be held."""
    transition_slots: float
    """Slots handled for each slot until it can be queried."""
    preparation_slots: float
    """Slots handled for each slot ahead, for later ones."""

    @property
    def transition_share(self) -> float:
        """How much of the work is done before a slot can be queried."""
        return self.transition_slots / (self.transition_slots + self.preparation_slots)


@lru_cache(maxsize=64)
def promise(scheme: Scheme) -> Promise:
    """Return what a scheme promises, on the mean over a cycle.

    A scheme that goes by sizes is judged on slots of one size, or on those it knows.

    COST: a few sums for each cluster.

    >>> from wavedex.plan import scheme
    >>> promise(scheme("reindex", 10, 2)).transition_slots
    5.0
    """
    clusters = scheme.clusters()
    slots = sum(clusters)
    transition, preparation = (
        sum(each) for each in zip(*map(scheme.handled, clusters), strict=True)
    )
    return Promise(scheme.hard, scheme.extra_slots, transition / slots, preparation / slots)


def cycle_of(scheme: Scheme) -> int:
    """Return after how many slots a scheme plans the same again, but for numbers and names.

    For schemes that do not go by sizes.

    ENSURES: at most W.

    >>> from wavedex.plan import scheme
    >>> cycle_of(scheme("del", 12, 4)), cycle_of(scheme("wata", 14, 4))
    (3, 13)
    """
    clusters = scheme.clusters()
    return clusters[0] if len(set(clusters)) == 1 else sum(clusters)
