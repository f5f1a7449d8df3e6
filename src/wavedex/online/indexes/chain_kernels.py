"""Kernels for doubly linked lists of values, one for each bucket.

A node is a position in arrays. Node 0, that of nulls, stands in no list, so 0 marks the end of one.
Free nodes are a list, too. `state` holds how many positions were ever used, the first free node and
how many nodes there are in the lists. `visited` is one number, to which the nodes whose value was
looked at are added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NIL = 0
USED, FREE, SIZE = range(3)
LEFT_OUT = -1


@kernel
def _made(nexts: I32, state: I64) -> int:
    """A node of nobody's, or NIL where there is no room."""
    node = state[FREE]
    if node != NIL:
        state[FREE] = nexts[node]
    elif state[USED] < len(nexts):
        node = state[USED]
        state[USED] += 1
    if node != NIL:
        state[SIZE] += 1
    return node


@kernel
def _link(node: int, before: int, bucket: int, nexts: I32, previous: I32, heads: I32) -> None:
    """Put a node behind another, or at the head of its bucket if `before` is NIL."""
    after = heads[bucket] if before == NIL else nexts[before]
    nexts[node], previous[node] = after, before
    if after != NIL:
        previous[after] = node
    if before == NIL:
        heads[bucket] = node
    else:
        nexts[before] = node


@kernel
def locate_sorted(
    values: I64,
    nodes: I32,
    start: int,
    keys: I64,
    nexts: I32,
    previous: I32,
    heads: I32,
    state: I64,
    visited: I64,
) -> int:
    """Find the nodes of values from `start` on; make those that are missing, where they belong.

    Returns the position of the first value for which there was no room, or how many there are.
    """
    for pos in range(start, len(values)):
        value = values[pos]
        bucket = value % len(heads)
        before, node, looked = NIL, heads[bucket], 0
        while node != NIL:
            looked += 1
            if keys[node] >= value:
                break
            before, node = node, nexts[node]
        if node == NIL or keys[node] != value:
            node = _made(nexts, state)
            if node == NIL:
                return pos
            keys[node] = value
            _link(node, before, bucket, nexts, previous, heads)
        nodes[pos] = node
        visited[0] += looked
    return len(values)


@kernel
def locate_unsorted(
    values: I64,
    nodes: I32,
    start: int,
    keys: I64,
    nexts: I32,
    previous: I32,
    heads: I32,
    state: I64,
    visited: I64,
) -> int:
    """As `locate_sorted`, but a value that is missing is put at the head of its bucket."""
    for pos in range(start, len(values)):
        value = values[pos]
        bucket = value % len(heads)
        node, looked = heads[bucket], 0
        while node != NIL:
            looked += 1
            if keys[node] == value:
                break
            node = nexts[node]
        if node == NIL:
            node = _made(nexts, state)
            if node == NIL:
                return pos
            keys[node] = value
            _link(node, NIL, bucket, nexts, previous, heads)
        nodes[pos] = node
        visited[0] += looked
    return len(values)


@kernel
def find(
    values: I64, nodes: I32, is_sorted: bool, keys: I64, nexts: I32, heads: I32, visited: I64
) -> None:
    """Find the nodes of values; -1 for those that are missing."""
    for pos in range(len(values)):
        value = values[pos]
        node = heads[value % len(heads)]
        nodes[pos] = LEFT_OUT
        while node != NIL:
            visited[0] += 1
            if keys[node] == value:
                nodes[pos] = node
                break
            if is_sorted and keys[node] > value:
                break
            node = nexts[node]


@kernel
def merge(
    values: I64,
    nodes: I32,
    keys: I64,
    nexts: I32,
    previous: I32,
    heads: I32,
    state: I64,
    visited: I64,
) -> None:
    """As `locate_sorted`, of sorted values and with one bucket: one pass of both.

    REQUIRES: room for all values.
    """
    before, node, at = NIL, heads[0], NIL
    for pos in range(len(values)):
        value = values[pos]
        while node != NIL:
            if node != at:
                visited[0] += 1
                at = node
            if keys[node] >= value:
                break
            before, node = node, nexts[node]
        if node != NIL and keys[node] == value:
            nodes[pos] = node
        else:
            made = _made(nexts, state)
            keys[made] = value
            _link(made, before, 0, nexts, previous, heads)
            nodes[pos] = made
            before = made


@kernel
def between(
    low: int,
    high: int,
    is_sorted: bool,
    nodes: I32,
    keys: I64,
    nexts: I32,
    heads: I32,
    visited: I64,
) -> int:
    """Write down the nodes of the values from `low` to `high`, list by list: how many."""
    many = 0
    for bucket in range(len(heads)):
        node = heads[bucket]
        while node != NIL:
            visited[0] += 1
            if is_sorted and keys[node] > high:
                break
            if low <= keys[node] <= high:
                nodes[many] = node
                many += 1
            node = nexts[node]
    return many


@kernel
def take_out(nodes: I32, keys: I64, nexts: I32, previous: I32, heads: I32, state: I64) -> None:
    """Take nodes out of their lists; they are free then. No list is walked."""
    for node in nodes:
        after, before = nexts[node], previous[node]
        if after != NIL:
            previous[after] = before
        if before != NIL:
            nexts[before] = after
        else:
            heads[keys[node] % len(heads)] = after
        nexts[node] = state[FREE]
        state[FREE] = node
        state[SIZE] -= 1


@kernel
def rehash(nodes: I32, keys: I64, nexts: I32, previous: I32, heads: I32) -> None:
    """Make the lists anew of all nodes: each is put at the head of its bucket, in this order."""
    heads[:] = NIL
    for node in nodes:
        _link(node, NIL, keys[node] % len(heads), nexts, previous, heads)
