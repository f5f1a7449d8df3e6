"""What is left out when a window cannot keep up: answers first, rows last (003, Section 8).

Basic windows come one after the other, each in a span of real time. In that time the rows must be
taken in and the queries that are due evaluated. Where that takes longer, queries are evaluated less
often: the least important first, of those as important the dearest. Where that is not enough, only
a sample of the rows is taken in, and answers say so.

What is decided follows from what was measured alone. Nothing here looks at a clock or at rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BUSY = 0.8
"""The part of the time in which a window may be at work."""
STRETCH_MOST = 64
"""A query is evaluated at least once in so many of its own intervals."""
SAMPLE_LEAST = 0.01
"""At least this part of the rows is taken in."""


@dataclass(frozen=True)
class Cost:
    """What a query that is evaluated again and again takes."""

    seconds: float
    """One evaluation."""
    every: int
    """The basic windows from one evaluation to the next, if there is time for all."""
    importance: float = 1.0
    """A query of more importance is stretched later."""


@dataclass(frozen=True)
class Measures:
    """What to do less."""

    stretches: tuple[int, ...]
    """How many times longer each query waits."""
    sample: float
    """The part of the rows that is taken in."""


def plan_measures(
    costs: Sequence[Cost], upkeep_s: float, interval_s: float, busy: float = BUSY
) -> Measures:
    """What to do less, so that the work for a basic window takes a part of its time.

    `upkeep_s` is what a basic window takes by itself, if all of its rows are taken in.

    >>> plan_measures([Cost(0.2, 1), Cost(0.01, 1)], upkeep_s=0.01, interval_s=0.1)
    Measures(stretches=(4, 1), sample=1.0)
    >>> plan_measures([], upkeep_s=0.2, interval_s=0.125).sample
    0.5
    """
    budget = busy * interval_s
    stretches = [1] * len(costs)

    def share(place: int) -> float:
        return costs[place].seconds / (costs[place].every * stretches[place])

    def evaluating() -> float:
        return sum(map(share, range(len(costs))))

    while upkeep_s + evaluating() > budget:
        longer = [place for place, stretch in enumerate(stretches) if stretch < STRETCH_MOST]
        if not longer:
            break
        first = min(longer, key=lambda place: (costs[place].importance, -share(place)))
        stretches[first] *= 2
    if upkeep_s + evaluating() <= budget or not upkeep_s:
        return Measures(tuple(stretches), 1.0)
    left = (budget - evaluating()) / upkeep_s
    return Measures(tuple(stretches), min(max(left, SAMPLE_LEAST), 1.0))
