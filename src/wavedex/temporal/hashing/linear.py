"""Linear hashing (Section 3.2): buckets are split one after the other, and merged in reverse.

Its history is the paper's array H: round i and next bucket p, as of each version at which they
changed. Controlled splits go by the load alone, which is how many ids are alive for the room of all
pages: the paper's "an overflow and a load above g" cannot keep a load as low as its own experiments
set it. Uncontrolled splits come with each addition to a bucket that has more than a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, NOW, Changes
from wavedex.temporal.growing import Growing
from wavedex.temporal.hashing import linear_kernels as kernels
from wavedex.temporal.hashing.contract import Hashing
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.hashing.lists import Lists, check_lists
from wavedex.temporal.soundness import Known, are_in, demand, demand_shape

LONG_AGO = -(2**31)
"""The version as of which the first line of the history holds."""
_NO_BUCKET = "the hashing leads to a bucket that is not there"
_AS_MADE = [kernels.FIRST, kernels.RECORDS, kernels.MIXED, kernels.CONTROLLED]
_COUNTED = [kernels.HISTORY, kernels.MOST, kernels.ALIVE]
ROOM = 1024
"""For how many splits and lines of the history there is room before changes are planned."""


class LinearHashing(Hashing):
    """Buckets of what is alive, by linear hashing."""

    name = "linear"

    def __init__(
        self, first: int, records: int, low: float, high: float, mixed: bool, controlled: bool
    ) -> None:
        """Begin with `first` buckets, of pages with so many records."""
        self._shape: I64 = np.zeros(10, np.int64)
        for each in (kernels.FIRST, kernels.PAGES, kernels.MOST):
            self._shape[each] = first
        self._shape[kernels.RECORDS] = records
        self._shape[kernels.MIXED], self._shape[kernels.CONTROLLED] = mixed, controlled
        self._bounds = np.array([low, high], np.float64)
        self._history = Growing(np.int32, 3)
        self._history.reserve(1)
        self._history.room[0] = LONG_AGO, 0, 0
        self._shape[kernels.HISTORY] = 1
        self._heads = Growing(np.int32, fill=-1)
        self._counts = Growing(np.int32)
        self._after, self._before = Growing(np.int32, fill=-1), Growing(np.int32, fill=-1)
        self._hashes = Growing(np.int64)
        self._reserve_buckets(first)
        self._made = self._shape.copy()

    def _reserve_buckets(self, count: int) -> None:
        for each in (self._heads, self._counts):
            each.reserve(count)

    @property
    def _first(self) -> int:
        return int(self._shape[kernels.FIRST])

    @property
    def size(self) -> int:
        """How many buckets there are now."""
        return (self._first << int(self._shape[kernels.ROUND])) + int(self._shape[kernels.NEXT])

    @property
    def buckets(self) -> int:
        """How many buckets there ever were."""
        return int(self._shape[kernels.MOST])

    @property
    def history(self) -> I32:
        """The array H: version, round and next bucket, a line for each change of them."""
        found: I32 = self._history.room[: self._shape[kernels.HISTORY]]
        return found

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that it keeps."""
        return {
            "hash_shape": self._shape,
            "hash_history": self.history,
            "hash_heads": self._heads.room[: self.buckets],
            "hash_counts": self._counts.room[: self.buckets],
            "hash_after": self._after.used,
            "hash_before": self._before.used,
            "hash_hashes": self._hashes.used,
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""
        self._shape = np.array(arrays["hash_shape"])
        self._history.restore(arrays["hash_history"])
        self._heads.restore(arrays["hash_heads"])
        self._counts.restore(arrays["hash_counts"])
        self._after.restore(arrays["hash_after"])
        self._before.restore(arrays["hash_before"])
        self._hashes.restore(arrays["hash_hashes"])

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        shape = self._shape
        demand_shape(shape, self._made, _AS_MADE, "the hashing")
        rounds = np.append(self._history.used[:, 1], shape[kernels.ROUND])
        nexts = np.append(self._history.used[:, 2], shape[kernels.NEXT])
        demand(are_in(rounds, 0, 32), "the hashing was in a round that none can be in")
        sizes = (self._first << rounds) + nexts
        demand((nexts >= 0).all() and (nexts < self._first << rounds).all(), _NO_BUCKET)
        demand((sizes <= self._heads.count).all(), _NO_BUCKET)
        counts = [self._history.count, self._heads.count, int(known.is_alive.sum())]
        demand(counts[0] and counts == shape[_COUNTED].tolist(), "the hashing is counted wrongly")
        places = np.flatnonzero(known.is_alive)
        demand(len(places) == 0 or places[-1] < self._hashes.count, _NO_BUCKET)
        hashed, least = self._hashes.room[places], self._first << int(shape[kernels.ROUND])
        buckets = hashed % least
        buckets = np.where(buckets < shape[kernels.NEXT], hashed % (2 * least), buckets)
        links = self._after.used, self._before.used
        check_lists(Lists(self._heads.used, self._counts.used, *links), places, buckets)

    def plan(self, changes: Changes, start: int, events: Events) -> int:
        """Take changes in from `start` on; the first that was not."""
        self._make_room(changes, start, events)
        at, events.count = kernels.plan(
            changes.ids,
            changes.versions,
            changes.signs,
            changes.entries,
            changes.pointers,
            start,
            self._shape,
            self._bounds,
            self._history.room,
            self._heads.room,
            self._counts.room,
            self._after.room,
            self._before.room,
            self._hashes.room,
            events.buckets,
            events.ids,
            events.versions,
            events.kinds,
            events.entries,
            events.pointers,
        )
        return int(at)

    def _make_room(self, changes: Changes, start: int, events: Events) -> None:
        entries = int(changes.entries[start:].max(initial=-1)) + 1
        for each in (self._after, self._before, self._hashes):
            each.reserve(entries)
            each.count = max(each.count, entries)
        self._history.reserve(int(self._shape[kernels.HISTORY]) + ROOM)
        self._reserve_buckets(self.size + ROOM)
        largest = int(self._counts.room[: self.buckets].max(initial=0))
        if 3 + 2 * largest > events.room:
            events.make_room(2 * (3 + 2 * largest))

    def bucket_at(self, oid: int, version: int) -> int:
        """The bucket of an id at a version."""
        return kernels.bucket_at(self._history.room, self._shape, oid, version)

    def buckets_at(self, ids: I64, versions: I32) -> I32:
        """The bucket of each id at its version."""
        found = np.empty(len(ids), np.int32)
        kernels.buckets_at(self._history.room, self._shape, ids, versions, found)
        return found

    def _line_at(self, version: int) -> int:
        return int(self.history[:, 0].searchsorted(version, "right")) - 1

    def used_at(self, version: int) -> I32:
        """The buckets that there were at a version."""
        _, round_, following = self.history[self._line_at(version)].tolist()
        return np.arange((self._first << round_) + following, dtype=np.int32)

    def buckets_of(self, oid: int, since: int, until: int) -> I32:
        """The buckets that an id may have been in, each once."""
        lines = range(self._line_at(since), self._line_at(until) + 1)
        versions = self.history[lines.start : lines.stop, 0]
        ids = np.full(len(versions), oid, np.int64)
        return np.unique(self.buckets_at(ids, versions))

    def buckets_ever(self, oid: int) -> I32:
        """The buckets that an id may ever have been in, each once."""
        return self.buckets_of(oid, LONG_AGO, NOW)

    @property
    def alive(self) -> int:
        """How many ids are alive."""
        return int(self._shape[kernels.ALIVE])

    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
        shape, history = self._shape, self.history
        if (history[1:, 0] <= history[:-1, 0]).any():
            yield "the history of the hashing is not in order"
        if history[-1, 1:].tolist() != shape[[kernels.ROUND, kernels.NEXT]].tolist():
            yield "the hashing is not as the last line of its history says"
        counts = self._counts.room[: self.size]
        if counts.sum() != shape[kernels.ALIVE]:
            yield "the buckets of the hashing do not hold as many ids as are alive"
        pages = np.maximum(1, -(-counts // int(shape[kernels.RECORDS]))).sum()
        if pages != shape[kernels.PAGES]:
            yield "the pages of the buckets of the hashing are counted wrongly"
        for bucket in range(self.size):
            yield from self._findings_in(bucket)

    def _findings_in(self, bucket: int) -> Iterator[str]:
        entry, count = int(self._heads.room[bucket]), 0
        round_, following = self._shape[[kernels.ROUND, kernels.NEXT]].tolist()
        while entry >= 0 and count <= self._counts.room[bucket]:
            hashed = int(self._hashes.room[entry])
            if kernels.address(hashed, round_, following, self._first) != bucket:
                yield f"an id lies in bucket {bucket} and belongs elsewhere"
            entry, count = int(self._after.room[entry]), count + 1
        if count != self._counts.room[bucket]:
            yield f"bucket {bucket} of the hashing has another count than its list"
