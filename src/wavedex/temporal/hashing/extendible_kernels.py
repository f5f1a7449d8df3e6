"""The loops of extendible hashing.

A bucket of local depth d holds the ids whose hashes agree in their last d bits, and these bits are
its number. A bucket that is split keeps its number, and the other half has one more bit in its own.
The directory leads from each ending of a hash, of as many bits as the directory is deep, to the
bucket.

When which number was that of a bucket stands in its *turns*: the versions at which it came, went,
and came again. What is alive lies in lists, one for each bucket, by its entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel, kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]

ADD, REMOVE, MOVE_IN, MOVE_OUT = 1, -1, 2, -2
DEPTH, LEAST, ALIVE, MOST, HISTORY, DEEPEST, TURNS, LONGEST, ABOVE, BELOW, MIXED = range(11)
"""Places in `shape`: the depth of the directory, and the least it can have; how many ids are alive;
how many numbers there ever were; lines of the history; buckets that are as deep as the directory;
what is used of `turns`, and the room of the largest run there; with more than how many ids a bucket
is split, and with fewer than how many together two are merged; and whether ids are mixed."""
BEGIN, COUNT, ROOM = range(3)
"""Places in the line of a number: where its turns begin, how many there are and have room."""
ROOM_MIN = 2
DEPTH_MORE = 2
"""The directory has up to this many bits more than it takes to count who is alive. So it cannot
grow without bounds where many ids have the same last bits."""
DEPTH_MOST = 28


@kernel
def _mixed(oid: int) -> int:
    """An id, spread over the numbers from 0 on; the same compiled or not."""
    low, high = oid & 0x7FFFFFFF, (oid >> 31) & 0x7FFFFFFF
    found = low * 0x9E3779B1
    found = (((found ^ (found >> 29)) & 0x7FFFFFFF) ^ high) * 0x85EBCA77
    found = (((found ^ (found >> 30)) & 0x7FFFFFFF) ^ ((oid >> 62) & 3)) * 0xC2B2AE3D
    return found ^ (found >> 32)


@kernel
def ending(oid: int, depth: int, shape: I64) -> int:
    """The last bits of the hash of an id."""
    hashed = _mixed(oid) if shape[MIXED] else oid
    return hashed & ((1 << depth) - 1)


@kernel
def _depth_limit(shape: I64) -> int:
    """How deep a bucket may be."""
    depth = DEPTH_MORE
    while shape[ALIVE] >> (depth - DEPTH_MORE):
        depth += 1
    return min(max(depth, shape[LEAST]), DEPTH_MOST)


@checked_kernel
def _link(entry: int, bucket: int, heads: I32, counts: I32, after: I32, before: I32) -> None:
    """Put an entry at the front of the list of a bucket."""
    head = heads[bucket]
    after[entry], before[entry] = head, -1
    if head >= 0:
        before[head] = entry
    heads[bucket] = entry
    counts[bucket] += 1


@checked_kernel
def _unlink(entry: int, bucket: int, heads: I32, counts: I32, after: I32, before: I32) -> None:
    """Take an entry out of the list of a bucket."""
    follows, precedes = after[entry], before[entry]
    if follows >= 0:
        before[follows] = precedes
    if precedes >= 0:
        after[precedes] = follows
    else:
        heads[bucket] = follows
    counts[bucket] -= 1


@checked_kernel
def _note(version: int, shape: I64, history: I32) -> None:
    """Remember the depth of the directory as of a version."""
    line = shape[HISTORY] - 1
    if history[line, 0] != version:
        line += 1
        shape[HISTORY] += 1
    history[line, 0], history[line, 1] = version, shape[DEPTH]


@checked_kernel
def _turn(number: int, version: int, shape: I64, lines: I32, turns: I32) -> None:
    """Remember that a number becomes or ceases to be that of a bucket. Twice is not at all."""
    line = lines[number]
    if line[COUNT] and turns[line[BEGIN] + line[COUNT] - 1] == version:
        line[COUNT] -= 1
        return
    if line[COUNT] == line[ROOM]:
        room = max(ROOM_MIN, 2 * line[ROOM])
        old, new = line[BEGIN], shape[TURNS]
        for i in range(line[COUNT]):
            turns[new + i] = turns[old + i]
        shape[TURNS] += room
        shape[LONGEST] = max(shape[LONGEST], room)
        line[BEGIN], line[ROOM] = new, room
    turns[line[BEGIN] + line[COUNT]] = version
    line[COUNT] += 1


@checked_kernel
def _split(  # type: ignore[no-untyped-def]
    bucket: int, version: int, shape, history, directory, depths, heads, counts, lines, turns
) -> int:
    """Have another bucket for one half of what belongs to a bucket, and return it, empty."""
    depth = depths[bucket]
    if depth == shape[DEPTH]:
        cells = 1 << shape[DEPTH]
        for cell in range(cells):
            directory[cells + cell] = directory[cell]
        shape[DEPTH] += 1
        shape[DEEPEST] = 0
        _note(version, shape, history)
    other = bucket | (1 << depth)
    depths[bucket] = depths[other] = depth + 1
    heads[other], counts[other] = -1, 0
    if depth + 1 == shape[DEPTH]:
        shape[DEEPEST] += 2
    for cell in range(other, 1 << shape[DEPTH], 1 << (depth + 1)):
        directory[cell] = other
    if other >= shape[MOST]:
        for number in range(shape[MOST], other):
            depths[number], counts[number] = -1, 0
        for number in range(shape[MOST], other + 1):
            lines[number, BEGIN] = lines[number, COUNT] = lines[number, ROOM] = 0
        shape[MOST] = other + 1
    _turn(other, version, shape, lines, turns)
    return other


@checked_kernel
def _merge(bucket: int, version: int, shape, history, directory, depths, lines, turns) -> int:  # type: ignore[no-untyped-def]
    """Have a bucket, which is empty, be part again of that which it was split from."""
    depth = depths[bucket]
    other = bucket ^ (1 << (depth - 1))
    depths[bucket], depths[other] = -1, depth - 1
    for cell in range(bucket, 1 << shape[DEPTH], 1 << depth):
        directory[cell] = other
    _turn(bucket, version, shape, lines, turns)
    if depth < shape[DEPTH]:
        return other
    shape[DEEPEST] -= 2
    if shape[DEEPEST] == 0:
        shape[DEPTH] -= 1
        for cell in range(1 << shape[DEPTH]):
            if depths[directory[cell]] == shape[DEPTH]:
                shape[DEEPEST] += 1
        _note(version, shape, history)
    return other


@checked_kernel
def plan(
    ids: I64, versions: I32, signs: I8, change_entries: I32, change_pointers: I32, start: int,
    shape: I64, history: I32, directory: I32, depths: I32, heads: I32, counts: I32, lines: I32,
    turns: I32, after: I32, before: I32, hashes: I64,
    buckets: I32, event_ids: I64, event_versions: I32, kinds: I8, entries: I32, pointers: I32,
) -> tuple[int, int]:  # fmt: skip
    """Take changes in, and write their events. The change that it stops before, and the events.

    It stops where there may be no room for one more change: for its events, for twice the
    directory, for lines of the history, or for turns.
    """
    done, at = 0, start
    while at < len(ids):
        entry, version = change_entries[at], versions[at]
        if signs[at] > 0:
            hashes[entry] = _mixed(ids[at]) if shape[MIXED] else ids[at]
        bucket = directory[hashes[entry] & ((1 << shape[DEPTH]) - 1)]
        cells, turning = 2 << shape[DEPTH], shape[DEPTH] + 1
        moving = max(counts[bucket] + 1, turning * shape[BELOW])
        if (
            done + 3 + 2 * moving > len(event_ids)
            or cells > min(len(directory), len(depths))
            or shape[HISTORY] + 1 > len(history)
            or shape[TURNS] + turning * (2 * shape[LONGEST] + ROOM_MIN) > len(turns)
        ):
            break
        buckets[done], event_ids[done], event_versions[done] = bucket, ids[at], version
        kinds[done] = ADD if signs[at] > 0 else REMOVE
        entries[done], pointers[done] = entry, change_pointers[at]
        done += 1
        at += 1
        if kinds[done - 1] == ADD:
            _link(entry, bucket, heads, counts, after, before)
            shape[ALIVE] += 1
            if counts[bucket] <= shape[ABOVE] or depths[bucket] >= _depth_limit(shape):
                continue
            bit = 1 << depths[bucket]
            other = _split(
                bucket, version, shape, history, directory, depths, heads, counts, lines, turns
            )
            entry = heads[bucket]
            while entry >= 0:
                follows = after[entry]
                if hashes[entry] & bit:
                    _unlink(entry, bucket, heads, counts, after, before)
                    _link(entry, other, heads, counts, after, before)
                    for kind in (MOVE_OUT, MOVE_IN):
                        buckets[done] = bucket if kind == MOVE_OUT else other
                        event_versions[done], kinds[done], entries[done] = version, kind, entry
                        event_ids[done], pointers[done] = 0, -1
                        done += 1
                entry = follows
            continue
        _unlink(entry, bucket, heads, counts, after, before)
        shape[ALIVE] -= 1
        while depths[bucket] > shape[LEAST]:
            depth = depths[bucket]
            leaving = bucket | (1 << (depth - 1))
            staying = leaving ^ (1 << (depth - 1))
            together = counts[staying] + counts[leaving]
            if depths[staying] != depths[leaving] or together >= shape[BELOW]:
                break
            while heads[leaving] >= 0:
                entry = heads[leaving]
                _unlink(entry, leaving, heads, counts, after, before)
                _link(entry, staying, heads, counts, after, before)
                for kind in (MOVE_OUT, MOVE_IN):
                    buckets[done] = leaving if kind == MOVE_OUT else staying
                    event_versions[done], kinds[done], entries[done] = version, kind, entry
                    event_ids[done], pointers[done] = 0, -1
                    done += 1
            bucket = _merge(leaving, version, shape, history, directory, depths, lines, turns)
    return at, done


@kernel
def _was_bucket(number: int, version: int, shape: I64, lines: I32, turns: I32) -> bool:
    """Whether a number was that of a bucket at a version."""
    if number >= shape[MOST]:
        return False
    begin = lines[number, BEGIN]
    low, high = begin, begin + lines[number, COUNT]
    while low < high:
        middle = (low + high) >> 1
        if turns[middle] <= version:
            low = middle + 1
        else:
            high = middle
    return (low - begin) & 1 == 1


@kernel
def bucket_at(oid: int, version: int, shape: I64, history: I32, lines: I32, turns: I32) -> int:
    """The bucket of an id at a version: the last bits of its hash, as many as there is one for."""
    low, high = 0, shape[HISTORY]
    while low < high:
        middle = (low + high) >> 1
        if history[middle, 0] <= version:
            low = middle + 1
        else:
            high = middle
    depth = int(history[max(low - 1, 0), 1])
    number, bit = ending(oid, depth, shape), 1 << depth
    while number and not _was_bucket(number, version, shape, lines, turns):
        while not number & bit:
            bit >>= 1
        number ^= bit
    return number


@kernel
def buckets_at(
    ids: I64, versions: I32, shape: I64, history: I32, lines: I32, turns: I32, found: I32
) -> None:
    """The bucket of each id at its version."""
    for i in range(len(ids)):
        found[i] = bucket_at(ids[i], versions[i], shape, history, lines, turns)


@kernel
def used_at(version: int, shape: I64, lines: I32, turns: I32, found: I32) -> int:
    """Put the numbers that were those of buckets at a version into `found`. How many."""
    count = 0
    for number in range(shape[MOST]):
        if _was_bucket(number, version, shape, lines, turns):
            found[count] = number
            count += 1
    return count
