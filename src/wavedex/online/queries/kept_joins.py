"""The join of two windows, kept as they slide (003, Section 4.1, mode 4).

A result belongs to whichever of its two rows could be seen later: it was found when the basic
window of that row came. So results come in *pieces*, one for each basic window of either side. In a
piece they stand by the basic windows of the other side, the oldest first. Then nothing is looked
for when rows leave:

- A basic window that leaves takes its own piece with it.
- In the pieces of the other side, its results stand in front. They are left out when the result is
  asked for, and a piece goes once all of it has left.

COST: a basic window costs the new results; one that leaves costs nothing but its piece.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wavedex.online.contents import BasicWindow, Slide
from wavedex.online.queries.pairing import Pairing, matched

if TYPE_CHECKING:
    from wavedex.online.window import Window


class Piece(NamedTuple):
    """The results that a basic window brought."""

    number: int
    """The number of the basic window."""
    rows: pa.RecordBatch
    """The results, by the basic windows of the other side."""
    firsts: Sequence[int]
    """The first row of each basic window of the other side, as these were then."""
    starts: Sequence[int]
    """Where the results of each begin, and where the last end."""
    bound: int
    """One past the last row of the other side that could be seen."""

    def left(self, oldest: int) -> int:
        """How many of the results have left, where row `oldest` is the first of the other side."""
        return self.starts[bisect_left(self.firsts, oldest)]


class _Listener:
    """Is told of the basic windows of one side."""

    def __init__(self, join: KeptJoin, side: int) -> None:
        self._join, self._side = join, side

    def slid(self, slide: Slide) -> None:
        self._join.slid(self._side, slide)


class KeptJoin:
    """The results of a join as they are now.

    >>> from wavedex.online import Window
    >>> left = Window({"k": pa.int64(), "a": pa.string()}, rows=2, basic=1, ring=["k"])
    >>> right = Window({"k": pa.int64(), "b": pa.string()}, rows=2, basic=1, ring=["k"])
    >>> join = KeptJoin(left, right, "k")
    >>> left.push({"k": [1, 2], "a": ["p", "q"]}), right.push({"k": 1, "b": "x"})
    (2, 1)
    >>> join.result().to_pylist()
    [{'k': 1, 'a': 'p', 'b': 'x'}]
    >>> left.push({"k": 3, "a": "r"}), join.result().num_rows
    (1, 0)
    """

    def __init__(
        self,
        window: Window,
        other: Window,
        on: str,
        other_on: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        """Join what can be seen, and follow both windows. Raises BadDefinition, MissingColumn."""
        self._pairing = Pairing(window, other, on, other_on, columns)
        window.turn.tie(other.turn)  # Either reads what the other has as it slides.
        self._pieces: tuple[deque[Piece], deque[Piece]] = (deque(), deque())
        for basic in window.basics():
            self._add(0, basic)
        self._newest = [window.complete, other.complete]
        self._listeners = [(window, _Listener(self, 0)), (other, _Listener(self, 1))]
        for each, listener in self._listeners:
            each.watch(listener)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the results."""
        return self._pairing.schema

    @property
    def pieces(self) -> int:
        """In how many pieces the results are."""
        return sum(map(len, self._pieces))

    def __len__(self) -> int:
        """How many results there are."""
        return sum(piece.rows.num_rows - left for piece, left in self._present())

    def result(self) -> pa.Table:
        """All results. COST: no row is copied."""
        batches = [
            piece.rows.slice(left) if left else piece.rows for piece, left in self._present()
        ]
        return pa.Table.from_batches(batches, self.schema)

    def slid(self, side: int, slide: Slide) -> None:
        """A basic window of one side became complete, and another may have left."""
        newest = self._newest[side]
        if newest is not None and slide.came.number <= newest:
            return
        self._newest[side] = slide.came.number
        contents = self._pairing.sides[side].window.contents
        ours, theirs = self._pieces[side], self._pieces[1 - side]
        while ours and ours[0].number < contents.circle[0].number:
            ours.popleft()
        while theirs and theirs[0].bound <= contents.oldest:
            theirs.popleft()
        self._add(side, slide.came)

    def close(self) -> None:
        """Follow the windows no more; what the result was is forgotten."""
        for window, listener in self._listeners:
            window.unwatch(listener)
        self._listeners = []
        for pieces in self._pieces:
            pieces.clear()

    def _present(self) -> list[tuple[Piece, int]]:
        """The pieces, and how many results of each have left; without those that have all left."""
        found = []
        for side, pieces in enumerate(self._pieces):
            oldest = self._pairing.sides[1 - side].window.contents.oldest
            found += [(piece, piece.left(oldest)) for piece in pieces]
        return [(piece, left) for piece, left in found if left < piece.rows.num_rows]

    def _add(self, side: int, basic: BasicWindow) -> None:
        """Take in the results of a basic window with all that can be seen of the other side."""
        near, far = self._pairing.sides[side], self._pairing.sides[1 - side]
        rows, others = matched(near, (basic.first, basic.stop), far)
        if side and near.window is far.window:
            # A window joined with itself: the other side has found those of this basic window.
            before = others < basic.first
            rows, others = rows[before], others[before]
        if not len(rows):
            return
        contents = far.window.contents
        firsts = np.array([each.first for each in contents.circle], np.int64)
        # Numbers as short as this are sorted without comparing them.
        places = (np.searchsorted(firsts, others, "right") - 1).astype(_shortest(len(firsts)))
        order = np.argsort(places, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(firsts)))])
        rows, others = rows[order], others[order]
        found = self._pairing.result((rows, others) if not side else (others, rows))
        ends = firsts.tolist(), starts.tolist()  # One by one, lists are read faster than arrays.
        self._pieces[side].append(Piece(basic.number, found, *ends, contents.shown))


def _shortest(count: int) -> type[np.uint16] | type[np.int64]:
    return np.uint16 if count <= np.iinfo(np.uint16).max else np.int64
