"""The loops of linear hashing of all records (Sections 3.2 and 5.1).

A bucket is a chain of pages, each full but the last. A page is a row of `words`, which `halves`
sees as 32-bit numbers. Pages that have left their chain are chained too, until one is wanted again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel, kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
F64 = npt.NDArray[np.float64]

NOW = 2**31 - 1
NOT_ALIVE = -2
READS, WRITES, SERIAL = 0, 1, 2
HEADER = 8

COUNT, NEXT = 0, 1
"""Places in the header of a page: its records, and the page after it in its chain."""
HEAD, HELD = 0, 1
"""Places in the line of a bucket: its first page, and how many records it holds."""
ROUND, FOLLOWING, TOTAL, CHAINED, USED, FREE, FIRST, RECORDS, MIXED, POINTERS = range(10)
"""Places in `shape`: round i and bucket p; records, and pages of chains; pages ever, and the first
that is free; and M, B, whether ids are mixed, and whether records have pointers."""
LOW, HIGH = 0, 1
"""Places in `bounds`: the load below which buckets are merged, and that above which one splits."""


@kernel
def _mixed(oid: int) -> int:
    """An id, spread over the numbers from 0 on; the same compiled or not."""
    low, high = oid & 0x7FFFFFFF, (oid >> 31) & 0x7FFFFFFF
    found = low * 0x9E3779B1
    found = (((found ^ (found >> 29)) & 0x7FFFFFFF) ^ high) * 0x85EBCA77
    found = (((found ^ (found >> 30)) & 0x7FFFFFFF) ^ ((oid >> 62) & 3)) * 0xC2B2AE3D
    return found ^ (found >> 32)


@kernel
def bucket_of(oid: int, shape: I64) -> int:
    """The bucket of an id: h_i, or h_(i+1) where that bucket has been split."""
    hashed = _mixed(oid) if shape[MIXED] else oid
    buckets = shape[FIRST] << shape[ROUND]
    bucket = hashed % buckets
    return bucket if bucket >= shape[FOLLOWING] else hashed % (2 * buckets)


@checked_kernel
def _read(page: int, stamps: I64, io: I64) -> None:
    """Count a page as read, once for each change."""
    if stamps[page, READS] != io[SERIAL]:
        stamps[page, READS] = io[SERIAL]
        io[READS] += 1


@checked_kernel
def _write(page: int, stamps: I64, io: I64) -> None:
    """Count a page as written, once for each change."""
    if stamps[page, WRITES] != io[SERIAL]:
        stamps[page, WRITES] = io[SERIAL]
        io[WRITES] += 1


@checked_kernel
def _open_page(shape: I64, halves: I32, stamps: I64, io: I64) -> int:
    """A page that is in no chain, and empty."""
    page = shape[FREE]
    if page >= 0:
        shape[FREE] = halves[page, NEXT]
    else:
        page = shape[USED]
        shape[USED] += 1
    halves[page, COUNT] = 0
    halves[page, NEXT] = -1
    stamps[page, READS] = io[SERIAL]  # What is new need not be read.
    _write(page, stamps, io)
    shape[CHAINED] += 1
    return page


@checked_kernel
def _close_pages(page: int, shape: I64, halves: I32) -> None:
    """Put a page and all that follow it in its chain among the free ones."""
    while page >= 0:
        following = halves[page, NEXT]
        halves[page, COUNT] = 0
        halves[page, NEXT] = shape[FREE]
        shape[FREE] = page
        shape[CHAINED] -= 1
        page = following


@checked_kernel
def _copy(source: int, at: int, target: int, to: int, shape: I64, words: I64, halves: I32) -> None:
    """Copy a record from one place to another."""
    words[target, HEADER + to] = words[source, HEADER + at]
    first = 2 * (HEADER + shape[RECORDS])
    for column in range(3 if shape[POINTERS] else 2):
        begin = first + column * shape[RECORDS]
        halves[target, begin + to] = halves[source, begin + at]


@checked_kernel
def _last_of(bucket: int, halves: I32, buckets: I32, stamps: I64, io: I64) -> int:
    """The last page of a bucket. Reads all of them."""
    page = buckets[bucket, HEAD]
    _read(page, stamps, io)
    while halves[page, NEXT] >= 0:
        page = halves[page, NEXT]
        _read(page, stamps, io)
    return page


@checked_kernel
def _roomy(page: int, shape: I64, halves: I32, stamps: I64, io: I64) -> int:
    """The last page of a chain, or another behind it where it is full."""
    _write(page, stamps, io)
    if halves[page, COUNT] < shape[RECORDS]:
        return page
    new = _open_page(shape, halves, stamps, io)
    halves[page, NEXT] = new
    return new


@checked_kernel
def _append(  # type: ignore[no-untyped-def]
    bucket, oid, version, pointer, shape, words, halves, buckets, stamps, io
) -> None:
    """Put a record that has not ended at the end of a bucket."""
    page = _last_of(bucket, halves, buckets, stamps, io)
    page = _roomy(page, shape, halves, stamps, io)
    at = halves[page, COUNT]
    records = shape[RECORDS]
    first = 2 * (HEADER + records)
    words[page, HEADER + at] = oid
    halves[page, first + at] = version
    halves[page, first + records + at] = NOW
    if shape[POINTERS]:
        halves[page, first + 2 * records + at] = pointer
    halves[page, COUNT] += 1
    buckets[bucket, HELD] += 1
    shape[TOTAL] += 1


@checked_kernel
def _split(source: int, target: int, shape: I64, words, halves, buckets, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Move the records that belong to a new bucket there. What stays moves up in its chain."""
    records = shape[RECORDS]
    tail = _open_page(shape, halves, stamps, io)
    buckets[target, HEAD], buckets[target, HELD] = tail, 0
    page = stay = buckets[source, HEAD]
    stay_at = moved = 0
    while page >= 0:
        _read(page, stamps, io)
        for at in range(halves[page, COUNT]):
            if bucket_of(words[page, HEADER + at], shape) == target:
                tail = _roomy(tail, shape, halves, stamps, io)
                _copy(page, at, tail, halves[tail, COUNT], shape, words, halves)
                halves[tail, COUNT] += 1
                moved += 1
            else:
                if stay_at == records:
                    stay, stay_at = halves[stay, NEXT], 0
                _write(stay, stamps, io)
                _copy(page, at, stay, stay_at, shape, words, halves)
                stay_at += 1
        page = halves[page, NEXT]
    _write(stay, stamps, io)
    _close_pages(halves[stay, NEXT], shape, halves)
    halves[stay, COUNT], halves[stay, NEXT] = stay_at, -1
    buckets[source, HELD] -= moved
    buckets[target, HELD] = moved


@checked_kernel
def _merge(source: int, target: int, shape: I64, words, halves, buckets, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Move all records of a bucket, which is no more, to the end of another."""
    tail = _last_of(target, halves, buckets, stamps, io)
    page = buckets[source, HEAD]
    while page >= 0:
        _read(page, stamps, io)
        for at in range(halves[page, COUNT]):
            tail = _roomy(tail, shape, halves, stamps, io)
            _copy(page, at, tail, halves[tail, COUNT], shape, words, halves)
            halves[tail, COUNT] += 1
        page = halves[page, NEXT]
    _close_pages(buckets[source, HEAD], shape, halves)
    buckets[target, HELD] += buckets[source, HELD]
    buckets[source, HEAD], buckets[source, HELD] = -1, 0


@checked_kernel
def _take_out(bucket: int, page: int, at: int, shape, words, halves, buckets, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Take a record out of a bucket: its last one takes the place."""
    last = _last_of(bucket, halves, buckets, stamps, io)
    _write(page, stamps, io)
    _write(last, stamps, io)
    if halves[last, COUNT] <= 0:
        raise IndexError("the last page of a bucket is empty")
    halves[last, COUNT] -= 1
    _copy(last, halves[last, COUNT], page, at, shape, words, halves)
    buckets[bucket, HELD] -= 1
    shape[TOTAL] -= 1
    before = buckets[bucket, HEAD]
    if halves[last, COUNT] == 0 and before != last:
        while halves[before, NEXT] != last:
            before = halves[before, NEXT]
        _write(before, stamps, io)
        halves[before, NEXT] = -1
        _close_pages(last, shape, halves)


@checked_kernel
def _end(bucket: int, oid: int, version: int, shape, words, halves, buckets, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """End the record of an id that is alive, which is searched page by page."""
    records = shape[RECORDS]
    first = 2 * (HEADER + records)
    page = buckets[bucket, HEAD]
    while page >= 0:
        _read(page, stamps, io)
        for at in range(halves[page, COUNT]):
            if words[page, HEADER + at] == oid and halves[page, first + records + at] == NOW:
                if halves[page, first + at] == version:
                    _take_out(bucket, page, at, shape, words, halves, buckets, stamps, io)
                else:
                    halves[page, first + records + at] = version
                    _write(page, stamps, io)
                return
        page = halves[page, NEXT]


@checked_kernel
def apply(  # type: ignore[no-untyped-def]
    ids, versions, signs, pointers, start, shape, bounds, words, halves, buckets, stamps, io
) -> int:
    """Take changes in from `start` on. The first for which there may be no room."""
    records = shape[RECORDS]
    for i in range(start, len(ids)):
        size = (shape[FIRST] << shape[ROUND]) + shape[FOLLOWING]
        moving = max(buckets[shape[FOLLOWING], HELD], buckets[size - 1, HELD]) + 1
        if shape[USED] + 4 + moving // records > len(words) or size + 1 > len(buckets):
            return i
        io[SERIAL] += 1
        bucket, held = bucket_of(ids[i], shape), shape[TOTAL]
        if signs[i] > 0:
            _append(
                bucket, ids[i], versions[i], pointers[i],
                shape, words, halves, buckets, stamps, io,
            )  # fmt: skip
        else:
            _end(bucket, ids[i], versions[i], shape, words, halves, buckets, stamps, io)
        load = shape[TOTAL] / (records * shape[CHAINED])
        if shape[TOTAL] > held and load > bounds[HIGH]:
            source = shape[FOLLOWING]
            shape[FOLLOWING] += 1
            if shape[FOLLOWING] == shape[FIRST] << shape[ROUND]:
                shape[ROUND] += 1
                shape[FOLLOWING] = 0
            _split(source, size, shape, words, halves, buckets, stamps, io)
        elif shape[TOTAL] < held and load < bounds[LOW] and size > shape[FIRST]:
            if shape[FOLLOWING] == 0:
                shape[ROUND] -= 1
                shape[FOLLOWING] = shape[FIRST] << shape[ROUND]
            shape[FOLLOWING] -= 1
            _merge(size - 1, shape[FOLLOWING], shape, words, halves, buckets, stamps, io)
    return len(ids)


@kernel
def find(oid: int, version: int, shape: I64, words: I64, halves: I32, buckets: I32, io: I64) -> int:
    """The pointer of an id at a version; NOT_ALIVE where it was not there."""
    records = shape[RECORDS]
    first = 2 * (HEADER + records)
    page = buckets[bucket_of(oid, shape), HEAD]
    while page >= 0:
        io[READS] += 1
        ids = words[page, HEADER : HEADER + halves[page, COUNT]]
        for at in range(len(ids)):
            if ids[at] != oid:
                continue
            if halves[page, first + at] <= version < halves[page, first + records + at]:
                return halves[page, first + 2 * records + at] if shape[POINTERS] else -1
        page = halves[page, NEXT]
    return NOT_ALIVE


@kernel
def find_many(ids: I64, versions: I32, shape: I64, words, halves, buckets, io, found) -> None:  # type: ignore[no-untyped-def]
    """What `find` says of each of many."""
    for i in range(len(ids)):
        found[i] = find(ids[i], versions[i], shape, words, halves, buckets, io)
