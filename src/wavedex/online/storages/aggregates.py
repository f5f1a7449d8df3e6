"""AGGR: a sorted linked list of values and counts for each basic window (003, Section 3.2).

COST: a row visits every smaller value of its basic window, and the first that is not smaller.
"""

from __future__ import annotations

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.storages.chains import ChainStorage


class AggrStorage(ChainStorage):
    """Pieces that are one sorted linked list."""

    kind = "aggr"

    def __init__(self, index: SetIndex | None, *, eager: bool = True) -> None:
        super().__init__(index, buckets=1, eager=eager)
