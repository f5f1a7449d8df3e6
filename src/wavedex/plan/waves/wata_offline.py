"""Throw-away waves for slots whose sizes are known ahead: the least size of all (Section 3.3).

`best_ends` finds where to close the sub-indexes so that the most rows ever held are as few as any
throw-away scheme can have them. The scheme then closes them there. After the last slot that is
known it goes on as WATA* does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import ClassVar

from wavedex.errors import BadDefinition
from wavedex.plan.state import WaveState
from wavedex.plan.waves.rata import Reindexing
from wavedex.plan.waves.sized import Sized


@dataclass(frozen=True)
class WataOffline(Sized):
    """WATA of the least size."""

    sizes: tuple[int, ...]
    """The rows of slot `first` and of those after it."""
    first: int = 1
    """The first slot whose size is known."""

    name: ClassVar[str] = "wata-offline"
    needs: ClassVar[Mapping[str, str]] = {"sizes": "give the rows of each slot that is to come"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sizes, tuple) or not self.sizes:
            raise BadDefinition(f"sizes is {self.sizes!r}: {self.needs['sizes']}.")
        for rows in (*self.sizes, self.first):
            if type(rows) is not int:
                raise BadDefinition(f"sizes has {rows!r}: give whole numbers.")
        if min(self.sizes) < 0:
            raise BadDefinition(f"sizes has {min(self.sizes)}: no slot has fewer rows than none.")

    @cached_property
    def begins(self) -> frozenset[int]:
        """The slots with which a sub-index begins; the first of them closes the empty Start."""
        ends = best_ends(self.sizes, self.window, self.indexes)
        return frozenset({self.first, *(self.first + end + 1 for end in ends)})

    def clusters(self) -> list[int]:
        """Return those that the known sizes make; the last of them ends with what is known."""
        begins = [*sorted(self.begins), self.first + len(self.sizes)]
        return [stop - start for start, stop in pairwise(begins)]

    def closes(self, state: WaveState, slot: int) -> bool:
        """Whether a sub-index begins with `slot`; beyond what is known, whether one is over."""
        if slot < self.first + len(self.sizes):
            return slot in self.begins
        expiring = state.indexes[state.holder(slot - self.window)]
        return max(expiring) == slot - self.window


@dataclass(frozen=True)
class RataOffline(Reindexing, WataOffline):
    """The same with a hard window."""

    name: ClassVar[str] = "rata-offline"


def best_ends(sizes: Sequence[int], window: int, indexes: int) -> list[int]:
    """Return the last slot, counted from 0, of each sub-index but the last one.

    A sub-index of slots a to b is held until slot b + W comes. So the rows held at once are those
    of slots a to b + W - 1, over all sub-indexes. And n names are enough where any n - 1
    sub-indexes after one another have W - 1 slots or more.

    For a given number of rows both conditions have one form: an end is at most some function of
    another end, and the function grows with it. So there is a greatest choice of ends, and it is
    found from above (`_latest_ends`). The least number of rows for which there is one is found by
    halving.

    COST: for T slots at most T^2 steps a try, far fewer in practice.

    >>> best_ends([1, 1, 9, 1, 1, 1, 9, 1], window=3, indexes=2)
    [1, 3, 5]
    """
    summed = [0, *accumulate(sizes)]
    stops = (min(at + window, len(sizes)) for at in range(len(sizes)))
    low = max(summed[stop] - before for before, stop in zip(summed, stops, strict=False))
    high = 2 * low
    while low < high:
        middle = (low + high) // 2
        if _latest_ends(summed, window, indexes, middle) is None:
            low = middle + 1
        else:
            high = middle
    ends = _latest_ends(summed, window, indexes, low)
    assert ends is not None, "twice the largest window is always enough"
    return ends


def _latest_ends(summed: Sequence[int], window: int, indexes: int, most: int) -> list[int] | None:
    """Return the latest ends with which no more than `most` rows are ever held, None for none."""
    last = len(summed) - 2
    # An end at the last slot stands for one that never comes.
    reach = [_reach(summed, window, begin, most) for begin in range(last + 1)]
    ends = [last] * (last + 1)
    changed = True
    while changed:
        changed = False
        for at in range(last + 1):
            begin = ends[at - 1] + 1 if at else 0
            end = min(ends[at], last if begin > last else reach[begin])
            if at + 1 <= last and ends[at + 1] < last:
                end = min(end, ends[at + 1] - 1)
            if at + indexes - 1 <= last and ends[at + indexes - 1] < last:
                end = min(end, ends[at + indexes - 1] - (window - 1))
            if end < at:
                return None
            if end < ends[at]:
                ends[at], changed = end, True
    return [end for end in ends if end < last]


def _reach(summed: Sequence[int], window: int, begin: int, most: int) -> int:
    """Return the latest end of a sub-index from `begin` on, by its rows and its W - 1 slots."""
    last = len(summed) - 2
    by_slots = min(begin + window - 2, last)
    if summed[-1] - summed[begin] <= most:
        return by_slots
    return min(bisect_right(summed, summed[begin] + most) - 1 - window, by_slots)
