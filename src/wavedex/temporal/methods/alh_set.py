"""Atemporal linear hashing (Section 5.1): all lifespans of an id are records of one bucket.

It is what to compare with: the least room, and one record a lifespan. A look-up searches the bucket
of the id page by page, so that it takes the longer the more lifespans ids have.

The load is how many records there are for the room of all pages, and it alone says when a bucket is
split. A lifespan that ends at the version at which it began is taken out, as nobody can see it.
Nothing else ever leaves, so that a file seldom shrinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wavedex.errors import BadDefinition
from wavedex.temporal.changes import I32, I64, Changes, Lifespans
from wavedex.temporal.growing import Growing
from wavedex.temporal.hashing.catalogue import check_buckets
from wavedex.temporal.layout import Layout
from wavedex.temporal.merging import merged
from wavedex.temporal.methods import alh_kernels as kernels
from wavedex.temporal.methods.contract import Arrays, Method
from wavedex.temporal.methods.histories import check_records, records_in
from wavedex.temporal.shares import in_shares
from wavedex.temporal.soundness import Known, are_in, demand, demand_shape

_COUNTED = "the hashing is counted wrongly"
_AS_MADE = [kernels.FIRST, kernels.RECORDS, kernels.MIXED, kernels.POINTERS]
ROOM = 64
"""For how many more buckets there is room before changes are taken in."""


@dataclass(frozen=True)
class AlhSettings:
    """What can be set of `alh`."""

    buckets: int = 10
    """M: how many buckets there are at first, and at least."""
    low: float = 0.7
    """f: buckets are merged where records are taken out and the load is below it."""
    high: float = 0.9
    """g: a bucket is split where the load is above it."""
    mixed: int = 1
    """1 where ids are spread before they are hashed, 0 where they are taken as they are."""

    def __post_init__(self) -> None:
        check_buckets(self.buckets)
        if not 0 <= self.low <= self.high <= 1 or not self.high > 0:
            raise BadDefinition(
                f"low={self.low!r} and high={self.high!r} are no bounds of a load. Give numbers "
                "from 0 to 1, the lower one first, such as 0.7 and 0.9."
            )
        if self.mixed not in (0, 1):
            raise BadDefinition(f"mixed={self.mixed!r} is neither 0 nor 1.")


class AlhSet(Method):
    """Linear hashing of all records."""

    name = "alh"
    settings = AlhSettings

    def __init__(self, layout: Layout, settings: Any) -> None:
        super().__init__(layout, settings)
        first = settings.buckets
        self._shape: I64 = np.zeros(10, np.int64)
        self._shape[[kernels.CHAINED, kernels.USED, kernels.FIRST]] = first
        self._shape[kernels.FREE] = -1
        self._shape[kernels.RECORDS] = layout.records
        self._shape[kernels.MIXED] = settings.mixed
        self._shape[kernels.POINTERS] = layout.has_pointers
        self._made = self._shape.copy()
        self._bounds = np.array([settings.low, settings.high], np.float64)
        self._words = Growing(np.int64, layout.words)
        self._buckets = Growing(np.int32, 2)
        self._stamps: I64 = np.zeros((0, 2), np.int64)
        self._buckets.reserve(first)
        self._buckets.room[:first, kernels.HEAD] = np.arange(first)
        self._words.reserve(first)
        self._see()
        self._halves[:first, kernels.NEXT] = -1

    def _see(self) -> None:
        self._halves: I32 = self._words.room.view(np.int32)

    @property
    def size(self) -> int:
        """How many buckets there are."""
        round_, following = self._shape[[kernels.ROUND, kernels.FOLLOWING]].tolist()
        return (int(self._shape[kernels.FIRST]) << round_) + following

    @property
    def _used(self) -> int:
        return int(self._shape[kernels.USED])

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""
        return {
            "shape": self._shape,
            "pages": self._words.room[: self._used],
            "buckets": self._buckets.room[: self.size],
        }

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""
        self._shape = np.array(arrays["shape"])
        self._words.restore(arrays["pages"])
        self._buckets.restore(arrays["buckets"])
        self._stamps = np.zeros((self._words.count, 2), np.int64)
        self._see()

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        shape, used = self._shape, self._words.count
        demand_shape(shape, self._made, _AS_MADE, "the hashing")
        least, lines = int(shape[kernels.FIRST]), self._buckets.used
        demand(are_in(shape[[kernels.ROUND]], 0, 32), "the hashing is in a round that cannot be")
        size = self.size - (least << int(shape[kernels.ROUND]))
        demand(0 <= size < least << int(shape[kernels.ROUND]), _COUNTED)
        demand(self._used == used and self.size == len(lines), _COUNTED)
        demand(0 < shape[kernels.CHAINED] <= used, _COUNTED)
        check_records(self._words.used, self.layout, known)
        halves = self._words.used.view(np.int32)
        heads, held = lines[:, kernels.HEAD], lines[:, kernels.HELD]
        demand(are_in(heads, 0, used) and are_in(held, 0, used * self.layout.records + 1), _COUNTED)
        leads = np.concatenate([heads, halves[:, kernels.NEXT], shape[[kernels.FREE]]])
        demand(are_in(leads, -1, used), "a page leads to one that is not there")
        demand((np.bincount(leads[leads >= 0]) < 2).all(), "a page is in two chains")

    @property
    def pages(self) -> int:
        """Pages of the chains of buckets."""
        return int(self._shape[kernels.CHAINED])

    # -- changing -----------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Take changes in."""
        done = 0
        while done < len(changes):
            self._make_room()
            done = kernels.apply(
                changes.ids, changes.versions, changes.signs, changes.pointers, done, self._shape,
                self._bounds, self._words.room, self._halves, self._buckets.room, self._stamps,
                self.io.counts,
            )  # fmt: skip

    def _make_room(self) -> None:
        """Have room for any one change, and for more of them the more there is."""
        self._buckets.reserve(self.size + ROOM)
        longest = int(self._buckets.room[: self.size, kernels.HELD].max())
        self._words.reserve(self._used + ROOM + longest // self.layout.records)
        if len(self._stamps) < len(self._words.room):
            grown = np.zeros((len(self._words.room), 2), np.int64)
            grown[: len(self._stamps)] = self._stamps
            self._stamps = grown
            self._see()

    # -- asking -------------------------------------------------------------------------------

    def find(self, oid: int, version: int) -> int:
        """The pointer of an id at a version; -2 where it is not alive."""
        return int(
            kernels.find(
                oid, version, self._shape, self._words.room, self._halves, self._buckets.room,
                self.io.counts,
            )
        )  # fmt: skip

    def find_many(self, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many. COST: large batches are shared among threads."""
        found = np.empty(len(ids), np.int32)
        counts: list[I64] = []

        def look(span: slice) -> None:
            own = np.zeros_like(self.io.counts)
            kernels.find_many(
                ids[span], versions[span], self._shape, self._words.room, self._halves,
                self._buckets.room, own, found[span],
            )  # fmt: skip
            counts.append(own)

        in_shares(len(ids), look)
        self.io.counts[:] += np.sum(counts, axis=0)
        return found

    def alive_at(self, version: int) -> tuple[I64, I32]:
        """All ids at a version, and their pointers. Reads all pages."""
        self.io.counts[kernels.READS] += self.pages
        ids, starts, ends, pointers = self._records(np.arange(self._used))
        alive = (starts <= version) & (version < ends)
        return ids[alive], pointers[alive]

    def lifespans(self, oid: int) -> Lifespans:
        """All lifespans of an id."""
        pages = self._chain(int(kernels.bucket_of(oid, self._shape)))
        self.io.counts[kernels.READS] += len(pages)
        ids, starts, ends, pointers = self._records(pages)
        own = ids == oid
        return merged(ids[own], starts[own], ends[own], _no(own), pointers[own])

    def was_alive(self, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive at some version of a span."""
        spans = self.lifespans(oid)
        return bool(((spans.starts <= until) & (since < spans.ends)).any())

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""
        ids, starts, ends, pointers = self._records(np.arange(self._used))
        return merged(ids, starts, ends, _no(ids), pointers)

    def _chain(self, bucket: int) -> I64:
        """The pages of a bucket; not more than there are, whatever they say."""
        found: list[int] = []
        page = int(self._buckets.room[bucket, kernels.HEAD])
        while page >= 0 and len(found) <= self._used:
            found.append(page)
            page = int(self._halves[page, kernels.NEXT])
        return np.array(found, np.int64)

    def _records(self, pages: I64) -> tuple[I64, I32, I32, I32]:
        """Ids, beginnings, ends and pointers of all records of some pages."""
        return records_in(pages, self._words.room, self._halves, self.layout)

    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
        shape, halves = self._shape, self._halves
        chains = [self._chain(bucket) for bucket in range(self.size)]
        free: list[int] = []
        page = int(shape[kernels.FREE])
        while page >= 0 and len(free) <= self._used:
            free.append(page)
            page = int(halves[page, kernels.NEXT])
        if sorted(np.concatenate([*chains, free]).tolist()) != [*range(self._used)]:
            yield "a page is in no chain, or in two"
        if sum(map(len, chains)) != self.pages:
            yield "the pages of all chains are counted wrongly"
        held = self._buckets.room[: self.size, kernels.HELD]
        if held.sum() != shape[kernels.TOTAL]:
            yield "the records of all buckets are counted wrongly"
        for bucket, chain in enumerate(chains):
            if (halves[chain[:-1], kernels.COUNT] < self.layout.records).any():
                yield f"bucket {bucket} has a page with room before its last one"
            ids, starts, ends, _ = self._records(chain)
            if len(ids) != held[bucket]:
                yield f"bucket {bucket} counts its records wrongly"
            if any(kernels.bucket_of(oid, shape) != bucket for oid in ids):
                yield f"an id lies in bucket {bucket} and belongs elsewhere"
            if (ends <= starts).any():
                yield f"a record in bucket {bucket} ends before it began"


def _no(ids: I64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each id, that its record does not go on from another."""
    return np.zeros(len(ids), np.bool_)
