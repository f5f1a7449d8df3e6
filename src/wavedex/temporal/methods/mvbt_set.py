"""The multiversion B-tree (Becker and others), with which the paper compares (Section 5.1).

It is a B+ tree of every version in one. At each version at which a page is there, at least q of its
records are alive, unless it is the root (the weak version condition). A page that is full, or has
fewer, is left as it is, and what is alive in it is copied to a new page (a version split). That is
merged with a sibling if there is too little of it, and parted if there is too much (a key split):
a new page begins with q + e to B - e records that are alive (the strong version condition), so that
e changes pass before it must be rewritten.

A question reads a page of each level: more than hashing does, but ids lie in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wavedex.errors import BadDefinition
from wavedex.temporal.changes import I32, I64, NO_POINTER, Changes, Lifespans
from wavedex.temporal.growing import Growing
from wavedex.temporal.layout import HEADER, Layout, layout_of
from wavedex.temporal.merging import merged
from wavedex.temporal.methods import mvbt_asking_kernels as asking
from wavedex.temporal.methods import mvbt_kernels as kernels
from wavedex.temporal.methods.contract import Arrays, Method
from wavedex.temporal.methods.histories import check_records
from wavedex.temporal.methods.mvbt_findings import tree_findings
from wavedex.temporal.shares import in_shares
from wavedex.temporal.soundness import Known, are_in, demand, demand_times

RECORDS_MIN = 3
"""A page of fewer records could not be parted into two of which each can lose one."""
BUFFER_MAX = 1_000
"""A larger buffer would take longer to look through than a page to read."""
ROUNDING = 1e-9
"""What a part of a page may lack of a whole number of records and still be it."""
ID_MIN, ID_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class MvbtSettings:
    """What can be set of `mvbt`. The defaults are the paper's q = 5 and e = 4 for B = 25."""

    alive: float = 0.2
    """q: the part of the records of a page that is alive at each version of it, at least."""
    spare: float = 0.16
    """e: the part of a page that can change, at least, before it must be rewritten."""
    buffer: int = 10
    """How many pages stay in memory from one change to the next."""

    def __post_init__(self) -> None:
        parts = self.alive, self.spare
        if not all(isinstance(part, int | float) for part in parts) or not (
            0 <= self.spare < self.alive and 2 * self.alive + 3 * self.spare <= 1
        ):
            raise BadDefinition(
                f"alive={self.alive!r} and spare={self.spare!r} leave no room to split a page. "
                "Give spare less than alive, and both so small that 2 alive + 3 spare is at most "
                "1, such as 0.2 and 0.16."
            )
        if not isinstance(self.buffer, int) or not 1 <= self.buffer <= BUFFER_MAX:
            raise BadDefinition(
                f"buffer={self.buffer!r} is no number of pages. Give 1 to {BUFFER_MAX:,}."
            )


class Mvbt(Method):
    """The multiversion B-tree."""

    name = "mvbt"
    settings = MvbtSettings
    is_ordered = True

    def __init__(self, layout: Layout, settings: Any) -> None:
        super().__init__(layout, settings)
        leaf, directory = _line(layout, settings), _line(directory_layout(layout), settings)
        self._sizes: I64 = np.array([leaf, directory])
        self._words = Growing(np.int64, layout.words)
        self._roots = Growing(np.int32, 2)
        self._free = Growing(np.int32)
        self._tally: I64 = np.zeros(3, np.int64)
        self._stamps: I64 = np.zeros(0, np.int64)
        self._buffer: I64 = np.full(settings.buffer, -1)
        self._scratch: I64 = np.zeros((3, 2 * layout.records + 4), np.int64)
        self._see()

    def _see(self) -> None:
        """Note where what is kept lies, and what questions are asked of."""
        words, roots = self._words.room, self._roots.room[: self._tally[kernels.ROOTS]]
        self._halves: I32 = words.view(np.int32)
        self._tree: Any = words, self._halves, roots, self._sizes

    # -- what is kept -------------------------------------------------------------------------

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""
        used, free, roots = self._tally.tolist()
        return {
            "pages": self._words.room[:used],
            "roots": self._roots.room[:roots],
            "free": self._free.room[:free],
        }

    def restore(self, arrays: Arrays) -> None:
        """Be as another was. Its buffer is empty."""
        self._words.restore(arrays["pages"])
        self._roots.restore(arrays["roots"])
        self._free.restore(arrays["free"])
        self._tally[:] = self._words.count, self._free.count, self._roots.count
        self._stamps = np.zeros(self._words.count, np.int64)
        self._buffer[:] = -1
        self._see()

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        count, roots, free = self._words.count, self._roots.used, self._free.used
        headers = self._words.used.view(np.int32)[:, : 2 * HEADER]
        level = headers[:, kernels.LEVEL]
        demand(are_in(level, 0, kernels.LEVELS_MAX), "a page is on a level that no tree has")
        counts = headers[level > 0, kernels.COUNT]
        most = int(self._sizes[1, kernels.RECORDS])
        demand(are_in(counts, 0, most + 1), "a page counts records that it has no room for")
        check_records(self._words.used, self.layout, known, is_one=level == 0)
        demand_times(headers[:, kernels.START], headers[:, kernels.END], known)
        demand(are_in(roots[:, 1], 0, count), "root* leads to a page that is not there")
        demand((roots[1:, 0] > roots[:-1, 0]).all(), "root* is not in order")
        demand(are_in(free, 0, count) and len(np.unique(free)) == len(free), "no page is so free")

    @property
    def pages(self) -> int:
        """Leaves and directories."""
        return int(self._tally[kernels.PAGES_USED] - self._tally[kernels.FREE])

    # -- changing -----------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Take changes in."""
        done = 0
        while done < len(changes):
            self._make_room()
            done = kernels.apply(
                changes.ids, changes.versions, changes.signs, changes.pointers, done, len(changes),
                self._words.room, self._halves, self._roots.room, self._free.room, self._tally,
                self._sizes, self._stamps, self._buffer, self.io.counts, self._scratch,
            )  # fmt: skip
        self._see()

    def _make_room(self) -> None:
        """Have room for any one change, and for more of them the more there is."""
        used, _, roots = self._tally.tolist()
        levels = 1
        if roots:
            levels += int(self._halves[self._roots.room[roots - 1, 1], kernels.LEVEL])
        self._words.reserve(used + 2 * levels + 1)
        self._roots.reserve(roots + 1)
        self._free.reserve(len(self._words.room))
        if len(self._stamps) < len(self._words.room):
            grown = np.zeros(len(self._words.room), np.int64)
            grown[: len(self._stamps)] = self._stamps
            self._stamps = grown
            self._see()

    # -- asking -------------------------------------------------------------------------------

    def find(self, oid: int, version: int) -> int:
        """The pointer of an id at a version; -2 where it is not alive."""
        return int(asking.find(oid, version, self.io.counts, *self._tree))

    def find_many(self, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many. COST: large batches are shared among threads."""
        found = np.empty(len(ids), np.int32)
        counted = [self.io.counts]

        def look(span: slice) -> None:
            counts = np.zeros_like(self.io.counts)
            asking.find_many(ids[span], versions[span], found[span], counts, *self._tree)
            counted.append(counts)

        in_shares(len(ids), look)
        self.io.counts[:] = np.sum(counted, axis=0)
        return found

    def alive_at(self, version: int) -> tuple[I64, I32]:
        """All ids at a version, in order, and their pointers."""
        return self.between(ID_MIN, ID_MAX, version)

    def between(self, low: int, high: int, version: int) -> tuple[I64, I32]:
        """The ids of a range at a version, in order. Reads the pages of the range only."""
        room = 4 * self.layout.records
        while True:
            ids, pointers = np.empty(room, np.int64), np.full(room, NO_POINTER, np.int32)
            before = self.io.reads
            count = asking.between(low, high, version, ids, pointers, self.io.counts, *self._tree)
            if count >= 0:
                return ids[:count], pointers[:count]
            demand(room <= self._words.room.size, "more ids are alive than pages have room for")
            self.io.counts[asking.READS] = before
            room *= 4

    def lifespans(self, oid: int) -> Lifespans:
        """All lifespans of an id. Reads the pages that could hold it, and the ways there."""
        leaves = np.empty(int(self._tally[kernels.PAGES_USED]), np.int64)
        count = asking.leaves_of(oid, leaves, self.io.counts, *self._tree)
        return self._spans(leaves[:count], oid)

    def was_alive(self, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive at some version of a span."""
        return bool(asking.was_alive(oid, since, until, self.io.counts, *self._tree))

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""
        halves = self._halves[: self._tally[kernels.PAGES_USED]]
        is_leaf = halves[:, kernels.LEVEL] == 0
        is_free = halves[:, kernels.START] == halves[:, kernels.END]
        return self._spans(np.flatnonzero(is_leaf & ~is_free), None)

    def _spans(self, pages: I64, oid: int | None) -> Lifespans:
        """The lifespans of the records of some leaves, each within the versions of its leaf."""
        records = self.layout.records
        halves = self._halves[pages]
        ids = self._words.room[pages, HEADER : HEADER + records]
        there = np.arange(records) < halves[:, [kernels.COUNT]]
        if oid is not None:
            there &= ids == oid
        rows, slots = there.nonzero()
        first = 2 * (HEADER + records)
        begun, left = halves[rows, kernels.START], halves[rows, kernels.END]
        starts = halves[rows, first + slots]
        ends = np.minimum(halves[rows, first + records + slots], left)
        pointers = np.full(len(rows), NO_POINTER, np.int32)
        if self.layout.has_pointers:
            pointers = halves[rows, first + 2 * records + slots]
        is_copy = starts < begun
        return merged(ids[rows, slots], np.maximum(starts, begun), ends, is_copy, pointers)

    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
        arrays = self.arrays
        yield from tree_findings(arrays["pages"], arrays["roots"], arrays["free"], self._sizes)


def directory_layout(layout: Layout) -> Layout:
    """The layout of directories, whose records have pointers, in pages of the same size.

    >>> directory_layout(layout_of(None, None, False)).records
    201
    """
    return layout_of(layout.page_bytes, None, True)


def _line(layout: Layout, settings: MvbtSettings) -> tuple[int, int, int, bool]:
    """B, q and e of pages, and whether their records have pointers.

    ENSURES: what is too much for a page, more than B - e, is enough for two pages of q + e.
    """
    records = layout.records
    if records < RECORDS_MIN:
        size = Layout(RECORDS_MIN, True).page_bytes
        raise BadDefinition(
            f"A page of mvbt has room for {RECORDS_MIN} records, also where they are those of a "
            f"directory. Give it {size} bytes or more."
        )
    least = max(2, int(settings.alive * records + ROUNDING))
    spare = min(int(settings.spare * records + ROUNDING), least - 1, (records + 1 - 2 * least) // 3)
    return records, least, spare, layout.has_pointers
