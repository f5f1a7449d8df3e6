"""Shards of which not every row counts: some rows are hidden one by one, others by their values.

Both kinds answer like the shard that they stand before, so whoever asks one notices nothing. A part
with hidden rows is opened without them wherever it is opened, for a probe, a scan, a merge or a
migration. If rows have positions, that is the business of the store (`wavedex.store.positions`). A
`HidingShard` is for packages whose rows have none. It asks one more time, for what is hidden of the
same keys, and compares.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from wavedex.files.opened import Seek, together
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.hashes import U64
from wavedex.rows.keys import Plain
from wavedex.rows.matching import match_rows
from wavedex.rows.pieces import Piece, concat
from wavedex.store.shard import Found, Range, Shard, batches_of
from wavedex.store.sieve import Sieve

STORE = "sifted"
"""What such a part says it is, so that nobody reads its files past the sieve."""


class _Before(Shard):
    """A shard that stands before another and has all of its part."""

    def __init__(self, inner: Shard) -> None:
        super().__init__(inner.files, inner.spec, replace(inner.part, store=STORE))
        self.inner = inner

    def hold(self) -> None:
        self.inner.hold()

    def seek(
        self, plains: Sequence[Plain], hashes: Sequence[int], within: Range | None
    ) -> Seek[None]:
        yield from self.inner.seek(plains, hashes, within)

    @abstractmethod
    def scan(self, within: Range | None) -> pa.RecordBatch:
        """All rows that count."""

    def findings(self) -> list[str]:
        return self.inner.findings()

    def source_findings(self) -> list[str]:
        return self.inner.source_findings()

    def answer_findings(self) -> list[str]:
        return self.inner.answer_findings()

    def placement_findings(self, shard: int, shards: int) -> Iterable[str]:
        return self.inner.placement_findings(shard, shards)

    def _rule_findings(self) -> Iterable[str]:
        return self.inner._rule_findings()


class HidingShard(_Before):
    """A part without the rows of another part, each of which it has.

    To hide two rows that are alike takes two.
    """

    def __init__(self, inner: Shard, hidden: Shard) -> None:
        super().__init__(inner)
        self.hidden = hidden

    def hold(self) -> None:
        self.inner.hold()
        self.hidden.hold()

    def seek(
        self, plains: Sequence[Plain], hashes: Sequence[int], within: Range | None
    ) -> Seek[None]:
        shards = (self.inner, self.hidden)
        yield from together(shard.seek(plains, hashes, within) for shard in shards)

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> Found:
        found = batches_of(self.inner.probe(plain, hashed, within))
        gone = batches_of(self.hidden.probe(plain, hashed, within)) if found else []
        if not gone:
            return found or None
        left = self._without(concat(found), concat(gone))
        return left if left.num_rows else None

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        found = self.inner.probe_many(keys, hashes, within)
        return self._without(found, self.hidden.probe_many(keys, hashes, within))

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        found = self.inner.probe_range(low, high, within)
        return self._without(found, self.hidden.probe_range(low, high, within))

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self._without(self.inner.scan(within), self.hidden.scan(within))

    def _without(self, rows: pa.RecordBatch, gone: pa.RecordBatch) -> pa.RecordBatch:
        """Rows without those that are gone, each of which is among them.

        COST: only rows that agree with one of those in the order column are compared. Even these
        are not, if they are as many as those that are gone.
        """
        if not gone.num_rows or not rows.num_rows:
            return rows
        place = self.spec.order_place
        ordinals, dead = (number_view(batch.column(place)) for batch in (rows, gone))
        likely = np.flatnonzero(np.isin(ordinals, dead))
        kept = np.ones(rows.num_rows, np.bool_)
        if len(likely) == gone.num_rows:
            kept[likely] = False
        else:
            matched, _ = match_rows(rows.take(to_arrow(likely)), gone)
            kept[likely[matched]] = False
        return rows.take(to_arrow(np.flatnonzero(kept)))

    def source_findings(self) -> list[str]:
        return [*self.inner.source_findings(), *self.hidden.source_findings()]

    def answer_findings(self) -> list[str]:
        return [*self.inner.answer_findings(), *self.hidden.answer_findings()]

    def findings(self) -> list[str]:
        findings = [*self.inner.findings(), *self.hidden.findings()]
        if findings:
            return findings
        rows, hidden = self.inner.scan(None), self.hidden.scan(None)
        if not match_rows(rows, hidden)[1].all():
            return [f"{self.hidden._rows_name} hides rows that {self.inner._rows_name} has not"]
        return []

    def placement_findings(self, shard: int, shards: int) -> Iterable[str]:
        yield from self.inner.placement_findings(shard, shards)
        yield from self.hidden.placement_findings(shard, shards)


class SiftedShard(_Before):
    """A part in which a row counts only if a sieve keeps it."""

    def __init__(self, inner: Shard, sieve: Sieve) -> None:
        super().__init__(inner)
        self._sieve = sieve

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> Found:
        found = map(self._sift, batches_of(self.inner.probe(plain, hashed, within)))
        return [batch for batch in found if batch.num_rows] or None

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        return self._sift(self.inner.probe_many(keys, hashes, within))

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        return self._sift(self.inner.probe_range(low, high, within))

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self.piece(within).rows()

    def piece(
        self,
        within: Range | None,
        sieves: Sequence[Sieve] = (),
        words: Mapping[str, pa.Array] | None = None,
        other: Shard | None = None,
    ) -> Piece:
        return self.inner.piece(within, (self._sieve, *sieves), words, other)

    @property
    def stored_codes(self) -> frozenset[str]:
        return self.inner.stored_codes

    def words_of(self, name: str) -> pa.Array:
        return self.inner.words_of(name)

    def _sift(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        kept = self._sieve(batch)
        return batch if kept.all() else batch.take(to_arrow(np.flatnonzero(kept)))
