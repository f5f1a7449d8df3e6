"""Values of two windows as sets: those in both, in either, and in the first alone.

A value that is in both windows has a count in each (`wavedex.online.queries.shared_values`). Nulls
are one value, which is equal to itself.

Over ranges of values an intersection is approximate. A value that both windows have lies in a range
that both have: so the answer names every range in which there is one, and others besides. In a
range, each common value takes a row of either side, and is one of the values that the range can
hold. So there are at most as many as the least of these three numbers says: `at_most`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.online.queries.columns import check_ordered, is_grouped
from wavedex.online.queries.histograms import (
    COUNT,
    counted,
    histogram_schema,
    with_nulls,
)
from wavedex.online.queries.query import Explanation, Query
from wavedex.online.queries.shared_values import Both, exact, merged, of_one_index, shared
from wavedex.online.values import I64, Groups
from wavedex.rows.arrow import to_arrow

if TYPE_CHECKING:
    from wavedex.online.window import Window

OTHER, AT_MOST = "other", "at_most"


class _Sets(Query):
    """An expression of two sets of values."""

    name: str
    other: Window
    other_name: str | None

    mode = 4
    incremental = "with a histogram"
    sign: ClassVar[str]

    @abstractmethod
    def chosen(self, first: Any, second: Any) -> Any:
        """Whether values are in the answer that are so often in the first window and the second."""

    def others(self) -> tuple[Window, ...]:
        return (self.other,)

    @property
    def theirs(self) -> str:
        """The attribute of the other window."""
        return self.name if self.other_name is None else self.other_name

    def answer(self, window: Window) -> pa.RecordBatch:
        both = self._both(window)
        chosen = self.chosen(both.counts[0], both.counts[1])
        first, second = both.counts[0][chosen], both.counts[1][chosen]
        nulls = both.nulls if self.chosen(*both.nulls) else (0, 0)
        columns = [both.where(chosen), to_arrow(first), to_arrow(second)]
        if any(nulls):
            head = pa.nulls(1, columns[0].type)
            columns = [
                pa.concat_arrays([head, columns[0]]),
                to_arrow(np.concatenate([[nulls[0]], first])),
                to_arrow(np.concatenate([[nulls[1]], second])),
            ]
        schema = histogram_schema(both.values, self.name).append(pa.field(OTHER, pa.int64()))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def explain(self, window: Window) -> Explanation:
        self._check(window)
        for each, name in ((window, self.name), (self.other, self.theirs)):
            if is_grouped(each, name):
                each.check_column(name)  # Ranges do not say which values there are.
        said = f"{self.name} {self.sign} {self.theirs} of another window"
        found = shared(window, self.name, self.other, self.theirs)
        if found is not None:
            index = found[0].index
            assert index is not None
            uses = f"one scan of the index {index.kind!r}, which both windows share"
            return Explanation(said, self.mode, self.incremental, uses, index.size)
        sides = [_looked_at(window, self.name), _looked_at(self.other, self.theirs)]
        uses = f"{sides[0][0]}, merged with {sides[1][0]}"
        without = [name for _, _, name in sides if name]
        would: str | None = None
        if without:
            would = f"index={[*dict.fromkeys(without)]!r} would keep the counts of each value"
        elif not is_grouped(window, self.name):
            would = "one index that both windows share would tell by one scan, without a merge"
        looked = sides[0][1] + sides[1][1]
        return Explanation(said, self.mode, self.incremental, uses, looked, would)

    def _check(self, window: Window) -> None:
        """Raise MissingColumn, BadDefinition."""
        kinds = []
        for each, name in ((window, self.name), (self.other, self.theirs)):
            each.attribute(name)  # Says so where there is no such column.
            kinds.append(each.schema.field(name).type)
            check_ordered(name, kinds[-1])
        if kinds[0] != kinds[1]:
            raise BadDefinition(
                f"{self.name!r} is {kinds[0]} and {self.theirs!r} is {kinds[1]}. Values of one "
                "type can be compared: cast one of them before it is pushed."
            )

    def _both(self, window: Window) -> Both:
        self._check(window)
        found = shared(window, self.name, self.other, self.theirs)
        if found is not None:
            return of_one_index(*found)
        return merged(exact(window, self.name), exact(self.other, self.theirs))


@dataclass(frozen=True)
class Intersection(_Sets):
    """The values in both windows.

    With `groups` it is approximate: the ranges that have values in both, from the counts of ranges.
    """

    name: str
    other: Window
    other_name: str | None = None
    groups: bool = False

    sign = "in both with"

    def chosen(self, first: Any, second: Any) -> Any:
        return (first != 0) & (second != 0)

    def answer(self, window: Window) -> pa.RecordBatch:
        if not self.groups:
            return super().answer(window)
        self._check_groups(window)
        mine, theirs = counted(window, self.name), counted(self.other, self.theirs)
        both = merged(mine, theirs)
        chosen = self.chosen(both.counts[0], both.counts[1])
        counts, keys = both.counts[:, chosen], both.keys[chosen]
        assert isinstance(mine.values, Groups)
        most = np.minimum(counts.min(axis=0, initial=2**62), _widths(mine.values)[keys])
        nulls = both.nulls if all(both.nulls) else (0, 0)
        columns = with_nulls(both.where(chosen), counts[0], nulls[0])
        for values, null in ((counts[1], nulls[1]), (most, 1)):
            columns.append(to_arrow(np.append([null] * any(nulls), values).astype(np.int64)))
        schema = histogram_schema(mine.values, self.name)
        for name in (OTHER, AT_MOST):
            schema = schema.append(pa.field(name, pa.int64()))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def explain(self, window: Window) -> Explanation:
        if not self.groups:
            return super().explain(window)
        self._check_groups(window)
        said = f"ranges of {self.name} {self.sign} {self.theirs} of another window, approximately"
        sizes = [len(counted(window, self.name).keys), len(counted(self.other, self.theirs).keys)]
        uses = "the counts of ranges of both, merged"
        return Explanation(said, self.mode, self.incremental, uses, sum(sizes))

    def _check_groups(self, window: Window) -> None:
        self._check(window)
        sides = [window.attribute(self.name), self.other.attribute(self.theirs)]
        values = [None if side is None else side.domain.values for side in sides]
        if not all(isinstance(each, Groups) for each in values):
            raise BadDefinition(
                "groups=True compares ranges: give both windows index='group' and the same "
                "boundaries in groups=."
            )
        first, second = values
        assert isinstance(first, Groups)
        assert isinstance(second, Groups)
        if first.boundaries != second.boundaries:
            raise BadDefinition(
                f"The ranges of {self.name!r} and {self.theirs!r} have different boundaries. Give "
                "both windows the same groups=."
            )


@dataclass(frozen=True)
class Union(_Sets):
    """The values in either window."""

    name: str
    other: Window
    other_name: str | None = None

    sign = "in either with"

    def chosen(self, first: Any, second: Any) -> Any:
        return (first != 0) | (second != 0)


@dataclass(frozen=True)
class Difference(_Sets):
    """The values in the first window that the other has not."""

    name: str
    other: Window
    other_name: str | None = None

    sign = "without"

    def chosen(self, first: Any, second: Any) -> Any:
        return (first != 0) & (second == 0)


def _widths(groups: Groups) -> I64:
    """How many different values each range can hold; very many where it has no end."""
    bounds = [int(each) for each in groups.values.keys_of(groups.boundaries)]
    widths = [min(high - low, 2**62) for low, high in pairwise(bounds)]
    return np.array([2**62, *widths, 2**62], np.int64)


def _looked_at(window: Window, name: str) -> tuple[str, int, str | None]:
    """What the values of a side are read from, how many are looked at, and what has no index."""
    attribute = window.attribute(name)
    if attribute is not None and attribute.index is not None and not is_grouped(window, name):
        return f"the index {attribute.index.kind!r} on {name!r}", attribute.index.size, None
    if attribute is None or is_grouped(window, name):
        return f"all rows, sorted by {name!r}", len(window), name
    return f"the pieces of basic windows of {name!r}", len(window), name


__all__ = ["AT_MOST", "COUNT", "OTHER", "Difference", "Intersection", "Union"]
