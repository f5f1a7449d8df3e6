"""Updates of chains: the next version of a chained shard, in room that no reader looks at.

A bucket that gets entries, or loses some from its middle, is copied, in order, into other room, and
its own is freed. Which others are joined with it is the rule of `wavedex.store.growing.chain_rule`.
Entries that leave from either end of a bucket are only shown no more. A bucket of which nothing is
left is freed. `wavedex.store.growing.grower` says how all this gets into the files, and when the
shard is written anew instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from wavedex.errors import Damaged
from wavedex.files.contract import FileRef
from wavedex.rows.arrow import to_arrow
from wavedex.rows.content import add_content, content_of, hash_rows, subtract_content
from wavedex.rows.matching import match_rows
from wavedex.rows.order import sort_order, stable_order
from wavedex.rows.pieces import Pieces, concat
from wavedex.store.directory import I64, Bools
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.chain_rule import BucketsAsked, cut, plan_buckets
from wavedex.store.growing.chained import STORE, ChainedShard, Chains, build_chained, write_chains
from wavedex.store.growing.grower import Grower, check_rows, is_wasteful, with_keys
from wavedex.store.growing.records import Records
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Range
from wavedex.store.sorter import SortedRows, sort_rows


@dataclass(frozen=True)
class _Change:
    """What an update asks of a shard."""

    chains: Chains
    """All keys there are then, and what is still shown of each bucket. New keys have no bucket."""
    touched: Bools
    """For each key whether it is touched at all."""
    living: I64
    """For each bucket how many of its records are living."""
    loose: Bools
    """For each bucket whether it is to be written anew.

    It is if dead records lie between living ones, or if records are added to it.
    """
    holes: I64
    """The positions of the dead records that lie between living ones."""
    owners: I64
    """For each added record the place of its key."""
    added: Records
    """The records that are added."""


@dataclass(frozen=True)
class Chainer(Grower):
    """Makes the next version of chained shards."""

    def build(self, stem: str, batch: pa.RecordBatch, held: Slots) -> Part:
        return build_chained(self.files, self.spec, self.sizes, stem, batch, held)

    def add(self, part: Part, stem: str, batch: pa.RecordBatch, slots: Slots) -> Part:
        """The part with the rows of `batch` added. REQUIRES: at least one row.

        COST: the buckets that get rows, those that are joined with them, and the directory are
        written.
        """
        shard = self._open(ChainedShard, part)
        held = part.held | slots
        if is_wasteful(shard):
            stored = shard.scan(None)
            check_rows(shard, stored)
            return self.build(stem, concat([stored, batch]), held)
        rows = sort_rows(self.spec, Pieces.of(batch))
        keys, order, which = with_keys(shard, rows.keys(self.spec), rows.hashes)
        lengths = np.append(shard.chains.lengths, np.zeros(len(keys) - len(shard.keys), np.int64))
        chains = Chains(keys, _starts(lengths[order]), shard.buckets)
        touched = np.zeros(len(keys), bool)
        touched[which] = True
        lasts = chains.starts[1:][touched & (chains.lengths > 0)] - 1
        loose = np.zeros(len(shard.buckets.rooms), bool)
        loose[lasts] = shard.buckets.counts[lasts] < shard.buckets.sizes[lasts]
        added, heap = shard.format.encode(rows.batch, part.files["heap"].bytes)
        owners = np.repeat(which, rows.counts)
        living, none = shard.buckets.counts, np.zeros(0, np.int64)
        change = _Change(chains, touched, living, loose, none, owners, added)
        refs = self._write_next(shard, stem, change, heap, shard.heap_live_bytes + len(heap))
        content = add_content(part.content or 0, content_of(hash_rows(batch)))
        return Part(STORE, refs, held, held, part.rows + batch.num_rows, content)

    def delete(self, part: Part, stem: str, dead: Range, slots: Slots) -> Part | None:
        """The part without the rows whose ordinals lie in `dead`; None if none is left.

        These are the rows of `slots`.

        COST: the ends of all buckets are read, and the buckets that have such rows. Buckets are
        copied if they are joined, or have dead in their middle.
        """
        shard = self._open(ChainedShard, part)
        held = part.held - slots
        first, last = shard.bounds(shard.buckets)
        near = np.flatnonzero((last >= dead[0]) & (first < dead[1]))
        ordinals = shard.ordinals_at(shard.buckets.take(near).positions())
        dies = (ordinals >= dead[0]) & (ordinals < dead[1])
        left = replace(part, held=held, shown=held)
        return self._without(shard, stem, left, near, dies) if dies.any() else left

    def remove(self, part: Part, stem: str, doomed: pa.RecordBatch) -> Part | None:
        """The part without the rows of `doomed`, each taken out once; None if none is left.

        COST: the chains of their keys are read. Buckets are copied if rows leave from their middle,
        or if they are joined.
        """
        shard = self._open(ChainedShard, part)
        rows = sort_rows(self.spec, Pieces.of(doomed))
        near = _near(shard, rows)
        records = shard.records.take(shard.buckets.take(near).positions())
        ordinals = shard.format.ordinals(records)
        likely = np.flatnonzero(np.isin(ordinals, self.spec.ordinals(rows.batch)))
        matched, found = match_rows(shard.decode(records[likely]), rows.batch)
        if not found.all():
            lacking = int(np.count_nonzero(~found))
            raise Damaged(f"{part.files['rows'].name} lacks {lacking} of the rows to be removed")
        dies = np.zeros(len(records), bool)
        dies[likely[matched]] = True
        return self._without(shard, stem, part, near, dies)

    def _without(
        self, shard: ChainedShard, stem: str, left: Part, near: I64, dies: Bools
    ) -> Part | None:
        """The part `left` without those records of the buckets `near` that die.

        REQUIRES: at least one does.
        """
        positions = shard.buckets.take(near).positions()
        dead = shard.records.take(positions[dies])
        if len(dead) == left.rows:
            return None
        if is_wasteful(shard):
            alive = np.setdiff1d(shard.buckets.positions(), positions[dies], assume_unique=True)
            living = shard.decode(shard.records.take(alive))
            check_rows(shard, living, shard.decode(dead))
            built = self.build(stem, living, left.held)
            return replace(built, shown=left.shown)
        buckets, living, holes = _shrink(shard.buckets, near, dies)
        touched = np.zeros(len(shard.keys), bool)
        touched[shard.owners[living < shard.buckets.counts]] = True
        chains, none = replace(shard.chains, buckets=buckets), np.zeros(0, np.int64)
        change = _Change(chains, touched, living, living < buckets.counts, holes, none, dead[:0])
        live_bytes = shard.heap_live_bytes - shard.format.heap_live_bytes(dead)
        refs = self._write_next(shard, stem, change, b"", live_bytes)
        content = subtract_content(left.content or 0, content_of(hash_rows(shard.decode(dead))))
        return replace(left, files=refs, rows=left.rows - len(dead), content=content)

    def _write_next(
        self, shard: ChainedShard, stem: str, change: _Change, heap: bytes, heap_live_bytes: int
    ) -> dict[str, FileRef]:
        """Write what changes into unpublished room, and then a directory in which it counts."""
        chains, buckets, living = change.chains, change.chains.buckets, change.living
        arriving = np.bincount(change.owners, minlength=len(chains.keys))
        asked = BucketsAsked(
            chains.starts, arriving, change.touched, buckets.sizes, living, change.loose
        )
        anew, sizes = plan_buckets(self.sizes, asked)
        records, owners = _gather(shard, change, np.flatnonzero(anew))
        new_owners, room, filled = cut(np.bincount(owners, minlength=len(chains.keys)), sizes)
        places, free, tail = self._take_room(room, shard.free, len(shard.records))
        free = self._free_room(free, buckets.take(np.flatnonzero(anew | (living == 0))))
        new = Buckets(places, room, np.zeros_like(room), filled)
        refs = self._write_into(shard.part, tail, new.positions(), records, heap)
        stays = np.flatnonzero(~anew & (living > 0))
        owners = np.append(chains.owners[stays], new_owners)
        linked = _link(chains.keys, owners, buckets.take(stays).followed_by(new))
        refs["directory"] = write_chains(self.files, self.spec, stem, linked, free, heap_live_bytes)
        return refs


def _gather(shard: ChainedShard, change: _Change, anew: I64) -> tuple[Records, I64]:
    """The living records of buckets that are written anew, and those that are added.

    They come by key and time. Returns them and their keys.
    """
    old = change.chains.buckets.take(anew)
    sources = old.positions()
    owners = np.repeat(change.chains.owners[anew], old.counts)
    if len(change.holes):
        lives = ~np.isin(sources, change.holes, assume_unique=True)
        sources, owners = sources[lives], owners[lives]
    owners = np.append(owners, change.owners)
    records = np.concatenate([shard.records.take(sources), change.added])
    order = sort_order(owners, shard.format.ordinals(records))
    return records.take(order), owners[order]


def _link(keys: pa.Array, owners: I64, buckets: Buckets) -> Chains:
    """The buckets of the keys at the places `owners` as chains, each in the order given.

    Keys without a bucket are left out.
    """
    lengths = np.bincount(owners, minlength=len(keys))
    some = np.flatnonzero(lengths)
    return Chains(
        keys.take(to_arrow(some)), _starts(lengths[some]), buckets.take(stable_order(owners))
    )


def _starts(lengths: I64) -> I64:
    """The first bucket of each chain, and at the end the number of buckets."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _shrink(buckets: Buckets, near: I64, dies: Bools) -> tuple[Buckets, I64, I64]:
    """Take the dead from both ends of buckets.

    Returns the buckets without these, how many live in each, and the positions of the dead between
    living ones.

    REQUIRES: `dies` has all records of the buckets `near`, one after the other. There is at least
    one such bucket.
    """
    some = buckets.take(near)
    starts = np.cumsum(some.counts) - some.counts
    places = np.arange(len(dies)) - np.repeat(starts, some.counts)
    living = np.add.reduceat((~dies).astype(np.int64), starts)
    first = np.minimum.reduceat(np.where(dies, np.repeat(some.counts, some.counts), places), starts)
    last = np.maximum.reduceat(np.where(dies, -1, places), starts)
    between = (places > np.repeat(first, some.counts)) & (places < np.repeat(last, some.counts))
    skips, counts, lives = buckets.skips.copy(), buckets.counts.copy(), buckets.counts.copy()
    skips[near] += np.where(living > 0, first, 0)
    counts[near] = np.where(living > 0, last - first + 1, 0)
    lives[near] = living
    return replace(buckets, skips=skips, counts=counts), lives, some.positions()[dies & between]


def _near(shard: ChainedShard, rows: SortedRows) -> I64:
    """The buckets that may have some of the rows.

    These are the buckets of their keys in which the ordinals are near enough.
    """
    ordinals = shard.spec.ordinals(rows.batch)
    places = shard.find_many(rows.keys(shard.spec), rows.hashes)
    found = places >= 0
    places, first = places[found], ordinals[rows.starts][found]
    last = ordinals[rows.starts + rows.counts - 1][found]
    buckets = shard.chains.of(places)
    of_key = np.repeat(np.arange(len(places)), shard.chains.lengths[places])
    least, most = shard.bounds(shard.buckets.take(buckets))
    return buckets[(most >= first[of_key]) & (least <= last[of_key])]
