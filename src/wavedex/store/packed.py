"""The packed store: a shard's entries sorted by key and then by time, in one Arrow file that is mapped into memory.

A bucket is a run of rows, so a probe is one look into the directory and one slice that copies nothing, and a scan reads
the file from front to back. The directory file holds the first row of each bucket and the table that finds the bucket;
the keys themselves stand in the rows. Neither file is ever changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from wavedex.store.access import AnyFiles
from wavedex.store.arrays import read_arrays, read_batch, write_batch
from wavedex.store.arrow import number_view, to_arrow
from wavedex.store.codes import (
    encode_columns,
    stored_names,
    stored_words,
    with_codes,
    with_stored_codes,
)
from wavedex.store.directory import I64, Bools, Table, build_table
from wavedex.store.entries import EntrySpec
from wavedex.store.keys import Plain
from wavedex.store.order import spread_ranges
from wavedex.store.part import Part, Slots
from wavedex.store.pieces import Piece, Pieces
from wavedex.store.reading import KeyedShard, Range
from wavedex.store.sorting import Layout, SortedRows, as_sorted, sort_rows, write_part
from wavedex.store.xxh64 import U64

STORE = "packed"


def build_packed(files: AnyFiles, spec: EntrySpec, stem: str, entries: Pieces, held: Slots) -> Part:
    """Write the entries as a packed shard. REQUIRES: at least one row. ENSURES: both files last."""
    rows = sort_rows(spec, entries)
    table, bits = build_table(rows.hashes)
    layout = Layout(
        store=STORE,
        suffix=".arrow",
        fill=lambda sink: write_batch(sink, rows.batch),
        arrays={
            "starts": _directory_starts(rows).astype(np.uint32),
            "table": table,
            **encode_columns(rows.batch, spec.text - {*spec.key_names}),
        },
        metadata={"bits": str(bits)},
    )
    return write_part(files, stem, layout, held, rows.batch.num_rows)


def _directory_starts(rows: SortedRows) -> I64:
    return np.append(rows.starts, rows.batch.num_rows)


class PackedShard(KeyedShard):
    """A packed shard that is read."""

    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        super().__init__(files, spec, part)
        self._rows_buffer = files.map(part.files["rows"])
        self._directory_buffer = files.map(part.files["directory"])

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """All rows of the file."""
        return read_batch(self._rows_buffer, self.part.files["rows"].name)

    @cached_property
    def _directory(self) -> tuple[dict[str, pa.Array], dict[str, str]]:
        return read_arrays(self._directory_buffer, self.part.files["directory"].name)

    @property
    def _arrays(self) -> dict[str, pa.Array]:
        return self._directory[0]

    @cached_property
    def starts(self) -> I64:
        """The first row of each bucket, and the number of rows."""
        return number_view(self._arrays["starts"])

    @cached_property
    def table(self) -> Table:
        """What finds a bucket."""
        arrays, metadata = self._directory
        return Table(number_view(arrays["table"]), int(metadata["bits"]), len(self.starts) - 1)

    @cached_property
    def _ordinals_view(self) -> memoryview:
        return number_view(self.batch.column(self.spec.order_place)).data

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        # A probe is as fast as this loop: Table.find, written out without its calls.
        view, shift, tag_mask, starts, key_at = self._lookup
        place, tag = hashed >> shift, hashed & tag_mask
        while entry := view[place]:
            if entry & tag_mask == tag:
                bucket = entry - tag
                start = starts[bucket - 1]
                if key_at(start) == plain:
                    break
            place += 1
        else:
            return None
        stop = starts[bucket]
        if within is not None:
            since, until = within
            start = bisect_left(self._ordinals_view, since, start, stop)
            stop = bisect_left(self._ordinals_view, until, start, stop)
        return self._slice(start, stop - start) if stop > start else None

    @cached_property
    def _lookup(self) -> tuple[memoryview, int, int, memoryview, Callable[[int], Plain]]:
        table, starts = self.table, self.starts.data.cast("B").cast("I")
        return table.view, table.shift, table.tag_mask, starts, self.key_at

    @cached_property
    def _slice(self) -> Callable[[int, int], pa.RecordBatch]:
        return self.batch.slice

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        def equal(rows: I64, buckets: I64) -> Bools:
            return self.spec.key_type.equal(self.keys, self.starts[buckets], keys, rows)

        buckets = self.table.find_many(hashes, equal)
        buckets = buckets[buckets >= 0]
        starts = self.starts[buckets].astype(np.int64)
        counts = self.starts[buckets + 1].astype(np.int64) - starts
        return self._within(self.batch.take(to_arrow(spread_ranges(starts, counts))), within)

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        start, stop = self.key_range(low, high)
        return self._within(self.batch.slice(start, stop - start), within)

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self._within(self.batch, within)

    def piece(self, within: Range | None) -> Piece:
        kept = self._kept(self.batch, within)
        return Piece(self.batch, None if kept is None else to_arrow(kept.astype(np.uint32)))

    def stream(
        self, within: Range | None, names: list[str], words: Mapping[str, pa.Array] | None = None
    ) -> Iterator[pa.RecordBatch]:
        wanted = words or {}
        stored = {name: wanted[name] for name in wanted if name in self._stored_codes}
        rows = with_stored_codes(self.batch.select(names), self._arrays, stored)
        kept = self._kept(self.batch, within)
        rows = rows if kept is None else rows.take(to_arrow(kept))
        yield with_codes(rows, {name: wanted[name] for name in wanted if name not in stored})

    def words_of(self, name: str) -> pa.Array:
        if name in self._stored_codes:
            return stored_words(self._arrays, name)
        return super().words_of(name)

    @cached_property
    def _stored_codes(self) -> frozenset[str]:
        return stored_names(self._arrays)

    @cached_property
    def codable(self) -> frozenset[str]:
        return self._stored_codes | super().codable

    @cached_property
    def keys(self) -> pa.Array:
        """The key column."""
        return self.spec.keys(self.batch)

    def _rule_findings(self) -> Iterable[str]:
        name, directory = self._rows_name, self.part.files["directory"].name
        rows = as_sorted(self.spec, self.batch)
        if rows is None:
            yield f"{name} is not sorted by key and time"
        elif not np.array_equal(self.starts, _directory_starts(rows)):
            yield f"{directory} does not say where the buckets of {name} begin"
        elif not np.array_equal(self.table.places, build_table(rows.hashes)[0]):
            yield f"{directory} does not find the keys of {name}"
        elif any(
            not self._arrays[role].equals(array)
            for role, array in encode_columns(self.batch, self._stored_codes).items()
        ):
            yield f"{directory} has other codes than the texts of {name}"
