"""Quantiles of an attribute, exactly: the value at a rank, and never one between two.

The quantile q of n values is the one of rank ceil(q n) in their order, the least for q = 0 (NumPy's
"inverted_cdf"). NaN is the largest float. Nulls are left out. It is answered from

1. the counts of an index, or of the pieces of basic windows, which are walked in order;
2. a sorted array of the window, if one is kept;
3. all rows, sorted as far as needed.

Where only ranges of values are counted, a quantile is the range in which it lies.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.online.contents import BasicWindow, Slide
from wavedex.online.queries.columns import access, check_ordered, is_text, keys_of, taken
from wavedex.online.queries.histograms import counted, histogram_schema
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.values import I64, values_of
from wavedex.rows.arrow import to_arrow

if TYPE_CHECKING:
    from wavedex.online.window import Window


class Sorted:
    """The numbers of an attribute in order, as a watcher keeps them."""

    def __init__(self, window: Window, name: str) -> None:
        from wavedex.online.queries import order_kernels

        self._kernels = order_kernels
        self._window, self._name = window, name
        self._values = values_of(window.schema.field(name).type)
        self._pieces: deque[I64] = deque(maxlen=window.contents.circle.maxlen)
        """The sorted numbers of each basic window, the oldest first."""
        for basic in window.basics():
            self._pieces.append(self._piece(basic))
        found = np.sort(np.concatenate([np.zeros(0, np.int64), *self._pieces]))
        self._count = len(found)
        self._keys, self._spare = found, np.empty(0, np.int64)
        self._newest = window.complete
        window.watch(self)

    @property
    def keys(self) -> I64:
        """All numbers, in order."""
        return self._keys[: self._count]

    def slid(self, slide: Slide) -> None:
        if self._newest is not None and slide.came.number <= self._newest:
            return
        self._newest = slide.came.number
        pieces = self._pieces
        left = pieces[0] if len(pieces) == pieces.maxlen else np.zeros(0, np.int64)
        came = self._piece(slide.came)
        pieces.append(came)
        room = self._count + len(came)
        if len(self._spare) < room:
            self._spare = np.empty(room + room // 4, np.int64)
        count = self._kernels.replace_sorted(self._keys, self._count, came, left, self._spare)
        self._keys, self._spare, self._count = self._spare, self._keys, count

    def close(self) -> None:
        """Keep them no more."""
        self._window.unwatch(self)

    def _piece(self, basic: BasicWindow) -> I64:
        column = self._window.contents.span(basic.first, basic.stop, [self._name]).column(0)
        return np.sort(self._values.encode(column)[0])


class _Ranked(Query):
    """Values at ranks."""

    name: str

    mode = 4
    incremental = "with a histogram"

    def at_ranks(self, window: Window, at: Sequence[float]) -> pa.Array:
        """The values at some quantiles."""
        self._check(window)
        kept = window.kept(("sorted", self.name))
        if isinstance(kept, Sorted):
            keys = kept.keys
            values = values_of(window.schema.field(self.name).type)
            if not len(keys):
                return pa.nulls(len(at), values.kind)
            return values.decode(keys[_places(at, len(keys))])
        if self._has_counts(window):
            return self._of_counts(window, at)
        return self._of_rows(window, at)

    def keep(self, window: Window) -> Callable[[], None]:
        kind = self._check(window)
        if self._has_counts(window) or is_text(kind):
            return lambda: None
        return window.keep(("sorted", self.name), lambda: Sorted(window, self.name))

    def explain(self, window: Window) -> Explanation:
        said = f"{type(self).__name__.lower()} of {self.name}"
        kind = self._check(window)
        attribute, name = window.attribute(self.name), self.name
        if self._has_counts(window):
            assert attribute is not None
            index = attribute.index
            if index is not None:
                uses = f"the index {index.kind!r} on {name!r}, walked in order"
                return Explanation(said, self.mode, self.incremental, uses, index.size)
            uses = f"the pieces of all basic windows, merged: {name!r} has no index"
            would = f"index=[{name!r}] would keep the counts: one look at each different value"
            return Explanation(said, self.mode, self.incremental, uses, len(window), would)
        if isinstance(window.kept(("sorted", name)), Sorted):
            uses = f"a sorted array of {name!r}, which is kept"
            return Explanation(said, self.mode, self.incremental, uses, len(window))
        uses = f"{name!r} of all rows, sorted as far as needed"
        would = "keep(window) would keep a sorted array"
        if is_text(kind):
            would = f"index=[{name!r}] would keep the values in order"
        return Explanation(said, self.mode, self.incremental, uses, len(window), would)

    def _check(self, window: Window) -> pa.DataType:
        """The type of the values. Raises MissingColumn, BadDefinition."""
        window.attribute(self.name)
        kind = window.schema.field(self.name).type
        check_ordered(self.name, kind)
        return kind

    def _has_counts(self, window: Window) -> bool:
        """Whether values are counted already, by an index or by basic windows."""
        if self.name not in window.contents.columns:
            return True
        return access(window, self.name) is not None

    def _of_counts(self, window: Window, at: Sequence[float]) -> pa.Array:
        found = counted(window, self.name)
        if not len(found.keys):
            return pa.nulls(len(at), histogram_schema(found.values, self.name).field(0).type)
        ends = np.cumsum(found.amounts)
        places = np.searchsorted(ends, _places(at, int(ends[-1])), "right")
        return found.values.decode(found.keys[places])

    def _of_rows(self, window: Window, at: Sequence[float]) -> pa.Array:
        column = window.rows([self.name]).column(0).drop_null()
        if not len(column):
            return pa.nulls(len(at), column.type)
        keys, places = keys_of(column).keys, _places(at, len(column))
        if is_text(column.type):
            return taken(column, np.argsort(keys, kind="stable")[places])
        found = np.partition(keys, np.unique(places))[places]
        return values_of(column.type).decode(found)


def _places(at: Sequence[float], count: int) -> I64:
    """The places of quantiles among so many values in order."""
    return np.array([max(math.ceil(q * count) - 1, 0) for q in at], np.int64)


@dataclass(frozen=True)
class Quantiles(_Ranked):
    """The values at some quantiles: the columns `at` and `value`."""

    name: str
    at: Sequence[float] = (0.25, 0.5, 0.75)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "at", tuple(map(float, self.at)))
        except (TypeError, ValueError) as error:
            raise BadDefinition(f"at={self.at!r}: give numbers, such as (0.25, 0.5).") from error
        if not self.at or not all(0 <= q <= 1 for q in self.at):
            raise BadDefinition(f"at={self.at!r}: give numbers from 0 to 1, such as (0.25, 0.5).")

    def answer(self, window: Window) -> pa.RecordBatch:
        values = self.at_ranks(window, self.at)
        at = to_arrow(np.array(self.at, np.float64))
        return pa.RecordBatch.from_arrays([at, values], names=["at", "value"])


@dataclass(frozen=True)
class Median(_Ranked):
    """The value in the middle; the lower one of two."""

    name: str

    def answer(self, window: Window) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.at_ranks(window, (0.5,))], names=["median"])
