"""The loops of the index by counts: a hash table of nodes with open addresses.

The table holds a node and 0 where there is none: the node of nulls, which is 0, stands in no table.
Kernels stop where there is no room, and say how far they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

_LOW = 0xFFFFFFFF
_MIX = 0x61C88647
"""The golden ratio in 31 bits: times 32 bits it stays below 2**63, so plain Python does as well."""


@kernel
def locate_values(
    keys: I64,
    start: int,
    nodes: I32,
    table: I32,
    node_keys: I64,
    spare: I32,
    fresh: I32,
    state: I64,
) -> int:
    """The node of each value from `start` on, made where there is none.

    `state` says how many nodes are spare, and how many are fresh: made since the order was. Returns
    how many values have their nodes: less than all where no node is spare.
    """
    mask = len(table) - 1
    for i in range(start, len(keys)):
        key = keys[i]
        mixed = ((key ^ (key >> 32)) & _LOW) * _MIX
        place = ((mixed >> 31) ^ (mixed >> 13)) & mask
        node = table[place]
        while node != 0 and node_keys[node] != key:
            place = (place + 1) & mask
            node = table[place]
        if node == 0:
            if state[0] == 0:
                return i
            state[0] -= 1
            node = spare[state[0]]
            fresh[state[1]] = node
            state[1] += 1
            node_keys[node] = key
            table[place] = node
        nodes[i] = node
    return len(keys)


@kernel
def find_values(keys: I64, nodes: I32, table: I32, node_keys: I64) -> None:
    """The node of each value, -1 where there is none."""
    mask = len(table) - 1
    for i in range(len(keys)):
        key = keys[i]
        mixed = ((key ^ (key >> 32)) & _LOW) * _MIX
        place = ((mixed >> 31) ^ (mixed >> 13)) & mask
        node = table[place]
        while node != 0 and node_keys[node] != key:
            place = (place + 1) & mask
            node = table[place]
        nodes[i] = node if node != 0 else -1


@kernel
def fill_table(nodes: I32, table: I32, node_keys: I64) -> None:
    """Put nodes into a table. REQUIRES: it has room, and none of their values."""
    mask = len(table) - 1
    for i in range(len(nodes)):
        key = node_keys[nodes[i]]
        mixed = ((key ^ (key >> 32)) & _LOW) * _MIX
        place = ((mixed >> 31) ^ (mixed >> 13)) & mask
        while table[place] != 0:
            place = (place + 1) & mask
        table[place] = nodes[i]


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
    """The counts of nodes in an order. Returns how many are zero."""
    zeros = 0
    for k in range(len(order)):
        amount = counts[order[k]]
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


def kernels() -> tuple[Any, ...]:
    """All of them, to be compiled ahead."""
    return (
        locate_values,
        find_values,
        fill_table,
        merge_order,
        counts_in_order,
        count_rows,
    )
