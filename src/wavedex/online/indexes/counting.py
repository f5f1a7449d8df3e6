"""The index by counts, which is the default: a hash table, and the order of the values beside it.

A value is found in its table in one or two looks, whatever came before. The order of the values is
made when it is asked for, and made longer by merging in the values that came since: most windows
see the same values again and again, and then nothing is to be done for it. So a histogram in order
is one pass over the counts.

Values that are taken out leave the table one by one, and the order when it is next asked for. Where
many go at once the table is made anew.

COST: a search looks at one or two places. Taking out a few values costs a few places each, and
nothing more until the order is asked for: it is then looked through once, as an answer does anyway.
It is ours; the structures of the paper are beside it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wavedex.online.indexes.contract import I32, I64, NULL_NODE, Bools, SetIndex, plain
from wavedex.online.steps import ANSWER, COUNT, PURGE, SEARCH

_PLACES_A_NODE = 4
"""The table has at least so many: with two a third of all searches look at a second place."""
_SHARE = 8
"""Where more than one in so many values go at once, a new table is made sooner."""


class CountIndex(SetIndex):
    """Values in a hash table, and their order."""

    kind: ClassVar[str] = "counts"

    def __init__(self) -> None:
        from wavedex.online.indexes import counting_kernels

        super().__init__()
        self._kernels = counting_kernels
        self._spare: I32 = np.arange(self.room - 1, NULL_NODE, -1, dtype=np.int32)
        """Nodes that no value has; the next to be given away stands last."""
        self._fresh: I32 = np.zeros(self.room, np.int32)
        """Nodes that have a value and are not in the order yet."""
        self._places: I32 = np.full(self.room, -1, np.int32)
        """Where each node is among the fresh; -1 for others."""
        self._is_over: Bools = np.zeros(self.room, np.bool_)
        """Of each node, whether its value was taken out since the order was made."""
        self._over = 0
        """How many nodes of the order are over."""
        self._state: I64 = np.array([len(self._spare), 0], np.int64)
        """How many nodes are spare, and how many are fresh."""
        self._order: I32 = np.zeros(0, np.int32)
        self._sorted: I64 = np.zeros(0, np.int64)
        """The values in order. It is never written to: answers may share it."""
        self._new_table()

    @property
    def size(self) -> int:
        return self.room - 1 - int(self._state[0])

    def locate(self, keys: I64) -> I32:
        nodes = np.empty(len(keys), np.int32)
        self.locate_into(keys, nodes)
        return nodes

    def locate_into(self, keys: I64, nodes: I32) -> None:
        """Write the node of each value where it is wanted; one is made where there is none."""
        done = 0
        visited = self.steps[SEARCH : SEARCH + 1]
        while True:
            done = self._kernels.locate_values(
                keys,
                done,
                nodes,
                self._table,
                self.keys,
                self._spare,
                self._fresh,
                self._places,
                self._state,
                visited,
            )
            if done == len(keys):
                return
            self._grow()

    def find(self, keys: I64) -> I32:
        nodes = np.empty(len(keys), np.int32)
        visited = self.steps[SEARCH : SEARCH + 1]
        self._kernels.find_values(keys, nodes, self._table, self.keys, visited)
        return nodes

    def in_order(self) -> I32:
        order = self._in_order()
        self.steps[ANSWER] += len(order)
        return order

    def between(self, low: int | None, high: int | None) -> I32:
        order, keys = self._in_order(), self._sorted
        start = 0 if low is None else int(np.searchsorted(keys, low, "left"))
        stop = len(keys) if high is None else int(np.searchsorted(keys, high, "right"))
        self.steps[ANSWER] += max(stop - start, 0)
        return order[start:stop]

    def counted(self, side: int = 0) -> tuple[I64, I64]:
        """The values that are there, in order, and how often each is; without nulls.

        The values are the same array as before where all of them are there, and no others.
        """
        order = self._in_order()
        self.steps[ANSWER] += len(order)
        amounts = np.empty(len(order), np.int64)
        if not self._kernels.counts_in_order(order, self.counts[side], amounts):
            return self._sorted, amounts
        there = amounts != 0
        return self._sorted[there], amounts[there]

    def count_rows(
        self, nodes: I32, first: int, shown: int, oldest: int, leaves: int, side: int = 0
    ) -> None:
        """Count rows by the circular array of their nodes, and no more those that leave."""
        fallen = self._kernels.count_rows(nodes, self.counts[side], first, shown, oldest, leaves)
        self.steps[COUNT] += shown - first + leaves - oldest
        if fallen and self.lists_zeros:
            left = nodes[np.arange(oldest, leaves) & (len(nodes) - 1)]
            self._note_zeros(left, np.full(len(left), -1))

    def rekey(self, old: I64, new: I64) -> None:
        nodes = self._used()
        keys = self.keys[nodes]
        places = np.minimum(np.searchsorted(old, keys), len(old) - 1)
        known = old[places] == keys
        self.keys[nodes[known]] = new[places[known]]
        self._sorted = self.keys[self._order]
        self._new_table()

    def _take_out(self, nodes: I32) -> None:
        """COST: a few places a value; all of the table where more than an eighth of them go."""
        nodes = plain(nodes, np.int32)
        is_few = len(nodes) * _SHARE <= self.size
        if is_few:
            self._kernels.empty_places(nodes, self._table, self.keys)
        lists = (self._spare, self._fresh, self._places, self._is_over, self._state)
        self._over += self._kernels.give_up(nodes, *lists)
        if not is_few:
            self._new_table()

    def _scanned(self) -> I32:
        nodes = self._used()
        self.steps[PURGE] += len(nodes)
        return nodes

    def _used(self) -> I32:
        """The nodes of all values."""
        self._leave_order()
        return np.concatenate([self._order, self._fresh[: self._state[1]]])

    def _leave_order(self) -> None:
        """Take the nodes that are over out of the order, in which they may have been given anew."""
        if self._over:
            kept = ~self._is_over[self._order]
            self._order, self._sorted = self._order[kept], self._sorted[kept]
            self._is_over[:] = False
            self._over = 0

    def _in_order(self) -> I32:
        self._leave_order()
        fresh = int(self._state[1])
        if fresh:
            added = self._fresh[:fresh]
            added = added[np.argsort(self.keys[added], kind="stable")]
            merged = np.empty(len(self._order) + fresh, np.int32)
            self._kernels.merge_order(self._order, added, merged, self.keys)
            self._order, self._state[1] = merged, 0
            self._places[added] = -1
            self._sorted = self.keys[merged]
        return self._order

    def _grow(self) -> None:
        """Make room for twice as many nodes. REQUIRES: no node is spare."""
        room = self.room
        self.keys = np.concatenate([self.keys, np.zeros(room, np.int64)])
        self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)], axis=1)
        self._fresh = np.concatenate([self._fresh, np.zeros(room, np.int32)])
        self._places = np.concatenate([self._places, np.full(room, -1, np.int32)])
        self._is_over = np.concatenate([self._is_over, np.zeros(room, np.bool_)])
        self._spare = np.zeros(2 * room, np.int32)
        self._spare[:room] = np.arange(2 * room - 1, room - 1, -1)
        self._state[0] = room
        self._new_table()

    def _new_table(self) -> None:
        """Make a table that has room for all nodes there may be."""
        bits = (self.room * _PLACES_A_NODE - 1).bit_length()
        self._table: I32 = np.zeros(1 << bits, np.int32)
        self._kernels.fill_table(self._used(), self._table, self.keys)
