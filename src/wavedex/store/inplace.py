"""Updates in place: the next version of a contiguous shard, written into room that no reader looks at.

New entries go behind the last one of their bucket; a bucket whose room is used up moves to larger room, and one that has
lost most of its entries to smaller room (CONTIGUOUS). A deletion moves the front of a bucket forwards. Nothing that a
published directory shows is overwritten, so a crash at any point leaves the old version whole. When more than half of the
records or of the heap are dead, the update writes the shard anew instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.arrow import to_arrow
from wavedex.store.content import add_content, content_of, hash_rows, subtract_content
from wavedex.store.contiguous import (
    STORE,
    Buckets,
    ContiguousShard,
    build_contiguous,
    copy_contiguous,
    write_directory,
)
from wavedex.store.directory import I64, Bools
from wavedex.store.entries import EntrySpec
from wavedex.store.order import bucket_starts, sort_order, spread_ranges, stable_order
from wavedex.store.package import Site, Updatable
from wavedex.store.part import Part, Slots
from wavedex.store.pieces import concat
from wavedex.store.reading import Range
from wavedex.store.records import Records
from wavedex.store.room import FreeRoom, Sizes

WASTE_MAX = 0.5
"""The share of a file that may be dead before the shard is written anew: each byte is then copied at most twice."""
WASTE_LEAST_BYTES = 1 << 16
"""Files smaller than this are not worth it."""


@dataclass(frozen=True)
class Updater(Updatable):
    """Makes the next version of contiguous shards in place.

    `commit` is the number of the commit that will publish it, `oldest_kept` that of the oldest manifest that is still
    kept or held by a reader.
    """

    files: AnyFiles
    spec: EntrySpec
    sizes: Sizes
    commit: int
    oldest_kept: int

    @classmethod
    def at(cls, site: Site) -> Updater:
        """The updater of a site."""
        return cls(site.files, site.spec, site.sizes, site.commit, site.oldest_kept)

    def build(self, stem: str, batch: pa.RecordBatch, held: Slots) -> Part:
        return build_contiguous(self.files, self.spec, stem, batch, held)

    def copy(self, part: Part, stem: str) -> Part:
        return copy_contiguous(self.files, self.spec, stem, part)

    def add(self, part: Part, stem: str, batch: pa.RecordBatch, slots: Slots) -> Part:
        """The part with the rows of `batch` added. REQUIRES: at least one row."""
        shard = ContiguousShard(self.files, self.spec, part)
        if self._is_wasteful(shard):
            rows = concat([shard.scan(None), batch])
            return build_contiguous(self.files, self.spec, stem, rows, part.held | slots)
        ranks = self.spec.key_type.ranks(self.spec.keys(batch))
        order = sort_order(ranks, self.spec.ordinals(batch))
        batch, ranks = batch.take(to_arrow(order)), ranks[order]
        starts = bucket_starts(ranks)
        arriving = np.diff(np.append(starts, len(ranks)))
        keys = self.spec.keys(batch).take(to_arrow(starts))
        buckets = _with_keys(shard, keys, self.spec)
        which = buckets.found
        wanted = np.zeros(len(buckets.all.keys), np.int64)
        wanted[which] = arriving
        moved, free, tail = self._make_room(shard, buckets.all, wanted)
        targets = spread_ranges((moved.firsts + moved.counts)[which], arriving)
        records, heap = shard.format.encode(batch, part.files["heap"].bytes)
        refs = self._write(part, shard, buckets.all, moved, tail, (targets, records), heap)
        final = replace(moved, counts=moved.counts + wanted)
        refs["directory"] = write_directory(
            self.files, self.spec, stem, final, free, shard.heap_live_bytes + len(heap)
        )
        held = part.held | slots
        content = add_content(part.content or 0, content_of(hash_rows(batch)))
        return Part(STORE, refs, held, held, part.rows + batch.num_rows, content)

    def delete(self, part: Part, stem: str, dead: Range, slots: Slots) -> Part | None:
        """The part without the rows whose ordinals lie in `dead`, which are those of `slots`; None if none is left."""
        shard = ContiguousShard(self.files, self.spec, part)
        buckets = shard.buckets
        records = shard.records[buckets.positions()]
        ordinals = shard.format.ordinals(records)
        lives = (ordinals < dead[0]) | (ordinals >= dead[1])
        held = part.held - slots
        if lives.all():
            return replace(part, held=held, shown=held)
        if not lives.any():
            return None
        survivors = shard.decode(records[lives])
        if self._is_wasteful(shard) or not _only_fronts_die(buckets, lives):
            return build_contiguous(self.files, self.spec, stem, survivors, held)
        starts = np.cumsum(buckets.counts) - buckets.counts
        gone = np.add.reduceat((~lives).astype(np.int64), starts)
        shrunk = replace(buckets, skips=buckets.skips + gone, counts=buckets.counts - gone)
        empty = shrunk.counts == 0
        free = shard.free.free(
            shrunk.rooms[empty], self._reusable(shrunk.sizes[empty]), self.commit
        )
        shrunk = shrunk.take(np.flatnonzero(~empty))
        moved, free, tail = self._make_room(
            shard, shrunk, np.zeros(len(shrunk.keys), np.int64), free=free, shrink=True
        )
        nothing = (np.zeros(0, np.int64), records[:0])
        refs = self._write(part, shard, shrunk, moved, tail, nothing, b"")
        heap_live_bytes = shard.heap_live_bytes - shard.format.heap_live_bytes(records[~lives])
        refs["directory"] = write_directory(
            self.files, self.spec, stem, moved, free, heap_live_bytes
        )
        dead_rows = shard.decode(records[~lives])
        content = subtract_content(part.content or 0, content_of(hash_rows(dead_rows)))
        return Part(STORE, refs, held, held, int(lives.sum()), content)

    def _make_room(
        self,
        shard: ContiguousShard,
        buckets: Buckets,
        wanted: I64,
        free: FreeRoom | None = None,
        shrink: bool = False,
    ) -> tuple[Buckets, FreeRoom, int]:
        """Move the buckets that have no room for what they want, or far too much; how many records the file then has."""
        free = shard.free if free is None else free
        needed = buckets.counts + wanted
        tight = (buckets.skips + needed > buckets.sizes) & (wanted > 0)
        new_sizes = self.sizes.at_least(needed)
        if shrink:
            tight |= new_sizes * self.sizes.growth * self.sizes.growth <= buckets.sizes
        movers = np.flatnonzero(tight)
        places, left = free.take(new_sizes[movers], self.oldest_kept)
        fresh = places < 0
        ends = np.cumsum(new_sizes[movers][fresh])
        tail = len(shard.records)
        places[fresh] = tail + ends - new_sizes[movers][fresh]
        left = left.free(buckets.rooms[movers], self._reusable(buckets.sizes[movers]), self.commit)
        rooms, sizes, skips = buckets.rooms.copy(), buckets.sizes.copy(), buckets.skips.copy()
        rooms[movers], sizes[movers], skips[movers] = places, new_sizes[movers], 0
        moved = Buckets(buckets.keys, rooms, sizes, skips, buckets.counts)
        return moved, left, tail + (int(ends[-1]) if len(ends) else 0)

    def _reusable(self, sizes: I64) -> I64:
        """Room of a packed bucket is of any size; what is used of it again is the largest size of the series in it."""
        return self.sizes.at_most(sizes)

    def _write(
        self,
        part: Part,
        shard: ContiguousShard,
        old: Buckets,
        new: Buckets,
        tail: int,
        added: tuple[I64, Records],
        heap: bytes,
    ) -> dict[str, FileRef]:
        """Write moved and new records into unpublished room, and the heap, and make both last."""
        rows, blob = part.files["rows"], part.files["heap"]
        movers = np.flatnonzero(new.rooms != old.rooms)
        sources = spread_ranges(old.firsts[movers], old.counts[movers])
        targets = spread_ranges(new.firsts[movers], new.counts[movers])
        width = shard.format.dtype.itemsize
        size = max(rows.bytes, tail * width)
        if size != self.files.size(rows.name):
            self.files.resize(rows.name, size)
        positions = np.concatenate([targets, added[0]])
        if len(positions):
            records = np.concatenate([shard.records[sources], added[1]])
            self.files.scatter(rows.name, positions, records)
            self.files.sync(rows.name)
        if heap:
            self.files.patch(blob.name, blob.bytes, heap)
            self.files.sync(blob.name)
        return {
            "rows": replace(rows, bytes=size),
            "heap": replace(blob, bytes=blob.bytes + len(heap)),
        }

    def _is_wasteful(self, shard: ContiguousShard) -> bool:
        room_bytes = int(shard.buckets.sizes.sum()) * shard.format.dtype.itemsize
        used = {"rows": room_bytes, "heap": shard.heap_live_bytes}
        return any(
            ref.bytes > WASTE_LEAST_BYTES and used[role] < ref.bytes * (1 - WASTE_MAX)
            for role, ref in shard.part.files.items()
            if role in used
        )


@dataclass(frozen=True)
class _Found:
    """All buckets, the new ones without room, and which of them hold the keys that were asked for."""

    all: Buckets
    found: I64


def _with_keys(shard: ContiguousShard, keys: pa.Array, spec: EntrySpec) -> _Found:
    """The buckets of a shard together with empty ones for keys that it does not have."""
    places = shard.find_many(keys, spec.key_type.hash_array(keys))
    absent = places < 0
    news = int(absent.sum())
    old = shard.buckets
    none = np.zeros(news, np.int64)
    both = Buckets(
        pa.concat_arrays([old.keys, keys.filter(to_arrow(absent))]),
        *(np.concatenate([array, none]) for array in (old.rooms, old.sizes, old.skips, old.counts)),
    )
    order = stable_order(spec.key_type.ranks(both.keys))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    places[absent] = np.arange(len(old.keys), len(old.keys) + news)
    return _Found(both.take(order), rank[places])


def _only_fronts_die(buckets: Buckets, lives: Bools) -> bool:
    """Whether the dead records of each bucket all come before its living ones."""
    starts = np.cumsum(buckets.counts) - buckets.counts
    fell = lives[:-1] & ~lives[1:]
    fell[starts[1:] - 1] = False
    return not fell.any()
