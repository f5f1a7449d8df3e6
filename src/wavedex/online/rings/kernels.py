"""The loops of rings that are walked: to link rows, and to take old ones out.

A row stands at a *position* of a pool. Its link leads to the next row of its ring, and from the
last row back to the index: a link below zero is `~node`. So a row does not know its node, and
whoever needs it follows the ring, as in the paper (003, Section 6). Rings run *forward*, from older
rows to newer ones, or *backward*.

Every loop returns how many rows and nodes it visited, so it knows nothing of how steps are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

NOWHERE = -1
"""No position. A link of that value leads to the node of nulls: the two do not meet."""
TOP, COUNT = 0, 1
"""What `Pool.free` has in which place."""


class Pool(NamedTuple):
    """Rows, in the order in which there was room for them."""

    numbers: I64
    """The arrival number of the row at each position; NOWHERE at those that are free."""
    links: I32
    """The next position in the ring, or `~node`; of a free position, the next free one."""
    places: I32
    """Where each row of the window stands, by arrival number, round a circle."""
    free: I64
    """The first free position, and how many there are."""


class Local(NamedTuple):
    """The auxiliary index: a list of the values of the newest basic window as they first came."""

    nodes: I32
    """The node that each value has in the index proper."""
    newest: I32
    """The position of the newest row of each."""
    size: I64
    """How many there are, in one place."""


@kernel
def _take(pool: Pool, row: int) -> int:
    """A free position, for a row."""
    pos = pool.free[TOP]
    pool.free[TOP] = pool.links[pos]
    pool.free[COUNT] -= 1
    pool.numbers[pos] = row
    pool.places[row & (len(pool.places) - 1)] = pos
    return pos


@kernel
def _give(pool: Pool, pos: int) -> None:
    """Make a position free."""
    pool.numbers[pos] = NOWHERE
    pool.links[pos] = pool.free[TOP]
    pool.free[TOP] = pos
    pool.free[COUNT] += 1


@kernel
def _walked(links: I32, pos: int) -> tuple[int, int]:
    """The last row of a ring from some row on, and how many were visited, both included."""
    visited = 1
    while links[pos] >= 0:
        pos = links[pos]
        visited += 1
    return pos, visited


@kernel
def _met(local: Local, node: int) -> int:
    """Where a value is in the auxiliary index; its size, if it is not there."""
    size = local.size[0]
    for which in range(size):
        if local.nodes[which] == node:
            return which
    return size


@kernel
def _append(pool: Pool, first: I32, node: int, pos: int) -> int:
    """Link a row after the last of a forward ring; returns how many rows were visited."""
    pool.links[pos] = ~node
    if first[node] == NOWHERE:
        first[node] = pos
        return 0
    last, visited = _walked(pool.links, first[node])
    pool.links[last] = pos
    return visited


@kernel
def link_simple(pool: Pool, nodes: I32, row: int, first: I32, last: I32) -> int:
    """Link rows from arrival number `row` on. Each walks its ring; its node notes it as `last`."""
    visited = 0
    for node in nodes:
        pos = _take(pool, row)
        visited += _append(pool, first, node, pos)
        last[node] = pos
        row += 1
    return visited


@kernel
def link_auxiliary(pool: Pool, local: Local, nodes: I32, row: int, first: I32) -> tuple[int, int]:
    """Link rows to forward rings; returns how many rows and how many local nodes were visited."""
    rows_visited, nodes_visited = 0, 0
    for node in nodes:
        pos = _take(pool, row)
        which, size = _met(local, node), local.size[0]
        if which < size:
            nodes_visited += which + 1
            pool.links[pos] = ~node
            pool.links[local.newest[which]] = pos
        else:
            nodes_visited += size
            rows_visited += _append(pool, first, node, pos)
            local.nodes[size] = node
            local.size[0] = size + 1
        local.newest[which] = pos
        row += 1
    return rows_visited, nodes_visited


@kernel
def link_backward(pool: Pool, local: Local, nodes: I32, row: int, newest: I32) -> int:
    """Link rows to backward rings; returns how many local nodes were visited, and no rows are."""
    visited = 0
    for node in nodes:
        pos = _take(pool, row)
        which, size = _met(local, node), local.size[0]
        if which < size:
            visited += which + 1
            older = local.newest[which]
        else:
            visited += size
            older = newest[node]
            local.nodes[size] = node
            local.size[0] = size + 1
        pool.links[pos] = ~node if older == NOWHERE else older
        local.newest[which] = pos
        row += 1
    return visited


@kernel
def unlink_forward(pool: Pool, start: int, stop: int, first: I32, end: I32) -> int:
    """Take rows out of forward rings, each by a walk from it back to the index."""
    visited = 0
    for row in range(start, stop):
        pos = pool.places[row & (len(pool.places) - 1)]
        last, steps = _walked(pool.links, pos)
        visited += steps
        node = ~pool.links[last]
        if pos == last:
            first[node] = NOWHERE
            end[node] = NOWHERE
        else:
            first[node] = pool.links[pos]
        _give(pool, pos)
    return visited


@kernel
def unlink_backward(pool: Pool, start: int, stop: int, newest: I32) -> int:
    """Take rows out of backward rings, all of one value by one walk round the ring."""
    visited = 0
    for row in range(stop - 1, start - 1, -1):
        youngest = pool.places[row & (len(pool.places) - 1)]
        if pool.numbers[youngest] != row:  # It left with a younger row of its value.
            continue
        link = youngest
        while link >= 0:
            pos, link = link, pool.links[link]
            _give(pool, pos)
            visited += 1
        node = ~link
        if newest[node] == youngest:
            newest[node] = NOWHERE
            continue
        pos = newest[node]
        visited += 1
        while pool.links[pos] != youngest:
            pos = pool.links[pos]
            visited += 1
        pool.links[pos] = ~node
    return visited


@kernel
def unlink_but_youngest(pool: Pool, start: int, stop: int, dirty: Bools) -> int:
    """Take all rows of each value but the youngest out, and the one that was left before."""
    visited = 0
    for row in range(stop - 1, start - 1, -1):
        youngest = pool.places[row & (len(pool.places) - 1)]
        if pool.numbers[youngest] != row:
            continue
        visited += 1
        link = pool.links[youngest]
        while link >= 0:
            pos, link = link, pool.links[link]
            _give(pool, pos)
            visited += 1
        pool.links[youngest] = link
        dirty[~link] = True
    return visited


@kernel
def forget_stale(pool: Pool, nodes: I32, newest: I32, dirty: Bools) -> None:
    """Let go of the rows that were left in rings in which nothing else is."""
    for node in nodes:
        if newest[node] != NOWHERE:
            _give(pool, newest[node])
            newest[node] = NOWHERE
        dirty[node] = False
