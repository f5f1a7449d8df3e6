"""Rows sorted by key and then by time: how they come to lie so, and where each key's bucket begins.

What the packed and the Parquet store have in common. Both keep a part's rows in this order, next to a directory that is
made from the buckets, and neither changes a file that it has written. How rows and directory are laid out in bytes is
the business of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from wavedex.errors import TooLarge
from wavedex.store.access import AnyFiles, Sink
from wavedex.store.arrays import write_arrays
from wavedex.store.arrow import to_arrow
from wavedex.store.entries import EntrySpec, one_array
from wavedex.store.order import I64, bucket_starts, sort_order
from wavedex.store.part import Part, Slots
from wavedex.store.xxh64 import U64

Rows: TypeAlias = "pa.RecordBatch | pa.Table"
"""Rows in one piece or in several."""

ROWS_MAX = 2**32 - 2
"""A directory counts rows, or the buckets that they make, in 32 bits."""


@dataclass(frozen=True)
class SortedRows:
    """Rows by key and then by time, with the first row of each bucket and the hash of its key."""

    batch: pa.RecordBatch
    starts: I64
    hashes: U64


def sort_rows(spec: EntrySpec, rows: Rows) -> SortedRows:
    """Sort the rows; those that agree in key and time stay as they came. Raises TooLarge.

    COST: beside the rows, their copy in order and one column more. Column by column, so that the pieces of which a table
    is made are never in memory a second time as a whole.
    """
    if rows.num_rows > ROWS_MAX:
        raise TooLarge(
            f"A shard would hold {rows.num_rows:,} rows, and {ROWS_MAX:,} is the most. "
            "Create the index with more shards."
        )
    codes = spec.key_type.codes(spec.keys(rows))
    order = sort_order(codes, spec.ordinals(rows))
    places = to_arrow(order)
    columns = [one_array(column).take(places) for column in rows.columns]
    batch = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
    return _with_buckets(spec, batch, codes[order])


def as_sorted(spec: EntrySpec, batch: pa.RecordBatch) -> SortedRows | None:
    """The rows as they lie, or None where they are not sorted."""
    codes = spec.key_type.codes(spec.keys(batch))
    if (sort_order(codes, spec.ordinals(batch)) != np.arange(len(codes))).any():
        return None
    return _with_buckets(spec, batch, codes)


def _with_buckets(spec: EntrySpec, batch: pa.RecordBatch, codes: I64) -> SortedRows:
    starts = bucket_starts(codes)
    hashes = spec.key_type.hash_array(spec.keys(batch).take(to_arrow(starts)))
    return SortedRows(batch, starts, hashes)


@dataclass(frozen=True)
class Layout:
    """A part that is to be written: its store, how its rows are filled in, and its directory."""

    store: str
    suffix: str
    fill: Callable[[Sink], object]
    arrays: Mapping[str, Any]
    metadata: Mapping[str, str]


def write_part(files: AnyFiles, stem: str, layout: Layout, held: Slots, rows: int) -> Part:
    """Write a part of two files, rows and directory. ENSURES: both last."""
    refs = {
        "rows": files.create(f"{stem}{layout.suffix}", layout.fill),
        "directory": files.create(
            f"{stem}.dir", lambda sink: write_arrays(sink, layout.arrays, layout.metadata)
        ),
    }
    for ref in refs.values():
        files.sync(ref.name)
    return Part(layout.store, refs, held, held, rows)
