"""What does a scheme promise? How many slots it may hold too many, and how much it handles for each slot that comes.

The work is counted in slots (Section 5): a build or an addition handles the slots that it names, a deletion those that it
takes away, a copy all that it copies; renaming and dropping are free. A scheme says itself how much a cluster makes it
handle; here that is averaged over a whole cycle, after which all clusters have come round. What a slot is worth in bytes
depends on the update technique, and is the engine's business to foretell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from wavedex.plan.waves.wave import Scheme


@dataclass(frozen=True)
class Promise:
    """What a scheme promises: slots handled for each slot, until it can be queried and ahead for later ones."""

    hard: bool
    extra_slots: int
    transition_slots: float
    preparation_slots: float

    @property
    def transition_share(self) -> float:
        """How much of the work is done before a slot can be queried."""
        return self.transition_slots / (self.transition_slots + self.preparation_slots)


@lru_cache(maxsize=64)
def promise(scheme: Scheme) -> Promise:
    """Return what a scheme promises, on the mean over a cycle; where it goes by sizes, on slots of one size or on those it knows.

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
    """Return after how many slots a scheme that does not go by sizes plans the same again, but for numbers and names.

    ENSURES: at most W.

    >>> from wavedex.plan import scheme
    >>> cycle_of(scheme("del", 12, 4)), cycle_of(scheme("wata", 14, 4))
    (3, 13)
    """
    clusters = scheme.clusters()
    return clusters[0] if len(set(clusters)) == 1 else sum(clusters)
