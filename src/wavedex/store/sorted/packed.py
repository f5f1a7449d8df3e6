"""The packed store: a shard's entries sorted by key and then by time, in one mapped Arrow file.

A bucket is a run of rows. So a probe is one look into the directory and one slice that copies
nothing, and a scan reads the file from front to back. The directory file holds the first row of
each bucket and the table that finds the bucket. The keys themselves stand in the rows. Neither file
is ever changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles
from wavedex.rows.arrays import read_arrays, read_batch, write_batch
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.codes import (
    encode_columns,
    stored_names,
    stored_words,
    with_codes,
    with_stored_codes,
)
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import Plain
from wavedex.rows.order import spread_ranges
from wavedex.rows.pieces import Piece, Pieces
from wavedex.rows.soundness import check_column, check_columns, check_once
from wavedex.store.directory import I64, Bools, HashTable, build_table
from wavedex.store.part import Part, Slots
from wavedex.store.positions import SLICED_MOST, SLICES_MOST, Positioned, runs_between
from wavedex.store.shard import Found, KeyedShard, Range, Shard, piece_of
from wavedex.store.sieve import Sieve
from wavedex.store.sorter import PartDraft, SortedRows, as_sorted, sort_rows, write_part

STORE = "packed"
FEW_PROBES, ROWS_A_PROBE = 64, 1024
"""After how many probes of a file the offsets of all its text are looked at, once.

Until then the offsets of each answer are. The number is one probe for each `ROWS_A_PROBE` rows, and
at least `FEW_PROBES`. So it comes to no more than a page of offsets a probe.
"""


def build_packed(files: AnyFiles, spec: EntrySpec, stem: str, entries: Pieces, held: Slots) -> Part:
    """Write the entries as a packed shard. REQUIRES: at least one row. ENSURES: both files last."""
    rows = sort_rows(spec, entries)
    table, bits = build_table(rows.hashes)
    draft = PartDraft(
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
    return write_part(files, stem, draft, held, rows.batch.num_rows)


def _directory_starts(rows: SortedRows) -> I64:
    return np.append(rows.starts, rows.batch.num_rows)


ROWS_MANY = 4096
"""From this many rows on, an answer is read from front to back.

Pages that lie side by side come faster that way.
"""

_Slice = Callable[[int, int], pa.RecordBatch]
_Lookup = tuple[
    memoryview, int, int, memoryview, Callable[[int], Plain], Mapping[int, Found], _Slice
]
"""What a probe needs at hand.

These are three things of the table, the first rows, the keys, `_cut`, and what slices.
"""


class PackedShard(Positioned, KeyedShard):
    """A packed shard that is read. The position of a row is its place in the file."""

    in_order = True

    def __init__(
        self,
        files: AnyFiles,
        spec: EntrySpec,
        part: Part,
        mapped: Mapping[str, pa.Buffer] | None = None,
    ) -> None:
        super().__init__(files, spec, part, mapped)
        self._rows_buffer = self._map("rows")
        self._directory_buffer = self._map("directory")
        self._sound: set[str] = set()
        self._unsure = max(FEW_PROBES, part.rows // ROWS_A_PROBE)

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """All rows of the file. Raises Damaged."""
        batch = read_batch(self._rows_buffer, self._rows_name)
        found, meant = batch.schema, self.spec.schema
        is_same = (found.names, found.types) == (meant.names, meant.types)
        if not is_same or batch.num_rows != self.part.rows:
            raise Damaged(f"{self._rows_name} has other columns, or not {self.part.rows} rows")
        for column in batch.columns:
            check_once(column)
        return batch

    def _sound_rows(self, names: Iterable[str]) -> pa.RecordBatch:
        """Some columns of all rows. COST: a pass, once for each.

        Raises ValueError where they lie outside of the file.
        """
        names = [*names]
        for name in names:
            if name not in self._sound:
                check_column(self.batch.column(name))
                self._sound.add(name)
        if len(self._sound) == len(self.spec.schema.names):
            self._be_sure()
        return self.batch.select(names)

    def _be_sure(self) -> None:
        """From now on, hand rows over without a look."""
        self._unsure = 0
        self.__dict__.pop("_lookup", None)

    def _check_few(self, found: pa.RecordBatch) -> None:
        """Raise ValueError where the rows of an answer lie outside of the file.

        COST: as much as the probe itself. So after some probes all rows are looked at instead, once
        and for all.
        """
        self._unsure = max(1, self._unsure - 1)  # Several threads may be counting.
        if self._unsure > 1:
            check_columns(found.columns)
        else:
            self._sound_rows(self.spec.schema.names)

    @cached_property
    def _directory(self) -> tuple[dict[str, pa.Array], dict[str, str]]:
        return read_arrays(self._directory_buffer, self.part.files["directory"].name)

    @property
    def _arrays(self) -> dict[str, pa.Array]:
        return self._directory[0]

    @cached_property
    def starts(self) -> I64:
        """The first row of each bucket, and the number of rows."""
        starts = number_view(self._arrays["starts"])
        if starts.dtype != np.uint32 or not len(starts):
            raise Damaged(f"{self.part.files['directory'].name} is no directory")
        return starts

    @cached_property
    def table(self) -> HashTable:
        """What finds a bucket."""
        arrays, metadata = self._directory
        return HashTable(number_view(arrays["table"]), int(metadata["bits"]), len(self.starts) - 1)

    @cached_property
    def _ordinals_view(self) -> memoryview:
        return number_view(self.batch.column(self.spec.order_place)).data

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> Found:
        # A probe is as fast as this loop: HashTable.find, written out without its calls.
        view, shift, tag_mask, starts, key_at, cut, slice_ = self._lookup
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
        if bucket in cut:
            return (within is None and cut[bucket]) or self._around(bucket, start, stop, within)
        count = stop - start
        if 0 < count < ROWS_MANY:
            return slice_(start, count)
        return self._slice_of_many(start, count) if count > 0 else None

    @cached_property
    def _lookup(self) -> _Lookup:
        table, starts = self.table, self.starts.data.cast("B").cast("I")
        slice_ = self._looked_at if self._unsure else self.batch.slice
        return table.view, table.shift, table.tag_mask, starts, self.key_at, self._cut, slice_

    def _looked_at(self, start: int, count: int) -> pa.RecordBatch:
        """Some rows, none of which lies outside of the file. Raises ValueError."""
        found = self.batch.slice(start, count)
        if found.num_rows < count:
            raise ValueError("a bucket that reaches past the rows")
        if self._unsure:
            self._check_few(found)
        return found

    def _slice_of_many(self, start: int, count: int) -> pa.RecordBatch:
        found = self.batch.slice(start, count)
        check_columns(found.columns)
        return found

    @cached_property
    def _cut(self) -> dict[int, Found]:
        """The buckets with hidden rows, counted from 1.

        The value of each is the slices between its hidden rows, once they were asked for.
        """
        # Of one type, so that only pages of the directory that the search needs are touched.
        gone = self.gone.astype(self.starts.dtype)
        return dict.fromkeys(np.searchsorted(self.starts, gone, "right").tolist())

    def _around(self, bucket: int, start: int, stop: int, within: Range | None) -> Found:
        """What counts of some rows of a bucket.

        These are slices around the hidden rows, or a copy where these are many.
        """
        runs = runs_between(self.gone.data, start, stop)
        if len(runs) > SLICES_MOST:
            return self._counted_between(start, stop)
        found = [self._looked_at(first, count) for first, count in runs]
        if within is None and len(self._cut) <= SLICED_MOST:
            self._cut[bucket] = found
        return found or None

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        places = self._places_of(keys, hashes)
        if within is not None:
            since, until = within
            ordinals = number_view(self.batch.column(self.spec.order_place))[places]
            places = places[(ordinals >= since) & (ordinals < until)]
        return self._take(places)

    def locate(self, keys: pa.Array, hashes: U64) -> tuple[I64, pa.RecordBatch]:
        places = self._places_of(keys, hashes)
        return places, self._take(places)

    def _places_of(self, keys: pa.Array, hashes: U64) -> I64:
        """The places of the rows of several distinct keys that count."""

        def equal(rows: I64, buckets: I64) -> Bools:
            return self.spec.key_type.equal(self.keys, self.starts[buckets], keys, rows)

        buckets = self.table.find_many(hashes, equal)
        buckets = buckets[buckets >= 0]
        starts = self.starts[buckets].astype(np.int64)
        counts = self.starts[buckets + 1].astype(np.int64) - starts
        if (counts < 1).any() or (starts + counts > self.part.rows).any():
            raise ValueError("buckets that reach past the rows")
        return self._counted(spread_ranges(starts, counts))

    def rows_at(self, positions: I64) -> pa.RecordBatch:
        return self._take(positions)

    def _take(self, places: I64) -> pa.RecordBatch:
        check_columns(self.batch.columns, places)
        return self.batch.take(to_arrow(places))

    def _holds(self, positions: I64) -> bool:
        return bool(((positions >= 0) & (positions < self.batch.num_rows)).all())

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        start, stop = self.key_range(low, high)
        if len(self.gone):
            return self._within(self._counted_between(start, stop), within)
        found = self.batch.slice(start, stop - start)
        check_columns(found.columns)
        return self._within(found, within)

    def _counted_between(self, start: int, stop: int) -> pa.RecordBatch:
        return self._take(self._counted(np.arange(start, stop)))

    def scan(self, within: Range | None) -> pa.RecordBatch:
        rows, kept = self._sound_rows(self.spec.schema.names), self._left(within)
        return rows if kept is None else rows.take(to_arrow(kept))

    def _left(self, within: Range | None) -> I64 | None:
        """The places of the rows that count and lie in a range; None for all."""
        kept = self._kept(self.batch, within)
        if not len(self.gone):
            return kept
        return self._counted(np.arange(self.batch.num_rows) if kept is None else kept)

    def piece(
        self,
        within: Range | None,
        sieves: Sequence[Sieve] = (),
        words: Mapping[str, pa.Array] | None = None,
        other: Shard | None = None,
    ) -> Piece:
        wanted = words or {}
        self._sound_rows(name for name in self.spec.schema.names if name not in wanted)
        rows = with_stored_codes(self.batch, self._arrays, wanted)
        kept = self._lies_in(rows, within)
        if len(self.gone):
            kept = np.ones(rows.num_rows, np.bool_) if kept is None else kept
            kept[self.gone] = False
        return piece_of(rows, kept, sieves)

    def stream(
        self, within: Range | None, names: list[str], words: Mapping[str, pa.Array] | None = None
    ) -> Iterator[pa.RecordBatch]:
        wanted = words or {}
        stored = {name: wanted[name] for name in wanted if name in self.stored_codes}
        rows = with_stored_codes(self._sound_rows(names), self._arrays, stored)
        kept = self._left(within)
        rows = rows if kept is None else rows.take(to_arrow(kept))
        yield with_codes(rows, {name: wanted[name] for name in wanted if name not in stored})

    def words_of(self, name: str) -> pa.Array:
        if name in self.stored_codes:
            return stored_words(self._arrays, name)
        return super().words_of(name)

    @cached_property
    def stored_codes(self) -> frozenset[str]:
        return stored_names(self._arrays)

    @cached_property
    def codable(self) -> frozenset[str]:
        return self.stored_codes | super().codable

    @cached_property
    def keys(self) -> pa.Array:
        """The key column."""
        return self.spec.keys(self.batch)

    def answer_findings(self) -> list[str]:
        """The same, and what Arrow finds when it looks at all rows, text too.

        Rows are handed out as they lie, so this is for somebody who wants to be sure.
        """
        findings = super().answer_findings()
        if not findings:
            try:
                self.batch.validate(full=True)
            except pa.ArrowInvalid as error:
                findings.append(f"{self._rows_name} has values that are none ({error})")
        return findings

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
            for role, array in encode_columns(self.batch, self.stored_codes).items()
        ):
            yield f"{directory} has other codes than the texts of {name}"
