"""The least value of a window and the largest: of partial results, of an index, or of all rows.

The order is that of an index: NaN is the largest float, and text goes by its code points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex.online.queries.columns import access, check_ordered, is_grouped, is_text, plain_text
from wavedex.online.queries.histograms import counted
from wavedex.online.queries.numbers import Merged, one
from wavedex.online.queries.partials import Partials
from wavedex.online.queries.query import Explanation
from wavedex.online.values import values_of
from wavedex.rows import compute as pc

if TYPE_CHECKING:
    from wavedex.online.window import Window


class _Extreme(Merged):
    """A value at one end of the order."""

    family = "extremes"
    end: int
    """The place of it in a sorted array."""

    def check(self, kind: pa.DataType) -> None:
        check_ordered(self.name, kind)

    def part(self, column: pa.Array) -> tuple[Any, Any] | None:
        """The least and the largest: numbers of values, or Python's own of text."""
        values = column.drop_null()
        if not len(values):
            return None
        if is_text(column.type):
            found = pc.min_max(plain_text(values)).as_py()
            return found["min"], found["max"]
        keys, _ = values_of(column.type).encode(values)
        return int(keys.min()), int(keys.max())

    def merged(self, parts: Sequence[Any], kind: pa.DataType) -> pa.RecordBatch:
        there = [each for each in parts if each is not None]
        said = type(self).__name__.lower()
        if not there:
            return one(said, None, kind)
        value = min(each[0] for each in there) if not self.end else max(each[1] for each in there)
        if is_text(kind):
            return one(said, value, kind)
        found = values_of(kind).decode(np.array([value], np.int64))
        return pa.RecordBatch.from_arrays([found], schema=pa.schema([pa.field(said, kind)]))

    def answer(self, window: Window) -> pa.RecordBatch:
        kind = self._checked(window)
        if window.kept((self.family, self.name)) is None and self._has_counts(window):
            found = counted(window, self.name)
            said = type(self).__name__.lower()
            if not len(found.keys):
                return one(said, None, kind)
            value = found.values.decode(found.keys[[self.end]])
            return pa.RecordBatch.from_arrays([value], schema=pa.schema([pa.field(said, kind)]))
        return super().answer(window)

    def explain(self, window: Window) -> Explanation:
        kept = window.kept((self.family, self.name))
        if isinstance(kept, Partials) or not self._has_counts(window):
            return super().explain(window)
        attribute = window.attribute(self.name)
        assert attribute is not None
        said = f"{type(self).__name__.lower()} of {self.name}"
        if attribute.index is None:
            uses = f"the pieces of all basic windows, merged: {self.name!r} has no index"
            return Explanation(said, self.mode, self.incremental, uses, len(window))
        uses = f"the index {attribute.index.kind!r} on {self.name!r}"
        return Explanation(said, self.mode, self.incremental, uses, attribute.index.size)

    def _has_counts(self, window: Window) -> bool:
        """Whether the values themselves are counted already, by an index or by basic windows."""
        attribute = window.attribute(self.name)
        if attribute is None:
            return False
        if self.name not in window.contents.columns:
            return not is_grouped(window, self.name)
        return access(window, self.name) is not None


@dataclass(frozen=True)
class Minimum(_Extreme):
    """The least value."""

    name: str
    end = 0


@dataclass(frozen=True)
class Maximum(_Extreme):
    """The largest value."""

    name: str
    end = -1
