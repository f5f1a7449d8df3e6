"""The loops of linear hashing.

A file of linear hashing is what its `shape` says: at round i it has 2**i * M buckets and `next`
more, which those before `next` were split into. What is alive lies in lists, one for each bucket,
by its entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel, kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
F64 = npt.NDArray[np.float64]

ADD, REMOVE, MOVE_IN, MOVE_OUT = 1, -1, 2, -2
ROUND, NEXT, ALIVE, PAGES, MOST, HISTORY, FIRST, RECORDS, MIXED, CONTROLLED = range(10)
"""Places in `shape`: round i and bucket p; how many ids are alive and how many pages they take; how
many buckets there ever were; lines of the history; and M, B, whether ids are mixed, and whether
splits are controlled."""
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
def address(hashed: int, round_: int, following: int, first: int) -> int:
    """The bucket of an id by its hash: h_i, or h_(i+1) where that bucket has been split."""
    buckets = first << round_
    bucket = hashed % buckets
    return bucket if bucket >= following else hashed % (2 * buckets)


@kernel
def _pages_of(count: int, records: int) -> int:
    return 1 if count <= records else (count + records - 1) // records


@checked_kernel
def _link(entry: int, bucket: int, shape: I64, heads: I32, counts: I32, after: I32, before: I32):  # type: ignore[no-untyped-def]
    """Put an entry at the front of the list of a bucket."""
    head = heads[bucket]
    after[entry], before[entry] = head, -1
    if head >= 0:
        before[head] = entry
    heads[bucket] = entry
    count = counts[bucket] + 1
    counts[bucket] = count
    records = shape[RECORDS]
    shape[PAGES] += _pages_of(count, records) - _pages_of(count - 1, records)


@checked_kernel
def _unlink(entry: int, bucket: int, shape: I64, heads: I32, counts: I32, after: I32, before: I32):  # type: ignore[no-untyped-def]
    """Take an entry out of the list of a bucket."""
    follows, precedes = after[entry], before[entry]
    if follows >= 0:
        before[follows] = precedes
    if precedes >= 0:
        after[precedes] = follows
    else:
        heads[bucket] = follows
    count = counts[bucket] - 1
    counts[bucket] = count
    records = shape[RECORDS]
    shape[PAGES] += _pages_of(count, records) - _pages_of(count + 1, records)


@checked_kernel
def _note(version: int, shape: I64, history: I32) -> None:
    """Remember round and next bucket as of a version."""
    line = shape[HISTORY] - 1
    if line < 0 or history[line, 0] != version:
        line += 1
        shape[HISTORY] += 1
    history[line, 0] = version
    history[line, 1] = shape[ROUND]
    history[line, 2] = shape[NEXT]


@checked_kernel
def plan(
    ids: I64,
    versions: I32,
    signs: I8,
    change_entries: I32,
    change_pointers: I32,
    start: int,
    shape: I64,
    bounds: F64,
    history: I32,
    heads: I32,
    counts: I32,
    after: I32,
    before: I32,
    hashes: I64,
    buckets: I32,
    event_ids: I64,
    event_versions: I32,
    kinds: I8,
    entries: I32,
    pointers: I32,
) -> tuple[int, int]:
    """Take changes in, and write their events. The change that it stops before, and the events.

    It stops where there may be no room for one more change: for its events, for another bucket, or
    for a line of the history.
    """
    first, records = shape[FIRST], shape[RECORDS]
    done, at = 0, start
    while at < len(ids):
        size = (first << shape[ROUND]) + shape[NEXT]
        leaving = max(counts[shape[NEXT]], counts[size - 1])
        if (
            done + 3 + 2 * leaving > len(event_ids)
            or size + 1 > len(heads)
            or shape[HISTORY] + 1 > len(history)
        ):
            break
        entry, version = change_entries[at], versions[at]
        if signs[at] > 0:
            hashed = _mixed(ids[at]) if shape[MIXED] else ids[at]
            hashes[entry] = hashed
            bucket = address(hashed, shape[ROUND], shape[NEXT], first)
            _link(entry, bucket, shape, heads, counts, after, before)
            shape[ALIVE] += 1
        else:
            bucket = address(hashes[entry], shape[ROUND], shape[NEXT], first)
            _unlink(entry, bucket, shape, heads, counts, after, before)
            shape[ALIVE] -= 1
        buckets[done], event_ids[done], event_versions[done] = bucket, ids[at], version
        kinds[done] = ADD if signs[at] > 0 else REMOVE
        entries[done], pointers[done] = entry, change_pointers[at]
        done += 1
        at += 1
        load = shape[ALIVE] / (records * shape[PAGES])
        overflows = kinds[done - 1] == ADD and counts[bucket] > records
        source = target = -1
        if (load > bounds[HIGH]) if shape[CONTROLLED] else overflows:
            source, target = shape[NEXT], size
            heads[target], counts[target] = -1, 0
            shape[PAGES] += 1
            shape[MOST] = max(shape[MOST], target + 1)
            shape[NEXT] += 1
            if shape[NEXT] == first << shape[ROUND]:
                shape[ROUND] += 1
                shape[NEXT] = 0
        elif load < bounds[LOW] and size > first:
            if shape[NEXT] == 0:
                shape[ROUND] -= 1
                shape[NEXT] = first << shape[ROUND]
            shape[NEXT] -= 1
            source, target = size - 1, shape[NEXT]
        if source < 0:
            continue
        _note(version, shape, history)
        entry = heads[source]
        while entry >= 0:
            follows = after[entry]
            if address(hashes[entry], shape[ROUND], shape[NEXT], first) == target:
                _unlink(entry, source, shape, heads, counts, after, before)
                _link(entry, target, shape, heads, counts, after, before)
                for kind in (MOVE_OUT, MOVE_IN):
                    buckets[done] = source if kind == MOVE_OUT else target
                    event_versions[done], kinds[done], entries[done] = version, kind, entry
                    event_ids[done], pointers[done] = 0, -1
                    done += 1
            entry = follows
        if target < source:
            shape[PAGES] -= 1  # The bucket that was merged is gone, and so is its empty page.
    return at, done


@kernel
def _line_at(history: I32, lines: int, version: int) -> int:
    """The last line of the history that is not after a version; the first if all are."""
    low, high = 0, lines
    while low < high:
        middle = (low + high) >> 1
        if history[middle, 0] <= version:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@kernel
def bucket_at(history: I32, shape: I64, oid: int, version: int) -> int:
    """The bucket of an id at a version."""
    line = _line_at(history, shape[HISTORY], version)
    hashed = _mixed(oid) if shape[MIXED] else oid
    return address(hashed, history[line, 1], history[line, 2], shape[FIRST])


@kernel
def buckets_at(history: I32, shape: I64, ids: I64, versions: I32, found: I32) -> None:
    """The bucket of each id at its version."""
    for i in range(len(ids)):
        found[i] = bucket_at(history, shape, ids[i], versions[i])
