"""The loops of the index by counts: a hash table of nodes with open addresses.

The table holds a node and 0 where there is none: the node of nulls, which is 0, stands in no table.
A value is looked for from its home on, place by place, up to the first that is free. Kernels stop
where there is no room, and say how far they came. `visited` is one number, to which the places that
were looked at are added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_LOW = 0xFFFFFFFF
_MIX = 0x61C88647
"""The golden ratio in 31 bits: times 32 bits it stays below 2**63, so plain Python does as well."""


@kernel
def _home(key: int, mask: int) -> int:
    """The place at which a value is looked for first."""
    mixed = ((key ^ (key >> 32)) & _LOW) * _MIX
    return ((mixed >> 31) ^ (mixed >> 13)) & mask


@kernel
def locate_values(
    keys: I64,
    start: int,
    nodes: I32,
    table: I32,
    node_keys: I64,
    spare: I32,
    fresh: I32,
    places: I32,
    state: I64,
    visited: I64,
) -> int:
    """The node of each value from `start` on, made where there is none.

    `state` says how many nodes are spare, and how many are fresh: made since the order was, and
    `places` says where in `fresh`. Returns how many values have their nodes: less than all where no
    node is spare.
    """
    mask = len(table) - 1
    further = 0
    for i in range(start, len(keys)):
        key = keys[i]
        place = _home(key, mask)
        node = table[place]
        passed = 0
        while node != 0 and node_keys[node] != key:
            place = (place + 1) & mask
            node = table[place]
            passed += 1
        if node == 0:
            if state[0] == 0:
                visited[0] += i - start + further
                return i
            state[0] -= 1
            node = spare[state[0]]
            fresh[state[1]] = node
            places[node] = state[1]
            state[1] += 1
            node_keys[node] = key
            table[place] = node
        nodes[i] = node
        further += passed
    visited[0] += len(keys) - start + further
    return len(keys)


@kernel
def find_values(keys: I64, nodes: I32, table: I32, node_keys: I64, visited: I64) -> None:
    """The node of each value, -1 where there is none."""
    mask = len(table) - 1
    visited[0] += len(keys)
    for i in range(len(keys)):
        key = keys[i]
        place = _home(key, mask)
        node = table[place]
        while node != 0 and node_keys[node] != key:
            place = (place + 1) & mask
            node = table[place]
            visited[0] += 1
        nodes[i] = node if node != 0 else -1


@kernel
def fill_table(nodes: I32, table: I32, node_keys: I64) -> None:
    """Put nodes into a table. REQUIRES: it has room, and none of their values."""
    mask = len(table) - 1
    for i in range(len(nodes)):
        place = _home(node_keys[nodes[i]], mask)
        while table[place] != 0:
            place = (place + 1) & mask
        table[place] = nodes[i]


@kernel
def empty_places(nodes: I32, table: I32, node_keys: I64) -> None:
    """Take nodes out of a table. Those behind a place that is free then move up to it.

    One moves if its home is not behind the free place: it would not be found any more.
    """
    mask = len(table) - 1
    for node in nodes:
        free = _home(node_keys[node], mask)
        while table[free] != node:
            free = (free + 1) & mask
        place = (free + 1) & mask
        while table[place] != 0:
            home = _home(node_keys[table[place]], mask)
            if (place - home) & mask >= (place - free) & mask:
                table[free] = table[place]
                free = place
            place = (place + 1) & mask
        table[free] = 0


@kernel
def give_up(nodes: I32, spare: I32, fresh: I32, places: I32, is_over: Bools, state: I64) -> int:
    """Make nodes spare. Returns how many of them are in the order, and are over there.

    One that is fresh gives its place to the last that is.
    """
    ordered = 0
    for node in nodes:
        place = places[node]
        if place < 0:
            is_over[node] = True
            ordered += 1
        else:
            state[1] -= 1
            last = fresh[state[1]]
            fresh[place] = last
            places[last] = place
            places[node] = -1
        spare[state[0]] = node
        state[0] += 1
    return ordered


@kernel
def merge_order(order: I32, added: I32, merged: I32, node_keys: I64) -> None:
    """Two sorted lists of nodes as one."""
    i = 0
    j = 0
    for k in range(len(merged)):
        takes = j == len(added)
        if not takes and i < len(order):
            takes = node_keys[order[i]] < node_keys[added[j]]
        if takes:
            merged[k] = order[i]
            i += 1
        else:
            merged[k] = added[j]
            j += 1


@kernel
def counts_in_order(order: I32, counts: I64, amounts: I64) -> int:
    """The counts of nodes in an order. Returns how many are zero.

    A position without a sign is not looked at for being negative, so that several are read at once.
    """
    zeros = 0
    for k in range(len(order)):
        amount = counts[np.uint32(order[k])]
        amounts[k] = amount
        zeros += amount == 0
    return zeros


@kernel
def count_rows(nodes: I32, counts: I64, first: int, shown: int, oldest: int, leaves: int) -> int:
    """Count the rows from `first` to `shown`, and no more those from `oldest` to `leaves`.

    `nodes` is a circular array of the node of each row. Returns how many counts fell to zero.
    """
    mask = len(nodes) - 1
    for row in range(first, shown):
        counts[nodes[row & mask]] += 1
    fallen = 0
    for row in range(oldest, leaves):
        node = nodes[row & mask]
        counts[node] -= 1
        fallen += counts[node] == 0
    return fallen
