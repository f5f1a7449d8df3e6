"""Evolving lists, one for each bucket: the history of what was in it (Section 4.2, appendix).

A bucket is a list of pages. A record goes into the first page of it that has room. A page is
*useful* while V of its records are alive, and the last page always is. What is alive in a page that
is of no use any more goes on in another. So what was in a bucket at a version lies in few pages.

The array FT of a bucket says which page was the first of its list, and an array NT in each page
which one followed. So a page that was in the list leads to the next one that was.

The arrays FT are runs of entries of one array. Their pages are counted as pages of that many
entries.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavedex.temporal.changes import I32, I64, NO_POINTER, NOW, BucketPages, Lifespans
from wavedex.temporal.growing import Growing
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.io import Io
from wavedex.temporal.layout import HEADER, Layout
from wavedex.temporal.methods import list_asking_kernels as asking
from wavedex.temporal.methods import list_kernels as kernels
from wavedex.temporal.methods.contract import Arrays
from wavedex.temporal.methods.histories import (
    bucket_pages,
    check_records,
    records_in,
    spans_in,
    tree_pages,
)
from wavedex.temporal.shares import in_shares
from wavedex.temporal.soundness import (
    Known,
    are_in,
    demand,
    demand_own,
    demand_runs,
    demand_times,
)

_NONE: I64 = np.zeros(0, np.int64)


class ListStore:
    """The histories of buckets, whatever they are buckets of."""

    def __init__(
        self, layout: Layout, listed: float, usefulness: float, tables_on_disk: bool, io: Io
    ) -> None:
        self._layout, self._io = layout, io
        records = max(1, min(layout.records - 1, round(listed * layout.records)))
        self._columns = Layout(records, layout.has_pointers)
        """The records of a page: Br of them, with NT behind them."""
        self._sizes: I64 = np.zeros(7, np.int64)
        self._sizes[kernels.RECORDS] = records
        self._sizes[kernels.USEFUL] = max(1, int(usefulness * records))
        self._sizes[kernels.LINKS_MOST] = 2 * (layout.records - records)
        self._sizes[kernels.LINKS_AT] = 2 * self._columns.words
        self._sizes[kernels.FANOUT] = 2 * layout.records
        self._sizes[kernels.POINTERS] = layout.has_pointers
        self._sizes[kernels.TABLES_ON_DISK] = tables_on_disk
        self._words = Growing(np.int64, layout.words)
        self._buckets = Growing(np.int32, 5)
        self._tables = Growing(np.int32, 2)
        self._tally: I64 = np.zeros(4, np.int64)
        self._stamps: I64 = np.zeros((0, 2), np.int64)
        self._path: I64 = np.zeros(0, np.int64)
        self._see()

    def _see(self) -> None:
        self._halves: I32 = self._words.room.view(np.int32)

    # -- what is kept -------------------------------------------------------------------------

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""
        return {
            "pages": self._words.room[: self.data_pages],
            "buckets": self._buckets.used,
            "tables": self._tables.room[: self._tally[kernels.TABLES_USED]],
        }

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""
        self._words.restore(arrays["pages"])
        self._buckets.restore(arrays["buckets"])
        self._tables.restore(arrays["tables"])
        self._tally[:] = self._words.count, self._tables.count, 0, 0
        self._stamps = np.zeros((self._words.count, 2), np.int64)
        self._see()

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        check_records(self._words.used, self._columns, known, copies=True)
        halves, lines = self._words.used.view(np.int32), self._buckets.used
        owner, count = halves[:, kernels.BUCKET], len(halves)
        demand(are_in(owner, 0, len(lines)), "a page is that of a bucket that is not there")
        demand_times(halves[:, kernels.START], halves[:, kernels.END], known)
        at, most = self._sizes[[kernels.LINKS_AT, kernels.LINKS_MOST]].tolist()
        links = halves[:, kernels.LINKS]
        demand(are_in(links, 0, most + 1), "an array NT has more entries than room")
        targets = halves[:, at + 1 : at + 2 * most : 2]
        rows, places = (np.arange(most) < links[:, None]).nonzero()
        demand_own(targets[rows, places], owner[rows], owner, "an array NT")
        length, tables = lines[:, kernels.LENGTH], self._tables.used
        demand(are_in(length, 0, count + 1), "a list is longer than there are pages")
        used = np.flatnonzero(length)
        demand_own(lines[used, kernels.FIRST], used, owner, "a bucket")
        runs = lines[:, [kernels.TABLE, kernels.LINES, kernels.TABLE_ROOM]]
        entries = demand_runs(runs, len(tables), "an array FT lies nowhere")
        buckets = np.repeat(np.arange(len(lines)), lines[:, kernels.LINES])
        demand_own(tables[entries, 1], buckets, owner, "an array FT")

    @property
    def data_pages(self) -> int:
        """Pages of records."""
        return int(self._tally[kernels.PAGES_USED])

    @property
    def pages(self) -> int:
        """Pages of records, and of the arrays FT."""
        lines = self._buckets.used[:, kernels.LINES]
        return self.data_pages + tree_pages(lines, int(self._sizes[kernels.FANOUT]))

    # -- changing -----------------------------------------------------------------------------

    def apply(self, events: Events, buckets: int, entries: int) -> None:
        """Take events in. There are so many buckets. What is alive is found by its entry."""
        self._buckets.reserve(buckets)
        self._buckets.count = max(self._buckets.count, buckets)
        done = 0
        while done < events.count:
            self._make_room()
            done = kernels.apply(
                events.buckets, events.ids, events.versions, events.kinds, events.entries,
                events.pointers, done, events.count, self._words.room, self._halves,
                self._buckets.room, self._tables.room, self._tally, self._sizes, self._stamps,
                self._io.counts, self._path,
            )  # fmt: skip

    def _make_room(self) -> None:
        """Have room for any one change, and for more of them the more there is."""
        longest = int(self._buckets.used[:, kernels.LENGTH].max(initial=0))
        more = 2 * (longest + kernels.PAGES_MORE)
        self._words.reserve(self.data_pages + more)
        if len(self._stamps) < len(self._words.room):
            grown = np.zeros((len(self._words.room), 2), np.int64)
            grown[: len(self._stamps)] = self._stamps
            self._stamps = grown
            self._see()
        if len(self._path) < more:
            self._path = np.zeros(2 * more, np.int64)
        largest = int(self._buckets.used[:, kernels.TABLE_ROOM].max(initial=0))
        room = 2 * (2 * largest + kernels.TABLE_ROOM_MIN)
        self._tables.reserve(int(self._tally[kernels.TABLES_USED]) + room)

    # -- asking -------------------------------------------------------------------------------

    def find(self, bucket: int, oid: int, version: int) -> int:
        """The pointer of an id of a bucket at a version; -2 where it was not there."""
        return int(
            asking.find(
                bucket, oid, version, self._words.room, self._halves, self._buckets.used,
                self._tables.room, self._sizes, self._io.counts,
            )
        )  # fmt: skip

    def find_many(self, buckets: I32, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many. COST: large batches are shared among threads."""
        found = np.empty(len(ids), np.int32)
        counts: list[I64] = []

        def look(span: slice) -> None:
            own = np.zeros_like(self._io.counts)
            asking.find_many(
                buckets[span], ids[span], versions[span], self._words.room, self._halves,
                self._buckets.used, self._tables.room, self._sizes, own, found[span],
            )  # fmt: skip
            counts.append(own)

        in_shares(len(ids), look)
        self._io.counts[:] += np.sum(counts, axis=0)
        return found

    def alive_at(self, buckets: I32, version: int) -> tuple[I64, I32]:
        """The ids of some buckets at a version, and their pointers."""
        room = 4 * self._layout.records
        while True:
            ids = np.empty(room, np.int64)
            pointers = np.full(room, NO_POINTER, np.int32)
            before = self._io.reads
            count = asking.alive_at(
                buckets, version, self._words.room, self._halves, self._buckets.used,
                self._tables.room, self._sizes, self._io.counts, ids, pointers,
            )  # fmt: skip
            if count >= 0:
                return ids[:count], pointers[:count]
            demand(room <= self._words.room.size, "more ids are alive than pages have room for")
            self._io.counts[kernels.READS] = before
            room *= 4

    def was_alive(self, bucket: int, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive in a bucket at some version of a span, both ends included."""
        pages = self._listed(bucket, since, until)
        _, begun, ends, _ = records_in(pages, self._words.room, self._halves, self._columns, oid)
        starts = begun & NOW
        return bool(((starts < ends) & (starts <= until) & (since < ends)).any())

    def lifespans(self, oid: int, buckets: I32) -> Lifespans:
        """All lifespans of an id that was in some of these buckets. Reads all of their pages."""
        listed = [self._listed(bucket, kernels.COPIED, NOW) for bucket in buckets.tolist()]
        pages = np.concatenate([_NONE, *listed])
        return spans_in(pages, self._words.room, self._halves, self._columns, oid)

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""
        pages = np.arange(self.data_pages)
        return spans_in(pages, self._words.room, self._halves, self._columns)

    def pages_of(self, bucket: int) -> BucketPages:
        """The pages of a bucket, in the order in which they were opened."""
        pages = np.flatnonzero(self._halves[: self.data_pages, kernels.BUCKET] == bucket)
        return bucket_pages(pages, self._halves, self._columns)

    def _listed(self, bucket: int, since: int, until: int) -> I64:
        """The pages that were in a list at some version of a span, both ends included."""
        if bucket >= self._buckets.count:
            return _NONE
        table = self._table(bucket)
        begin = max(int(table[:, 0].searchsorted(since, "right")) - 1, 0)
        stop = int(table[:, 0].searchsorted(until, "right"))
        lines = table[begin:stop]
        listed = todo = np.unique(lines[:, 1]).astype(np.int64)
        while len(todo):
            versions, pages, ends = self._links(todo)
            was_next = (versions <= until) & (ends > since)
            todo = np.setdiff1d(pages[was_next], listed)
            listed = np.union1d(listed, todo)
        self._io.counts[kernels.READS] += len(listed)
        self._io.counts[kernels.READS] += -(-len(lines) // int(self._sizes[kernels.FANOUT]))
        return listed

    def _table(self, bucket: int) -> I32:
        """The array FT of a bucket: versions, and the first page as of each."""
        start, lines = self._buckets.room[bucket, [kernels.TABLE, kernels.LINES]].tolist()
        found: I32 = self._tables.room[start : start + lines]
        return found

    def _links(self, pages: I64) -> tuple[I32, I32, I32]:
        """The entries of the arrays NT of pages: from which version on, to which, which page."""
        at, most = self._sizes[[kernels.LINKS_AT, kernels.LINKS_MOST]].tolist()
        halves = self._halves[pages]
        links = halves[:, at : at + 2 * most].reshape(len(pages), most, 2)
        there = np.arange(most + 1) < halves[:, [kernels.LINKS]]
        starts = np.column_stack([links[:, :, 0], np.zeros(len(pages), np.int32)])
        ends = np.where(there, starts, halves[:, [kernels.END]])[:, 1:]
        there = there[:, :-1]
        return starts[:, :-1][there], links[:, :, 1][there], ends[there]

    # -- checking -----------------------------------------------------------------------------

    def findings(self, alive: int) -> Iterator[str]:
        """What is wrong with the pages, in sentences. So many ids are alive."""
        records, halves = self._columns.records, self._halves[: self.data_pages]
        first = 2 * (HEADER + records)
        ends = halves[:, first + records : first + 2 * records]
        used = np.arange(records) < halves[:, [kernels.COUNT]]
        is_useful = halves[:, kernels.END] == NOW
        is_alive = (used & (ends < 0)).sum(axis=1)
        if (is_alive[is_useful] != halves[is_useful, kernels.ALIVE]).any():
            yield "a useful page counts its records that are alive wrongly"
        if is_alive[is_useful].sum() != alive:
            yield "the useful pages do not hold each id that is alive once"
        lists = [self._list(bucket) for bucket in range(self._buckets.count)]
        if sorted(page for each in lists for page in each) != np.flatnonzero(is_useful).tolist():
            yield "a useful page is in no list, or in two"
        for bucket, pages in enumerate(lists):
            yield from self._findings_in(bucket, pages)

    def _list(self, bucket: int) -> list[int]:
        """The pages of a list as it is now; not more than there are, whatever they say."""
        if self._buckets.room[bucket, kernels.LENGTH] == 0:
            return []
        found: list[int] = []
        page = int(self._buckets.room[bucket, kernels.FIRST])
        while 0 <= page < self.data_pages and len(found) <= self.data_pages:
            found.append(page)
            links = int(self._halves[page, kernels.LINKS])
            at = int(self._sizes[kernels.LINKS_AT]) + 2 * links - 1
            page = int(self._halves[page, at]) if links else -1
        return found

    def _findings_in(self, bucket: int, pages: list[int]) -> Iterator[str]:
        table, line = self._table(bucket), self._buckets.room[bucket]
        if (np.diff(table[:, 0]) <= 0).any() or (table[-1:, 1] != line[kernels.FIRST]).any():
            yield f"FT of bucket {bucket} is not in order, or does not lead to its first page"
        if len(pages) != line[kernels.LENGTH]:
            yield f"the list of bucket {bucket} is not as long as it says"
        for page in pages:
            versions, _, ends = self._links(np.array([page]))
            if (ends <= versions).any():
                yield f"NT of page {page} is not in order"
        headers = self._halves[pages]
        if (headers[:, kernels.BUCKET] != bucket).any():
            yield f"the list of bucket {bucket} leads to a page of another"
        if (headers[:-1, kernels.ALIVE] < self._sizes[kernels.USEFUL]).any():
            yield f"bucket {bucket} has a page of no use in its list"
        if (headers[-1:, kernels.COUNT] >= self._columns.records).any():
            yield f"the last page of bucket {bucket} is full"
