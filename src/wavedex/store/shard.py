"""What every store can be asked once a shard of it is open. Snapshots read through this protocol.

A `Shard` is one part that is mapped into memory. It answers for its own rows only. The part says
which of its slots count. The snapshot turns that, the window and a query's times into one range of
ordinals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from wavedex.errors import Damaged, WavedexError
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.opened import Seek
from wavedex.plan.slot_set import slots_of
from wavedex.rows import compute as pc
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.codes import WORDS_MAX, with_codes
from wavedex.rows.content import content_of, hash_rows
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import KeyType, Plain
from wavedex.rows.order import stable_order
from wavedex.rows.pieces import Piece
from wavedex.slots import distinct
from wavedex.store.blame import GUARDS, unguarded
from wavedex.store.part import Part, Slots
from wavedex.store.sieve import Bools, Sieve

Range = tuple[int, int]
"""Ordinals from the first, included, to the second, not included."""

Found: TypeAlias = "pa.RecordBatch | list[pa.RecordBatch] | None"
"""The rows that a probe finds: one batch, or several if hidden rows lie between them.

None if there are none.
"""


def batches_of(found: Found) -> list[pa.RecordBatch]:
    """What a probe has found, as a list."""
    if found is None:
        return []
    return found if isinstance(found, list) else [found]


def checksum_findings(ref: FileRef, content: pa.Buffer) -> Iterable[str]:
    """Whether a file has the checksum with which it was written. REQUIRES: it has one."""
    found = xxhash.xxh64(content).hexdigest()
    if found != ref.checksum:
        yield f"{ref.name} has the checksum {found}, not {ref.checksum}"


class Shard(ABC):
    """One part of a sub-index in one shard, open for reading.

    It stays readable when its files are removed. An answer raises Damaged if it fails, in whatever
    way, because the files are not what was written (`wavedex.store.blame`).
    """

    def __init__(
        self,
        files: AnyFiles,
        spec: EntrySpec,
        part: Part,
        mapped: Mapping[str, pa.Buffer] | None = None,
    ) -> None:
        """`mapped` has the content of files that are mapped already, by their roles."""
        self.files = files
        self.spec = spec
        self.part = part
        self._mapped = dict(mapped or {})

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, guard in GUARDS.items():
            if name in cls.__dict__:
                setattr(cls, name, guard(cls.__dict__[name]))

    in_order: ClassVar[bool] = False
    """Whether the rows of a key come in the order of the order column."""

    @property
    def seems_in_memory(self) -> bool:
        """Whether a probe need not say beforehand what it will look at."""
        return True

    def hold(self) -> None:  # noqa: B027 - nothing to do for most
        """Have all of it at hand, so that it can be read when its files are removed."""

    def _map(self, role: str) -> pa.Buffer:
        """The content of one of the files, which is mapped once."""
        if role not in self._mapped:
            self._mapped[role] = self.files.map(self.part.files[role])
        return self._mapped[role]

    def seek(
        self, plains: Sequence[Plain], hashes: Sequence[int], within: Range | None
    ) -> Seek[None]:
        """Say step by step what a probe of these keys will look at, if files may not be in memory.

        Here nothing: the probe finds out itself.
        """
        yield from ()

    @abstractmethod
    def probe(self, plain: Plain, hashed: int, within: Range | None) -> Found:
        """The rows of one key, or None."""

    @abstractmethod
    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        """The rows of several distinct keys."""

    @abstractmethod
    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        """The rows whose keys lie between two, both included."""

    @abstractmethod
    def scan(self, within: Range | None) -> pa.RecordBatch:
        """All rows."""

    def stream(
        self, within: Range | None, names: list[str], words: Mapping[str, pa.Array] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in pieces that need not be in memory together.

        The columns of `words` come as dictionaries. REQUIRES: they are among `names` and `codable`,
        and their words include all of `words_of`.
        """
        yield with_codes(self.scan(within).select(names), words or {})

    @property
    def codable(self) -> frozenset[str]:
        """The columns of text that can be had as dictionaries at little cost."""
        return self.spec.text if self.part.rows <= WORDS_MAX else frozenset()

    def words_of(self, name: str) -> pa.Array:
        """The values of a column of text. REQUIRES: it is among `codable`."""
        columns = [batch.column(0) for batch in self.stream(None, [name])]
        return pc.drop_null(pc.unique(pa.chunked_array(columns)))

    @property
    def stored_codes(self) -> frozenset[str]:
        """The columns of text that lie there as codes too."""
        return frozenset()

    def piece(
        self,
        within: Range | None,
        sieves: Sequence[Sieve] = (),
        words: Mapping[str, pa.Array] | None = None,
        other: Shard | None = None,
    ) -> Piece:
        """The rows that all sieves keep, for whoever copies them in any case.

        The columns of `words` come as dictionaries, as those of `stream` do. `other` is another
        version of the same files. Rows that it shows too may be left out.
        """
        rows = with_codes(self.scan(within), words or {})
        return piece_of(rows, None, sieves)

    def _within(self, batch: pa.RecordBatch, within: Range | None) -> pa.RecordBatch:
        kept = self._kept(batch, within)
        return batch if kept is None else batch.take(to_arrow(kept))

    def _kept(self, batch: pa.RecordBatch, within: Range | None) -> npt.NDArray[np.int64] | None:
        """The places of the rows that count; None for all.

        Rows are copied by their places in half the time of a filter.
        """
        inside = self._lies_in(batch, within)
        return None if inside is None or inside.all() else np.flatnonzero(inside)

    def _lies_in(self, batch: pa.RecordBatch, within: Range | None) -> Bools | None:
        """Which rows lie in a range; None for all."""
        if within is None:
            return None
        since, until = within
        ordinals = number_view(batch.column(self.spec.order))
        inside: Bools = (ordinals >= since) & (ordinals < until)
        return inside

    def findings(self) -> list[str]:
        """What is wrong with the files, a line each; nothing where all is well.

        The rules are looked at only if every checksum is right. Damaged bytes are not to be trusted
        even that far.
        """
        return [*self.checksum_findings()] or [
            *self.row_findings(self.scan(None)),
            *self._rule_findings(),
        ]

    @abstractmethod
    def _rule_findings(self) -> Iterable[str]:
        """Which rules of its store are broken."""

    def source_findings(self) -> list[str]:
        """Where the files are not what was written, a line each.

        This is told by their checksums or, if they grow, by their rows.

        COST: all bytes are read. Rows are hashed where files have no checksum.
        """
        findings = [*self.checksum_findings()]
        if findings or self.part.content is None:
            return findings
        try:
            return [*self.row_findings(unguarded(self.scan)(None))]
        except WavedexError as error:
            if isinstance(error, Damaged):
                return [*error.findings]
            raise
        except Exception as error:  # Damaged bytes can make Arrow or NumPy fail in any way.
            return [f"{self._rows_name} cannot be read ({error})"]

    def answer_findings(self) -> list[str]:
        """The same, and what else could make an answer wrong, such as the index of a package."""
        return self.source_findings()

    def checksum_findings(self) -> Iterable[str]:
        """The files whose checksum is not the one with which they were written.

        COST: all bytes of the others are read too.
        """
        roles = {ref: role for role, ref in self.part.files.items() if ref.checksum}
        for ref, role in roles.items():
            content = self._mapped[role] if role in self._mapped else self.files.map(ref)
            yield from checksum_findings(ref, content)

    def row_findings(self, rows: pa.RecordBatch) -> Iterable[str]:
        """Whether these, which should be all rows, are those that were written."""
        if rows.num_rows != self.part.rows:
            yield f"{self._rows_name} holds {rows.num_rows} rows, not {self.part.rows}"
        elif self.part.content is not None and content_of(hash_rows(rows)) != self.part.content:
            files = [ref.name for ref in self.part.files.values() if ref.bytes and not ref.checksum]
            yield f"{' or '.join(files)} holds other rows than were written"

    @property
    def _rows_name(self) -> str:
        return self.part.files["rows"].name

    def placement_findings(self, shard: int, shards: int) -> Iterable[str]:
        """Rows that hash to another shard."""
        keys = self.spec.keys(self.scan(None))
        hashes = self.spec.key_type.hash_array(keys)
        if (shard_of(hashes, shards) != shard).any():
            yield f"{self._rows_name} holds keys of another shard than {shard}"


class KeyedShard(Shard):
    """A shard whose keys can be looked at one by one, as they lie."""

    @property
    @abstractmethod
    def keys(self) -> pa.Array:
        """The key column, or the keys of the buckets, as `key_at` counts them."""

    @cached_property
    def key_at(self) -> Callable[[int], Plain]:
        """The key at a place in `keys`."""
        return self.spec.key_type.reader(self.keys)

    def key_range(self, low: Plain, high: Plain) -> tuple[int, int]:
        """The places in `keys` of those between two, both included: the first, and past the last.

        REQUIRES: `keys` is sorted.
        """
        return key_range(self.key_at, len(self.keys), low, high)


def piece_of(rows: pa.RecordBatch, kept: Bools | None, sieves: Sequence[Sieve]) -> Piece:
    """Those of some rows that count and that all sieves keep."""
    for sieve in sieves:
        kept = sieve(rows) if kept is None else kept & sieve(rows)
    if kept is None or kept.all():
        return Piece(rows)
    return Piece(rows, to_arrow(np.flatnonzero(kept).astype(np.uint32)))


def key_range(
    key_at: Callable[[int], Plain], count: int, low: Plain, high: Plain
) -> tuple[int, int]:
    """The places, among `count` sorted keys, of those between two, both included.

    Returns the first place, and the one past the last.
    """
    start = bisect_left(range(count), low, key=key_at)
    return start, max(start, bisect_right(range(count), high, key=key_at))


def shard_of(hashes: U64, shards: int) -> np.ndarray:
    """The shard of each hash, as Spark's `pmod(xxhash64(key), shards)` has it."""
    return hashes.view(np.int64) % shards


def shard_of_one(hashed: int, shards: int) -> int:
    """The shard of one hash."""
    return (hashed - (1 << 64) if hashed >> 63 else hashed) % shards


def split_keys(kind: KeyType, keys: pa.Array, shards: int) -> dict[int, tuple[pa.Array, U64]]:
    """The keys of each shard that has any, with their hashes."""
    hashes = kind.hash_array(keys)
    owners = shard_of(hashes, shards)
    split = {}
    for shard in np.unique(owners).tolist():
        mine = owners == shard
        split[shard] = keys.filter(to_arrow(mine)), hashes[mine]
    return split


@dataclass(frozen=True)
class Share:
    """The rows of a batch that belong to one shard, copied out of it when they are asked for."""

    source: pa.RecordBatch
    """The batch."""
    places: npt.NDArray[np.int64] | None = None
    """Which rows of the source they are; None for all."""
    source_slots: npt.NDArray[np.int64] | None = None
    """The slot of each row of the source, where it is known."""

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return self.source.num_rows if self.places is None else len(self.places)

    def batch(self) -> pa.RecordBatch:
        """The rows. COST: a copy of them."""
        return self.source if self.places is None else self.source.take(to_arrow(self.places))

    @cached_property
    def slots(self) -> npt.NDArray[np.int64]:
        """The slot of each of them. REQUIRES: those of the batch were known."""
        assert self.source_slots is not None
        return self.source_slots if self.places is None else self.source_slots[self.places]

    @cached_property
    def slot_set(self) -> Slots:
        """The slots of which there are rows. REQUIRES: those of the batch were known."""
        return slots_of(distinct(self.slots)[0].tolist())

    def __reduce__(self) -> tuple[type[Share], tuple[Any, ...]]:
        # What is sent to another process is these rows alone.
        return Share, (self.batch(), None, None if self.source_slots is None else self.slots)


def split_by_shard(
    batch: pa.RecordBatch,
    spec: EntrySpec,
    shards: int,
    slots: npt.NDArray[np.int64] | None = None,
) -> list[Share]:
    """The rows of each shard, perhaps none. COST: a sort by shard.

    `slots` are those of the rows.
    """
    if shards == 1:
        return [Share(batch, None, slots)]
    owners = shard_of(spec.key_type.hash_array(spec.keys(batch)), shards)
    order = stable_order(owners)
    bounds = owners[order].searchsorted(range(shards + 1)).tolist()
    return [
        Share(batch, None if stop - start == batch.num_rows else order[start:stop], slots)
        for start, stop in pairwise(bounds)
    ]
