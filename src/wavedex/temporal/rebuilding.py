"""Lifespans as the events that they came from: to forget some, and to lay pages out anew."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from wavedex.rows.arrow import to_arrow
from wavedex.temporal.changes import I64, NOW, Bools, Lifespans
from wavedex.temporal.counted import Counted
from wavedex.temporal.events import Events
from wavedex.temporal.ids.contract import Ids
from wavedex.temporal.state import State


def only(spans: Lifespans, kept: Bools) -> Lifespans:
    """Some of the lifespans."""
    return Lifespans(spans.ids[kept], spans.starts[kept], spans.ends[kept], spans.pointers[kept])


def events_again(state: State, spans: Lifespans) -> Events:
    """The additions and removals of some lifespans of a set, in the order of their times."""
    ended = np.flatnonzero(spans.ends != NOW)
    places = np.concatenate([np.arange(len(spans)), ended])
    signs = np.repeat(np.array([1, -1], np.int8), [len(spans), len(ended)])
    versions = np.concatenate([spans.starts, spans.ends[ended]])
    order = np.lexsort((signs, versions))
    places, signs = places[order], signs[order]
    pointers = np.where(signs > 0, spans.pointers[places], -1).astype(np.int32)
    ids = state.ids.values(np.ascontiguousarray(spans.ids[places]))
    return Events(ids, state.instants.ticks[versions[order]], signs, state.rows.take(pointers))


def rebuilt(state: State, kept: Bools, empty: State) -> State:
    """A set with some of the lifespans of another, made of an empty one like it."""
    spans = only(state.method.everything(), kept)
    events = events_again(state, spans)
    empty.apply(events, *empty.check(events))
    empty.last = state.last
    if isinstance(state.alive, Counted) and isinstance(empty.alive, Counted):
        alive = spans.ids[spans.ends == NOW]
        again = empty.ids.number(state.ids.values(alive))
        empty.alive.set_counts(again, state.alive.counts_of(alive))
    return empty


def sizes_of(spans: Lifespans, versions: int) -> I64:
    """How many ids were there as of each version."""
    added = np.bincount(spans.starts, minlength=versions)
    removed = np.bincount(spans.ends[spans.ends != NOW], minlength=versions)
    return np.cumsum(added - removed)


def overlaps(
    kind: Ids, ids: pa.Array, starts: I64, ends: I64, others: pa.Array, first: I64, last: I64
) -> tuple[pa.Array, I64, I64]:
    """When ids were in both of two sets: ids, and from when to when. They are of one kind.

    Lifespans of either come by id and then by beginning, and those of one id do not overlap.
    COST: sorts the distinct ids of both; no loop over rows.
    """
    codes = np.unique(kind.ranks(pa.concat_arrays([ids, others])), return_inverse=True)[1]
    mine, theirs = codes[: len(ids)], codes[len(ids) :]
    mine_order, their_order = np.lexsort((starts, mine)), np.lexsort((first, theirs))
    # Of each of mine, the run of theirs that begin before it ends and end after it begins.
    rank_of_end = _ranks(theirs[their_order], last[their_order], mine[mine_order],
                         starts[mine_order], "right")  # fmt: skip
    rank_of_start = _ranks(theirs[their_order], first[their_order], mine[mine_order],
                           ends[mine_order], "left")  # fmt: skip
    counts = np.maximum(rank_of_start - rank_of_end, 0)
    left = np.repeat(mine_order, counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    right = their_order[np.repeat(rank_of_end, counts) + offsets]
    begin, stop = np.maximum(starts[left], first[right]), np.minimum(ends[left], last[right])
    return ids.take(to_arrow(left)), begin, stop


def _ranks(codes: I64, values: I64, asked: I64, limits: I64, side: str) -> I64:
    """How many (code, value) come before each (asked, limit), in the order of codes and values."""
    dense = np.unique(np.concatenate([values, limits]))
    width = len(dense) + 1
    keys = codes * width + dense.searchsorted(values)
    return keys.searchsorted(asked * width + dense.searchsorted(limits), side)  # type: ignore[call-overload]
