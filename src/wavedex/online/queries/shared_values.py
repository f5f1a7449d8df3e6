"""The values of two windows together, and how often either has each.

Where both share one index, one scan of its nodes tells (003, Section 7.2.3). Else the values of
both, which are in order, are merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.online.attributes import ListAttribute, PiecedAttribute
from wavedex.online.indexes.contract import NULL_NODE
from wavedex.online.queries.columns import is_grouped, is_text, keys_of, plain_text, taken
from wavedex.online.queries.histograms import Counted, counted, counted_rows
from wavedex.online.values import I64, Groups, Values

if TYPE_CHECKING:
    from wavedex.online.window import Window

Bools = npt.NDArray[np.bool_]
Sided = ListAttribute | PiecedAttribute


class Both(NamedTuple):
    """Values of two windows and how often each is in either."""

    values: Values
    keys: I64
    """The values' numbers in the first window's domain, in order."""
    text: pa.Array | None
    """The values themselves, where the windows number them differently."""
    counts: I64
    """How often the first window has each, and in the second row the other; 0 for never."""
    nulls: tuple[int, int]

    def where(self, chosen: Bools) -> pa.Array:
        """Some of the values."""
        if self.text is not None:
            return taken(self.text, np.flatnonzero(chosen))
        return self.values.decode(self.keys[chosen])


def shared(window: Window, name: str, other: Window, theirs: str) -> tuple[Sided, Sided] | None:
    """The two attributes of one index, if they share one that has the values themselves."""
    first, second = window.attribute(name), other.attribute(theirs)
    if first is None or second is None or first.domain is not second.domain:
        return None
    if first.index is None or isinstance(first.domain.values, Groups):
        return None
    assert isinstance(first, Sided)
    assert isinstance(second, Sided)
    return first, second


def of_one_index(first: Sided, second: Sided) -> Both:
    """By one scan of the nodes of an index that has two counts each."""
    index = first.index
    assert index is not None
    nodes = index.in_order()
    sides = [first.side, second.side]
    counts = np.stack([index.counts[side][nodes] for side in sides])
    null_counts = [int(index.counts[side, NULL_NODE]) for side in sides]
    return Both(
        first.domain.values, index.keys[nodes], None, counts, (null_counts[0], null_counts[1])
    )


def exact(window: Window, name: str) -> Counted:
    """The values of an attribute themselves and their counts, even where ranges are indexed."""
    return counted_rows(window, name) if is_grouped(window, name) else counted(window, name)


def merged(first: Counted, second: Counted) -> Both:
    """The values of both in order, and how often each is in either."""
    ours, theirs, text = first.keys, second.keys, None
    if is_text(first.values.kind) and first.values is not second.values:
        both = pa.concat_arrays([plain_text(first.decoded()), plain_text(second.decoded())])
        ranks = keys_of(both).keys
        ours, theirs = ranks[: len(ours)], ranks[len(ours) :]
        _, firsts = np.unique(ranks, return_index=True)
        text = taken(both, firsts)
        text = text if text.type == first.values.kind else text.cast(first.values.kind)
    # Both are sorted already, and a stable sort merges runs.
    keys = np.sort(np.concatenate([ours, theirs]), kind="stable")
    keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    counts = np.zeros((2, len(keys)), np.int64)
    counts[0, np.searchsorted(keys, ours)] = first.amounts
    counts[1, np.searchsorted(keys, theirs)] = second.amounts
    return Both(first.values, keys, text, counts, (first.nulls, second.nulls))
