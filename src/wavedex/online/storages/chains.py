"""Pieces made in sorted linked lists: what AGGR, HASH and GROUP have in common.

The newest piece fills up as lists (`wavedex.online.storages.newest`). A complete one is changed no
more, so it is kept as two arrays, list after list: the values and their counts. With an index the
nodes of the values stand for them (domain storage), for a value with a count keeps its node.

Pointers are made in the order in which values came first, both eagerly and lazily. So both cost the
same.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavedex.online.indexes.contract import NULL_NODE, SetIndex, rekeyed
from wavedex.online.steps import ANSWER, STORE
from wavedex.online.storages.contract import Storage
from wavedex.online.storages.newest import Newest

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Piece(NamedTuple):
    """What a complete basic window keeps of an attribute."""

    keys: I64
    """Its values, each once; none where there are nodes."""
    nodes: I32
    """The nodes of its values; none where there is no domain storage."""
    counts: I64
    """How often each value came."""
    nulls: int
    """How many rows had no value."""


class ChainStorage(Storage):
    """Pieces that are sorted linked lists while they fill up, and compact after."""

    def __init__(self, index: SetIndex | None, *, buckets: int, eager: bool = True) -> None:
        super().__init__(index, eager=eager)
        self._domain: SetIndex | None = index
        """The index at whose nodes pieces point, if they do."""
        self._newest = Newest(buckets)
        self._pieces: deque[Piece] = deque()

    def enter(self, keys: I64, nulls: int) -> None:
        self._newest.enter(keys, nulls, self.steps[STORE : STORE + 1])
        if self.eager:
            self._point()

    def _point(self) -> None:
        """Have all values of the newest basic window point at their nodes."""
        if self._domain is not None:
            unknown = self._newest.keys[self._newest.pointing :]
            if len(unknown):
                self._newest.point(self._domain.locate(unknown))

    def slide(self, *, completes: bool, expires: bool) -> None:
        newest = self._completed() if completes else None
        if newest is not None:
            self._pieces.append(newest)
        self._count(newest, self._pieces.popleft() if expires else None)

    def _completed(self) -> Piece:
        """Make the newest basic window compact, and begin another."""
        newest = self._newest
        self._point()
        order = newest.listed()
        has_nodes = self._domain is not None
        piece = Piece(
            newest.keys[order[:0] if has_nodes else order],
            newest.nodes[order if has_nodes else order[:0]],
            newest.counts[order],
            newest.nulls,
        )
        newest.clear()
        return piece

    def _count(self, newest: Piece | None, oldest: Piece | None) -> None:
        """Count a piece in the index, and count another no more.

        The new one is first, so that the count of a value that both have does not fall to zero.
        """
        for piece, sign in ((newest, 1), (oldest, -1)):
            if self.index is not None and piece is not None:
                self.index.count(piece.nodes, sign * piece.counts, self.side)
                self._count_nulls(sign * piece.nulls)

    def _count_nulls(self, amount: int) -> None:
        if self.index is not None and amount:
            node, amounts = np.array([NULL_NODE], np.int32), np.array([amount], np.int64)
            self.index.count(node, amounts, self.side)

    def pointed(self, room: int) -> Bools:
        found = np.zeros(room, np.bool_)
        found[self._newest.nodes] = True
        return found

    def held(self) -> I64:
        waiting = self._newest.keys[self._newest.pointing :]
        return np.concatenate([waiting, *(piece.keys for piece in self._pieces)])

    def histogram(self) -> tuple[I64, I64, int]:
        """The values in the window in order, how often each is there, and how many nulls.

        The pieces are merged: a stable sort merges sorted lists. Each of their nodes is a step.
        """
        none = np.zeros(0, np.int64)
        keys = np.concatenate([none, *(self._keys_of(each) for each in self._pieces)])
        counts = np.concatenate([none, *(each.counts for each in self._pieces)])
        self.steps[ANSWER] += len(keys)
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
        nulls = sum(each.nulls for each in self._pieces)
        return keys[starts], np.add.reduceat(counts, starts) if len(starts) else none, nulls

    def _keys_of(self, piece: Piece) -> I64:
        return piece.keys if self._domain is None else self._domain.keys[piece.nodes]

    def rekey(self, old: I64, new: I64) -> None:
        """Give values other numbers. Those of nodes are the index's, which is told by others."""
        self._newest.rekey(old, new)
        self._pieces = deque(
            each._replace(keys=rekeyed(each.keys, old, new)) for each in self._pieces
        )

    @property
    def nbytes(self) -> int:
        pieces = (array for each in self._pieces for array in (each.keys, each.nodes, each.counts))
        return self._newest.nbytes + sum(array.nbytes for array in pieces)
