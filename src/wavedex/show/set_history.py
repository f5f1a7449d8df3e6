"""What pictures of a set over time show, however they are drawn. Made of plain numbers.

Time goes from left to right, cut into columns. Either a column has the smallest and the largest
size of the set in it, or a page of a bucket is a bar: from when it became the acceptor of new
records until it was of no use any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

BARS_MAX = 40
"""The most pages, so that a picture stays small however long a history is: the newest ones."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a set, column by column."""

    lows: Sequence[int]
    highs: Sequence[int]
    now: int
    """The last size."""
    ends: tuple[str, str]
    """The first and the last time, as people write them."""

    @classmethod
    def of(
        cls, ticks: Numbers, sizes: Numbers, last: int, ends: tuple[str, str], width: int
    ) -> Self:
        """A set that had a size from each of some times on, up to the last, in so many columns.

        REQUIRES: there is a size, the times are in order, and `last` is not before them.

        >>> Sizes.of(np.array([1, 3, 4]), np.array([5, 7, 6]), 8, ("1", "8"), 4)
        Sizes(lows=[5, 6, 6, 6], highs=[5, 7, 6, 6], now=6, ends=('1', '8'))
        """
        first = int(ticks[0])
        span = last - first + 1
        count = min(width, span)
        edges = [first + at * span // count for at in range(count + 1)]
        starts = ticks.searchsorted(edges[:-1], "right") - 1
        stops = ticks.searchsorted(edges[1:], "left")
        columns = [sizes[start:stop] for start, stop in zip(starts, stops, strict=True)]
        return cls(
            [int(column.min()) for column in columns],
            [int(column.max()) for column in columns],
            int(sizes[-1]),
            ends,
        )

    @property
    def peak(self) -> int:
        """The largest size."""
        return max(self.highs)


@dataclass(frozen=True)
class Page:
    """A page of a bucket, and its bar."""

    number: int
    start: int
    end: int | None
    """When it ceased to be useful; None while it is."""
    times: tuple[str, str | None]
    """The same as people write them."""
    records: int
    copies: int

    @property
    def said(self) -> str:
        """What is in it, for people.

        >>> Page(3, 0, None, ("5", None), 8, 2).said
        '8 records, 2 copied'
        """
        copies = f", {self.copies:,} copied" if self.copies else ""
        return f"{self.records:,} record{'s' * (self.records != 1)}{copies}"

    @property
    def said_at_length(self) -> str:
        """The same, and from when to when."""
        start, end = self.times
        until = "useful still" if end is None else f"of no use from {end} on"
        return f"page {self.number}: {self.said}, acceptor at {start}, {until}"


@dataclass(frozen=True)
class Bucket:
    """The pages of a bucket, the newest ones."""

    number: int
    pages: Sequence[Page]
    left_out: int
    """How many pages there are before these."""
    room: int
    """How many records a page has room for."""
    last: int
    ends: tuple[str, str]

    @classmethod
    def of(cls, number: int, pages: Sequence[Page], room: int, last: int, said: str) -> Self:
        """The bucket of a set whose last change was at that time. REQUIRES: there is a page."""
        shown = pages[-BARS_MAX:]
        ends = (shown[0].times[0], said)
        return cls(number, shown, len(pages) - len(shown), room, last, ends)

    def place(self, page: Page) -> tuple[float, float]:
        """Where the bar of a page begins and ends, from 0 to 1."""
        first = self.pages[0].start
        span = max(self.last - first, 1)
        end = self.last if page.end is None else page.end
        return (page.start - first) / span, max((end - first) / span, 0.0)
