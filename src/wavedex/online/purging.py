"""When values that are not in the window any more are taken out of its indexes (003, Section 5.5).

Every so many rows; every so much time, where a window goes by time; or as soon as they are not
there, by a list of the values whose count fell to zero, without a scan of the index. A purge too
often costs scans and new nodes for values that return; too seldom, larger indexes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from wavedex.errors import BadDefinition
from wavedex.online.contents import BasicWindow
from wavedex.online.domain import Domain
from wavedex.online.pace import Pace, TimePace

ROWS = 20_000
"""Rows between two purges: five a roll-over of the paper's window (003, Section 7.1)."""
ZEROS = "zeros"
"""By a list of the values whose count fell to zero."""


@dataclass(frozen=True)
class Purging:
    """When values are taken out. All None: never."""

    rows: int | None = None
    """After so many rows."""
    length: int | None = None
    """After so much time, in ordinals."""
    by_list: bool = False
    """After each basic window, by a list."""


def purging_of(said: object, pace: Pace) -> Purging:
    """When somebody wants values to be taken out. Raises BadDefinition, BadTime.

    >>> from wavedex.online.pace import CountPace
    >>> purging_of(20_000, CountPace(1_000, 100))
    Purging(rows=20000, length=None, by_list=False)
    """
    if said is None:
        return Purging()
    if said == ZEROS:
        return Purging(by_list=True)
    if isinstance(said, int) and not isinstance(said, bool) and said > 0:
        return Purging(rows=said)
    if isinstance(pace, TimePace) and isinstance(said, str | dt.timedelta):
        return Purging(length=pace.slotting.length(said))
    raise BadDefinition(
        f"purge={said!r}: give a number of rows, {ZEROS!r}, None for never, or a length of time "
        'such as "5 minutes" where the window goes by time.'
    )


class Purger:
    """Purges the indexes of a window when it is time."""

    def __init__(self, rule: Purging, pace: Pace, domains: Iterable[Domain]) -> None:
        self._rule = rule
        self._pace = pace
        self._domains = list(domains)
        self._reached: int | None = None
        """The row, or the instant, up to which the last purge came; None before the first."""
        for domain in self._domains:
            if domain.index is not None and rule.by_list:
                domain.index.lists_zeros = True

    def slid(self, newest: BasicWindow) -> None:
        """A basic window became complete."""
        rule, pace = self._rule, self._pace
        if rule.rows is not None:
            reached, every = newest.stop, rule.rows
        elif rule.length is not None and isinstance(pace, TimePace):
            reached, every = pace.slotting.stop(newest.number), rule.length
        elif rule.by_list:
            reached, every = 0, 0
        else:
            return
        if self._reached is None:
            self._reached = newest.first if rule.rows is not None else reached
        if reached - self._reached < every:
            return
        self._reached = reached
        for domain in self._domains:
            domain.purge()
