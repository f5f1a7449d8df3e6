"""The loops of the table of ids that are alive."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]

COUNT, FREE = 0, 1


@kernel
def _home(oid: int, size: int) -> int:
    """The place in a table of a power of two where the search for an id begins."""
    mixed = ((oid ^ (oid >> 31)) & 0x7FFFFFFF) * 0x9E3779B1  # Less than 2**63, compiled or not.
    return (mixed ^ (mixed >> 29)) & (size - 1)


@kernel
def _place_of(table: I32, ids: I64, oid: int) -> int:
    """The place of an id in the table; -1 - the free place where it would go."""
    mask = len(table) - 1
    place = _home(oid, len(table))
    while table[place] >= 0:
        if ids[table[place]] == oid:
            return place
        place = (place + 1) & mask
    return -1 - place


@kernel
def entry_of(table: I32, ids: I64, oid: int) -> int:
    """The entry of an id; -1 where it has none."""
    place = _place_of(table, ids, oid)
    return table[place] if place >= 0 else -1


@kernel
def _close(table: I32, ids: I64, hole: int) -> None:
    """Take a place out, and move up what would not be found behind it."""
    mask = len(table) - 1
    place = hole
    while True:
        place = (place + 1) & mask
        if table[place] < 0:
            break
        home = _home(ids[table[place]], len(table))
        if ((place - home) & mask) >= ((place - hole) & mask):
            table[hole] = table[place]
            hole = place
    table[hole] = -1


@kernel
def _add(table: I32, ids: I64, free: I32, tally: I64, place: int, oid: int) -> int:
    """Give an id an entry. `place` is free in the table."""
    if tally[FREE] > 0:
        tally[FREE] -= 1
        entry = free[tally[FREE]]
    else:
        entry = np.int32(tally[COUNT])
        tally[COUNT] += 1
    ids[entry] = oid
    table[place] = entry
    return entry


@kernel
def _remove(table: I32, ids: I64, free: I32, tally: I64, place: int) -> int:
    """Take the entry of an id away, and return it."""
    entry = table[place]
    _close(table, ids, place)
    free[tally[FREE]] = entry
    tally[FREE] += 1
    return entry


@kernel
def take(ids: I64, signs: I8, table: I32, known: I64, free: I32, tally: I64, entries: I32) -> int:
    """Add and remove ids, and note their entries; -1, or the first that cannot be, undone."""
    bad = -1
    for i in range(len(ids)):
        place = _place_of(table, known, ids[i])
        if (signs[i] > 0) == (place >= 0):
            bad = i
            break
        if signs[i] > 0:
            entries[i] = _add(table, known, free, tally, -1 - place, ids[i])
        else:
            entries[i] = _remove(table, known, free, tally, place)
    if bad >= 0:
        for i in range(bad - 1, -1, -1):
            place = _place_of(table, known, ids[i])
            if signs[i] > 0:
                _remove(table, known, free, tally, place)
            else:
                _add(table, known, free, tally, -1 - place, ids[i])
    return bad


@kernel
def fill(table: I32, ids: I64, is_free: Bools) -> None:
    """Fill an empty table with the entries that are not free."""
    for entry in range(len(ids)):
        if not is_free[entry]:
            table[-1 - _place_of(table, ids, ids[entry])] = entry
