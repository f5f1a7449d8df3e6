"""The loops that answer from R*-trees.

A question is a range of ids and a range of versions. The record of a lifespan is an answer where it
begins before or at the end of that range, and ends after its beginning. What surrounds answers
passes the same test, be lifespans intervals or points: the lowest beginning and the highest end lie
in the same places of a box. So a search is the same on all levels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NOT_ALIVE = -2
READS = 0
COUNT = 0
ROOT, HEIGHT = 0, 1
LOW, HIGH, SINCE, UNTIL = range(4)
"""Places in `wanted`. All bounds are included."""


@kernel
def _begin(state: I64, path: I64) -> int:
    """Begin a search at the root. The level of that."""
    level = state[HEIGHT] - 1
    path[level, 0], path[level, 1] = state[ROOT], -1
    return level


@kernel
def _next(
    words: I64, halves: I32, columns: I64, wanted: I64, path: I64, level: int, io: I64
) -> bool:
    """Go on to the next record that is wanted: the path leads there. Whether there is one."""
    height = len(path)
    while level < height:
        page, at, count = path[level, 0], path[level, 1] + 1, halves[path[level, 0], COUNT]
        line = columns[min(level, 1)]
        lows, highs, starts, ends = line[0], line[1], line[2], line[-2]
        while at < count and (
            words[page, lows + at] > wanted[HIGH]
            or words[page, highs + at] < wanted[LOW]
            or halves[page, starts + at] > wanted[UNTIL]
            or halves[page, ends + at] <= wanted[SINCE]
        ):
            at += 1
        path[level, 1] = at
        if at == count:
            level += 1
        elif level == 0:
            return True
        else:
            level -= 1
            path[level, 0], path[level, 1] = halves[page, line[-1] + at], -1
            io[READS] += 1  # The root is in memory.
    return False


@kernel
def find_many(  # type: ignore[no-untyped-def]
    ids, versions, words, halves, columns, state, io, found
) -> None:
    """The pointer of each id at its version; NOT_ALIVE where it is not alive."""
    path, wanted = np.empty((state[HEIGHT], 2), np.int64), np.empty(4, np.int64)
    for i in range(len(ids)):
        wanted[LOW] = wanted[HIGH] = ids[i]
        wanted[SINCE] = wanted[UNTIL] = versions[i]
        found[i] = NOT_ALIVE
        if _next(words, halves, columns, wanted, path, _begin(state, path), io):
            pointers = columns[0, -1]
            found[i] = halves[path[0, 0], pointers + path[0, 1]] if pointers >= 0 else -1


@kernel
def collect(  # type: ignore[no-untyped-def]
    wanted, words, halves, columns, state, io, ids, starts, ends, pointers
) -> int:
    """Put all records that are wanted into arrays, as many as fit. How many there are."""
    path = np.empty((state[HEIGHT], 2), np.int64)
    level, count, line = _begin(state, path), 0, columns[0]
    while _next(words, halves, columns, wanted, path, level, io):
        if count < len(ids):
            page, at = path[0, 0], path[0, 1]
            ids[count] = words[page, line[0] + at]
            starts[count], ends[count] = halves[page, line[2] + at], halves[page, line[-2] + at]
            pointers[count] = halves[page, line[-1] + at] if line[-1] >= 0 else -1
        level = 0
        count += 1
    return count
