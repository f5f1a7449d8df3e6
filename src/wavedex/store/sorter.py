"""Rows sorted by key and then by time: how they are sorted, and where each key's bucket begins.

The packed and the Parquet store have this in common. Both keep a part's rows in this order, next to
a directory that is made from the buckets. Neither changes a file that it has written. How rows and
directory are laid out in bytes is the business of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import TooLarge
from wavedex.files.contract import AnyFiles, Output
from wavedex.rows.arrays import write_arrays
from wavedex.rows.arrow import to_arrow
from wavedex.rows.codes import compact
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.order import I64, bucket_starts, sort_order
from wavedex.rows.pieces import Pieces
from wavedex.store.part import Part, Slots

LARGE_ROWS = 100_000
"""From this many rows on, Arrow's memory is given back between columns.

Arrow would keep a column or two for later.
"""
ROWS_MAX = 2**32 - 2
"""A directory counts rows, or the buckets that they make, in 32 bits."""


@dataclass(frozen=True)
class SortedRows:
    """Rows by key and then by time, in buckets of one key each."""

    batch: pa.RecordBatch
    """The rows."""
    starts: I64
    """The first row of each bucket."""
    hashes: U64
    """The hash of the key of each bucket."""

    @property
    def counts(self) -> I64:
        """How many rows each bucket has."""
        return np.diff(np.append(self.starts, self.batch.num_rows))

    def keys(self, spec: EntrySpec) -> pa.Array:
        """The key of each bucket. COST: a copy of them."""
        return spec.keys(self.batch).take(to_arrow(self.starts))


def sort_rows(spec: EntrySpec, rows: Pieces) -> SortedRows:
    """Sort the rows; those that agree in key and time stay as they came. Raises TooLarge.

    COST: beside the rows, their copy in order and one column more. It goes column by column, so
    that rows in several pieces are never put together as a whole. Then it lets go of the pieces.
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
    """A number that is smaller the wider a column is. Text and lists count as the widest."""
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
class PartDraft:
    """A part that is to be written."""

    store: str
    """The kind of its files."""
    suffix: str
    """How the name of the file of its rows ends."""
    fill: Callable[[Output], object]
    """Fills in its rows."""
    arrays: Mapping[str, Any]
    """The arrays of its directory."""
    metadata: Mapping[str, str]
    """The metadata of its directory."""


def write_part(files: AnyFiles, stem: str, draft: PartDraft, held: Slots, rows: int) -> Part:
    """Write a part of two files, rows and directory. ENSURES: both last."""
    refs = {
        "rows": files.create(f"{stem}{draft.suffix}", draft.fill),
        "directory": files.create(
            f"{stem}.dir", lambda sink: write_arrays(sink, draft.arrays, draft.metadata)
        ),
    }
    for ref in refs.values():
        files.sync(ref.name)
    return Part(draft.store, refs, held, held, rows)
