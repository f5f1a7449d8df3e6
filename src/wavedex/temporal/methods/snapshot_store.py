"""Snapshot Indexes, one for each bucket: the history of what was in it (Section 3.1).

Records of a bucket are appended to its *acceptor* page. A page that is full stays *useful* while
u B of its records are alive. Then those are copied to the acceptor page, as records that go on. So
what was in a bucket at a version lies in few pages: those that were useful then. A *time-tree*
finds the page that accepted records then, and the *access forest* leads to the others.

Time-trees are runs of entries of one array. Their pages are counted as pages of that many entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, NO_POINTER, NOW, BucketPages, Lifespans
from wavedex.temporal.growing import Growing
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.io import Io
from wavedex.temporal.layout import HEADER, Layout
from wavedex.temporal.methods import asking_kernels as asking
from wavedex.temporal.methods import snapshot_kernels as kernels
from wavedex.temporal.methods.histories import (
    bucket_pages,
    check_records,
    spans_in,
    tree_pages,
)
from wavedex.temporal.methods.snapshot_checks import check_forest, check_trees
from wavedex.temporal.shares import in_shares
from wavedex.temporal.soundness import Known, are_in, demand

NOT_ALIVE = -2


class SnapshotStore:
    """The histories of buckets, whatever they are buckets of."""

    def __init__(self, layout: Layout, usefulness: float, trees_on_disk: bool, io: Io) -> None:
        self._layout, self._io = layout, io
        self._fanout = 2 * layout.records
        useful = math.ceil(usefulness * layout.records)
        self._sizes: I64 = np.array(
            [layout.records, useful, self._fanout, layout.has_pointers, trees_on_disk]
        )
        self._words = Growing(np.int64, layout.words)
        self._buckets = Growing(np.int32, 6, fill=-1)
        self._trees = Growing(np.int32, 2)
        self._places = Growing(np.int32, 2)
        self._tally: I64 = np.zeros(3, np.int64)
        self._stamps: I64 = np.zeros(0, np.int64)
        self._pending: I32 = np.zeros(kernels.PAGES_MORE, np.int32)
        self._see()

    def _see(self) -> None:
        """Have what kernels that answer ask for at hand."""
        self._halves: I32 = self._words.room.view(np.int32)
        self._asked = (
            self._words.room, self._halves, self._buckets.room, self._trees.room, self._sizes,
            self._io.counts,
        )  # fmt: skip

    # -- what is kept -------------------------------------------------------------------------

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that it keeps."""
        return {
            "pages": self._words.room[: self._pages_used],
            "buckets": self._buckets.used,
            "trees": self._trees.room[: self._tally[kernels.TREES_USED]],
            "places": self._places.used,
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""
        self._words.restore(arrays["pages"])
        self._buckets.restore(arrays["buckets"])
        self._trees.restore(arrays["trees"])
        self._places.restore(arrays["places"])
        self._tally[:] = self._words.count, self._trees.count, 0
        self._stamps = np.zeros(self._words.count, np.int64)
        self._see()

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        check_records(self._words.used, self._layout, known, copies=True)
        check_forest(self._words.used.view(np.int32), self._buckets.used, known)
        check_trees(self._words.used.view(np.int32), self._buckets.used, self._trees.used)
        page, at = self._places.used.T
        fits = are_in(page, 0, self._words.count) and are_in(at, 0, self._layout.records)
        demand(fits, "an id that is alive is said to be where no page is")

    @property
    def _pages_used(self) -> int:
        return int(self._tally[kernels.PAGES_USED])

    @property
    def pages(self) -> int:
        """Pages of records, and of time-trees: a root and what is below it."""
        return self._pages_used + tree_pages(self._buckets.used[:, kernels.ENTRIES], self._fanout)

    @property
    def data_pages(self) -> int:
        """Pages of records."""
        return self._pages_used

    # -- changing -----------------------------------------------------------------------------

    def apply(self, events: Events, buckets: int, entries: int) -> None:
        """Take events in. There are so many buckets, and so many entries were given out."""
        begun = self._buckets.count
        self._buckets.reserve(buckets)
        self._buckets.count = max(begun, buckets)
        self._buckets.room[begun : self._buckets.count, kernels.TREE :] = 0
        self._places.reserve(entries)
        self._places.count = max(self._places.count, entries)
        done = 0
        while done < events.count:
            self._make_room()
            done = kernels.apply(
                events.buckets, events.ids, events.versions, events.kinds, events.entries,
                events.pointers, done, events.count, self._words.room, self._halves,
                self._buckets.room, self._trees.room, self._places.room, self._tally, self._sizes,
                self._stamps, self._io.counts, self._pending,
            )  # fmt: skip

    def _make_room(self) -> None:
        """Have room for any one change, and for more of them the more there is."""
        self._words.reserve(self._pages_used + 2 * kernels.PAGES_MORE)
        if len(self._stamps) < len(self._words.room):
            grown = np.zeros(len(self._words.room), np.int64)
            grown[: len(self._stamps)] = self._stamps
            self._stamps = grown
        longest = int(self._buckets.used[:, kernels.TREE_ROOM].max(initial=0))
        more = kernels.PAGES_MORE * (2 * longest + kernels.TREE_ROOM_MIN)
        self._trees.reserve(int(self._tally[kernels.TREES_USED]) + 2 * more)
        self._see()

    # -- asking -------------------------------------------------------------------------------

    def find(self, bucket: int, oid: int, version: int) -> int:
        """The pointer of an id of a bucket at a version; -2 where it was not there."""
        return asking.find(bucket, oid, version, *self._asked)

    def find_many(self, buckets: I32, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many. COST: large batches are shared among threads."""
        found = np.empty(len(ids), np.int32)
        words, halves, rooms, trees, sizes, counted = self._asked
        counts: list[I64] = []

        def look(share: slice) -> None:
            own = np.zeros_like(counted)
            counts.append(own)
            asking.find_many(
                buckets[share], ids[share], versions[share], words, halves, rooms, trees, sizes,
                own, found[share],
            )  # fmt: skip

        in_shares(len(ids), look)
        counted += sum(counts)
        return found

    def alive_at(self, buckets: I32, version: int) -> tuple[I64, I32]:
        """The ids of some buckets at a version, and their pointers."""
        room = 4 * self._layout.records
        while True:
            ids = np.empty(room, np.int64)
            pointers = np.full(room, NO_POINTER, np.int32)
            before = self._io.reads
            count = asking.alive_at(
                buckets, version, *self._asked, ids, pointers,
            )  # fmt: skip
            if count >= 0:
                return ids[:count], pointers[:count]
            demand(room <= self._words.room.size, "more ids are alive than pages have room for")
            self._io.counts[kernels.READS] = before
            room *= 4

    def was_alive(self, bucket: int, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive in a bucket at some version of a span, both ends included."""
        return bool(
            asking.was_alive(
                bucket, oid, since, until, *self._asked
            )
        )  # fmt: skip

    def lifespans(self, oid: int, buckets: I32) -> Lifespans:
        """All lifespans of an id that was in some of these buckets. Reads all of their pages."""
        known = buckets[buckets < self._buckets.count]
        pages = np.concatenate([self._accepted(bucket) for bucket in known.tolist()] or [_NONE])
        self._io.counts[kernels.READS] += len(pages)
        return self._spans(pages, oid)

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""
        return self._spans(np.arange(self._pages_used), None)

    def _accepted(self, bucket: int) -> I64:
        """The pages of a bucket, in the order in which they accepted records."""
        start, count = self._buckets.room[bucket, [kernels.TREE, kernels.ENTRIES]].tolist()
        return self._trees.room[start : start + count, 1].astype(np.int64)

    def pages_of(self, bucket: int) -> BucketPages:
        """The pages of a bucket, in the order in which they accepted records."""
        pages = self._accepted(bucket) if bucket < self._buckets.count else _NONE
        return bucket_pages(pages, self._halves, self._layout)

    def _spans(self, pages: I64, oid: int | None) -> Lifespans:
        return spans_in(pages, self._words.room, self._halves, self._layout, oid)

    def findings(self, alive: int) -> Iterator[str]:
        """What is wrong with the pages, in sentences. So many ids are alive."""
        records, halves = self._layout.records, self._halves[: self._pages_used]
        first = 2 * (HEADER + records)
        counts, ends = halves[:, kernels.COUNT], halves[:, first + records : first + 2 * records]
        used = np.arange(records) < counts[:, None]
        is_useful = halves[:, kernels.END] == NOW
        is_alive = (used & (ends < 0)).sum(axis=1)
        if (is_alive[is_useful] != halves[is_useful, kernels.ALIVE]).any():
            yield "a useful page counts its records that are alive wrongly"
        if is_alive[is_useful].sum() != alive:
            yield "the useful pages do not hold each id that is alive once"
        acceptors = self._buckets.used[:, kernels.ACCEPTOR]
        others = is_useful.copy()
        others[acceptors[acceptors >= 0]] = False
        if (is_alive[others] < self._sizes[kernels.USEFUL]).any():
            yield "a page is in a list and has fewer records that are alive than a useful one"
        for bucket in range(self._buckets.count):
            yield from self._findings_in(bucket, is_useful)

    def _findings_in(self, bucket: int, is_useful: npt.NDArray[np.bool_]) -> Iterator[str]:
        pages = self._accepted(bucket)
        versions = self._halves[pages, kernels.START]
        if (np.diff(versions) < 0).any() or (np.diff(pages) <= 0).any():
            yield f"the time-tree of bucket {bucket} is not in order"
        listed: list[int] = []
        page = int(self._buckets.room[bucket, kernels.ACCEPTOR])
        while page >= 0 and len(listed) <= len(pages):
            listed.append(page)
            page = int(self._halves[page, kernels.LEFT])
        if listed[::-1] != pages[is_useful[pages]].tolist():
            yield f"the list of bucket {bucket} is not that of its useful pages"


_NONE: I64 = np.zeros(0, np.int64)
