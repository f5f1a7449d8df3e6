"""Updates in place: the next version of a contiguous shard, in room that no reader looks at.

New entries go behind the last one of their bucket. A bucket whose room is used up moves to larger
room, and one that has lost most of its entries to smaller room (CONTIGUOUS). A deletion moves the
front of a bucket forwards. `wavedex.store.growing.grower` says how all this gets into the files,
and when the shard is written anew instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from wavedex.rows.arrow import to_arrow
from wavedex.rows.content import add_content, content_of, hash_rows, subtract_content
from wavedex.rows.order import spread_ranges
from wavedex.rows.pieces import Pieces, concat
from wavedex.store.directory import I64, Bools
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.contiguous import STORE, ContiguousShard, build_contiguous
from wavedex.store.growing.grower import Grower, check_rows, is_wasteful, with_keys
from wavedex.store.growing.shard import write_directory
from wavedex.store.part import Part, Slots
from wavedex.store.room import FreeRoom
from wavedex.store.shard import Range
from wavedex.store.sorter import sort_rows


@dataclass(frozen=True)
class Updater(Grower):
    """Makes the next version of contiguous shards in place."""

    def build(self, stem: str, batch: pa.RecordBatch, held: Slots) -> Part:
        return build_contiguous(self.files, self.spec, stem, batch, held)

    def add(self, part: Part, stem: str, batch: pa.RecordBatch, slots: Slots) -> Part:
        """The part with the rows of `batch` added. REQUIRES: at least one row."""
        shard = self._open(ContiguousShard, part)
        held = part.held | slots
        if is_wasteful(shard):
            stored = shard.scan(None)
            check_rows(shard, stored)
            return self.build(stem, concat([stored, batch]), held)
        rows = sort_rows(self.spec, Pieces.of(batch))
        keys, order, which = with_keys(shard, rows.keys(self.spec), rows.hashes)
        none = np.zeros(len(keys) - len(shard.keys), np.int64)
        old = shard.buckets.followed_by(Buckets(none, none, none, none)).take(order)
        wanted = np.zeros(len(keys), np.int64)
        wanted[which] = rows.counts
        new, free, tail = self._make_room(shard, old, wanted)
        sources, targets = _moves(old, new)
        targets = np.append(targets, spread_ranges((new.firsts + new.counts)[which], rows.counts))
        added, heap = shard.format.encode(rows.batch, part.files["heap"].bytes)
        records = np.concatenate([shard.records.take(sources), added])
        refs = self._write_into(part, tail, targets, records, heap)
        final = replace(new, counts=new.counts + wanted)
        refs["directory"] = write_directory(
            self.files,
            self.spec,
            stem,
            keys,
            final.arrays(),
            free,
            shard.heap_live_bytes + len(heap),
        )
        content = add_content(part.content or 0, content_of(hash_rows(batch)))
        return Part(STORE, refs, held, held, part.rows + batch.num_rows, content)

    def delete(self, part: Part, stem: str, dead: Range, slots: Slots) -> Part | None:
        """The part without the rows whose ordinals lie in `dead`; None if none is left.

        These are the rows of `slots`.
        """
        shard = self._open(ContiguousShard, part)
        buckets = shard.buckets
        records = shard.records.take(buckets.positions())
        ordinals = shard.format.ordinals(records)
        lives = (ordinals < dead[0]) | (ordinals >= dead[1])
        held = part.held - slots
        if lives.all():
            return replace(part, held=held, shown=held)
        if not lives.any():
            return None
        if is_wasteful(shard) or not _only_fronts_die(buckets, lives):
            left = shard.decode(records[lives])
            check_rows(shard, left, shard.decode(records[~lives]))
            return self.build(stem, left, held)
        starts = np.cumsum(buckets.counts) - buckets.counts
        gone = np.add.reduceat((~lives).astype(np.int64), starts)
        shrunk = replace(buckets, skips=buckets.skips + gone, counts=buckets.counts - gone)
        free = self._free_room(shard.free, shrunk.take(np.flatnonzero(shrunk.counts == 0)))
        left = np.flatnonzero(shrunk.counts)
        old = shrunk.take(left)
        new, free, tail = self._make_room(
            shard, old, np.zeros(len(left), np.int64), free=free, shrink=True
        )
        sources, targets = _moves(old, new)
        refs = self._write_into(part, tail, targets, shard.records.take(sources), b"")
        refs["directory"] = write_directory(
            self.files,
            self.spec,
            stem,
            shard.keys.take(to_arrow(left)),
            new.arrays(),
            free,
            shard.heap_live_bytes - shard.format.heap_live_bytes(records[~lives]),
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
        """Move the buckets that have no room for what they want, or far too much.

        Returns the buckets, the free room, and how many records the file then has.
        """
        free = shard.free if free is None else free
        needed = buckets.counts + wanted
        tight = (buckets.skips + needed > buckets.sizes) & (wanted > 0)
        new_sizes = self.sizes.at_least(needed)
        if shrink:
            tight |= new_sizes * self.sizes.growth * self.sizes.growth <= buckets.sizes
        movers = np.flatnonzero(tight)
        places, free, tail = self._take_room(new_sizes[movers], free, len(shard.records))
        free = self._free_room(free, buckets.take(movers))
        rooms, sizes, skips = buckets.rooms.copy(), buckets.sizes.copy(), buckets.skips.copy()
        rooms[movers], sizes[movers], skips[movers] = places, new_sizes[movers], 0
        return Buckets(rooms, sizes, skips, buckets.counts), free, tail


def _moves(old: Buckets, new: Buckets) -> tuple[I64, I64]:
    """Where the records of buckets that get other room are copied from, and where to."""
    movers = np.flatnonzero(new.rooms != old.rooms)
    return old.take(movers).positions(), new.take(movers).positions()


def _only_fronts_die(buckets: Buckets, lives: Bools) -> bool:
    """Whether the dead records of each bucket all come before its living ones."""
    starts = np.cumsum(buckets.counts) - buckets.counts
    fell = lives[:-1] & ~lives[1:]
    fell[starts[1:] - 1] = False
    return not fell.any()
