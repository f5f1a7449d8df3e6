"""The contiguous store: one bucket to a key, with room to grow, updated in place.

Readers see updates without a lock. New records stand behind the last one of their bucket, so a
bucket is one run, and a probe reads one place. A directory has one bucket for each of its keys, in
their order.

What all stores that grow share is in `wavedex.store.growing.shard`. Updates are made by
`wavedex.store.growing.inplace`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from wavedex.files.contract import AnyFiles
from wavedex.rows.content import content_of, hash_rows
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.directory import I64
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.records import RecordFormat, Records
from wavedex.store.growing.shard import GrowingShard, write_directory, write_rows
from wavedex.store.part import Part, Slots
from wavedex.store.room import FreeRoom
from wavedex.store.sorter import sort_rows

STORE = "contiguous"


class ContiguousShard(GrowingShard):
    """A contiguous shard that is read, and from which the next version is made."""

    def _buckets_of(self, places: I64) -> Buckets:
        return self.buckets.take(places)

    def _records_of(self, place: int) -> Records:
        first = int(self.buckets.rooms[place] + self.buckets.skips[place])
        return self.records[first : first + int(self.buckets.counts[place])].copy()

    @property
    def owners(self) -> I64:
        return np.arange(len(self.keys))


def build_contiguous(
    files: AnyFiles, spec: EntrySpec, stem: str, batch: pa.RecordBatch, held: Slots
) -> Part:
    """Write the entries packed: no bucket has room to grow until it first does.

    REQUIRES: at least one row.
    """
    rows = sort_rows(spec, Pieces.of(batch))
    buckets = Buckets(rows.starts, rows.counts, np.zeros_like(rows.starts), rows.counts)
    records, heap = RecordFormat(spec).encode(rows.batch, 0)
    refs = write_rows(files, stem, records, heap)
    refs["directory"] = write_directory(
        files, spec, stem, rows.keys(spec), buckets.arrays(), FreeRoom.none(), len(heap)
    )
    return Part(STORE, refs, held, held, batch.num_rows, content_of(hash_rows(batch)))
