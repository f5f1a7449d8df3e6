"""Rows that meet a condition in DuckDB's SQL. Each row says by itself whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from wavedex.errors import BadQuery
from wavedex.online.pace import TimePace
from wavedex.online.queries.columns import named, newest_rows
from wavedex.online.queries.query import Explanation, Query
from wavedex.slots.timed import Timed

if TYPE_CHECKING:
    from wavedex.index.reading.condition import Condition
    from wavedex.online.window import Window

_CONDITIONS_MOST = 256


@dataclass(frozen=True)
class Select(Query):
    """The rows that meet a condition, such as "bytes > 1000", in the order in which they came.

    Asked, it looks at the whole window; its `news` are the rows of the newest basic windows.
    """

    where: str
    columns: Sequence[str] | None = None

    mode = 1
    incremental = "yes"

    def __post_init__(self) -> None:
        if not isinstance(self.where, str):
            raise BadQuery(f"where={self.where!r}: give a condition in SQL, such as 'bytes > 100'.")
        object.__setattr__(self, "columns", named(self.columns))

    def answer(self, window: Window) -> pa.RecordBatch:
        contents = window.contents
        return self._of_rows(window, contents.oldest, contents.shown)

    def news(self, window: Window, basics: int = 1) -> pa.RecordBatch:
        """Those of the newest basic windows."""
        return self._of_rows(window, *newest_rows(window, basics))

    def explain(self, window: Window) -> Explanation:
        self._of_rows(window, 0, 0)  # Says so where it cannot be answered.
        uses = "all rows, each held against the condition"
        said = f"rows where {self.where}"
        return Explanation(said, self.mode, self.incremental, uses, len(window))

    def _of_rows(self, window: Window, first: int, stop: int) -> pa.RecordBatch:
        condition = self._condition(window)
        kept = window.contents.kept if self.columns is None else self.columns
        names = [window.check_column(name) for name in kept]
        asked = [window.check_column(name) for name in condition.columns]
        needed = [name for name in window.schema.names if name in {*names, *asked}]
        return condition.filter(window.contents.span(first, stop, needed)).select(names)

    def _condition(self, window: Window) -> Condition:
        pace = window.pace
        slotting = pace.slotting if isinstance(pace, TimePace) else None
        zone = slotting.zone if isinstance(slotting, Timed) else "UTC"
        return _read(self.where, window.schema, zone)


@lru_cache(_CONDITIONS_MOST)
def _read(where: str, schema: pa.Schema, zone: str) -> Condition:
    from wavedex.index.reading.condition import read_rows_condition

    return read_rows_condition(where, schema, zone)
