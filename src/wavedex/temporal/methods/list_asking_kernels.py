"""The loops that answer from evolving lists: the pages of a bucket as they followed each other.

FT of the bucket says which page was the first at a version, and NT of each page which one followed.
So every page that is read was in the list then (Section 4.2).

Whoever made the pages may have lists go round in circles. So no more pages are read than there are.
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
HEADER = 8
COUNT, LINKS = 0, 4
TABLE, LINES = 2, 3
RECORDS, USEFUL, LINKS_MOST, LINKS_AT, FANOUT, POINTERS, TABLES_ON_DISK = range(7)


@kernel
def _first_page(line: I32, tables: I32, version: int, sizes: I64, io: I64) -> int:
    """The first page of a bucket at a version; -1 if there was none. Counts what is read of FT."""
    if line[LINES] == 0:
        return -1
    io[READS] += 1
    if sizes[TABLES_ON_DISK]:
        pages = (line[LINES] + sizes[FANOUT] - 1) // sizes[FANOUT]
        while pages > 1:
            io[READS] += 1
            pages = (pages + sizes[FANOUT] - 1) // sizes[FANOUT]
    low, high = line[TABLE], line[TABLE] + line[LINES]
    while low < high:
        middle = (low + high) >> 1
        if tables[middle, 0] <= version:
            low = middle + 1
        else:
            high = middle
    return tables[low - 1, 1] if low > line[TABLE] else -1


@kernel
def _page_after(page: int, version: int, halves: I32, sizes: I64) -> int:
    """The page that followed another at a version; -1 if none did."""
    at = sizes[LINKS_AT]
    low, high = 0, halves[page, LINKS]
    while low < high:
        middle = (low + high) >> 1
        if halves[page, at + 2 * middle] <= version:
            low = middle + 1
        else:
            high = middle
    return halves[page, at + 2 * low - 1] if low else -1


@kernel
def _in_page(page: int, oid: int, version: int, words: I64, halves: I32, records: int) -> int:
    """The place of the record of an id that is alive in a page at a version; -1 without one.

    Records lie in the order of their beginnings. Of those of an id, the last that has begun tells.
    """
    first = 2 * (HEADER + records)
    low, high = 0, halves[page, COUNT]
    while low < high:
        middle = (low + high) >> 1
        if (halves[page, first + middle] & NOW) <= version:
            low = middle + 1
        else:
            high = middle
    for at in range(low - 1, -1, -1):
        if words[page, HEADER + at] == oid:
            end = halves[page, first + records + at]
            return at if end < 0 or version < end else -1
    return -1


@kernel
def find(bucket: int, oid: int, version: int, words, halves, buckets, tables, sizes, io) -> int:  # type: ignore[no-untyped-def]
    """The pointer of an id of a bucket at a version; NOT_ALIVE where it was not there."""
    if bucket >= len(buckets):
        return NOT_ALIVE
    records = sizes[RECORDS]
    page = _first_page(buckets[bucket], tables, version, sizes, io)
    left = len(words)
    while page >= 0 and left > 0:
        left -= 1
        io[READS] += 1
        at = _in_page(page, oid, version, words, halves, records)
        if at >= 0:
            pointers = 2 * (HEADER + records) + 2 * records
            return halves[page, pointers + at] if sizes[POINTERS] else -1
        page = _page_after(page, version, halves, sizes)
    return NOT_ALIVE


@kernel
def find_many(  # type: ignore[no-untyped-def]
    event_buckets, ids, versions, words, halves, buckets, tables, sizes, io, found
) -> None:
    """What `find` says of each of many."""
    for i in range(len(ids)):
        found[i] = find(
            event_buckets[i], ids[i], versions[i], words, halves, buckets, tables, sizes, io
        )


@kernel
def alive_at(  # type: ignore[no-untyped-def]
    used, version, words, halves, buckets, tables, sizes, io, ids, pointers
) -> int:
    """Put the ids of some buckets at a version into `ids`. How many; -1 if there is no room."""
    records = sizes[RECORDS]
    first = 2 * (HEADER + records)
    done = 0
    for i in range(len(used)):
        if used[i] >= len(buckets):
            continue
        page = _first_page(buckets[used[i]], tables, version, sizes, io)
        left = len(words)
        while page >= 0 and left > 0:
            left -= 1
            io[READS] += 1
            if done + records > len(ids):
                return -1
            for at in range(halves[page, COUNT]):
                end = halves[page, first + records + at]
                if (halves[page, first + at] & NOW) <= version and (end < 0 or version < end):
                    ids[done] = words[page, HEADER + at]
                    if sizes[POINTERS]:
                        pointers[done] = halves[page, first + 2 * records + at]
                    done += 1
            page = _page_after(page, version, halves, sizes)
    return done
