"""Writes the next version of a shard that grows in place, into room that no reader looks at.

Room comes from what earlier commits freed, once no kept manifest shows it any more, and else from
the end of the file. Nothing that a published directory shows is overwritten, so a crash at any
point leaves the old version whole. When more than half of the records or of the heap are dead, an
update writes the shard anew instead.

Each store says which buckets move, and to room of what size (`wavedex.store.growing.inplace`,
`wavedex.store.growing.chain_updates`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
import pyarrow as pa

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.rows.arrow import to_arrow
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.order import stable_order
from wavedex.rows.pieces import concat
from wavedex.store.directory import I64
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.records import Records
from wavedex.store.growing.shard import GrowingShard, copy_growing
from wavedex.store.package import Site, Updatable
from wavedex.store.part import Part
from wavedex.store.room import FreeRoom, Sizes

S = TypeVar("S", bound=GrowingShard)

WASTE_MAX = 0.5
"""The share of a file that may be dead before the shard is written anew.

Each byte is then copied at most twice.
"""
WASTE_LEAST_BYTES = 1 << 16
"""Smaller files are not worth writing anew."""


@dataclass(frozen=True)
class Grower(Updatable):
    """Makes the next version of shards in place."""

    files: AnyFiles
    """The files of the index."""
    spec: EntrySpec
    """The columns of its entries."""
    sizes: Sizes
    """The sizes that room may have."""
    commit: int
    """The number of the commit that will publish the next version."""
    oldest_kept: int
    """The number of the oldest manifest that is still kept or held by a reader."""

    @classmethod
    def at(cls, site: Site) -> Self:
        """The updater of a site."""
        return cls(site.files, site.spec, site.sizes, site.commit, site.oldest_kept)

    def copy(self, part: Part, stem: str) -> Part:
        return copy_growing(self.files, stem, part)

    def _open(self, kind: type[S], part: Part) -> S:
        """A part of which the next version is made.

        Raises Damaged where its directory is not what was written: the next directory is made of
        it. Records are moved as they lie, and `content` goes on telling what they were.
        """
        shard = kind(self.files, self.spec, part)
        if findings := [*shard.checksum_findings()]:
            raise Damaged(findings)
        return shard

    def _take_room(self, sizes: I64, free: FreeRoom, tail: int) -> tuple[I64, FreeRoom, int]:
        """Take room for each size, from the free room or behind a file of `tail` records.

        Returns the places, what is left of the free room, and how many records the file then has.
        """
        places, left = free.take(sizes, self.oldest_kept)
        fresh = places < 0
        ends = np.cumsum(sizes[fresh])
        places[fresh] = tail + ends - sizes[fresh]
        return places, left, tail + (int(ends[-1]) if len(ends) else 0)

    def _free_room(self, free: FreeRoom, buckets: Buckets) -> FreeRoom:
        """With the room of buckets that are given up.

        Of room of any size, the largest size of the series is used again.
        """
        return free.free(buckets.rooms, self.sizes.at_most(buckets.sizes), self.commit)

    def _write_into(
        self, part: Part, tail: int, positions: I64, records: Records, heap: bytes
    ) -> dict[str, FileRef]:
        """Write records into unpublished room, and behind the heap, and make both last."""
        rows, blob = part.files["rows"], part.files["heap"]
        size = max(rows.bytes, tail * records.dtype.itemsize)
        # What a write that was never committed has left behind the end is cut off.
        if size != self.files.size(rows.name):
            self.files.resize(rows.name, size)
        if len(positions):
            self.files.scatter(rows.name, positions, records)
            self.files.sync(rows.name)
        if heap:
            self.files.patch(blob.name, blob.bytes, heap)
            self.files.sync(blob.name)
        return {
            "rows": replace(rows, bytes=size),
            "heap": replace(blob, bytes=blob.bytes + len(heap)),
        }


def check_rows(shard: GrowingShard, *pieces: pa.RecordBatch) -> None:
    """Raise Damaged unless these are all rows as they were written.

    They are to be written anew, with a hash of their own.
    """
    if findings := [*shard.row_findings(concat(pieces))]:
        raise Damaged(findings)


def is_wasteful(shard: GrowingShard) -> bool:
    """Whether so much of a file is dead that it is better written anew."""
    room_bytes = int(shard.buckets.sizes.sum()) * shard.format.dtype.itemsize
    used = {"rows": room_bytes, "heap": shard.heap_live_bytes}
    return any(
        ref.bytes > WASTE_LEAST_BYTES and used[role] < ref.bytes * (1 - WASTE_MAX)
        for role, ref in shard.part.files.items()
        if role in used
    )


def with_keys(shard: GrowingShard, keys: pa.Array, hashes: U64) -> tuple[pa.Array, I64, I64]:
    """The keys of a shard together with some that it may not have.

    Returns all of them, sorted; the place of each before, where the new ones stood behind the old;
    and where `keys` are.
    """
    places = shard.find_many(keys, hashes)
    absent = places < 0
    before = len(shard.keys)
    both = pa.concat_arrays([shard.keys, keys.filter(to_arrow(absent))])
    places[absent] = np.arange(before, len(both))
    order = stable_order(shard.spec.key_type.ranks(both))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return both.take(to_arrow(order)), order, rank[places]
