"""The chained store: several buckets of a fixed size to a key, each sorted by time.

A bucket is updated without touching the others. A key's buckets are its chain (NoRebuild, Section
4.1 of the paper on variable lifetimes). A bucket is sorted by the order column, so what expires
leaves its front. It is copied when entries are added to it, never appended to. A directory has the
sorted keys, the first bucket of each (`starts`, and at the end the number of buckets), and the
buckets, chain by chain. A probe is one look into it and one gather over the buckets of the chain.

The rule of `wavedex.store.growing.chain_rule` says how many buckets a chain has, and of what size.
What all stores that grow share is in `wavedex.store.growing.shard`. Updates are made by
`wavedex.store.growing.chain_updates`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from wavedex.files.contract import AnyFiles, FileRef
from wavedex.rows.content import content_of, hash_rows
from wavedex.rows.entries import EntrySpec
from wavedex.rows.order import spread_ranges
from wavedex.rows.pieces import Pieces
from wavedex.store.directory import I64
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.chain_rule import cut
from wavedex.store.growing.records import RecordFormat, Records
from wavedex.store.growing.shard import GrowingShard, write_directory, write_rows
from wavedex.store.part import Part, Slots
from wavedex.store.room import FreeRoom, Sizes
from wavedex.store.sorter import sort_rows

STORE = "chained"


@dataclass(frozen=True)
class Chains:
    """The keys of a shard and their buckets."""

    keys: pa.Array
    """The keys, sorted."""
    starts: I64
    """The first bucket of each key, and at the end the number of buckets."""
    buckets: Buckets
    """The buckets, chain by chain."""

    @property
    def lengths(self) -> I64:
        """How many buckets each key has."""
        return np.diff(self.starts)

    @property
    def owners(self) -> I64:
        """The place of the key of each bucket."""
        return np.repeat(np.arange(len(self.keys)), self.lengths)

    def of(self, places: I64) -> I64:
        """The buckets of the keys at some places, chain after chain."""
        return spread_ranges(self.starts[places], self.lengths[places])


class ChainedShard(GrowingShard):
    """A chained shard that is read, and from which the next version is made."""

    @cached_property
    def chains(self) -> Chains:
        """Where the buckets of each key lie."""
        return Chains(self.keys, self._arrays["starts"], self.buckets)

    @property
    def owners(self) -> I64:
        return self.chains.owners

    def bounds(self, buckets: Buckets) -> tuple[I64, I64]:
        """The ordinals of the first and of the last entry of each bucket."""
        firsts = buckets.firsts
        return self.ordinals_at(firsts), self.ordinals_at(firsts + buckets.counts - 1)

    def _buckets_of(self, places: I64) -> Buckets:
        return self.buckets.take(self.chains.of(places))

    def _records_of(self, place: int) -> Records:
        starts, buckets = self.chains.starts, self.buckets
        start, stop = int(starts[place]), int(starts[place + 1])
        if stop == start + 1:
            first = int(buckets.rooms[start] + buckets.skips[start])
            return self.records[first : first + int(buckets.counts[start])].copy()
        chain = slice(start, stop)
        firsts = buckets.rooms[chain] + buckets.skips[chain]
        return self.records.take(spread_ranges(firsts, buckets.counts[chain]))

    def _rule_findings(self) -> Iterable[str]:
        starts, buckets = self.chains.starts, self.buckets
        directory = self.part.files["directory"].name
        ends_right = len(starts) == len(self.keys) + 1 and starts[-1] == len(buckets.rooms)
        if not ends_right or starts[0] != 0 or (starts[1:] <= starts[:-1]).any():
            yield f"{directory} does not say which buckets belong to which key"
            return
        if (buckets.counts < 1).any():
            yield f"{directory} has buckets without entries"
        ordinals = self.ordinals_at(buckets.positions())
        fell = ordinals[1:] < ordinals[:-1]
        fell[np.cumsum(buckets.counts)[:-1] - 1] = False
        if fell.any():
            yield f"{self._rows_name} has buckets that are not sorted by time"
        yield from super()._rule_findings()


def build_chained(
    files: AnyFiles, spec: EntrySpec, sizes: Sizes, stem: str, batch: pa.RecordBatch, held: Slots
) -> Part:
    """Write the entries in buckets of the sizes that their keys ask for.

    REQUIRES: at least one row.
    """
    rows = sort_rows(spec, Pieces.of(batch))
    owners, room, filled = cut(rows.counts, sizes.of_buckets(rows.counts))
    ends = np.cumsum(room)
    buckets = Buckets(ends - room, room, np.zeros_like(room), filled)
    layout = RecordFormat(spec)
    records = np.zeros(int(ends[-1]), layout.dtype)
    records[buckets.positions()], heap = layout.encode(rows.batch, 0)
    starts = np.searchsorted(owners, np.arange(len(rows.starts) + 1))
    refs = write_rows(files, stem, records, heap)
    refs["directory"] = write_chains(
        files, spec, stem, Chains(rows.keys(spec), starts, buckets), FreeRoom.none(), len(heap)
    )
    return Part(STORE, refs, held, held, batch.num_rows, content_of(hash_rows(batch)))


def write_chains(
    files: AnyFiles,
    spec: EntrySpec,
    stem: str,
    chains: Chains,
    free: FreeRoom,
    heap_live_bytes: int,
) -> FileRef:
    """Write a directory that lasts."""
    arrays = {"starts": chains.starts, **chains.buckets.arrays()}
    return write_directory(files, spec, stem, chains.keys, arrays, free, heap_live_bytes)
