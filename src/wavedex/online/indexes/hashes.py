"""The H-INDEX and the UH-INDEX: values in buckets, which are linked lists (003, Section 5.3).

The bucket of a value is its remainder by the number of buckets, which is never negative. The
H-INDEX keeps its buckets sorted. The UH-INDEX puts a new value at the head: it is found fast while
it comes again and again.

COST: a search visits half a bucket of an H-INDEX on average. A value that is not in a UH-INDEX
costs all of its bucket. An answer in order merges the buckets.
"""

from __future__ import annotations

from wavedex.online.indexes.chains import ChainIndex

BUCKETS = 100
"""How many buckets there are if nobody says: as in the paper (Section 7.1)."""


class HashIndex(ChainIndex):
    """Values in buckets that are sorted by value."""

    kind = "hash"

    def __init__(self, *, buckets: int = BUCKETS) -> None:
        super().__init__(buckets=buckets)


class UnsortedHashIndex(HashIndex):
    """Values in buckets, the newest first."""

    kind = "unsorted-hash"
    is_sorted = False
