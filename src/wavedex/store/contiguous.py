"""The contiguous store: buckets with room to grow, updated in place, visible to readers without a lock.

Three files to a shard: records, in which each bucket is a run with room behind it; the heap of the records' strings; and
a directory, which says where each bucket lies and how many of its records count. An update writes records only into room
that no published directory shows, and then writes a new directory: naming that in a manifest is what makes the update
visible, all at once, and a reader of the old directory still finds what it found before.

Updates are made by `wavedex.store.inplace`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from wavedex.errors import Damaged
from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.arrays import read_arrays, write_arrays
from wavedex.store.arrow import number_view, to_arrow
from wavedex.store.content import content_of, hash_rows
from wavedex.store.directory import I64, Bools, Table, build_table
from wavedex.store.entries import EntrySpec
from wavedex.store.keys import Plain
from wavedex.store.order import bucket_starts, sort_order, spread_ranges
from wavedex.store.part import Part, Slots
from wavedex.store.reading import KeyedShard, Range
from wavedex.store.records import RecordFormat, Records
from wavedex.store.room import FreeRoom
from wavedex.store.xxh64 import U64

STORE = "contiguous"


@dataclass(frozen=True)
class Buckets:
    """Where the buckets lie: sorted keys, and for each the start and size of its room, the records skipped at its
    front, and the records that count.
    """

    keys: pa.Array
    rooms: I64
    sizes: I64
    skips: I64
    counts: I64

    @property
    def firsts(self) -> I64:
        """The position of each bucket's first record."""
        return self.rooms + self.skips

    def positions(self) -> I64:
        """The positions of all records that count, bucket by bucket."""
        return spread_ranges(self.firsts, self.counts)

    def take(self, which: I64) -> Buckets:
        """Some of the buckets, or all in another order."""
        keys = self.keys.take(to_arrow(which))
        return Buckets(keys, *(array[which] for array in self._arrays()))

    def _arrays(self) -> tuple[I64, I64, I64, I64]:
        return self.rooms, self.sizes, self.skips, self.counts


class ContiguousShard(KeyedShard):
    """A contiguous shard that is read, and from which the next version is made."""

    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        super().__init__(files, spec, part)
        self.format = RecordFormat(spec)
        self._records_buffer = files.map(part.files["rows"])
        self._heap_buffer = files.map(part.files["heap"])
        self._directory_buffer = files.map(part.files["directory"])

    @cached_property
    def records(self) -> Records:
        """All records of the file, those that count and the room between them."""
        return np.frombuffer(self._records_buffer, self.format.dtype)

    @cached_property
    def heap(self) -> np.ndarray:
        """The bytes of the strings."""
        return np.frombuffer(self._heap_buffer, np.uint8)

    @cached_property
    def _directory(self) -> tuple[Buckets, Table, FreeRoom, int]:
        arrays, metadata = read_arrays(self._directory_buffer, self.part.files["directory"].name)
        view = {name: number_view(array) for name, array in arrays.items() if name != "keys"}
        buckets = Buckets(
            arrays["keys"], view["rooms"], view["sizes"], view["skips"], view["counts"]
        )
        free = FreeRoom(view["free_starts"], view["free_sizes"], view["free_commits"])
        table = Table(view["table"], int(metadata["bits"]), len(buckets.keys))
        return buckets, table, free, int(metadata["heap_live_bytes"])

    @property
    def buckets(self) -> Buckets:
        """Where the buckets lie."""
        return self._directory[0]

    @property
    def free(self) -> FreeRoom:
        """The room that was freed."""
        return self._directory[2]

    @property
    def heap_live_bytes(self) -> int:
        """How many bytes of the heap belong to records that count."""
        return self._directory[3]

    @property
    def keys(self) -> pa.Array:
        return self.buckets.keys

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        buckets, table, _, _ = self._directory
        bucket = table.find(hashed, lambda bucket: self.key_at(bucket) == plain)
        if bucket < 0:
            return None
        first = int(buckets.rooms[bucket] + buckets.skips[bucket])
        # A copy: an answer must not change when the room is used again after this shard is let go.
        found = self.records[first : first + int(buckets.counts[bucket])].copy()
        batch = self._within(self.decode(found), within)
        return batch if batch.num_rows else None

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        buckets = self.find_many(keys, hashes)
        return self._rows_of(self.buckets.take(buckets[buckets >= 0]), within)

    def find_many(self, keys: pa.Array, hashes: U64) -> I64:
        """The bucket of each key, or -1."""

        def equal(rows: I64, buckets: I64) -> Bools:
            return self.spec.key_type.equal(self.keys, buckets, keys, rows)

        return self._directory[1].find_many(hashes, equal)

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        start, stop = self.key_range(low, high)
        return self._rows_of(self.buckets.take(np.arange(start, stop)), within)

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self._rows_of(self.buckets, within)

    def decode(self, records: Records) -> pa.RecordBatch:
        """Records as rows. Raises Damaged where they point at what is not there."""
        if not self.format.fits(records, len(self.heap)):
            raise Damaged(f"{self._rows_name} points outside of {self.part.files['heap'].name}")
        return self.format.decode(records, self.heap)

    def _rows_of(self, buckets: Buckets, within: Range | None) -> pa.RecordBatch:
        found = self.records[buckets.positions()]
        return self._within(self.decode(found), within)

    def _rule_findings(self) -> Iterable[str]:
        buckets, table, free, _ = self._directory
        directory = self.part.files["directory"].name
        places, _ = build_table(self.spec.key_type.hash_array(buckets.keys))
        if not np.array_equal(places, table.places):
            yield f"{directory} does not find its own keys"
        if (buckets.skips + buckets.counts > buckets.sizes).any():
            yield f"{directory} has buckets that are larger than their room"
        starts = np.concatenate([buckets.rooms, free.starts])
        order = np.argsort(starts)
        ends = (starts + np.concatenate([buckets.sizes, free.sizes]))[order]
        if (ends[:-1] > starts[order][1:]).any() or (len(ends) and ends[-1] > len(self.records)):
            yield f"{directory} has buckets that overlap or reach past the file"
        owners = np.repeat(np.arange(len(buckets.keys)), buckets.counts)
        if not self.spec.keys(self.scan(None)).equals(buckets.keys.take(to_arrow(owners))):
            yield f"{directory} finds records of other keys in {self._rows_name}"


def build_contiguous(
    files: AnyFiles, spec: EntrySpec, stem: str, batch: pa.RecordBatch, held: Slots
) -> Part:
    """Write the entries packed: no bucket has room to grow until it first does. REQUIRES: at least one row."""
    layout = RecordFormat(spec)
    ranks = spec.key_type.ranks(spec.keys(batch))
    order = sort_order(ranks, spec.ordinals(batch))
    batch, ranks = batch.take(to_arrow(order)), ranks[order]
    starts = bucket_starts(ranks)
    counts = np.diff(np.append(starts, len(ranks)))
    buckets = Buckets(
        spec.keys(batch).take(to_arrow(starts)), starts, counts, np.zeros_like(starts), counts
    )
    records, heap = layout.encode(batch, 0)
    refs = {
        "rows": files.create(f"{stem}.rows", lambda sink: sink.write(records.view(np.uint8))),
        "heap": files.create(f"{stem}.heap", lambda sink: sink.write(heap)),
    }
    for ref in refs.values():
        files.sync(ref.name)
    refs = {role: replace(ref, checksum="") for role, ref in refs.items()}
    refs["directory"] = write_directory(files, spec, stem, buckets, FreeRoom.none(), len(heap))
    content = content_of(hash_rows(batch))
    return Part(STORE, refs, held, held, len(ranks), content)


def copy_contiguous(files: AnyFiles, spec: EntrySpec, stem: str, part: Part) -> Part:
    """The same shard in files of its own, whose freed room is free at once."""
    shard = ContiguousShard(files, spec, part)
    refs = {}
    for role in ("rows", "heap"):
        refs[role] = replace(part.files[role], name=f"{stem}.{role}")
        files.copy(part.files[role].name, refs[role].name, part.files[role].bytes)
        files.sync(refs[role].name)
    free = replace(shard.free, commits=np.full(len(shard.free.starts), -1, np.int64))
    refs["directory"] = write_directory(
        files, spec, stem, shard.buckets, free, shard.heap_live_bytes
    )
    return replace(part, files=refs)


def write_directory(
    files: AnyFiles,
    spec: EntrySpec,
    stem: str,
    buckets: Buckets,
    free: FreeRoom,
    heap_live_bytes: int,
) -> FileRef:
    """Write a directory that lasts."""
    table, bits = build_table(spec.key_type.hash_array(buckets.keys))
    arrays = {
        "keys": buckets.keys,
        "rooms": buckets.rooms,
        "sizes": buckets.sizes,
        "skips": buckets.skips,
        "counts": buckets.counts,
        "table": table,
        "free_starts": free.starts,
        "free_sizes": free.sizes,
        "free_commits": free.commits,
    }
    metadata = {"bits": str(bits), "heap_live_bytes": str(heap_live_bytes)}
    ref = files.create(f"{stem}.dir", lambda sink: write_arrays(sink, arrays, metadata))
    files.sync(ref.name)
    return ref
