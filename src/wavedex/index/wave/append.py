"""How slots get in: rows are brought, admitted, planned for and committed, all under one lock.

The lock is the writer's. Rows are brought by whoever has them: from memory, or by tasks elsewhere
that stage them as parts. Whoever brought rows clears away what was staged and not committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wavedex.engine.change import Change
from wavedex.index.core.arrival import Bring
from wavedex.index.wave import admission
from wavedex.index.wave.definition import state_of
from wavedex.index.wave.writer import WaveWriter
from wavedex.log.manifest import Manifest, Notes
from wavedex.log.progress import Sources
from wavedex.plan import Amend, Operation
from wavedex.plan.slot_set import union
from wavedex.slots import NamedSlots
from wavedex.store.part import Slots


@dataclass(frozen=True)
class Appended:
    """What an append or amend did."""

    commit: int
    """The newest commit once it was done."""
    slots: list[int] = field(default_factory=list)
    """The slots that it brought into the window.

    Empty where all of them were there already with the same rows.
    """
    rows: int = 0
    """How many entries it wrote."""
    null_keys: int = 0
    """How many rows were skipped for want of a key."""
    late: int = 0
    """How many rows were dropped because they were older than the window."""
    expired: int = 0
    """How many rows were of slots that the same batch pushed out again."""
    repeated: bool = False
    """Whether all of its slots had been appended before, with the same rows."""


def append(
    writer: WaveWriter,
    bring: Bring,
    number: int | None,
    marks: Mapping[str, str] | None = None,
) -> Appended:
    """Append the next slot or slots; `number` is the slot where the caller said which one it is.

    `marks` are noted in the same commit: how far the sources of the rows have come.
    """
    with writer.writing() as manifest, bring(manifest) as arriving:
        definition = writer.definition
        state = state_of(manifest)
        admitted = admission.admit(arriving, number, state, manifest, definition)
        if not admitted.slots:
            return Appended(
                manifest.commit,
                null_keys=arriving.null_keys,
                late=admitted.late,
                repeated=arriving.rows > admitted.late
                or (number is not None and not arriving.rows),
            )
        manifest = writer.prepare(manifest)
        plan, state = writer.plan(manifest, admitted.slots, admitted.rows.counts)
        fresh = admitted.rows.only(union(state.indexes.values()))
        totals = {
            "rows": admitted.rows.rows,
            "null_keys": arriving.null_keys,
            "late": admitted.late,
        }
        change = Change(
            name="append",
            state=state,
            rows=fresh,
            operations=plan.transition,
            owed=plan.preparation,
            notes=Notes(
                batch=arriving.identity,
                delivered=admitted.identities,
                totals=totals,
                sources=Sources(marks=marks or {}),
            ),
        )
        manifest = writer.commit(manifest, change)
        writer.finish(manifest)
    return Appended(
        manifest.commit,
        NamedSlots(admitted.slots, definition.slotting),
        fresh.rows,
        arriving.null_keys,
        admitted.late,
        admitted.rows.rows - fresh.rows,
    )


def amend(writer: WaveWriter, bring: Bring) -> Appended:
    """Add late rows to slots that are in the window."""
    with writer.writing() as manifest, bring(manifest) as arriving:
        rows, late = admission.admit_late(arriving, manifest, writer.definition)
        if not rows.rows:
            return Appended(manifest.commit, null_keys=arriving.null_keys, late=late)
        manifest = writer.prepare(manifest)
        slots = frozenset(rows.summary)
        change = Change(
            name="amend",
            state=writer.grown(manifest, rows.counts),
            rows=rows,
            operations=tuple(amendments(manifest, slots)),
            notes=Notes(totals={"rows": rows.rows, "null_keys": arriving.null_keys, "late": late}),
        )
        manifest = writer.commit(manifest, change)
        writer.finish(manifest)
    named = NamedSlots(sorted(slots), writer.definition.slotting)
    return Appended(manifest.commit, named, rows.rows, arriving.null_keys, late)


def amendments(manifest: Manifest, slots: Slots) -> list[Operation]:
    """What brings rows of these slots into everything that holds them."""
    return [
        Amend(slots & sub.slots, name)
        for name, sub in manifest.everything.items()
        if slots & sub.slots
    ]
