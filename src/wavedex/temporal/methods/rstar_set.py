"""R*-trees over lifespans, as the paper's rivals of hashing (Section 5.1): intervals, and points.

There is one record for each lifespan. `r-interval` sees it as a line in a plane of ids and times,
`r-point` as a point in a space of ids, beginnings and ends. The record of an id that is alive ends
`now`; as the id is removed, it is replaced by one that ends then.

A question looks at every page whose box it meets. Lifespans of ids that are alive overlap, and so
do the boxes around them, so that a question takes far more pages than there are levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wavedex.errors import BadDefinition
from wavedex.temporal.changes import I32, I64, NOW, Changes, Lifespans
from wavedex.temporal.growing import Growing
from wavedex.temporal.layout import HEADER, Layout
from wavedex.temporal.merging import merged
from wavedex.temporal.methods import rstar_asking_kernels as asking
from wavedex.temporal.methods import rstar_kernels as kernels
from wavedex.temporal.methods import rstar_shape_kernels as shapes
from wavedex.temporal.methods.contract import Arrays, Method
from wavedex.temporal.methods.histories import check_records
from wavedex.temporal.soundness import Known, are_in, demand, demand_shape

EVER = (-(2**31), NOW)
"""All versions."""
ALL = (-(2**63), 2**63 - 1)
"""All ids."""
_NO_TREE = "a page is not in the tree and among the free ones once in all"
HEIGHT_MAX = 60
"""More levels than a tree can have."""
BUFFER_MAX = 1_000
"""A larger buffer would take longer to look through than a page to read."""
FANOUT_MIN = 2
"""A directory page of fewer entries could not be split."""


@dataclass(frozen=True)
class RStarSettings:
    """What can be set of R*-trees."""

    least: float = 0.4
    """m: a page other than the root has at least this part of the entries that it has room for."""
    again: float = 0.3
    """p: this part of them is inserted again where a page overflows; 0 to split it at once."""
    buffer: int = 10
    """How many pages changes have at hand."""

    def __post_init__(self) -> None:
        if not 0 < self.least <= 0.5:
            raise BadDefinition(
                f"least={self.least!r} is no part of a page that both halves of one can have. Give "
                "a number above 0, up to 0.5, such as 0.4."
            )
        if not 0 <= self.again <= 0.5:
            raise BadDefinition(
                f"again={self.again!r} is no part of a page that it can do without. Give a number "
                "from 0 to 0.5, such as 0.3."
            )
        if not 1 <= self.buffer <= BUFFER_MAX or self.buffer != int(self.buffer):
            raise BadDefinition(
                f"buffer={self.buffer!r} is no number of pages. Give 1 to {BUFFER_MAX:,}."
            )


@dataclass(frozen=True)
class IntervalSettings(RStarSettings):
    """What can be set of R*-trees of intervals."""

    least: float = 0.3
    """Pages are split better along long lifespans where halves may differ more."""


class RStarTree(Method):
    """An R*-tree."""

    settings: ClassVar[type] = RStarSettings
    is_ordered = True
    axes: ClassVar[int]
    """How many axes its space has."""
    now_moves: ClassVar[bool]
    """Whether boxes are compared as if what has not ended reached to the present."""

    def __init__(self, layout: Layout, settings: Any) -> None:
        super().__init__(layout, settings)
        fanout = self._fanout()
        rooms = np.array([layout.records, fanout])
        self._sizes: I64 = np.array(
            [rooms, np.maximum(1, settings.least * rooms), settings.again * rooms], np.int64
        ).T.copy()
        self._columns: I64 = np.array([self._leaf_columns(), self._node_columns(fanout)])
        self._words = Growing(np.int64, max(layout.words, self._node_words(fanout)))
        self._words.reserve(1)
        self._words.room[0] = 0
        self._state: I64 = np.array([0, 1, 0, 1, -1])
        self._pending = Growing(np.int64, 2 * self.axes + 2)
        self._path = Growing(np.int64, 2)
        self._buffer: I64 = np.tile(np.array([-1, 0]), (int(settings.buffer), 1))
        self._working: I64 = np.zeros(8, np.int64)
        self._working[kernels.LATEST], self._working[kernels.MOVES] = NOW, self.now_moves
        most = int(rooms.max()) + 1
        self._entries: I64 = np.zeros((most, 2 * self.axes + 1), np.int64)
        self._shapes = np.zeros((most, 2 * self.axes))
        self._order: I64 = np.zeros(most, np.int64)

    # -- how pages are laid out ---------------------------------------------------------------

    def _node_words(self, fanout: int) -> int:
        return HEADER + 2 * fanout + ((2 * self.axes - 1) * fanout + 1) // 2

    def _fanout(self) -> int:
        """How many entries a directory page has room for.

        Where pages are counted in records, all attributes take the same room: four in a record, and
        in an entry two for each axis and one for the page below (Section 5.1).
        """
        if self.layout.is_counted:
            return max(FANOUT_MIN, 4 * self.layout.records // (2 * self.axes + 1))
        fanout = FANOUT_MIN
        while self._node_words(fanout + 1) <= self.layout.words:
            fanout += 1
        return fanout

    def _leaf_columns(self) -> list[int]:
        """Where the values of records lie; the lowest and the highest are the same."""
        records = self.layout.records
        first = 2 * (HEADER + records)
        starts, ends = [first] * (self.axes - 1), [first + records] * (self.axes - 1)
        pointers = first + 2 * records if self.layout.has_pointers else -1
        return [HEADER, HEADER, *starts, *ends, pointers]

    def _node_columns(self, fanout: int) -> list[int]:
        first = 2 * (HEADER + 2 * fanout)
        halves = [first + fanout * i for i in range(2 * self.axes - 1)]
        return [HEADER, HEADER + fanout, *halves]

    # -- what is kept -------------------------------------------------------------------------

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""
        return {"pages": self._words.room[: self._state[kernels.USED]], "tree": self._state}

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""
        self._words.restore(arrays["pages"])
        self._state = np.array(arrays["tree"])
        self._buffer[:] = -1, 0

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there.

        Each page is in the tree, or among the free ones, once. So a search comes to an end.
        """
        demand_shape(self._state, np.zeros(5, np.int64), [], "the tree")
        root, height, _, used, free = self._state.tolist()
        halves, pages = self._halves, np.array([root])
        demand(used == len(halves) and 1 <= height <= HEIGHT_MAX, _NO_TREE)
        demand(0 <= root < used and -1 <= free < used, _NO_TREE)
        seen = np.bincount(self._free(), minlength=used)
        for level in range(height - 1, -1, -1):
            seen += np.bincount(pages, minlength=used)
            counts = halves[pages, kernels.COUNT]
            demand(are_in(counts, 0, int(self._sizes[min(level, 1), 0]) + 1), _NO_TREE)
            if level:
                rows, places = (np.arange(counts.max(initial=0)) < counts[:, None]).nonzero()
                pages = halves[pages[rows], self._columns[1, -1] + places].astype(np.int64)
                demand(are_in(pages, 0, used), _NO_TREE)
                demand(len(pages) <= used, _NO_TREE)
        demand((seen == 1).all(), _NO_TREE)
        is_leaf = np.zeros(used, np.bool_)
        is_leaf[pages] = True
        check_records(self._words.used, self.layout, known, is_leaf)

    @property
    def _halves(self) -> I32:
        return self._words.room.view(np.int32)

    @property
    def pages(self) -> int:
        """Pages of records and of the directory."""
        return int(self._state[kernels.USED]) - len(self._free())

    def _free(self) -> list[int]:
        """The pages that are free."""
        found: list[int] = []
        page = int(self._state[kernels.FREE])
        while 0 <= page < self._state[kernels.USED] and len(found) < self._state[kernels.USED]:
            found.append(page)
            page = int(self._halves[page, kernels.NEXT_FREE])
        return found

    # -- changing -----------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Take changes in."""
        working, done = self._working, 0
        while done < len(changes) or working[kernels.PENDING] or working[kernels.OVERFULL]:
            tree = self._tree()
            if working[kernels.OVERFULL]:
                self._arrange()
            done = kernels.apply(
                tree, changes.ids, changes.versions, changes.signs, changes.pointers, done
            )
            demand(done >= 0, "an id is alive whose record is not in the tree")

    def _tree(self) -> kernels.Tree:
        """The tree, with room for a step at least, and for more of them the more there is."""
        height, working = int(self._state[kernels.HEIGHT]), self._working
        self._words.reserve(int(self._state[kernels.USED]) + 2)
        self._path.reserve(height + 1)
        more = (height + 1) * len(self._entries)
        self._pending.reserve(int(working[kernels.PENDING]) + more)
        return kernels.Tree(
            self._words.room, self._halves, self._state, self._sizes, self._columns,
            self._pending.room, self._path.room, self._buffer, self.io.counts, working,
            self._entries, self._shapes, self._order,
        )  # fmt: skip

    def _arrange(self) -> None:
        """Say which of the entries that are too many for a page stay in it (OverflowTreatment).

        The page is split where that is the root, or where a change comes to its level again.
        """
        working = self._working
        count, level = working[[kernels.OVERFULL, kernels.LEVEL]].tolist()
        _, least, again = self._sizes[min(level, 1)].tolist()
        is_root = level == self._state[kernels.HEIGHT] - 1
        was_done = working[kernels.AGAIN] >> level & 1
        order = self._order[:count]
        working[kernels.SPLITS] = is_root or was_done or not again
        if working[kernels.SPLITS]:
            working[kernels.CUT] = shapes.halve(self._shapes, least, order)
        else:
            shapes.by_distance(self._shapes, order)
            working[kernels.CUT] = count - again

    # -- asking -------------------------------------------------------------------------------

    def find(self, oid: int, version: int) -> int:
        """The pointer of an id at a version; -2 where it is not alive."""
        return int(self.find_many(np.array([oid]), np.array([version], np.int32))[0])

    def find_many(self, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many."""
        found = np.empty(len(ids), np.int32)
        asking.find_many(
            ids, versions, self._words.room, self._halves, self._columns, self._state,
            self.io.counts, found,
        )  # fmt: skip
        return found

    def alive_at(self, version: int) -> tuple[I64, I32]:
        """All ids at a version, and their pointers."""
        found = self._collect(ALL, (version, version))
        return found.ids, found.pointers

    def between(self, low: int, high: int, version: int) -> tuple[I64, I32]:
        """The ids of a range at a version, in order, and their pointers."""
        found = self._collect((low, high), (version, version))
        order = found.ids.argsort(kind="stable")
        return found.ids[order], found.pointers[order]

    def lifespans(self, oid: int) -> Lifespans:
        """All lifespans of an id."""
        return _ordered(self._collect((oid, oid), EVER))

    def was_alive(self, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive at some version of a span."""
        return len(self._collect((oid, oid), (since, until))) > 0

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""
        before = self.io.reads
        found = self._collect(ALL, EVER)
        self.io.counts[asking.READS] = before
        return _ordered(found)

    def _collect(self, ids: tuple[int, int], versions: tuple[int, int]) -> Lifespans:
        """The lifespans of a range of ids that meet a range of versions."""
        wanted = np.array([*ids, *versions])
        room, before = 4 * self.layout.records, self.io.reads
        while True:
            made = np.empty(room, np.int64), *np.empty((3, room), np.int32)
            count = asking.collect(
                wanted, self._words.room, self._halves, self._columns, self._state,
                self.io.counts, *made,
            )  # fmt: skip
            if count <= room:
                return Lifespans(*(each[:count] for each in made))
            room = count
            self.io.counts[asking.READS] = before

    # -- checking -----------------------------------------------------------------------------

    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
        root, height, spans, used = self._state[: kernels.FREE].tolist()
        if not 0 <= root < used == len(self._words.room[:used]) or not 1 <= height <= used:
            yield "the tree has no root"
            return
        pages, boxes = np.array([root]), np.zeros((1, 2 * self.axes), np.int64)
        seen = np.bincount(self._free(), minlength=used)
        for level in range(height - 1, -1, -1):
            counts = self._halves[pages, kernels.COUNT]
            room, least, _ = self._sizes[min(level, 1)].tolist()
            if level == height - 1:
                least = 2 if level else 0
            if (counts > room).any() or (counts < least).any():
                yield f"a page of level {level} has too few entries, or too many"
                return
            seen += np.bincount(pages, minlength=used)
            entries, owners = self._entries_of(pages, counts, level)
            if level < height - 1 and not self._surround(boxes, entries, owners):
                yield f"the box of a page of level {level} is not that around its entries"
            if level and not ((entries[:, -1] >= 0) & (entries[:, -1] < used)).all():
                yield f"a page of level {level} leads to none"
                return
            pages, boxes = entries[:, -1], entries[:, :-1]
        if (seen != 1).any():
            yield "a page is in the tree or among the free ones not once"
        yield from _findings_in(boxes[:, 0], boxes[:, 2], boxes[:, -1], spans)

    def _entries_of(self, pages: I64, counts: I32, level: int) -> tuple[I64, I64]:
        """All entries of pages of a level, and which of the pages each is in."""
        columns = self._columns[min(level, 1)]
        there = np.arange(counts.max(initial=0)) < counts[:, None]
        owners, places = there.nonzero()
        rows = pages[owners]
        entries = np.full((len(rows), len(columns)), -1, np.int64)
        for i, column in enumerate(columns.tolist()):
            if column >= 0:
                entries[:, i] = (self._words.room if i < 2 else self._halves)[rows, column + places]
        return entries, owners

    def _surround(self, boxes: I64, entries: I64, owners: I64) -> bool:
        """Whether boxes are those around the entries of their pages, of which each has some."""
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        lows = np.minimum.reduceat(entries[:, :-1:2], firsts)
        highs = np.maximum.reduceat(entries[:, 1::2], firsts)
        return bool((boxes[:, ::2] == lows).all() and (boxes[:, 1::2] == highs).all())


def _findings_in(ids: I64, starts: I64, ends: I64, spans: int) -> Iterator[str]:
    """What is wrong with records, of which there are said to be so many."""
    if len(ids) != spans:
        yield "the tree counts its records wrongly"
    order = np.lexsort((ends, starts, ids))
    ids, starts, ends = ids[order], starts[order], ends[order]
    if (starts >= ends).any() or ((ids[1:] == ids[:-1]) & (starts[1:] < ends[:-1])).any():
        yield "an id has lifespans that are empty or meet"


def _ordered(found: Lifespans) -> Lifespans:
    return merged(
        found.ids, found.starts, found.ends, np.zeros(len(found), np.bool_), found.pointers
    )


class RInterval(RStarTree):
    """An R*-tree of lifespans as intervals, by id and time."""

    name = "r-interval"
    settings = IntervalSettings
    axes = 2
    now_moves = True


class RPoint(RStarTree):
    """An R*-tree of lifespans as points, by id, beginning and end."""

    name = "r-point"
    axes = 3
    now_moves = False
