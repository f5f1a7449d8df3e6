"""What came to a window and what went, as rows: of each basic window the removals come first.

The columns say it as changes of an index do: `_change` is +1 or -1; `_at` is the instant, which is
the end of the newest basic window, or the number of rows up to it where a window goes by rows;
`_commit` is the number of that basic window.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wavedex.errors import BadQuery
from wavedex.index.core.definition import AT_COLUMN, CHANGE_COLUMN, COMMIT_COLUMN
from wavedex.online.contents import BasicWindow, Slide
from wavedex.online.pace import TimePace
from wavedex.online.queries.query import Explanation, Query
from wavedex.rows.arrow import to_arrow
from wavedex.slots import from_ordinals

if TYPE_CHECKING:
    from wavedex.online.window import Window


def changes_schema(window: Window) -> pa.Schema:
    """The columns of a window's changes."""
    pace = window.pace
    return pa.schema(
        [
            *(window.schema.field(name) for name in window.contents.kept),
            pa.field(CHANGE_COLUMN, pa.int32()),
            pa.field(AT_COLUMN, pace.kind if isinstance(pace, TimePace) else pa.int64()),
            pa.field(COMMIT_COLUMN, pa.int64()),
        ]
    )


class Collected:
    """The changes of a window since somebody asked last."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._schema = changes_schema(window)
        self._batches: list[pa.RecordBatch] = []
        self._newest = window.complete
        window.watch(self)

    @property
    def rows(self) -> int:
        """How many changes wait to be asked for."""
        return sum(batch.num_rows for batch in self._batches)

    def slid(self, slide: Slide) -> None:
        if self._newest is not None and slide.came.number <= self._newest:
            return
        self._newest = slide.came.number
        if slide.left is not None:
            self._add(slide.left, -1, slide.came)
        self._add(slide.came, 1, slide.came)

    def taken(self) -> pa.Table:
        """The changes, which are not given again."""
        batches, self._batches = self._batches, []
        return pa.Table.from_batches(batches, self._schema)

    def close(self) -> None:
        """Collect no more."""
        self._window.unwatch(self)

    def _add(self, basic: BasicWindow, change: int, came: BasicWindow) -> None:
        count = basic.stop - basic.first
        if not count:
            return
        rows = self._window.contents.span(basic.first, basic.stop)
        pace = self._window.pace
        if isinstance(pace, TimePace):
            # One past the last ordinal that there is becomes the last.
            end = min(pace.slotting.stop(came.number), 2**63 - 1)
            at = from_ordinals(np.full(count, end, np.int64), pace.kind)
        else:
            at = to_arrow(np.full(count, came.stop, np.int64))
        said = [to_arrow(np.full(count, change, np.int32)), at]
        said.append(to_arrow(np.full(count, came.number, np.int64)))
        columns = [*rows.columns, *said] if self._window.contents.kept else said
        self._batches.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))


_SUBSCRIBERS = itertools.count()


@dataclass(frozen=True)
class Changes(Query):
    """The rows that came and that went since this was asked last, from `keep` on.

    Each reader has changes of its own, each subscriber without a name too. Whoever asks by the same
    name takes them from another.
    """

    reader: str = ""

    mode = 2
    incremental = "yes"

    def for_subscriber(self) -> Changes:
        return self if self.reader else replace(self, reader=f"subscriber {next(_SUBSCRIBERS)}")

    def keep(self, window: Window) -> Callable[[], None]:
        return window.keep(("changes", self.reader), lambda: Collected(window))

    def answer(self, window: Window) -> pa.Table:
        kept = window.kept(("changes", self.reader))
        if not isinstance(kept, Collected):
            raise BadQuery(
                "Changes are not collected yet. Call stop = Changes().keep(window) first: those of "
                "later basic windows are collected until they are asked for."
            )
        return kept.taken()

    def explain(self, window: Window) -> Explanation:
        kept = window.kept(("changes", self.reader))
        if isinstance(kept, Collected):
            uses = "rows that were collected as they came and went"
            return Explanation("changes", self.mode, self.incremental, uses, kept.rows)
        uses = "nothing: changes are not collected"
        would = "keep(window) would collect them from now on"
        return Explanation("changes", self.mode, self.incremental, uses, 0, would)
