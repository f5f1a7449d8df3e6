"""Kernels for an AVL tree: the heights of two sons differ by one at most.

A node is a position in arrays. Its row in `links` holds its left and its right son, the node above
and its height. Node 0, that of nulls, stands in no tree: it is the son where there is none, and its
row stays all zeros. Free nodes are a list, linked as left sons. `state` holds how many positions
were ever used, the first free node, how many nodes the tree has and its root. `visited` is one
number, to which the nodes whose value was looked at are added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NIL = 0
LEFT, RIGHT, ABOVE, HEIGHT = range(4)
USED, FREE, SIZE, ROOT = range(4)
LEFT_OUT = -1
HEIGHT_MOST = 64
"""An AVL tree of 2 ** 32 nodes is 46 high at most."""


@kernel
def _made(links: I32, state: I64) -> int:
    """A node of nobody's without sons, or NIL where there is no room."""
    node = state[FREE]
    if node != NIL:
        state[FREE] = links[node, LEFT]
    elif state[USED] < len(links):
        node = state[USED]
        state[USED] += 1
    if node != NIL:
        links[node, LEFT], links[node, RIGHT], links[node, HEIGHT] = NIL, NIL, 1
        state[SIZE] += 1
    return node


@kernel
def _hang(node: int, above: int, side: int, links: I32, state: I64) -> None:
    """Make a node, or NIL, a son of another, or the root if that is NIL."""
    if above == NIL:
        state[ROOT] = node
    else:
        links[above, side] = node
    if node != NIL:
        links[node, ABOVE] = above


@kernel
def _side(node: int, links: I32) -> int:
    """Which son of the node above a node is. It does not matter which the root is."""
    return RIGHT if links[links[node, ABOVE], RIGHT] == node else LEFT


@kernel
def _measure(node: int, links: I32) -> None:
    """Write down the height of a node whose sons know theirs."""
    links[node, HEIGHT] = 1 + max(
        links[links[node, LEFT], HEIGHT], links[links[node, RIGHT], HEIGHT]
    )


@kernel
def _raise_son(node: int, side: int, links: I32, state: I64) -> int:
    """Rotate: the son on one side takes the node's place, and the node is its son. That son."""
    son = links[node, side]
    inner = links[son, 1 - side]
    _hang(son, links[node, ABOVE], _side(node, links), links, state)
    _hang(inner, node, side, links, state)
    _hang(node, son, 1 - side, links, state)
    _measure(node, links)
    _measure(son, links)
    return son


@kernel
def _balance(node: int, links: I32, state: I64) -> None:
    """Balance a node whose sons have changed, and those above while heights change."""
    while node != NIL:
        height = links[node, HEIGHT]
        lean = links[links[node, RIGHT], HEIGHT] - links[links[node, LEFT], HEIGHT]
        if -2 < lean < 2:
            _measure(node, links)
        else:
            side = RIGHT if lean > 0 else LEFT
            son = links[node, side]
            if links[links[son, side], HEIGHT] < links[links[son, 1 - side], HEIGHT]:
                _raise_son(son, 1 - side, links, state)
            node = _raise_son(node, side, links, state)
        if links[node, HEIGHT] == height:
            return
        node = links[node, ABOVE]


@kernel
def locate(
    values: I64, nodes: I32, start: int, keys: I64, links: I32, state: I64, visited: I64
) -> int:
    """Find the nodes of values from `start` on; make those that are missing, and balance.

    Returns the position of the first value for which there was no room, or how many there are.
    """
    for pos in range(start, len(values)):
        value = values[pos]
        above, side, looked = NIL, LEFT, 0
        node = state[ROOT]
        while node != NIL:
            looked += 1
            if keys[node] == value:
                break
            above = node
            side = RIGHT if keys[node] < value else LEFT
            node = links[node, side]
        if node == NIL:
            node = _made(links, state)
            if node == NIL:
                return pos
            keys[node] = value
            _hang(node, above, side, links, state)
            _balance(above, links, state)
        nodes[pos] = node
        visited[0] += looked
    return len(values)


@kernel
def find(values: I64, nodes: I32, keys: I64, links: I32, state: I64, visited: I64) -> None:
    """Find the nodes of values; -1 for those that are missing."""
    for pos in range(len(values)):
        value = values[pos]
        node = state[ROOT]
        nodes[pos] = LEFT_OUT
        while node != NIL:
            visited[0] += 1
            if keys[node] == value:
                nodes[pos] = node
                break
            node = links[node, RIGHT if keys[node] < value else LEFT]


@kernel
def between(
    low: int, high: int, nodes: I32, keys: I64, links: I32, state: I64, visited: I64
) -> int:
    """Write down the nodes of the values from `low` to `high` in order: how many.

    A left subtree is entered where its root's father is greater than `low`, a right one where it is
    less than `high`.
    """
    path = np.empty(HEIGHT_MOST, np.int32)
    depth, many = 0, 0
    node = state[ROOT]
    while node != NIL or depth > 0:
        if node != NIL:
            visited[0] += 1
            path[depth] = node
            depth += 1
            node = links[node, LEFT] if keys[node] > low else NIL
        else:
            depth -= 1
            last = path[depth]
            if low <= keys[last] <= high:
                nodes[many] = last
                many += 1
            node = links[last, RIGHT] if keys[last] < high else NIL
    return many


@kernel
def take_out(nodes: I32, links: I32, state: I64) -> None:
    """Take nodes out of the tree, and balance after each; they are free then.

    Of two sons, the place is taken by the next greater value. Nodes keep their values, for they
    are pointed at: only links change.
    """
    for node in nodes:
        left, right, above = links[node, LEFT], links[node, RIGHT], links[node, ABOVE]
        side = _side(node, links)
        if left == NIL or right == NIL:
            _hang(left if right == NIL else right, above, side, links, state)
            changed = above
        else:
            heir = right
            while links[heir, LEFT] != NIL:
                heir = links[heir, LEFT]
            changed = heir
            if heir != right:
                changed = links[heir, ABOVE]
                _hang(links[heir, RIGHT], changed, LEFT, links, state)
                _hang(right, heir, RIGHT, links, state)
            _hang(left, heir, LEFT, links, state)
            _hang(heir, above, side, links, state)
            links[heir, HEIGHT] = links[node, HEIGHT]
        _balance(changed, links, state)
        links[node, LEFT], links[node, RIGHT], links[node, HEIGHT] = state[FREE], NIL, 0
        state[FREE] = node
        state[SIZE] -= 1
