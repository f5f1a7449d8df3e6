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
def entries_of(table: I32, ids: I64, asked: I64, entries: I32) -> None:
    """The entry of each id; -1 where it has none."""
    for i in range(len(asked)):
        place = _place_of(table, ids, asked[i])
        entries[i] = table[place] if place >= 0 else -1


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
def fill(table: I32, ids: I64, is_alive: Bools) -> bool:
    """Fill an empty table with the entries of ids that are alive; False where one is twice."""
    for entry in range(len(ids)):
        if is_alive[entry]:
            place = _place_of(table, ids, ids[entry])
            if place >= 0:
                return False
            table[-1 - place] = entry
    return True


ROW, TOUCHED, EVENTS, NETS, SERIAL, SHORT = range(6)
"""Places in `progress`: rows done, entries touched at this instant, what was put out, instants, and
entries that are counted less than none."""
BEFORE, STAMP, FIRST = range(3)
"""Columns of `scratch`: the count before this instant, the instant of that, its first row."""


@kernel
def _settle(  # type: ignore[no-untyped-def]
    ids, table, known, free, tally, counts, scratch, touched, progress, events, nets
) -> None:
    """Put out what an instant came to: who is gone, then who is there, and all that counts more."""
    done, netted, added = progress[EVENTS], progress[NETS], 0
    for i in range(progress[TOUCHED]):
        entry = touched[i]
        was, now, row = scratch[entry, BEFORE], counts[entry], scratch[entry, FIRST]
        if was != now:
            nets[netted, 0], nets[netted, 1] = row, now - was
            netted += 1
        if was != 0 and now == 0:
            events[done, 0], events[done, 1], events[done, 2] = row, -1, entry
            done += 1
        if was == 0 and now != 0:
            touched[added] = entry
            added += 1
        if now == 0:
            _remove(table, known, free, tally, _place_of(table, known, ids[row]))
    for i in range(added):
        entry = touched[i]
        events[done, 0], events[done, 1], events[done, 2] = scratch[entry, FIRST], 1, entry
        done += 1
    progress[EVENTS], progress[NETS], progress[TOUCHED] = done, netted, 0
    progress[SERIAL] += 1


@kernel
def _fault(ids, deltas, known, counts, touched, last) -> int:  # type: ignore[no-untyped-def]
    """The last row of an instant that took from an id of which there are fewer than none."""
    place = 0
    while counts[touched[place]] >= 0:
        place += 1
    row = last
    while ids[row] != known[touched[place]] or deltas[row] >= 0:
        row -= 1
    return row


@kernel
def count(  # type: ignore[no-untyped-def]
    ids, deltas, ticks, table, known, free, tally, counts, scratch, touched, progress, events, nets
) -> int:
    """Count ids, of which each may be there many times. 0 when all is done, 1 for more room.

    What comes and goes at one tick has not changed. -1 where there would be fewer than none.
    """
    begun, entry = progress[ROW], table[0]
    for i in range(begun, len(ids)):
        progress[ROW] = i
        # The rows of a window often lie by their keys.
        if i == begun or ids[i] != ids[i - 1] or ticks[i] != ticks[i - 1]:
            if progress[TOUCHED] > 0 and ticks[i] != ticks[i - 1]:
                _settle(
                    ids, table, known, free, tally, counts, scratch, touched, progress, events, nets
                )
            if 2 * (tally[COUNT] - tally[FREE] + 1) > len(table) or tally[COUNT] == len(known):
                return 1
            # Often they come in the order in which they came before. An entry that is free has 0.
            entry += 1
            if entry >= tally[COUNT] or known[entry] != ids[i] or counts[entry] == 0:
                place = _place_of(table, known, ids[i])
                if place >= 0:
                    entry = table[place]
                else:
                    entry = _add(table, known, free, tally, -1 - place, ids[i])
                    counts[entry] = 0
            if scratch[entry, STAMP] != progress[SERIAL]:
                scratch[entry, STAMP] = progress[SERIAL]
                scratch[entry, BEFORE], scratch[entry, FIRST] = counts[entry], i
                touched[progress[TOUCHED]] = entry
                progress[TOUCHED] += 1
        was, now = counts[entry], counts[entry] + deltas[i]
        counts[entry] = now
        if (was < 0) != (now < 0):
            progress[SHORT] += 1 if now < 0 else -1
        if progress[SHORT] > 0 and (i + 1 == len(ids) or ticks[i + 1] != ticks[i]):
            progress[ROW] = _fault(ids, deltas, known, counts, touched, i)
            return -1
    progress[ROW] = len(ids)
    if progress[TOUCHED] > 0:
        _settle(ids, table, known, free, tally, counts, scratch, touched, progress, events, nets)
    return 0
