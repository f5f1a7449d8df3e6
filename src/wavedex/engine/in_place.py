"""Techniques that add to what is there: `in-place` and `simple-shadow`.

`simple-shadow` first copies what readers use. Both need a package that can be added to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.engine.workbench import Role, Workbench
from wavedex.plan.slot_set import NO_SLOTS, slots_of, union
from wavedex.rows.entries import EntrySpec
from wavedex.store.formats import FORMATS
from wavedex.store.package import Format
from wavedex.store.part import Part, Slots
from wavedex.store.positions import hidden_rows


@dataclass(frozen=True)
class InPlace:
    """Parts that are added to: `in-place` and `simple-shadow`.

    `simple-shadow` first copies what readers use.

    Slots leave a part by deletion. Where its format has no deletion, what is left is written anew.
    """

    name: str
    changes_files: bool
    defers_merges: bool = False
    writes_into_files: bool = True

    @property
    def formats(self) -> tuple[str, ...]:
        """Those that can be added to."""
        return tuple(name for name, format_ in FORMATS.items() if format_.updates is not None)

    def check(self, spec: EntrySpec, format: Format) -> None:  # noqa: A002 - what it is
        format.check_updates(spec)

    def writes(self, draft: Draft, bench: Workbench) -> bool:
        return draft != Draft(draft.parts)

    def settle(self, draft: Draft, bench: Workbench) -> tuple[Part, ...]:
        if not self.writes(draft, bench):
            return draft.parts
        updates = bench.updates
        sources = bench.sources(draft)
        added = draft.old | draft.arriving
        part: Part | None = draft.parts[0] if draft.parts else None
        doomed = NO_SLOTS if part is None else part.held & draft.deleted
        is_fixed = bench.role is Role.DRAINING or not bench.format.is_updatable(draft.parts)
        if part is not None and (part.hidden or draft.examined) and not bench.format.removes:
            is_fixed = True
        # A copy would take along what was deleted, in room that is free. To write what is left
        # costs no more. And what is sealed must not stay in the free room of the delta.
        is_forgotten = bench.workshop.forgets and (
            bench.role is Role.DELTA or not self.changes_files
        )
        deletes = bench.format.deletes and not is_forgotten
        if part is not None and (is_fixed or (doomed and not deletes)):
            # What another technique left, or what cannot be deleted from, is written anew.
            sources = (*draft.own, *sources)
            added = union([added, *(left.shown for left in draft.own)])
            part, doomed = None, NO_SLOTS
        found = bench.read(sources, draft)
        rows = None if found is None else found.batch()
        if part is not None:
            part = self._without_over(part, draft, bench)
        if part is not None:
            doomed &= part.held
            is_changed = rows is not None or bool(doomed)
            is_shadowed = is_changed and not self.changes_files and part in bench.present
            if draft.copied or is_shadowed:
                part = updates.copy(part, bench.stem())
            part = self._without_slots(part, doomed, bench)
        if rows is not None:
            if part is None:
                part = self.write(rows, added, bench)
            else:
                born = part.born | bench.born(rows)
                part = replace(updates.add(part, bench.stem(), rows, added), born=born)
        return () if part is None else (part,)

    def _without_over(self, part: Part, draft: Draft, bench: Workbench) -> Part | None:
        """A part without its hidden rows, and without examined rows that are over."""
        left: Part | None = part
        if part.hidden is not None:
            for hidden in hidden_rows(bench.source(part)):
                left = bench.remove(replace(part, hidden=None), hidden)
        if left is None or not left.held & draft.examined:
            return left
        looked = left.held & draft.examined
        emptied = looked - bench.alive(left, looked, draft.floors)
        doomed = bench.over(left, looked - emptied, draft.floors)
        if doomed.num_rows:
            left = bench.remove(left, doomed)
        return left and self._without_slots(left, emptied, bench)

    def _without_slots(self, part: Part, doomed: Slots, bench: Workbench) -> Part | None:
        if doomed and doomed >= part.held:
            return None
        left: Part | None = part
        for first, last in part.runs(doomed):
            dead = bench.slotting.start(first), bench.slotting.stop(last)
            slots = slots_of(range(first, last + 1))
            cut = left and bench.updates.delete(left, bench.stem(), dead, slots)
            left = cut and replace(cut, born=part.born)
        return left

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Workbench) -> Part:
        born = bench.born(rows)
        return replace(bench.updates.build(bench.stem(), rows, held), born=born)
