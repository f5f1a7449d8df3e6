"""Rows that are hidden one by one, by where they lie: worked out once, when they are hidden.

A row of a part has a *position*, a number that stays its own for as long as the part is not
written. In a file that is sorted, that is its place. In a file that grows, it is the place of its
record. A part with hidden rows has a small part beside it, of their positions in ascending order.
Whoever opens the part leaves these out. Parts that hide nothing pay nothing for it.

Positions hold only for the very version of the part that the manifest names together with them.
Whatever writes the next version leaves out what is hidden, or takes it out first
(`wavedex.engine.technique`).

In some packages rows have no position that a reader learns. There rows are hidden by comparing them
(`wavedex.store.sifted`).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles
from wavedex.rows.arrays import read_arrays, write_arrays
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.hashes import U64
from wavedex.rows.matching import match_rows
from wavedex.rows.order import I64
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Shard, checksum_findings
from wavedex.store.sifted import STORE as SIFTED
from wavedex.store.sifted import HidingShard

STORE = "positions"
SLICES_MOST = 16
"""Up to this many runs of rows between hidden ones are handed over as they lie.

More of them are copied, which is faster then.
"""
SLICED_MOST = 10_000
"""Up to how many keys with hidden rows a part may have for their slices to be kept.

Slices are kept once they were asked for. They take a kilobyte or two for each key.
"""

_NONE: I64 = np.zeros(0, np.int64)
_BEYOND = np.iinfo(np.int64).max


class Positioned(Shard):
    """A shard whose rows have positions.

    `gone` are the positions that do not count, `whole` is the shard with them.
    """

    gone: I64 = _NONE
    whole: Self | None = None

    @abstractmethod
    def locate(self, keys: pa.Array, hashes: U64) -> tuple[I64, pa.RecordBatch]:
        """The rows of several distinct keys that count, and their positions."""

    @abstractmethod
    def rows_at(self, positions: I64) -> pa.RecordBatch:
        """The rows at some positions, whether they count or not."""

    @abstractmethod
    def _holds(self, positions: I64) -> bool:
        """Whether there is a row at each of these positions."""

    def without(self, hidden: Part) -> Self:
        """The same shard without the rows that a part beside it hides. Raises Damaged."""
        name = hidden.files["rows"].name
        content = self.files.map(hidden.files["rows"])
        if findings := [*checksum_findings(hidden.files["rows"], content)]:
            raise Damaged(findings)
        arrays, _ = read_arrays(content, name)
        if set(arrays) != {"positions"} or arrays["positions"].type != pa.int64():
            raise Damaged(f"{name} has no positions of hidden rows")
        made = copy.copy(self)
        made.gone = number_view(arrays["positions"])
        made.whole = self
        # So that nobody reads its files past what is hidden.
        made.part = replace(self.part, store=SIFTED, hidden=hidden)
        return made

    def find(self, doomed: pa.RecordBatch) -> I64:
        """The positions of some rows, each of which is there and counts. Raises Damaged.

        COST: the rows of their keys are read. Those that end or lie at the same instant are
        compared.
        """
        keys = self.spec.key_type.distinct(self.spec.keys(doomed))
        positions, rows = self.locate(keys, self.spec.key_type.hash_array(keys))
        place = self.spec.order_place
        ordinals, dead = (number_view(batch.column(place)) for batch in (rows, doomed))
        likely = np.flatnonzero(np.isin(ordinals, dead))
        matched, found = match_rows(rows.take(to_arrow(likely)), doomed)
        if not found.all():
            lacking = int(np.count_nonzero(~found))
            raise Damaged(f"{self._rows_name} lacks {lacking} of the rows to be hidden")
        return positions[likely[matched]]

    def _counted(self, positions: I64) -> I64:
        """Those positions that are not hidden."""
        if not len(self.gone):
            return positions
        return positions[self._fence[np.searchsorted(self._fence, positions)] != positions]

    @cached_property
    def _fence(self) -> I64:
        return np.append(self.gone, _BEYOND)

    def findings(self) -> list[str]:
        if self.whole is None:
            return super().findings()
        return [*self.whole.findings()] or [*self._hidden_findings()]

    def source_findings(self) -> list[str]:
        # What hides rows was compared when it was opened.
        return super().source_findings() if self.whole is None else self.whole.source_findings()

    def answer_findings(self) -> list[str]:
        if self.whole is None:
            return super().answer_findings()
        return self.whole.answer_findings() or [*self._hidden_findings()]

    def placement_findings(self, shard: int, shards: int) -> Iterable[str]:
        if self.whole is None:
            return super().placement_findings(shard, shards)
        return self.whole.placement_findings(shard, shards)

    def _hidden_findings(self) -> Iterable[str]:
        hidden = self.part.hidden
        assert hidden is not None  # since it hides
        ref = hidden.files["rows"]
        if len(self.gone) != hidden.rows or (np.diff(self.gone) <= 0).any():
            yield f"{ref.name} does not have {hidden.rows} positions in order"
        elif not self._holds(self.gone):
            yield f"{ref.name} hides rows that {self._rows_name} has not"


def runs_between(gone: memoryview, start: int, stop: int) -> list[tuple[int, int]]:
    """The runs of positions from `start` to before `stop` that are not gone.

    Returns the first position of each run, and how many they are.

    COST: a step for each position that is gone, which is least where they are few.

    >>> runs_between(np.array([2, 5, 6, 9]).data, 2, 9)
    [(3, 2), (7, 2)]
    """
    first = bisect_left(gone, start)
    runs = []
    for place in gone[first : bisect_left(gone, stop, first)]:
        if place > start:
            runs.append((start, place - start))
        start = place + 1
    if stop > start:
        runs.append((start, stop - start))
    return runs


def hidden_rows(opened: Shard) -> list[pa.RecordBatch]:
    """The rows that are hidden of a part, in one batch where there are any."""
    if isinstance(opened, Positioned):
        return [opened.rows_at(opened.gone)] if len(opened.gone) else []
    return [opened.hidden.scan(None)] if isinstance(opened, HidingShard) else []


def write_hidden(files: AnyFiles, stem: str, positions: I64, held: Slots) -> Part:
    """Write the positions of hidden rows, which are of some slots, as a part that lasts."""
    arrays = {"positions": np.unique(positions)}
    ref = files.create(f"{stem}.hidden", lambda sink: write_arrays(sink, arrays, {}))
    files.sync(ref.name)
    return Part(STORE, {"rows": ref, "directory": ref}, held, held, len(arrays["positions"]))
