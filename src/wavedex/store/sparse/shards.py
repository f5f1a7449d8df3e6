"""Parts that are larger than memory, or lie afar: probed here and there, scanned front to back.

A probe reads its pages and no others. A scan reads all and runs ahead. A part is probed through the
maps of its files that are for looking here and there. All else is asked of its *twin*: the same
part over the maps that are for reading from front to back. The twin is made when it is first
wanted.

Before a probe a shard can be asked what it will look at (`seek`). The disk then reads the pages of
all columns, and of all parts, at the same time. On a local disk that is advice. Afar there is
nothing to look at before it was fetched, so there the probe itself begins with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

import pyarrow as pa
import pyarrow.types as pt

from wavedex.files.contract import AnyFiles
from wavedex.files.opened import Opened, Seek, Span, finish, together
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import Plain
from wavedex.rows.order import I64
from wavedex.rows.pieces import Piece
from wavedex.rows.soundness import check_columns
from wavedex.store.growing.chained import ChainedShard
from wavedex.store.growing.contiguous import ContiguousShard
from wavedex.store.part import Part
from wavedex.store.positions import Positioned
from wavedex.store.shard import Found, Range, Shard
from wavedex.store.sieve import Sieve
from wavedex.store.sorted.packed import ROWS_MANY, PackedShard
from wavedex.store.sparse.extents import Extent, is_flat
from wavedex.store.sparse.frame import seek_batch

KEYS_MANY = 256
"""From this many keys on, a part is read whole: their pages, one by one, would take longer."""
AHEAD = 64
"""How many places of a table are asked for at once: a look-up that goes on for longer is rare."""


class Sparse(Positioned):
    """A shard that is probed here and there, and has a twin that is read from front to back."""

    plain_kind: type[Positioned]
    """What the twin is."""

    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        self._opened = {role: files.open(ref) for role, ref in part.files.items()}
        self._twin: Positioned | None = None
        super().__init__(files, spec, part)

    @property
    def seems_in_memory(self) -> bool:
        return all(opened.seems_in_memory for opened in self._opened.values())

    def _map(self, role: str) -> pa.Buffer:
        return self._opened[role].sparse

    @property
    def twin(self) -> Positioned:
        """The same part, to be read from front to back.

        COST: where files lie afar, all their bytes are fetched.
        """
        # No cached_property: one that fetches would make all other threads wait that use any.
        if self._twin is None:
            whole = {role: opened.whole for role, opened in self._opened.items()}
            twin = self.plain_kind(self.files, self.spec, self.part, whole)
            twin.gone = self.gone
            twin.whole = None if self.whole is None else self.whole.twin
            self._twin = twin
        return self._twin

    def hold(self) -> None:
        if not all(opened.is_near for opened in self._opened.values()):
            _ = self.twin

    def without(self, hidden: Part) -> Self:
        made = super().without(hidden)
        made._twin = None  # It would show what is hidden.
        return made

    def locate(self, keys: pa.Array, hashes: U64) -> tuple[I64, pa.RecordBatch]:
        return self.twin.locate(keys, hashes)

    def rows_at(self, positions: I64) -> pa.RecordBatch:
        return self.twin.rows_at(positions)

    def checksum_findings(self) -> Iterable[str]:
        return self.twin.checksum_findings()

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        if len(keys) >= KEYS_MANY:
            return self.twin.probe_many(keys, hashes, within)
        return super().probe_many(keys, hashes, within)  # type: ignore[safe-super]

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        return self.twin.probe_range(low, high, within)

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self.twin.scan(within)

    def piece(
        self,
        within: Range | None,
        sieves: Sequence[Sieve] = (),
        words: Mapping[str, pa.Array] | None = None,
        other: Shard | None = None,
    ) -> Piece:
        whole = other.twin if isinstance(other, Sparse) else other
        return self.twin.piece(within, sieves, words, whole)

    def stream(
        self, within: Range | None, names: list[str], words: Mapping[str, pa.Array] | None = None
    ) -> Iterator[pa.RecordBatch]:
        yield from self.twin.stream(within, names, words)

    def words_of(self, name: str) -> pa.Array:
        return self.twin.words_of(name)

    def _rule_findings(self) -> Iterable[str]:
        return self.twin._rule_findings()


class SparseContiguous(Sparse, ContiguousShard):
    """A contiguous shard on a local disk."""

    plain_kind = ContiguousShard


class SparseChained(Sparse, ChainedShard):
    """A chained shard on a local disk."""

    plain_kind = ChainedShard


class SparsePacked(Sparse, PackedShard):
    """A packed shard."""

    plain_kind = PackedShard

    def _sound_rows(self, names: Iterable[str]) -> pa.RecordBatch:
        names = [*names]
        assert isinstance(self.twin, PackedShard)
        self.twin._sound_rows(names)
        if not self.twin._unsure:
            self._be_sure()
        return self.batch.select(names)

    def _slice_of_many(self, start: int, count: int) -> pa.RecordBatch:
        assert isinstance(self.twin, PackedShard)
        return self.twin._slice_of_many(start, count)

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        if self._rows_file.is_near:
            start, stop = self.key_range(low, high)
            if stop - start < ROWS_MANY:
                return PackedShard.probe_range(self, low, high, within)
        return self.twin.probe_range(low, high, within)

    def seek(
        self, plains: Sequence[Plain], hashes: Sequence[int], within: Range | None
    ) -> Seek[None]:
        if self._is_to_be_whole():
            return
        yield from self._seek_opening()
        buckets = yield from self._seek_buckets(hashes)
        directory, first = self._directory_file, self._starts_place
        yield [(directory, (first + 4 * bucket - 4, first + 4 * bucket + 4)) for bucket in buckets]
        rows = [(int(self.starts[bucket - 1]), int(self.starts[bucket])) for bucket in buckets]
        if not self._is_flat:
            return
        if within is not None or max((stop - start for start, stop in rows), default=0) > ROWS_MANY:
            rows = yield from self._seek_fewer(rows, within)
        yield [need for span in rows for extent in self._extents for need in extent.numbers(*span)]
        yield [need for span in rows for extent in self._extents for need in extent.texts(*span)]

    def _seek_fewer(self, rows: list[Span], within: Range | None) -> Seek[list[Span]]:
        """Ask for what finds the rows of buckets, and return those to look at here and there."""
        keys, order = self._key_extents, self._extents[self.spec.order_place]
        firsts = [(start, start + 1) for start, _ in rows]
        if self._rows_file.is_near:
            rows = [(start, stop) for start, stop in rows if stop - start < ROWS_MANY]
        ordinals = [need for span in rows for need in order.numbers(*span)] if within else []
        yield [need for span in firsts for key in keys for need in key.numbers(*span)] + ordinals
        yield [need for span in firsts for key in keys for need in key.texts(*span)]
        return rows if within is None else [self._narrowed(span, within) for span in rows]

    def _seek_opening(self) -> Seek[None]:
        """What is looked at when the shard is first asked."""
        if "_lookup" not in self.__dict__:
            yield from together(map(seek_batch, (self._rows_file, self._directory_file)))

    def _seek_buckets(self, hashes: Sequence[int]) -> Seek[list[int]]:
        """The buckets that may be those of the keys with these hashes, numbered from 1.

        Nearly always they are.
        """
        view, shift, tag_mask, *_ = self._lookup
        directory, first, buckets = self._directory_file, self._table_place, []
        going = [(hashed >> shift, hashed & tag_mask) for hashed in hashes]
        while going:
            yield [
                (directory, (first + 4 * place, first + 4 * (place + AHEAD))) for place, _ in going
            ]
            further = []
            for place, tag in going:
                for entry in view[place : place + AHEAD]:
                    if not entry:
                        break
                    if entry & tag_mask == tag:
                        buckets.append(entry - tag)
                else:
                    if place + AHEAD < len(view):
                        further.append((place + AHEAD, tag))
            going = further
        return [bucket for bucket in buckets if 0 < bucket < len(self.starts)]

    def _narrowed(self, span: Span, within: Range) -> Span:
        since, until = within
        start = bisect_left(self._ordinals_view, since, *span)
        return start, bisect_left(self._ordinals_view, until, start, span[1])

    @cached_property
    def _table_place(self) -> int:
        return int(self.table.places.ctypes.data) - self._directory_file.sparse.address

    @cached_property
    def _starts_place(self) -> int:
        return int(self.starts.ctypes.data) - self._directory_file.sparse.address

    @property
    def _rows_file(self) -> Opened:
        return self._opened["rows"]

    @property
    def _directory_file(self) -> Opened:
        return self._opened["directory"]

    def _is_to_be_whole(self) -> bool:
        """Whether all of it is there, or has to be before it is probed."""
        return not self._rows_file.is_near and (self._twin is not None or not self._is_flat)

    @cached_property
    def _is_flat(self) -> bool:
        """Whether it can be told which bytes a probe looks at. With boolean keys, it is all."""
        types = self.spec.schema.types
        keys = (types[place] for place in self.spec.key_places)
        return all(map(is_flat, types)) and not any(map(pt.is_boolean, keys))

    @cached_property
    def _extents(self) -> list[Extent]:
        return [Extent(self._rows_file, column) for column in self.batch.columns]

    @cached_property
    def _key_extents(self) -> list[Extent]:
        return [self._extents[place] for place in self.spec.key_places]


class _AnyBucket(dict[int, Found]):
    """Slices by bucket, as if every bucket had some."""

    def __contains__(self, bucket: object) -> bool:
        return True

    def __missing__(self, bucket: int) -> Found:
        return None


class DistantPacked(SparsePacked):
    """A packed shard that lies afar: nothing is looked at before it was fetched."""

    @cached_property
    def _cut(self) -> dict[int, Found]:
        # Which buckets have hidden rows could only be told from the first rows of all, which are
        # not there.
        return _AnyBucket() if len(self.gone) else {}

    def _check_few(self, found: pa.RecordBatch) -> None:
        check_columns(found.columns)  # All rows are not there to be looked at.

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        if self._is_to_be_whole():
            return self.twin.probe(plain, hashed, within)
        finish(self.seek([plain], [hashed], within))
        return super().probe(plain, hashed, within)

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        if self._is_to_be_whole() or len(keys) >= KEYS_MANY:
            return self.twin.probe_many(keys, hashes, within)
        finish(self.seek([], hashes.tolist(), within))
        return super().probe_many(keys, hashes, within)

    def _slice_of_many(self, start: int, count: int) -> pa.RecordBatch:
        return PackedShard._slice_of_many(self, start, count)


def open_packed(files: AnyFiles, spec: EntrySpec, part: Part) -> PackedShard:
    """Open a packed part."""
    return (SparsePacked if files.is_local else DistantPacked)(files, spec, part)


def open_contiguous(files: AnyFiles, spec: EntrySpec, part: Part) -> ContiguousShard:
    """Open a contiguous part. One that was copied to a place afar is fetched whole."""
    return (SparseContiguous if files.is_local else ContiguousShard)(files, spec, part)


def open_chained(files: AnyFiles, spec: EntrySpec, part: Part) -> ChainedShard:
    """Open a chained part. One that was copied to a place afar is fetched whole."""
    return (SparseChained if files.is_local else ChainedShard)(files, spec, part)
