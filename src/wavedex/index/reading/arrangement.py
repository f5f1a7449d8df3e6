"""Answers as they were asked for: rows that meet a condition, in order, the last or first few.

Rows of one key come in the order of their times. Parts hold them so, one after the other, and most
of the time nothing is left to do. Where parts overlap in time, as they do after `amend` and in a
lifetime index, their rows are put in order here.

A scan in order reads the parts of one stretch of time after those of another, and holds no more
than one stretch in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from wavedex.errors import BadCondition
from wavedex.index.reading.asked import Asked
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.entries import one_batch
from wavedex.rows.order import I64, bucket_starts, stable_order

if TYPE_CHECKING:
    from wavedex.index.reading.snapshot import Snapshot

T = TypeVar("T")

FORWARDS, BACKWARDS = "time", "-time"


def check_arrangement(asked: Asked) -> None:
    """Raise BadCondition where it is not said how many rows in which order."""
    if asked.order not in (None, FORWARDS, BACKWARDS):
        raise BadCondition(
            f"order={asked.order!r} is none of 'time', oldest first, and '-time', newest first."
        )
    for name, value in (("last", asked.last), ("limit", asked.limit)):
        if value is None:
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
            raise BadCondition(f"{name}={value!r} is no number of rows. Give a whole number.")


def arrange(
    snapshot: Snapshot, rows: pa.RecordBatch, asked: Asked, *, of_one_key: bool
) -> pa.RecordBatch:
    """The rows of some keys that meet the condition, in order, and as many as were asked for.

    `last` counts for each key. REQUIRES: `check_arrangement` has passed what is asked.
    """
    if asked.where is not None:
        rows = snapshot.condition(asked.where).filter(rows)
    if asked.last is not None and not of_one_key:
        rows = _last_of_each(snapshot, rows, asked.last)
    if of_one_key or asked.order is not None or asked.last is not None:
        rows = _in_order(snapshot, rows)
    if asked.last is not None and of_one_key:
        rows = rows.slice(max(0, rows.num_rows - asked.last))
    if asked.order == BACKWARDS:
        rows = _turned(rows)
    return rows if asked.limit is None else rows.slice(0, asked.limit)


def in_order(snapshot: Snapshot, batches: Sequence[pa.RecordBatch]) -> bool:
    """Whether batches one after the other have their rows by their times."""
    if not batches:
        return True
    times = np.concatenate([_times(snapshot, each) for each in batches])
    return bool((times[1:] >= times[:-1]).all())


def arrange_stream(
    snapshot: Snapshot,
    asked: Asked,
    read: Callable[[T], Iterator[pa.RecordBatch]],
    stretches: Sequence[T],
) -> Iterator[pa.RecordBatch]:
    """The rows of a scan that meet the condition, in order, and as many as were asked for.

    `read` reads one stretch of time, with the columns that the condition and the order need. Each
    stretch is later than the one before it.
    """
    condition = None if asked.where is None else snapshot.condition(asked.where)

    def meeting(stretch: T) -> Iterator[pa.RecordBatch]:
        return read(stretch) if condition is None else map(condition.filter, read(stretch))

    is_back = asked.order == BACKWARDS
    found: Iterable[pa.RecordBatch | None]
    if asked.last is not None:
        kept = _last_of_all(snapshot, map(meeting, reversed(stretches)), asked.last)
        found = reversed(kept) if is_back else kept
    elif asked.order is not None:
        in_turn = reversed(stretches) if is_back else stretches
        found = (_sorted(snapshot, meeting(each)) for each in in_turn)
    else:
        found = chain.from_iterable(map(meeting, stretches))
    batches = (rows for rows in found if rows is not None)
    return _first(map(_turned, batches) if is_back else batches, asked.limit)


def _last_of_all(
    snapshot: Snapshot, newest_first: Iterable[Iterator[pa.RecordBatch]], wanted: int
) -> list[pa.RecordBatch]:
    """The latest rows, oldest first; no more stretches are read than have them."""
    kept: list[pa.RecordBatch] = []
    for batches in newest_first if wanted else ():
        rows = _sorted(snapshot, batches)
        if rows is None:
            continue
        rows = rows.slice(max(0, rows.num_rows - wanted))
        kept.insert(0, rows)
        wanted -= rows.num_rows
        if not wanted:
            break
    return kept


def _first(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Batches up to so many rows."""
    if limit is None:
        yield from batches
        return
    while limit:
        batch = next(batches, None)
        if batch is None:
            return
        batch = batch.slice(0, limit)
        limit -= batch.num_rows
        yield batch


def _sorted(snapshot: Snapshot, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch | None:
    """The rows of a stretch by their times; None where there are none."""
    found = [batch for batch in batches if batch.num_rows]
    return _in_order(snapshot, one_batch(pa.Table.from_batches(found))) if found else None


def _in_order(snapshot: Snapshot, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows by their times, then as they came. COST: a look at the times where they are so."""
    times = _times(snapshot, rows)
    if len(times) < 2 or (times[1:] >= times[:-1]).all():
        return rows
    return rows.take(to_arrow(stable_order(times)))


def _turned(rows: pa.RecordBatch) -> pa.RecordBatch:
    if rows.num_rows < 2:
        return rows
    return rows.take(to_arrow(np.arange(rows.num_rows - 1, -1, -1)))


def _last_of_each(snapshot: Snapshot, rows: pa.RecordBatch, wanted: int) -> pa.RecordBatch:
    """The latest rows of each key."""
    spec = snapshot.definition.spec
    by_time = stable_order(_times(snapshot, rows))
    ranks = spec.key_type.ranks(spec.keys(rows))[by_time]
    by_key = stable_order(ranks)
    starts = bucket_starts(ranks[by_key])
    sizes = np.diff(np.append(starts, rows.num_rows))
    left = np.repeat(starts + sizes, sizes) - np.arange(rows.num_rows)
    return rows.take(to_arrow(by_time[by_key[left <= wanted]]))


def _times(snapshot: Snapshot, rows: pa.RecordBatch) -> I64:
    return number_view(rows.column(snapshot.order_column)).astype(np.int64, copy=False)
