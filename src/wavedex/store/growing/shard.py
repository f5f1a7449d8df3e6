"""What the stores that grow in place have in common: files with room, and a directory.

A shard has three files. The records: each bucket is a run in room of its own. The heap: the bytes
of the records' strings. The directory: where each bucket lies, and how many of its records count.
An update writes records only into room that no published directory shows, and then writes a new
directory. Naming that in a manifest is what makes the update visible, all at once. A reader of the
old directory still finds what it found before.

How many buckets a key has, and in what order their records lie, is the business of each store.
Updates are made by what `wavedex.store.growing.grower` begins.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.rows.arrays import read_arrays, write_arrays
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.codes import with_codes
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import Plain
from wavedex.rows.pieces import Piece
from wavedex.store.directory import I64, Bools, HashTable, build_table
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.records import RecordFormat, Records
from wavedex.store.part import Part
from wavedex.store.positions import Positioned
from wavedex.store.room import FreeRoom
from wavedex.store.shard import KeyedShard, Range, Shard, checksum_findings
from wavedex.store.sieve import Sieve, between

KEPT_MOST = 4096
"""Of a key with hidden rows, the positions of up to this many records are kept.

Of more records it costs little to find out.
"""


class GrowingShard(Positioned, KeyedShard):
    """A shard that grows in place. It is read, and the next version is made from it.

    The position of a row is that of its record in the file, where it stays until the next version
    is made.
    """

    def __init__(
        self,
        files: AnyFiles,
        spec: EntrySpec,
        part: Part,
        mapped: Mapping[str, pa.Buffer] | None = None,
    ) -> None:
        super().__init__(files, spec, part, mapped)
        self.format = RecordFormat(spec)
        self._records_buffer = self._map("rows")
        self._heap_buffer = self._map("heap")
        self._directory_buffer = self._map("directory")

    @abstractmethod
    def _buckets_of(self, places: I64) -> Buckets:
        """The buckets of the keys at some places."""

    @abstractmethod
    def _records_of(self, place: int) -> Records:
        """The records of the key at a place, copied.

        An answer must not change when the room is used again.
        """

    @cached_property
    def _cut(self) -> dict[int, I64 | None]:
        """The places of the keys with hidden rows.

        The value of each is the positions that are left of it, once they were asked for.
        """
        if not len(self.gone):
            return {}
        keys = self.spec.key_type.distinct(self.spec.keys(self.rows_at(self.gone)))
        return dict.fromkeys(self.find_many(keys, self.spec.key_type.hash_array(keys)).tolist())

    def _records_left(self, place: int) -> Records:
        """The records of a key without those that are hidden."""
        positions = self._cut[place]
        if positions is None:
            positions = self._counted(self._buckets_of(np.array([place])).positions())
            if len(positions) <= KEPT_MOST:
                self._cut[place] = positions
        return self.records.take(positions)

    @property
    @abstractmethod
    def owners(self) -> I64:
        """The place of the key of each bucket."""

    @cached_property
    def records(self) -> Records:
        """All records of the file, those that count and the room between them.

        Some are had by `take`: NumPy copies wide records one by one where it is given an index.
        """
        return np.frombuffer(self._records_buffer, self.format.dtype)

    def ordinals_at(self, positions: I64) -> I64:
        """The order column of the records at some positions. COST: nothing else of them is read."""
        return self.format.ordinal_view(self.records)[positions].astype(np.int64, copy=False)

    @cached_property
    def heap(self) -> np.ndarray:
        """The bytes of the strings."""
        return np.frombuffer(self._heap_buffer, np.uint8)

    @cached_property
    def _directory(self) -> tuple[dict[str, Any], dict[str, str]]:
        name = self.part.files["directory"].name
        arrays, metadata = read_arrays(self._directory_buffer, name)
        views = {name: number_view(array) for name, array in arrays.items() if name != "keys"}
        return arrays | views, metadata

    @property
    def _arrays(self) -> dict[str, Any]:
        return self._directory[0]

    @cached_property
    def buckets(self) -> Buckets:
        """Where all buckets lie, in the order of their keys."""
        arrays = self._arrays
        return Buckets(arrays["rooms"], arrays["sizes"], arrays["skips"], arrays["counts"])

    @cached_property
    def free(self) -> FreeRoom:
        """The room that was freed."""
        arrays = self._arrays
        return FreeRoom(arrays["free_starts"], arrays["free_sizes"], arrays["free_commits"])

    @property
    def heap_live_bytes(self) -> int:
        """How many bytes of the heap belong to records that count."""
        return int(self._directory[1]["heap_live_bytes"])

    @cached_property
    def _table(self) -> HashTable:
        arrays, metadata = self._directory
        return HashTable(arrays["table"], int(metadata["bits"]), len(arrays["keys"]))

    @cached_property
    def keys(self) -> pa.Array:
        """The keys, sorted."""
        return self._arrays["keys"]

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        # HashTable.find, written out without its calls: most parts that are asked lack the key.
        view, shift, tag_mask, key_at, cut = self._lookup
        place, tag = hashed >> shift, hashed & tag_mask
        while entry := view[place]:
            if entry & tag_mask == tag and key_at(entry - tag - 1) == plain:
                found = entry - tag - 1
                records_of = self._records_left if found in cut else self._records_of
                batch = self._decode_within(records_of(found), within)
                return batch if batch.num_rows else None
            place += 1
        return None

    @cached_property
    def _lookup(
        self,
    ) -> tuple[memoryview, int, int, Callable[[int], Plain], Mapping[int, I64 | None]]:
        table = self._table
        return table.view, table.shift, table.tag_mask, self.key_at, self._cut

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        return self._rows_of(self._buckets_asked(keys, hashes), within)

    def locate(self, keys: pa.Array, hashes: U64) -> tuple[I64, pa.RecordBatch]:
        positions = self._counted(self._buckets_asked(keys, hashes).positions())
        return positions, self.rows_at(positions)

    def rows_at(self, positions: I64) -> pa.RecordBatch:
        return self.decode(self.records.take(positions))

    def _holds(self, positions: I64) -> bool:
        return bool(np.isin(positions, self.buckets.positions()).all())

    def _buckets_asked(self, keys: pa.Array, hashes: U64) -> Buckets:
        places = self.find_many(keys, hashes)
        return self._buckets_of(places[places >= 0])

    def find_many(self, keys: pa.Array, hashes: U64) -> I64:
        """The place of each key, or -1."""

        def equal(rows: I64, places: I64) -> Bools:
            return self.spec.key_type.equal(self.keys, places, keys, rows)

        return self._table.find_many(hashes, equal)

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        start, stop = self.key_range(low, high)
        return self._rows_of(self._buckets_of(np.arange(start, stop)), within)

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self._rows_of(self.buckets, within)

    def piece(
        self,
        within: Range | None,
        sieves: Sequence[Sieve] = (),
        words: Mapping[str, pa.Array] | None = None,
        other: Shard | None = None,
    ) -> Piece:
        """The rows that all sieves keep, in the order of the file where some are left out.

        COST: the numbers are looked at from front to back, free room too. Only rows that are kept
        are decoded. With `other`, only the buckets are copied that it does not show as they are.
        """
        names = self.spec.schema.names
        in_range = [] if within is None else [between(self.spec.order, *within)]
        records, all_sieves = self.records, (*in_range, *sieves)
        if isinstance(other, GrowingShard):
            most = max(len(records), len(other.records))
            buckets = self.buckets.not_in(other.buckets, most)
            records = records.take(self._positions_of(buckets))
        kept: Bools | None = None
        for sieve in all_sieves:
            keeps = sieve.keeps(
                lambda name: self.format.numbers(records, names.index(name)), len(records)
            )
            kept = keeps if kept is None else kept & keeps
        if records is not self.records:
            some = records if kept is None else records.take(np.flatnonzero(kept))
            return Piece(with_codes(self.decode(some), words or {}))
        positions = self._positions_of(self.buckets)
        if kept is not None:
            positions = np.sort(positions[kept[positions]])
        return Piece(with_codes(self.rows_at(positions), words or {}))

    def decode(self, records: Records) -> pa.RecordBatch:
        """Records as rows. Raises Damaged where they point at what is not there."""
        if not self.format.fits(records, len(self.heap)):
            raise Damaged(f"{self._rows_name} points outside of {self.part.files['heap'].name}")
        return self.format.decode(records, self.heap)

    def _rows_of(self, buckets: Buckets, within: Range | None) -> pa.RecordBatch:
        return self._decode_within(self.records.take(self._positions_of(buckets)), within)

    def _positions_of(self, buckets: Buckets) -> I64:
        """The positions of the records of buckets that count. Raises ValueError."""
        counts = buckets.counts
        if len(counts) and (counts.min() < 0 or max(counts.max(), counts.sum()) > self.part.rows):
            raise ValueError("buckets with more records than there are")
        return self._counted(buckets.positions())

    def _decode_within(self, records: Records, within: Range | None) -> pa.RecordBatch:
        """The rows of those records that lie in a range; the others are not decoded."""
        if within is not None:
            since, until = within
            ordinals = self.format.ordinals(records)
            records = records[(ordinals >= since) & (ordinals < until)]
        return self.decode(records)

    def _rule_findings(self) -> Iterable[str]:
        buckets, free = self.buckets, self.free
        directory = self.part.files["directory"].name
        ranks = self.spec.key_type.ranks(self.keys)
        if (ranks[1:] <= ranks[:-1]).any():
            yield f"{directory} has keys out of order"
        places, _ = build_table(self.spec.key_type.hash_array(self.keys))
        if not np.array_equal(places, self._table.places):
            yield f"{directory} does not find its own keys"
        if (buckets.skips + buckets.counts > buckets.sizes).any():
            yield f"{directory} has buckets that are larger than their room"
        starts = np.concatenate([buckets.rooms, free.starts])
        order = np.argsort(starts)
        ends = (starts + np.concatenate([buckets.sizes, free.sizes]))[order]
        if (ends[:-1] > starts[order][1:]).any() or (len(ends) and ends[-1] > len(self.records)):
            yield f"{directory} has buckets that overlap or reach past the file"
        owners = to_arrow(np.repeat(self.owners, buckets.counts))
        if not self.spec.keys(self.scan(None)).equals(self.keys.take(owners)):
            yield f"{directory} finds records of other keys in {self._rows_name}"


def write_rows(files: AnyFiles, stem: str, records: Records, heap: bytes) -> dict[str, FileRef]:
    """Write new files of records and of their strings, which last.

    They have no checksum, since they grow.
    """
    refs = {
        "rows": files.create(f"{stem}.rows", lambda sink: sink.write(records.view(np.uint8))),
        "heap": files.create(f"{stem}.heap", lambda sink: sink.write(heap)),
    }
    for ref in refs.values():
        files.sync(ref.name)
    return {role: replace(ref, checksum="") for role, ref in refs.items()}


def write_directory(
    files: AnyFiles,
    spec: EntrySpec,
    stem: str,
    keys: pa.Array,
    arrays: Mapping[str, I64],
    free: FreeRoom,
    heap_live_bytes: int,
) -> FileRef:
    """Write a directory that lasts: sorted keys, the `arrays` of its store, and the free room."""
    table, bits = build_table(spec.key_type.hash_array(keys))
    all_arrays = {
        "keys": keys,
        **arrays,
        "table": table,
        "free_starts": free.starts,
        "free_sizes": free.sizes,
        "free_commits": free.commits,
    }
    metadata = {"bits": str(bits), "heap_live_bytes": str(heap_live_bytes)}
    return _write_arrays(files, stem, all_arrays, metadata)


def copy_growing(files: AnyFiles, stem: str, part: Part) -> Part:
    """The same shard in files of its own, whose freed room is free at once.

    Raises Damaged where its directory is damaged.
    """
    refs = {}
    for role in ("rows", "heap"):
        refs[role] = replace(part.files[role], name=f"{stem}.{role}")
        files.copy(part.files[role].name, refs[role].name, part.files[role].bytes)
        files.sync(refs[role].name)
    directory = part.files["directory"]
    content = files.map(directory)
    if findings := [*checksum_findings(directory, content)]:
        raise Damaged(findings)
    arrays, metadata = read_arrays(content, directory.name)
    at_once = np.full(len(arrays["free_commits"]), -1, np.int64)
    refs["directory"] = _write_arrays(files, stem, arrays | {"free_commits": at_once}, metadata)
    return replace(part, files=refs)


def _write_arrays(
    files: AnyFiles, stem: str, arrays: Mapping[str, Any], metadata: Mapping[str, str]
) -> FileRef:
    ref = files.create(f"{stem}.dir", lambda sink: write_arrays(sink, arrays, metadata))
    files.sync(ref.name)
    return ref
