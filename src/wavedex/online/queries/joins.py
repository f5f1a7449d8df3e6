"""Joins of two windows by equal values: all results, or those of the newest basic window.

Nulls join with nothing. How rows are found is in `wavedex.online.queries.pairing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from wavedex.errors import BadQuery
from wavedex.online.indexes.contract import NO_NODE
from wavedex.online.queries.columns import named, newest_rows, ring_would
from wavedex.online.queries.kept_joins import KeptJoin
from wavedex.online.queries.pairing import Pairing, Side, Span, far_nodes, matched
from wavedex.online.queries.query import Explanation, Query

if TYPE_CHECKING:
    from wavedex.online.window import Window


class _Joined(Query):
    """A join with another window."""

    other: Window
    on: str
    other_on: str | None
    columns: Sequence[str] | None

    def others(self) -> tuple[Window, ...]:
        return (self.other,)

    def _freeze(self) -> None:
        for name in (self.on, self.other_on):
            if not isinstance(name, str | None):
                raise BadQuery(f"on={name!r}: give the name of a column.")
        object.__setattr__(self, "columns", named(self.columns))

    def _pairing(self, window: Window) -> Pairing:
        return Pairing(window, self.other, self.on, self.other_on, self.columns)

    def _said(self) -> str:
        return f"join on {self.on} = {self.other_on or self.on} of another window"


@dataclass(frozen=True)
class Join(_Joined):
    """All rows of two windows with equal values, as they can be seen now.

    Kept, it is made longer by the results of each basic window that comes on either side, and lets
    go of those of each that leaves.
    """

    other: Window
    on: str
    other_on: str | None = None
    columns: Sequence[str] | None = None

    mode = 4
    incremental = "no"

    def __post_init__(self) -> None:
        self._freeze()

    def answer(self, window: Window) -> pa.Table:
        kept = window.kept(("join", self))
        if isinstance(kept, KeptJoin):
            return kept.result()
        pairing = self._pairing(window)
        return pa.Table.from_batches([pairing.result(pairing.all())])

    def keep(self, window: Window) -> Callable[[], None]:
        def make() -> KeptJoin:
            return KeptJoin(window, self.other, self.on, self.other_on, self.columns)

        return window.keep(("join", self), make)

    def explain(self, window: Window) -> Explanation:
        kept = window.kept(("join", self))
        if isinstance(kept, KeptJoin):
            uses = "the results of each basic window, which are kept"
            return Explanation(self._said(), self.mode, self.incremental, uses, kept.pieces)
        first, second = self._pairing(window).sides
        if not second.has_ring and first.has_ring:
            return _explain(self, second, second.seen, first, self._said())
        return _explain(self, first, first.seen, second, self._said())


@dataclass(frozen=True)
class JoinNew(_Joined):
    """The rows of the newest basic window, joined with all that can be seen of another window."""

    other: Window
    on: str
    other_on: str | None = None
    columns: Sequence[str] | None = None

    mode = 2
    incremental = "no"

    def __post_init__(self) -> None:
        self._freeze()

    def answer(self, window: Window) -> pa.RecordBatch:
        return self.news(window)

    def news(self, window: Window, basics: int = 1) -> pa.RecordBatch:
        pairing = self._pairing(window)
        first, second = pairing.sides
        return pairing.result(matched(first, newest_rows(window, basics), second))

    def explain(self, window: Window) -> Explanation:
        first, second = self._pairing(window).sides
        return _explain(
            self, first, newest_rows(window), second, f"new results of a {self._said()}"
        )


def _explain(query: Query, near: Side, span: Span, far: Side, said: str) -> Explanation:
    found, rows = far.access(), span[1] - span[0]
    if found is not None and found.ring is not None:
        nodes = far_nodes(near, span, found)
        counts = found.index.counts[found.attribute.side]
        results = int(counts[nodes[nodes != NO_NODE]].sum())
        uses = f"the index {found.index.kind!r} and the ring {found.ring.kind!r} on {far.on!r}"
        said_uses = f"{uses}, asked for each row of the other side"
        return Explanation(said, query.mode, query.incremental, said_uses, rows + results)
    uses = "the rows of both, the smaller side sorted"
    what = "lead to the rows of each value, without a look at the others"
    would = ring_would(far.window, far.on, what)
    looked = rows + len(far.window)
    return Explanation(said, query.mode, query.incremental, uses, looked, would)
