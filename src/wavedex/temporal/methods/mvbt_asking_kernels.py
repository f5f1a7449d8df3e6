"""The loops that answer from a multiversion B-tree, on the way from a root down to a leaf.

A directory leads to the page with the greatest id, up to the id that is sought, of those pages that
were there at a version. Whoever needs more than one leaf goes down again to the next one, to the
right or in time. What it has read on its way before is not counted again.

Whoever made the pages may have directories lead anywhere. So a page is looked at only where it is
there and on the level where it should be, and a search goes to the right and on in time only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NOW = 2**31 - 1
NOT_ALIVE = -2
READS = 0
COUNT, ALIVE, START, END, LEVEL = range(5)
RECORDS, LEAST, SPARE, POINTERS = range(4)
LEVELS_MAX = 40
HEADER = 8


@kernel
def _after(page, oid, words, halves) -> int:  # type: ignore[no-untyped-def]
    """How many records of a page have an id up to this one."""
    before, left = 0, halves[page, COUNT]
    while left > 1:
        half = left >> 1
        before += half * (words[page, HEADER + before + half - 1] <= oid)
        left -= half
    return before + 1 if left and words[page, HEADER + before] <= oid else before


@kernel
def _is_there(page, at, version, first, records, halves) -> bool:  # type: ignore[no-untyped-def]
    """Whether a record is alive at a version."""
    return (
        halves[page, first + at] <= version
        and version < halves[page, first + records + at]
    )  # fmt: skip


@kernel
def _child(page, oid, version, words, halves, sizes) -> int:  # type: ignore[no-untyped-def]
    """The place in a directory of the page that holds an id at a version."""
    records = sizes[1, RECORDS]
    first = 2 * (HEADER + records)
    at = _after(page, oid, words, halves) - 1
    while at > 0 and not _is_there(page, at, version, first, records, halves):
        at -= 1
    return at


@kernel
def _page_below(page, at, level, halves, sizes) -> int:  # type: ignore[no-untyped-def]
    """The page at a place in a directory; -1 where none of that level is there."""
    records = sizes[1, RECORDS]
    found = halves[page, 2 * (HEADER + records) + 2 * records + at]
    return found if 0 <= found < len(halves) and halves[found, LEVEL] == level else -1


@kernel
def _record(page, oid, version, words, halves, sizes) -> int:  # type: ignore[no-untyped-def]
    """The place in a leaf of the record of an id that is alive at a version; -1 without one."""
    records = sizes[0, RECORDS]
    first = 2 * (HEADER + records)
    at = _after(page, oid, words, halves) - 1
    while at >= 0 and words[page, HEADER + at] == oid:
        if _is_there(page, at, version, first, records, halves):
            return at
        at -= 1
    return -1


@kernel
def _root_at(version, roots) -> int:  # type: ignore[no-untyped-def]
    """The root of a version, by root*; -1 before the first change."""
    low, high = 0, len(roots)
    while low < high:
        middle = (low + high) >> 1
        if roots[middle, 0] <= version:
            low = middle + 1
        else:
            high = middle
    return roots[low - 1, 1] if low else -1


@kernel
def find(oid, version, io, words, halves, roots, sizes) -> int:  # type: ignore[no-untyped-def]
    """The pointer of an id at a version; NOT_ALIVE where it was not there."""
    page = _root_at(version, roots)
    if page < 0:
        return NOT_ALIVE
    for level in range(halves[page, LEVEL] - 1, -1, -1):
        io[READS] += 1
        place = _child(page, oid, version, words, halves, sizes)
        page = _page_below(page, place, level, halves, sizes)
        if page < 0:
            return NOT_ALIVE
    io[READS] += 1
    at = _record(page, oid, version, words, halves, sizes)
    if at < 0:
        return NOT_ALIVE
    records = sizes[0, RECORDS]
    return halves[page, 2 * (HEADER + records) + 2 * records + at] if sizes[0, POINTERS] else -1


@kernel
def find_many(ids, versions, found, io, words, halves, roots, sizes) -> None:  # type: ignore[no-untyped-def]
    """What `find` says of each of many."""
    for i in range(len(ids)):
        found[i] = find(ids[i], versions[i], io, words, halves, roots, sizes)


@kernel
def _leaf_at(oid, version, path, io, words, halves, roots, sizes) -> tuple[int, int, bool]:  # type: ignore[no-untyped-def]
    """The leaf of an id at a version, the least id of the next leaf, and whether it is the last.

    `path` holds for each level the page that was read last, which is not counted again.
    """
    page, above, is_last = _root_at(version, roots), 0, True
    if page < 0:
        return page, above, is_last
    records = sizes[1, RECORDS]
    first = 2 * (HEADER + records)
    for level in range(halves[page, LEVEL], -1, -1):
        if path[level] != page:
            path[level] = page
            io[READS] += 1
        if level == 0:
            break
        place = _child(page, oid, version, words, halves, sizes)
        for at in range(place + 1, halves[page, COUNT]):
            if _is_there(page, at, version, first, records, halves):
                above, is_last = words[page, HEADER + at], False
                break
        page = _page_below(page, place, level - 1, halves, sizes)
        if page < 0:
            break
    return page, above, is_last


@kernel
def between(  # type: ignore[no-untyped-def]
    low, high, version, ids, pointers, io, words, halves, roots, sizes
) -> int:
    """Put the ids of a range at a version into `ids`, in order. How many; -1 without room."""
    path = np.full(LEVELS_MAX, -1, np.int64)
    records = sizes[0, RECORDS]
    first = 2 * (HEADER + records)
    done, sought = 0, low
    while True:
        page, above, is_last = _leaf_at(sought, version, path, io, words, halves, roots, sizes)
        if page < 0:
            return done
        if done + records > len(ids):
            return -1
        for at in range(halves[page, COUNT]):
            oid = words[page, HEADER + at]
            if low <= oid <= high and _is_there(page, at, version, first, records, halves):
                ids[done] = oid
                if sizes[0, POINTERS]:
                    pointers[done] = halves[page, first + 2 * records + at]
                done += 1
        if is_last or above > high or above <= sought:
            return done
        sought = above


@kernel
def leaves_of(oid, leaves, io, words, halves, roots, sizes) -> int:  # type: ignore[no-untyped-def]
    """The leaves of an id, one after the other in time. How many they are."""
    path = np.full(LEVELS_MAX, -1, np.int64)
    count = 0
    version = roots[0, 0] if len(roots) else NOW
    while version < NOW:
        page, _, _ = _leaf_at(oid, version, path, io, words, halves, roots, sizes)
        if page < 0 or halves[page, END] <= version:
            break
        leaves[count] = page
        count += 1
        version = halves[page, END]
    return count


@kernel
def was_alive(oid, since, until, io, words, halves, roots, sizes) -> bool:  # type: ignore[no-untyped-def]
    """Whether an id was alive at some version from `since` to `until`."""
    path = np.full(LEVELS_MAX, -1, np.int64)
    records = sizes[0, RECORDS]
    first = 2 * (HEADER + records)
    version = max(since, roots[0, 0]) if len(roots) else NOW
    while version <= until and version < NOW:
        page, _, _ = _leaf_at(oid, version, path, io, words, halves, roots, sizes)
        if page < 0 or halves[page, END] <= version:
            break
        left = halves[page, END]
        at = _after(page, oid, words, halves) - 1
        while at >= 0 and words[page, HEADER + at] == oid:
            begun = halves[page, first + at]
            if begun <= until and begun < left and since < halves[page, first + records + at]:
                return True
            at -= 1
        version = left
    return False
