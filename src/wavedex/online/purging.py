"""When values that are not in the window any more are taken out of its indexes (003, Section 5.5).

Every so many rows; every so much time, where a window goes by time; or as soon as they are not
there, by a list of the values whose count fell to zero, without a scan of the index. A purge too
often costs scans and new nodes for values that return; too seldom, larger indexes.
"""

from __future__ import annotations

from dataclasses import dataclass

from wavedex.errors import BadDefinition
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
    if isinstance(pace, TimePace) and not isinstance(said, int):
        return Purging(length=pace.slotting.length(said))
    raise BadDefinition(
        f"purge={said!r}: give a number of rows, {ZEROS!r}, None for never, or a length of time "
        'such as "5 minutes" where the window goes by time.'
    )
