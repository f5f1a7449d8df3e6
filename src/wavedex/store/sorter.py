"""Rows sorted by key and then by time: how they come to lie so, and where each key's bucket begins.

What the packed and the Parquet store have in common. Both keep a part's rows in this order, next to a directory that is
made from the buckets, and neither changes a file that it has written. How rows and directory are laid out in bytes is
the business of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import TooLarge
from wavedex.files.contract import AnyFiles, Sink
from wavedex.rows.arrays import write_arrays
from wavedex.rows.arrow import to_arrow
from wavedex.rows.codes import compact
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.order import I64, bucket_starts, sort_order
from wavedex.rows.pieces import Pieces
from wavedex.store.part import Part, Slots

LARGE_ROWS = 100_000
"""From how many rows on Arrow's memory is given back between columns; it would keep a column or two for later."""
ROWS_MAX = 2**32 - 2
"""A directory counts rows, or the buckets that they make, in 32 bits."""


@dataclass(frozen=True)
class SortedRows:
    """Rows by key and then by time, with the first row of each bucket and the hash of its key."""

    batch: pa.RecordBatch
    starts: I64
    hashes: U64

    @property
    def counts(self) -> I64:
        """How many rows each bucket has."""
        return np.diff(np.append(self.starts, self.batch.num_rows))

    def keys(self, spec: EntrySpec) -> pa.Array:
        """The key of each bucket. COST: a copy of them."""
        return spec.keys(self.batch).take(to_arrow(self.starts))


def sort_rows(spec: EntrySpec, rows: Pieces) -> SortedRows:
    """Sort the rows; those that agree in key and time stay as they came. Raises TooLarge.

    COST: beside the rows, their copy in order and one column more: it goes column by column, so that rows in several
    pieces are never put together as a whole, and lets go of those then.
    """
    count, schema = rows.num_rows, rows.schema
    if count > ROWS_MAX:
        raise TooLarge(
            f"A shard would hold {count:,} rows, and {ROWS_MAX:,} is the most. "
            "Create the index with more shards."
        )
    ranks = spec.key_type.ranks(spec.keys(rows))
    order = sort_order(ranks, spec.ordinals(rows))
    starts = bucket_starts(ranks[order])
    del ranks
    places = to_arrow(order)
    columns: dict[int, pa.Array] = {}
    # The widest first, while little else is in memory.
    for place in sorted(range(len(schema)), key=lambda place: _width(schema, place)):
        columns[place] = compact(rows.column(place).take(places))
        if count > LARGE_ROWS:
            pa.default_memory_pool().release_unused()
    del order, places
    in_order = [columns[place] for place in range(len(columns))]
    batch = pa.RecordBatch.from_arrays(in_order, schema=schema)
    rows.let_go()
    return SortedRows(batch, starts, _bucket_hashes(spec, batch, starts))


def _width(schema: pa.Schema, place: int) -> int:
    """A number that is the smaller the wider a column is: text and lists are taken for the widest."""
    try:
        return -int(schema.field(place).type.bit_width)
    except ValueError:
        return -(2**31)


def as_sorted(spec: EntrySpec, batch: pa.RecordBatch) -> SortedRows | None:
    """The rows as they lie, or None where they are not sorted."""
    ranks = spec.key_type.ranks(spec.keys(batch))
    if (sort_order(ranks, spec.ordinals(batch)) != np.arange(len(ranks))).any():
        return None
    starts = bucket_starts(ranks)
    return SortedRows(batch, starts, _bucket_hashes(spec, batch, starts))


def _bucket_hashes(spec: EntrySpec, batch: pa.RecordBatch, starts: I64) -> U64:
    return spec.key_type.hash_array(spec.keys(batch).take(to_arrow(starts)))


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
