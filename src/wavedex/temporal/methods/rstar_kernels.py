"""The loops that change R*-trees (Beckmann, Kriegel, Schneider and Seeger).

An *entry* is what a page holds: a box, and a number. A box is a lowest and a highest value on each
axis; the first axis is that of ids. The number of a record is its pointer. The number of an entry
of a directory page is the page below, and its box surrounds all boxes there. Boxes are kept in
whole numbers, and compared in floating point, as *shapes*.

Pages of records are level 0. A header holds how many entries there are, and in a free page which is
the next.

Whatever is to be inserted lies on a stack (`pending`). Each insertion may put more on it, as pages
that overflow for the first time in a change have some of their entries inserted again. A loop stops
where a page overflows, until its entries were arranged (`rstar_shape_kernels`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
F64 = npt.NDArray[np.float64]

NOW = 2**31 - 1
READS, WRITES = 0, 1
COUNT, NEXT_FREE = 0, 1
"""Places in the header of a page."""
ROOT, HEIGHT, SPANS, USED, FREE = range(5)
"""Places in `state`: the root page; how many levels there are; how many records; how many pages
were ever used; and the first that is free."""
PENDING, AGAIN, LATEST, MOVES, OVERFULL, LEVEL, CUT, SPLITS = range(8)
"""Places in `working`: how many entries are pending; at which levels this change has inserted
entries again, as bits; what `now` is compared as, and whether that is the version of the change;
how many entries are too many for a page, and of which level; how many of them are to stay, and
whether the others go into a new page."""
ROOM, LEAST, REINSERTED = range(3)
"""Places in a line of `sizes`: how many entries a page may have, must have, and inserts again."""
CANDIDATES = 32
"""How many boxes are looked at for the least overlap, as the authors advise."""


class Tree(NamedTuple):
    """An R*-tree, and room to work in."""

    words: I64
    halves: I32
    """The same pages, seen as 32-bit numbers."""
    state: I64
    sizes: I64
    """A line for pages of records, and one for directory pages."""
    columns: I64
    """Likewise, where the values of entries begin in a page; -1 where they have none."""
    pending: I64
    """Entries, each with its level."""
    path: I64
    """By level, the page that was gone through, and the place in it of the entry below."""
    buffer: I64
    """The pages that changes have at hand, the last used first, and whether they were changed."""
    io: I64
    working: I64
    entries: I64
    """The entries that are too many for a page."""
    shapes: F64
    order: I64


# -- pages and what they hold -----------------------------------------------------------------


@checked_kernel
def _load(tree: Tree, level: int, page: int, at: int, entry: I64) -> None:
    """Copy an entry of a page."""
    columns = tree.columns[min(level, 1)]
    for i in range(2):
        entry[i] = tree.words[page, columns[i] + at]
    for i in range(2, len(entry)):
        entry[i] = tree.halves[page, columns[i] + at] if columns[i] >= 0 else -1


@checked_kernel
def _store(tree: Tree, level: int, page: int, at: int, entry: I64) -> None:
    """Put an entry into a page."""
    columns = tree.columns[min(level, 1)]
    for i in range(2):
        tree.words[page, columns[i] + at] = entry[i]
    for i in range(2, len(entry)):
        if columns[i] >= 0:
            tree.halves[page, columns[i] + at] = entry[i]


@checked_kernel
def _take_out(tree: Tree, level: int, page: int, at: int, entry: I64) -> None:
    """Remove an entry from a page. The last one takes its place."""
    tree.halves[page, COUNT] -= 1
    _load(tree, level, page, tree.halves[page, COUNT], entry)
    _store(tree, level, page, at, entry)


@checked_kernel
def _surround(tree: Tree, level: int, page: int, entry: I64) -> None:
    """Make the entry that leads to a page."""
    last = len(entry) - 1
    each = np.empty(last + 1, np.int64)
    _load(tree, level, page, 0, entry)
    for at in range(1, tree.halves[page, COUNT]):
        _load(tree, level, page, at, each)
        for i in range(0, last, 2):
            entry[i], entry[i + 1] = min(entry[i], each[i]), max(entry[i + 1], each[i + 1])
    entry[last] = page


@checked_kernel
def _touch(tree: Tree, level: int, page: int, writes: bool, is_new: bool) -> None:
    """Have a page at hand: count it as read if it was not, and as written when it makes room."""
    if level == tree.state[HEIGHT] - 1:
        return  # The root is in memory.
    buffer, at = tree.buffer, 0
    while at < len(buffer) - 1 and buffer[at, 0] != page:
        at += 1
    changed = buffer[at, 1]
    if buffer[at, 0] != page:
        tree.io[WRITES] += changed
        tree.io[READS] += 0 if is_new else 1
        changed = 0
    for i in range(at, 0, -1):
        buffer[i] = buffer[i - 1]
    buffer[0, 0], buffer[0, 1] = page, 1 if writes else changed


@checked_kernel
def _open_page(tree: Tree) -> int:
    """An empty page. REQUIRES: there is room."""
    page = tree.state[FREE]
    if page >= 0:
        tree.state[FREE] = tree.halves[page, NEXT_FREE]
    else:
        page = tree.state[USED]
        tree.state[USED] += 1
    tree.halves[page, COUNT], tree.halves[page, NEXT_FREE] = 0, -1
    return page


@checked_kernel
def _free_page(tree: Tree, page: int) -> None:
    tree.halves[page, COUNT], tree.halves[page, NEXT_FREE] = 0, tree.state[FREE]
    tree.state[FREE] = page
    for at in range(len(tree.buffer)):
        if tree.buffer[at, 0] == page:
            tree.buffer[at, 0], tree.buffer[at, 1] = -1, 0


@checked_kernel
def _push(tree: Tree, entry: I64, level: int) -> None:
    """Have an entry inserted, before those that are pending."""
    line = tree.pending[tree.working[PENDING]]
    line[: len(entry)] = entry
    line[len(entry)] = level
    tree.working[PENDING] += 1


# -- where an entry belongs -------------------------------------------------------------------


@checked_kernel
def _shape(entry: I64, latest: int, shape: F64) -> None:
    """The box of an entry, to be compared."""
    for i in range(len(shape)):
        shape[i] = entry[i] if i < 2 or entry[i] < NOW else latest


@checked_kernel
def _area(one: F64, other: F64) -> float:
    """The area of the box around two."""
    area = 1.0
    for i in range(0, len(one), 2):
        area *= max(one[i + 1], other[i + 1]) - min(one[i], other[i])
    return area


@checked_kernel
def _more_overlap(shapes: F64, at: int, new: F64) -> float:
    """How much more a box overlaps the others once it surrounds a new one too."""
    one, more = shapes[at], 0.0
    for j in range(len(shapes)):
        other, before, after = shapes[j], 1.0, 1.0
        for i in range(0, len(new), 2):
            low, high = max(one[i], other[i]), min(one[i + 1], other[i + 1])
            before *= max(high - low, 0.0)
            low = max(min(one[i], new[i]), other[i])
            high = min(max(one[i + 1], new[i + 1]), other[i + 1])
            after *= max(high - low, 0.0)
        if j != at:
            more += after - before
    return more


@checked_kernel
def _choose(tree: Tree, level: int, page: int, entry: I64) -> int:
    """The place in a directory page of the entry below which a new one goes (ChooseSubtree).

    It is the one whose area grows least, and then the smallest. Right above pages of records, what
    counts before that is how much its overlap with the others grows.
    """
    count, latest = tree.halves[page, COUNT], tree.working[LATEST]
    shapes, areas, growths = tree.shapes[:count], np.empty(count), np.empty(count)
    each, new = np.empty(len(entry), np.int64), np.empty(len(entry) - 1)
    _shape(entry, latest, new)
    for at in range(count):
        _load(tree, level, page, at, each)
        _shape(each, latest, shapes[at])
        areas[at] = _area(shapes[at], shapes[at])
        growths[at] = _area(shapes[at], new) - areas[at]
    candidates = np.arange(count)
    if level == 1 and count > CANDIDATES:
        candidates = np.argsort(growths, kind="mergesort")[:CANDIDATES]
    best, least = candidates[0], (np.inf, np.inf, np.inf)
    for at in candidates:
        more = _more_overlap(shapes, at, new) if level == 1 else 0.0
        if (more, growths[at], areas[at]) < least:
            best, least = at, (more, growths[at], areas[at])
    return best


# -- insertion --------------------------------------------------------------------------------


@checked_kernel
def _tighten(tree: Tree, level: int) -> None:
    """Let the entries above a page that was changed be the boxes around what is below them."""
    new, old = np.empty_like(tree.entries[0]), np.empty_like(tree.entries[0])
    for above in range(level + 1, tree.state[HEIGHT]):
        parent, at = tree.path[above, 0], tree.path[above, 1]
        _surround(tree, above - 1, tree.path[above - 1, 0], new)
        _load(tree, above, parent, at, old)
        if (new == old).all():
            break
        _store(tree, above, parent, at, new)
        _touch(tree, above, parent, True, False)


@checked_kernel
def _add(tree: Tree, level: int, entry: I64) -> None:
    """Add an entry to the page of a level of the path; note where it has too many."""
    page = tree.path[level, 0]
    count = tree.halves[page, COUNT]
    _touch(tree, level, page, True, False)
    if count < tree.sizes[min(level, 1), ROOM]:
        _store(tree, level, page, count, entry)
        tree.halves[page, COUNT] += 1
        _tighten(tree, level)
        return
    for at in range(count):
        _load(tree, level, page, at, tree.entries[at])
    tree.entries[count] = entry
    for at in range(count + 1):
        _shape(tree.entries[at], tree.working[LATEST], tree.shapes[at])
    tree.working[OVERFULL], tree.working[LEVEL] = count + 1, level


@checked_kernel
def _insert(tree: Tree) -> None:
    """Insert the entry that is pending next."""
    tree.working[PENDING] -= 1
    line = tree.pending[tree.working[PENDING]]
    entry, level = line[:-1].copy(), line[-1]
    at, page = tree.state[HEIGHT] - 1, tree.state[ROOT]
    below = np.empty_like(entry)
    while at > level:
        _touch(tree, at, page, False, False)
        place = _choose(tree, at, page, entry)
        tree.path[at, 0], tree.path[at, 1] = page, place
        _load(tree, at, page, place, below)
        page = below[-1]
        at -= 1
    tree.path[level, 0] = page
    _add(tree, level, entry)


@checked_kernel
def _fill(tree: Tree, level: int, page: int, start: int, stop: int) -> None:
    """Have a page hold some of the entries that are too many, as they were arranged."""
    for i in range(start, stop):
        _store(tree, level, page, i - start, tree.entries[tree.order[i]])
    tree.halves[page, COUNT] = stop - start


@checked_kernel
def _divide(tree: Tree) -> None:
    """Leave some of too many entries in their page, and put the others elsewhere."""
    count, level, cut = tree.working[OVERFULL], tree.working[LEVEL], tree.working[CUT]
    page, entry = tree.path[level, 0], np.empty_like(tree.entries[0])
    tree.working[OVERFULL] = 0
    _fill(tree, level, page, 0, cut)
    if tree.working[SPLITS]:
        other = _open_page(tree)
        _fill(tree, level, other, cut, count)
        if level == tree.state[HEIGHT] - 1:
            tree.state[ROOT] = _open_page(tree)
            tree.halves[tree.state[ROOT], COUNT] = 1
            tree.state[HEIGHT] += 1
            tree.path[level + 1, 0], tree.path[level + 1, 1] = tree.state[ROOT], 0
            _touch(tree, level, page, True, True)
        _touch(tree, level, other, True, True)
        _surround(tree, level, page, entry)
        _store(tree, level + 1, tree.path[level + 1, 0], tree.path[level + 1, 1], entry)
        _surround(tree, level, other, entry)
        _add(tree, level + 1, entry)
    else:
        tree.working[AGAIN] |= 1 << level
        for i in range(count - 1, cut - 1, -1):
            _push(tree, tree.entries[tree.order[i]], level)  # The nearest comes first.
        _tighten(tree, level)


# -- removal ----------------------------------------------------------------------------------


@checked_kernel
def _locate(tree: Tree, oid: int, entry: I64) -> bool:
    """Find the record of an id that is alive: the path leads to it. Whether it is there."""
    level = tree.state[HEIGHT] - 1
    tree.path[level, 0], tree.path[level, 1] = tree.state[ROOT], -1
    while level < tree.state[HEIGHT]:
        page, at = tree.path[level, 0], tree.path[level, 1] + 1
        while at < tree.halves[page, COUNT]:
            _load(tree, level, page, at, entry)
            if entry[0] <= oid <= entry[1] and entry[-2] == NOW:
                break
            at += 1
        tree.path[level, 1] = at
        if at == tree.halves[page, COUNT]:
            level += 1
        elif level == 0:
            return True
        else:
            level -= 1
            tree.path[level, 0], tree.path[level, 1] = entry[-1], -1
            _touch(tree, level, entry[-1], False, False)
    return False


@checked_kernel
def _remove(tree: Tree, oid: int, version: int) -> bool:
    """Take the record of an id that is alive out, to insert one that has ended. Whether it was.

    Of pages that have too few entries then, these are inserted again (CondenseTree).
    """
    entry, level = np.empty_like(tree.entries[0]), 0
    if not _locate(tree, oid, entry):
        return False
    if entry[2] < version:
        for i in range(2, len(entry) - 1):
            entry[i] = min(entry[i], version)
        _push(tree, entry, 0)
    else:
        tree.state[SPANS] -= 1
    while True:
        page = tree.path[level, 0]
        _take_out(tree, level, page, tree.path[level, 1], entry)
        _touch(tree, level, page, True, False)
        count = tree.halves[page, COUNT]
        if level == tree.state[HEIGHT] - 1 or count >= tree.sizes[min(level, 1), LEAST]:
            break
        for at in range(count):
            _load(tree, level, page, at, entry)
            _push(tree, entry, level)
        _free_page(tree, page)
        level += 1
    _tighten(tree, level)
    return True


@checked_kernel
def _shrink(tree: Tree) -> None:
    """Let a root that leads to one page only give way to that."""
    entry = np.empty_like(tree.entries[0])
    while tree.state[HEIGHT] > 1 and tree.halves[tree.state[ROOT], COUNT] == 1:
        _load(tree, 1, tree.state[ROOT], 0, entry)
        _free_page(tree, tree.state[ROOT])
        tree.state[ROOT] = entry[-1]
        tree.state[HEIGHT] -= 1


@checked_kernel
def _begin(tree: Tree, oid: int, version: int, sign: int, pointer: int) -> bool:
    """Begin a change: put what is to be inserted on the stack. Whether it is possible."""
    tree.working[AGAIN] = 0
    if tree.working[MOVES]:
        tree.working[LATEST] = version
    if sign < 0:
        return _remove(tree, oid, version)
    entry, columns = np.empty_like(tree.entries[0]), tree.columns[0]
    entry[0], entry[1], entry[-1] = oid, oid, pointer
    for i in range(2, len(entry) - 1):
        entry[i] = version if columns[i] == columns[2] else NOW
    _push(tree, entry, 0)
    tree.state[SPANS] += 1
    return True


@checked_kernel
def apply(tree: Tree, ids: I64, versions: I32, signs: I8, pointers: I32, start: int) -> int:
    """Take changes in from `start` on. The first that was not begun; -1 if one is not possible.

    It stops where there must be more room, where entries are to be arranged, and at the end.
    """
    state, working, at = tree.state, tree.working, start
    while True:
        room = len(tree.pending) - working[PENDING] - (state[HEIGHT] + 1) * len(tree.entries)
        pages = len(tree.words) - state[USED]
        if room < 0 or pages < 2 or len(tree.path) <= state[HEIGHT]:
            return at
        if working[OVERFULL] > 0:
            _divide(tree)
        elif working[PENDING] > 0:
            _insert(tree)
        else:
            _shrink(tree)
            if at == len(ids):
                return at
            if not _begin(tree, ids[at], versions[at], signs[at], pointers[at]):
                return -1
            at += 1
        if working[OVERFULL] > 0:
            return at
