"""Which sub-indexes hold slots of a range? A tree over their runs says, without asking each.

The slots of each sub-index are cut into runs of consecutive ones. All runs lie in one list, sorted
by where they begin. The list is read as a balanced tree: the root is in the middle, and each half
is a subtree. Beside each run stands the latest end in its subtree. So a subtree that ends before a
range begins is passed over. (Section 6 of the lifetime report suggests an index over the time
intervals of sub-indexes, for when there are many.)

Knows names and slots only. Never changes: another layout needs another tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wavedex.plan.operations import Layout, Slots


class _Run(NamedTuple):
    """Consecutive slots, both ends included, of the sub-index at a place in the layout."""

    since: int
    until: int
    place: int


class Intervals:
    """The slots of a layout's sub-indexes, to be asked by range.

    COST: to make, the sorting of all slots.
    """

    def __init__(self, layout: Layout) -> None:
        self._names = list(layout)
        self._runs = sorted(
            run for place, slots in enumerate(layout.values()) for run in _runs(slots, place)
        )
        self._latest = [run.until for run in self._runs]
        self._note_latest(0, len(self._runs))

    def overlapping(self, since: int | None = None, until: int | None = None) -> list[str]:
        """Return the sub-indexes with slots from `since` to `until`, in the layout's order.

        Both ends are included. An end that is None is open.
        COST: log m + k, where k of the m runs are in the range; and the sorting of the answer.

        >>> Intervals({"I1": frozenset({1, 3}), "I2": frozenset({2, 4})}).overlapping(since=4)
        ['I2']
        """
        count = len(self._runs)
        if not count:
            return []
        low = self._runs[0].since if since is None else since
        high = self._latest[count // 2] if until is None else until
        if low > high:
            return []
        return [self._names[place] for place in sorted(set(self._meeting(0, count, low, high)))]

    def _note_latest(self, start: int, stop: int) -> None:
        """Note the latest end of each subtree among the runs from `start` to before `stop`."""
        if start >= stop:
            return
        middle = (start + stop) // 2
        for half in ((start, middle), (middle + 1, stop)):
            self._note_latest(*half)
            if half[0] < half[1]:
                below = self._latest[sum(half) // 2]
                self._latest[middle] = max(self._latest[middle], below)

    def _meeting(self, start: int, stop: int, low: int, high: int) -> Iterator[int]:
        """Yield the places of runs, from `start` to before `stop`, that meet the range."""
        middle = (start + stop) // 2
        if start >= stop or self._latest[middle] < low:
            return
        yield from self._meeting(start, middle, low, high)
        run = self._runs[middle]
        if run.since <= high:
            if run.until >= low:
                yield run.place
            yield from self._meeting(middle + 1, stop, low, high)


def _runs(slots: Slots, place: int) -> Iterator[_Run]:
    ordered = sorted(slots)
    ends = [slot for slot in ordered if slot + 1 not in slots]
    begins = [slot for slot in ordered if slot - 1 not in slots]
    for since, until in zip(begins, ends, strict=True):
        yield _Run(since, until, place)
