"""Techniques that never change a file: `packed-shadow`, and `runs`, which is ours.

A copy, or a slot taken over from another sub-index, costs nothing but a mention.
Any package that can build an index will do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.engine.workbench import Role, Workbench
from wavedex.errors import TooLarge
from wavedex.plan.slot_set import slots_key, union
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.formats import FORMATS
from wavedex.store.package import Format
from wavedex.store.part import Part, Slots


@dataclass(frozen=True)
class Immutable:
    """Files that never change: `packed-shadow` and `runs`.

    `runs` leaves several parts until they are merged.
    """

    name: str
    defers_merges: bool
    changes_files: bool = False
    writes_into_files: bool = False

    @property
    def formats(self) -> tuple[str, ...]:
        """All of them: every format builds."""
        return tuple(FORMATS)

    def check(self, spec: EntrySpec, format: Format) -> None:  # noqa: A002 - what it is
        """What can be kept is for the format to say."""

    def settle(self, draft: Draft, bench: Workbench) -> tuple[Part, ...]:
        parts = (*draft.own, *bench.sources(draft))
        if not self.writes(draft, bench) or self._is_let_be(draft, bench):
            return parts
        if self._adds_a_part(draft, bench):
            return (*parts, *self._write((), draft, bench))
        try:
            return self._write(parts, draft, bench)
        except TooLarge:
            # Runs that do not fit into one file are as good unmerged, only a little slower.
            if draft.merged and not bench.in_memory(draft):
                return parts
            raise

    def writes(self, draft: Draft, bench: Workbench) -> bool:
        if bench.in_memory(draft):
            return True
        if self._adds_a_part(draft, bench):
            return False
        if draft.examined or (draft.is_touched and any(part.hidden for part in draft.own)):
            return True
        return not bench.format.is_packed((*draft.own, *bench.sources(draft)))

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Workbench) -> Part:
        return self._build(Pieces.of(rows), held, bench)

    def _build(self, rows: Pieces, held: Slots, bench: Workbench) -> Part:
        born = bench.born(rows)  # before the build, which lets go of the rows
        built = bench.format.build(bench.files, bench.spec, bench.stem(), rows, held)
        return replace(built, born=born)

    def _adds_a_part(self, draft: Draft, bench: Workbench) -> bool:
        """Whether what is new stands beside what is there.

        Rows that wait for their births do so too: they are dealt out soon.
        """
        waits = bench.role is Role.DELTA and bool(draft.births)
        return not draft.merged and (self.defers_merges or waits)

    def _is_let_be(self, draft: Draft, bench: Workbench) -> bool:
        """Whether the draft only looks for rows that are over, and there are none."""
        is_more = bench.in_memory(draft) or bench.sources(draft) or draft.merged
        if not draft.examined or draft.own != draft.parts or is_more:
            return False
        if any(part.hidden for part in draft.parts):
            return False
        looked = ((part, part.shown & draft.examined) for part in draft.parts)
        return not any(bench.over(*each, draft.floors).num_rows for each in looked)

    def _write(self, parts: tuple[Part, ...], draft: Draft, bench: Workbench) -> tuple[Part, ...]:
        """Write one packed part of these and of what arrives in memory.

        What two drafts share is written once.
        """
        arriving = bench.in_memory(draft)
        shown = tuple(
            (part.files["rows"].name, part.hidden, slots_key(part.shown)) for part in parts
        )
        shared = (shown, slots_key(arriving), slots_key(draft.births))
        if shared not in bench.written:
            rows = bench.read(parts, draft)
            held = union([arriving, *(part.shown for part in parts)])
            if rows is not None and draft.floors:
                held = bench.slots_in(rows)
            bench.written[shared] = () if rows is None else (self._build(rows, held, bench),)
        return bench.written[shared]
