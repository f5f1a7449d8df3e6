"""The loops that answer from Snapshot Indexes: the useful pages of a bucket at a version.

A search begins with the page that accepted records then, which the time-tree tells, and goes to the
left in the list as it was. Whether a page was useful then stands in the page from which one comes,
so that every page that is read is one that was (Section 3.1 promises one of two).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NOW = 2**31 - 1
NOT_ALIVE = -2
READS = 0
COUNT, ALIVE, START, END, LEFT, RIGHT, PARENT, CHILD, CHILD_END, SIBLING, SIBLING_END, BUCKET = (
    range(12)
)
ACCEPTOR, FIRST_CHILD, FIRST_CHILD_END, TREE, ENTRIES, TREE_ROOM = range(6)
RECORDS, USEFUL, FANOUT, POINTERS, TREES_ON_DISK = range(5)
HEADER = 8
BLOCK = 64
"""How many ids are compared before it is looked whether one of them was it."""


@kernel
def _position(line: I32, trees: I32, version: int) -> int:
    """The last acceptor page of a bucket that is not after a version; -1 if none is."""
    low, high = line[TREE], line[TREE] + line[ENTRIES]
    while low < high:
        middle = (low + high) >> 1
        if trees[middle, 0] <= version:
            low = middle + 1
        else:
            high = middle
    return low - 1 - line[TREE]


@kernel
def _count_tree(line: I32, sizes: I64, io: I64) -> None:
    """Count the pages of a time-tree that are read: a leaf, and what is above it if not kept."""
    io[READS] += 1
    if sizes[TREES_ON_DISK]:
        pages = (line[ENTRIES] + sizes[FANOUT] - 1) // sizes[FANOUT]
        while pages > 1:
            io[READS] += 1
            pages = (pages + sizes[FANOUT] - 1) // sizes[FANOUT]


@kernel
def _rightmost(page: int, depth: int, version: int, halves: I32, io: I64) -> tuple[int, int]:
    """The last page below one that was useful at a version, and how deep it lies."""
    io[READS] += 1
    while halves[page, CHILD] >= 0 and halves[page, CHILD_END] > version:
        page = halves[page, CHILD]
        depth += 1
        io[READS] += 1
    return page, depth


@kernel
def _left_of(  # type: ignore[no-untyped-def]
    page: int, depth: int, version: int, halves: I32, buckets: I32, io: I64
):
    """The page before another in the list as it was at a version; -1 if there is none.

    `depth` says how far the search has gone down: pages on that way were read already.
    """
    header = halves[page]
    if header[END] == NOW:
        left = header[LEFT]
        if left < 0:
            line = buckets[header[BUCKET]]
            left = line[FIRST_CHILD] if line[FIRST_CHILD_END] > version else -1
        return (-1, 0) if left < 0 else _rightmost(left, 0, version, halves, io)
    if header[SIBLING] >= 0 and header[SIBLING_END] > version:
        return _rightmost(header[SIBLING], depth, version, halves, io)
    parent = header[PARENT]
    if depth == 0 and parent >= 0:
        io[READS] += 1
    return parent, max(depth - 1, 0)


@kernel
def _begun(page: int, version: int, halves: I32, records: int) -> int:
    """How many records of a page begin at a version or before: they lie in that order."""
    low, left = 2 * (HEADER + records), int(halves[page, COUNT])
    while left > 0:
        half = (left + 1) >> 1
        low += half * ((halves[page, low + half - 1] & NOW) <= version)
        left -= half
    return low - 2 * (HEADER + records)


@kernel
def _rank(oid: int) -> int:
    """Where an id belongs in a page that is in order: from 0 to 2**31 - 1, spread evenly."""
    low, high = oid & 0x7FFFFFFF, (oid >> 31) & 0x7FFFFFFF
    found = low * 0x9E3779B1
    found = (((found ^ (found >> 29)) & 0x7FFFFFFF) ^ high) * 0x85EBCA77
    return ((found ^ (found >> 30)) ^ (oid >> 62)) & 0x7FFFFFFF


@kernel
def _in_order(page: int, oid: int, version: int, words: I64, halves: I32, records: int) -> int:
    """What `_in_page` says, of a page that was put in order when it ceased to be useful."""
    first, count = 2 * (HEADER + records), int(halves[page, COUNT])
    rank = _rank(oid)
    at = (rank * count) >> 31
    while at < count and _rank(words[page, HEADER + at]) <= rank:
        at += 1
    while at > 0 and _rank(words[page, HEADER + at - 1]) > rank:
        at -= 1
    while at > 0:  # Behind the last record whose rank is not larger.
        at -= 1
        other = words[page, HEADER + at]
        if other == oid:
            if (halves[page, first + at] & NOW) <= version:
                end = halves[page, first + records + at]
                return at if end < 0 or version < end else -1
        elif _rank(other) != rank:
            break
    return -1


@kernel
def _in_page(page: int, oid: int, version: int, words: I64, halves: I32, records: int) -> int:
    """The place of the record of an id that is alive in a page at a version; -1 without one.

    Of the records of an id that have begun, the last one tells. Ids are compared in blocks, without
    a branch for each.
    """
    if halves[page, END] != NOW:
        return _in_order(page, oid, version, words, halves, records)
    stop = _begun(page, version, halves, records)
    ids = words[page]
    while stop > 0:
        start = max(stop - BLOCK, 0)
        block = words[page, HEADER + start : HEADER + stop]
        hits = 0
        for at in range(len(block)):
            hits += block[at] == oid
        if hits:
            at = stop - 1
            while ids[HEADER + at] != oid:
                at -= 1
            end = halves[page, 2 * (HEADER + records) + records + at]
            return at if end < 0 or version < end else -1
        stop = start
    return -1


@kernel
def find(  # type: ignore[no-untyped-def]
    bucket: int, oid: int, version: int, words, halves, buckets, trees, sizes, io
) -> int:
    """The pointer of an id of a bucket at a version; NOT_ALIVE where it was not there."""
    if bucket >= len(buckets):
        return NOT_ALIVE
    line = buckets[bucket]
    if line[ENTRIES] == 0:
        return NOT_ALIVE
    _count_tree(line, sizes, io)
    place = _position(line, trees, version)
    if place < 0:
        return NOT_ALIVE
    page, depth = trees[line[TREE] + place, 1], 0
    records = sizes[RECORDS]
    io[READS] += 1
    while page >= 0:
        at = _in_page(page, oid, version, words, halves, records)
        if at >= 0:
            return (
                halves[page, 2 * (HEADER + records) + 2 * records + at] if sizes[POINTERS] else -1
            )
        page, depth = _left_of(page, depth, version, halves, buckets, io)
    return NOT_ALIVE


@kernel
def find_many(  # type: ignore[no-untyped-def]
    event_buckets, ids, versions, words, halves, buckets, trees, sizes, io, found
) -> None:
    """What `find` says of each of many."""
    for i in range(len(ids)):
        found[i] = find(
            event_buckets[i], ids[i], versions[i], words, halves, buckets, trees, sizes, io
        )


@kernel
def alive_at(  # type: ignore[no-untyped-def]
    used, version, words, halves, buckets, trees, sizes, io, ids, pointers
) -> int:
    """Put the ids of some buckets at a version into `ids`. How many; -1 if there is no room."""
    records = sizes[RECORDS]
    first = 2 * (HEADER + records)
    done = 0
    for i in range(len(used)):
        if used[i] >= len(buckets):
            continue
        line = buckets[used[i]]
        if line[ENTRIES] == 0:
            continue
        _count_tree(line, sizes, io)
        place = _position(line, trees, version)
        if place < 0:
            continue
        page, depth = trees[line[TREE] + place, 1], 0
        io[READS] += 1
        while page >= 0:
            if done + records > len(ids):
                return -1
            for at in range(halves[page, COUNT]):
                end = halves[page, first + records + at]
                if (halves[page, first + at] & NOW) <= version and (end < 0 or version < end):
                    ids[done] = words[page, HEADER + at]
                    if sizes[POINTERS]:
                        pointers[done] = halves[page, first + 2 * records + at]
                    done += 1
            page, depth = _left_of(page, depth, version, halves, buckets, io)
    return done


@kernel
def was_alive(  # type: ignore[no-untyped-def]
    bucket: int, oid: int, since: int, until: int, words, halves, buckets, trees, sizes, io
) -> bool:
    """Whether an id of a bucket was alive there at some version from `since` to `until`."""
    if bucket >= len(buckets):
        return False
    line = buckets[bucket]
    records = sizes[RECORDS]
    first = 2 * (HEADER + records)
    last = _position(line, trees, until)
    if last < 0:
        return False
    if find(bucket, oid, since, words, halves, buckets, trees, sizes, io) > NOT_ALIVE:
        return True
    for place in range(max(_position(line, trees, since), 0), last + 1):
        page = trees[line[TREE] + place, 1]
        io[READS] += 1
        for at in range(halves[page, COUNT]):
            begun, end = halves[page, first + at] & NOW, halves[page, first + records + at]
            if end < 0:
                end = halves[page, END]
            if end != begun and words[page, HEADER + at] == oid and since < begun <= until:
                return True
    return False
