"""What is asked of an index or a snapshot, as one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """Which rows are asked for, and which columns of them. Without more, all that count."""

    since: Any = None
    """From when on: a slot number or a date counts whole, a datetime is compared with row times."""
    until: Any = None
    """Up to when, both ends included."""
    columns: Sequence[str] | None = None
    """The columns, instead of all."""
    expired: bool = False
    """Whether rows that are over and still held are asked for too."""
    follow: bool = False
    """Whether the records are asked for to which the entries point."""
    shorten: Any = None
    """By how much windows are taken to be shorter. For lifetime indexes."""
    order: str | None = None
    """"time", oldest first, or "-time", newest first."""
    last: int | None = None
    """How many of the latest rows: of each key, or of all in a scan."""
    limit: int | None = None
    """How many rows at most, the first ones in that order."""
    where: str | None = None
    """What rows must meet, in SQL."""

    @property
    def is_arranged(self) -> bool:
        """Whether more is asked than rows of a span of time."""
        return self[6:] != NOT_ARRANGED


NOT_ARRANGED = (None, None, None, None)
"""Rows in whatever order, all of them."""


ALL = Asked()
"""All rows that count, with all columns. Nothing need be made to ask for them."""
