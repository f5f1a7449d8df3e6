"""The loops that change Snapshot Indexes, one for each bucket (Section 3.1).

A page is a row of `words`, which `halves` sees as 32-bit numbers. Its header says how it stands in
the list of useful pages or in the access forest:

- A useful page knows its neighbours in the list. The last one is the acceptor.
- A page that is of no use any more is a child of the page that was its left neighbour. Each knows
  the sibling that became one before it, and a parent its last child. So pages need no lists of
  children. With each such pointer stands when that page ceased to be useful, so that a search need
  not go there to learn it.

A page that was the first of its list when it left it is a child of the bucket.

A record that has not ended has a negative number in place of its end. That says which entry its id
has among those that are alive, so that the place of a copy can be noted. What is left behind in a
page of no use stays so, and counts until the page ceased to be useful.

Such a page never changes again but for pointers to siblings. So its records are then put in order
of a hash of their ids, which tells about where in the page an id is to be found.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]

NOW = 2**31 - 1
COPIED = -(2**31)
"""A bit of a beginning: the record goes on where one in another page has ended."""
ADD, REMOVE, MOVE_IN, MOVE_OUT = 1, -1, 2, -2
READS, WRITES, SERIAL = 0, 1, 2

COUNT, ALIVE, START, END, LEFT, RIGHT, PARENT, CHILD, CHILD_END, SIBLING, SIBLING_END, BUCKET = (
    range(12)
)
"""Places in the header of a page. `END` is NOW while it is useful."""
ACCEPTOR, FIRST_CHILD, FIRST_CHILD_END, TREE, ENTRIES, TREE_ROOM = range(6)
"""Places in the line of a bucket: the last page of its list; its own last child, and when that
ceased to be useful; where its time-tree begins, how many entries it has and has room for."""
PAGES_USED, TREES_USED, PENDING = range(3)
"""Places in `tally`: pages, entries of time-trees, and pages that are to leave their list."""
RECORDS, USEFUL, FANOUT, POINTERS, TREES_ON_DISK = range(5)
"""Places in `sizes`: B; how many alive records make a page useful, u B; entries of a page of a
time-tree; whether records have pointers; and whether no level of a time-tree is in memory."""
PAGES_MORE = 8
"""A change never needs more new pages than this, before another change is looked at."""
TREE_ROOM_MIN = 4
HEADER = 8


@checked_kernel
def _rank(oid: int) -> int:
    """Where an id belongs in a page that is in order: from 0 to 2**31 - 1, spread evenly."""
    low, high = oid & 0x7FFFFFFF, (oid >> 31) & 0x7FFFFFFF
    found = low * 0x9E3779B1
    found = (((found ^ (found >> 29)) & 0x7FFFFFFF) ^ high) * 0x85EBCA77
    return ((found ^ (found >> 30)) ^ (oid >> 62)) & 0x7FFFFFFF


@checked_kernel
def _put_in_order(page: int, words: I64, halves: I32, sizes: I64) -> None:
    """Order the records of a page by the ranks of their ids, and those of an id by beginning."""
    records, count = sizes[RECORDS], halves[page, COUNT]
    first = 2 * (HEADER + records)
    ranks = np.empty(count, np.int64)
    for at in range(count):
        ranks[at] = (_rank(words[page, HEADER + at]) << 31) + (halves[page, first + at] & NOW)
    order = np.argsort(ranks, kind="mergesort")  # An id may begin twice at one version.
    ids = words[page, HEADER : HEADER + count].copy()
    for at in range(count):
        words[page, HEADER + at] = ids[order[at]]
    for column in range(3 if sizes[POINTERS] else 2):
        begin = first + column * records
        values = halves[page, begin : begin + count].copy()
        for at in range(count):
            halves[page, begin + at] = values[order[at]]


@checked_kernel
def _touch(page: int, is_new: bool, stamps: I64, io: I64) -> None:
    """Count a page as written, and as read unless it is new, once for each change."""
    serial = io[SERIAL]
    if stamps[page] != serial:
        stamps[page] = serial
        io[WRITES] += 1
        if not is_new:
            io[READS] += 1


@checked_kernel
def _index_page(bucket, page, version, buckets, trees, tally, sizes, io) -> None:  # type: ignore[no-untyped-def]
    """Put an acceptor page into the time-tree of its bucket."""
    line = buckets[bucket]
    if line[ENTRIES] == line[TREE_ROOM]:
        room = max(TREE_ROOM_MIN, 2 * line[TREE_ROOM])
        old, new = line[TREE], tally[TREES_USED]
        for i in range(line[ENTRIES]):
            trees[new + i, 0], trees[new + i, 1] = trees[old + i, 0], trees[old + i, 1]
        tally[TREES_USED] += room
        line[TREE], line[TREE_ROOM] = new, room
    at = line[TREE] + line[ENTRIES]
    trees[at, 0], trees[at, 1] = version, page
    io[WRITES] += 1
    if line[ENTRIES] % sizes[FANOUT]:
        io[READS] += 1
    line[ENTRIES] += 1


@checked_kernel
def _open_page(bucket, version, halves, buckets, trees, tally, sizes, stamps, io, pending) -> int:  # type: ignore[no-untyped-def]
    """Give a bucket a new acceptor page. The old one is to leave the list if it is of no use."""
    old, page = buckets[bucket, ACCEPTOR], tally[PAGES_USED]
    tally[PAGES_USED] += 1
    header = halves[page]
    header[COUNT] = header[ALIVE] = 0
    header[START], header[END] = version, NOW
    header[LEFT], header[RIGHT] = old, -1
    header[PARENT] = header[CHILD] = header[SIBLING] = -1
    header[CHILD_END] = header[SIBLING_END] = 0
    header[BUCKET] = bucket
    _touch(page, True, stamps, io)
    if old >= 0:
        halves[old, RIGHT] = page
        _touch(old, False, stamps, io)
        if halves[old, ALIVE] < sizes[USEFUL]:
            pending[tally[PENDING]] = old
            tally[PENDING] += 1
    buckets[bucket, ACCEPTOR] = page
    _index_page(bucket, page, version, buckets, trees, tally, sizes, io)
    return page


@checked_kernel
def _append(  # type: ignore[no-untyped-def]
    bucket, oid, start, pointer, entry, version,
    words, halves, buckets, trees, places, tally, sizes, stamps, io, pending,
) -> None:  # fmt: skip
    """Put a record at the end of the acceptor page of a bucket."""
    records = sizes[RECORDS]
    page = buckets[bucket, ACCEPTOR]
    if page < 0 or halves[page, COUNT] == records:
        page = _open_page(
            bucket, version, halves, buckets, trees, tally, sizes, stamps, io, pending
        )
    at = halves[page, COUNT]
    words[page, HEADER + at] = oid
    first = 2 * (HEADER + records)
    halves[page, first + at] = start
    halves[page, first + records + at] = -1 - entry
    if sizes[POINTERS]:
        halves[page, first + 2 * records + at] = pointer
    halves[page, COUNT] += 1
    halves[page, ALIVE] += 1
    places[entry, 0], places[entry, 1] = page, at
    _touch(page, False, stamps, io)


@checked_kernel
def _leave_list(page, version, halves, buckets, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Take a page out of the list of useful pages: it becomes a child of its left neighbour."""
    header = halves[page]
    left, right = header[LEFT], header[RIGHT]
    if header[END] != NOW or right < 0:
        raise IndexError("a page is to leave a list that it is not in")
    header[END] = version
    header[PARENT] = left
    if left >= 0:
        header[SIBLING], header[SIBLING_END] = halves[left, CHILD], halves[left, CHILD_END]
        halves[left, CHILD], halves[left, CHILD_END] = page, version
        halves[left, RIGHT] = right
        _touch(left, False, stamps, io)
    else:
        line = buckets[header[BUCKET]]
        header[SIBLING], header[SIBLING_END] = line[FIRST_CHILD], line[FIRST_CHILD_END]
        line[FIRST_CHILD], line[FIRST_CHILD_END] = page, version
    halves[right, LEFT] = left
    _touch(right, False, stamps, io)
    _touch(page, False, stamps, io)


@checked_kernel
def _retire(  # type: ignore[no-untyped-def]
    version, words, halves, buckets, trees, places, tally, sizes, stamps, io, pending,
) -> None:  # fmt: skip
    """Let pages that are of no use leave their lists, and copy what is alive in them.

    The copies go into the acceptor page, of which there may have to be another.
    """
    records = sizes[RECORDS]
    first = 2 * (HEADER + records)
    while tally[PENDING]:
        tally[PENDING] -= 1
        page = pending[tally[PENDING]]
        bucket = halves[page, BUCKET]
        _leave_list(page, version, halves, buckets, stamps, io)
        for at in range(records):
            end = halves[page, first + records + at]
            if end >= 0:
                continue
            start = halves[page, first + at]
            if (start & NOW) != version:
                start = version | COPIED
            pointer = halves[page, first + 2 * records + at] if sizes[POINTERS] else -1
            _append(
                bucket, words[page, HEADER + at], start, pointer, -1 - end, version,
                words, halves, buckets, trees, places, tally, sizes, stamps, io, pending,
            )  # fmt: skip
        halves[page, ALIVE] = 0
        _put_in_order(page, words, halves, sizes)


@checked_kernel
def apply(  # type: ignore[no-untyped-def]
    event_buckets, event_ids, event_versions, kinds, entries, pointers, start, stop,
    words, halves, buckets, trees, places, tally, sizes, stamps, io, pending,
) -> int:  # fmt: skip
    """Take events in from `start` to `stop`. The first for which there may be no room."""
    records = sizes[RECORDS]
    first = 2 * (HEADER + records)
    for i in range(start, stop):
        bucket, version, kind, entry = event_buckets[i], event_versions[i], kinds[i], entries[i]
        if abs(kind) == ADD:
            io[SERIAL] += 1
        room = 2 * buckets[bucket, TREE_ROOM] + TREE_ROOM_MIN
        if tally[PAGES_USED] + PAGES_MORE > len(words) or (
            tally[TREES_USED] + PAGES_MORE * room > len(trees)
        ):
            return i
        if kind == ADD:
            _append(
                bucket, event_ids[i], version, pointers[i], entry, version,
                words, halves, buckets, trees, places, tally, sizes, stamps, io, pending,
            )  # fmt: skip
        elif kind == MOVE_IN:
            # It was moved out of this place just now.
            page, at = places[entry, 0], places[entry, 1]
            begun = halves[page, first + at]
            if (begun & NOW) != version:
                begun = version | COPIED
            pointer = halves[page, first + 2 * records + at] if sizes[POINTERS] else -1
            _append(
                bucket, words[page, HEADER + at], begun, pointer, entry, version,
                words, halves, buckets, trees, places, tally, sizes, stamps, io, pending,
            )  # fmt: skip
        else:
            page, at = places[entry, 0], places[entry, 1]
            halves[page, first + records + at] = version
            halves[page, ALIVE] -= 1
            _touch(page, False, stamps, io)
            if halves[page, ALIVE] < sizes[USEFUL] and page != buckets[bucket, ACCEPTOR]:
                pending[tally[PENDING]] = page
                tally[PENDING] += 1
        if kind != MOVE_OUT:  # What moves is still to be read where it was.
            _retire(
                version, words, halves, buckets, trees, places, tally, sizes, stamps, io, pending
            )
    return stop
