"""Kernels for the piece that fills up: sorted linked lists of values and counts, one a bucket.

A value has a position in arrays, given in the order in which values came first. Position 0 is
nobody's, so 0 marks the end of a list. `used` is one number: how many positions are given away, 0
included. `visited` is one number, to which the nodes whose value was looked at are added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NIL = 0


@kernel
def enter(
    values: I64,
    start: int,
    keys: I64,
    counts: I64,
    nexts: I32,
    heads: I32,
    used: I64,
    visited: I64,
) -> int:
    """Count values from `start` on; those that are new get a place in the list of their bucket.

    Returns the position of the first value for which there was no room, or how many there are.
    """
    several = len(heads) > 1
    for pos in range(start, len(values)):
        value = values[pos]
        bucket = value % len(heads) if several else 0  # A division takes as long as many nodes.
        before, place, looked = NIL, heads[bucket], 0
        while place != NIL:
            looked += 1
            if keys[place] >= value:
                break
            before, place = place, nexts[place]
        if place != NIL and keys[place] == value:
            counts[place] += 1
        else:
            made = used[0]
            if made == len(keys):
                return pos
            used[0] += 1
            keys[made], counts[made], nexts[made] = value, 1, place
            if before == NIL:
                heads[bucket] = made
            else:
                nexts[before] = made
        visited[0] += looked
    return len(values)


@kernel
def listed(nexts: I32, heads: I32, places: I32) -> None:
    """Write down all positions, list by list."""
    many = 0
    for bucket in range(len(heads)):
        place = heads[bucket]
        while place != NIL:
            places[many] = place
            many += 1
            place = nexts[place]


@kernel
def rehash(places: I32, keys: I64, nexts: I32, heads: I32) -> None:
    """Make the lists anew of all positions, which come in descending order of their values."""
    heads[:] = NIL
    for place in places:
        bucket = keys[place] % len(heads)
        nexts[place] = heads[bucket]
        heads[bucket] = place
