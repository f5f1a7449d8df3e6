"""HASH: a hash table of values and counts for each basic window (003, Section 3.2).

Each of its buckets is a sorted linked list. The bucket of a value is its remainder by the number of
buckets, which is never negative.

COST: a row visits half a bucket of its basic window on average.
"""

from __future__ import annotations

from wavedex.online.indexes.contract import SetIndex
from wavedex.online.storages.chains import ChainStorage

BUCKETS = 5
"""How many buckets there are if nobody says: as in the paper (Section 7.1)."""


class HashStorage(ChainStorage):
    """Pieces that are buckets of sorted linked lists."""

    kind = "hash"

    def __init__(
        self, index: SetIndex | None, *, buckets: int = BUCKETS, eager: bool = True
    ) -> None:
        super().__init__(index, buckets=buckets, eager=eager)
