"""Which of the arriving rows may enter, as which slots, and what is said of the others.

Looks at slot numbers, at the scheme's newest slot, and in the ledger at what was delivered before.
Changes no file. Late rows, repeated slots, slots that go backwards and gaps are told apart here and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from wavedex.errors import GapTooLarge, OutsideWindow, SlotBackwards, SlotConflict
from wavedex.index.core.arrival import NO_ROWS, Arriving
from wavedex.index.wave.definition import WaveDefinition
from wavedex.log.ledger import Ledger
from wavedex.log.manifest import Manifest
from wavedex.plan import WaveState


@dataclass(frozen=True)
class Admitted:
    """What may enter."""

    rows: Arriving
    """The rows that enter."""
    slots: list[int]
    """The slots that they bring. None where all were there before."""
    identities: Mapping[int, str]
    """What each of these slots is known by."""
    late: int
    """How many rows were dropped as too old."""


def admit(
    arriving: Arriving,
    slot: int | None,
    state: WaveState | None,
    manifest: Manifest,
    definition: WaveDefinition,
) -> Admitted:
    """Decide about an append. Raises OutsideWindow, SlotBackwards, SlotConflict or GapTooLarge."""
    if arriving.rows and arriving.identity == manifest.batch:
        return Admitted(arriving.only(()), [], {}, 0)
    rows, late = arriving, 0
    if state is not None:
        rows, late = _without_too_old(arriving, state, definition)
    identities = {number: found.identity for number, found in rows.summary.items()}
    if slot is not None and not arriving.rows:
        identities[slot] = NO_ROWS.identity
    slots = sorted(identities)
    if being_filled := manifest.open_slots & frozenset(slots):
        slot = min(being_filled)
        raise SlotConflict(
            f"Slot {slot} ({definition.slotting.label(slot)}) is open: a stream is filling it. "
            "Use amend to add rows to it, or wait until the stream has sealed it."
        )
    if state is not None:
        _check_passed(slots, identities, state, manifest.ledger, definition)
        slots = [number for number in slots if number > state.newest]
    if slots:
        # Slots that are open are not empty, and no row may push them out from afar.
        check_gaps(sorted(manifest.open_slots | frozenset(slots)), {*slots}, state, definition)
    return Admitted(rows.only(slots), slots, {number: identities[number] for number in slots}, late)


def admit_late(
    arriving: Arriving, manifest: Manifest, definition: WaveDefinition
) -> tuple[Arriving, int]:
    """Decide about an amendment: the rows that enter, and how many are too old.

    Raises OutsideWindow.
    """
    state = None if manifest.state is None else WaveState.from_json(dict(manifest.state))
    newest = None if state is None else state.newest
    ahead = [slot for slot in arriving.summary if newest is None or slot > newest]
    unknown = set(ahead) - manifest.open_slots
    if unknown:
        slot = max(unknown)
        raise OutsideWindow(
            f"Slot {slot} ({definition.slotting.label(slot)}) has not arrived yet"
            + (f"; the newest is {newest}" if newest is not None else "")
            + ". Use append for new slots."
        )
    if state is None:
        return arriving, 0
    return _without_too_old(arriving, state, definition)


def _without_too_old(
    arriving: Arriving, state: WaveState, definition: WaveDefinition
) -> tuple[Arriving, int]:
    oldest = state.newest - definition.window + 1
    fitting = arriving.only(slot for slot in arriving.summary if slot >= oldest)
    late = arriving.rows - fitting.rows
    if late and definition.late == "error":
        slot = min(arriving.summary)
        label = definition.slotting.label
        raise OutsideWindow(
            f"Rows are older than the window ({late} of them): the oldest is of slot {slot} "
            f"({label(slot)}), and the window begins with {oldest} ({label(oldest)}). Leave them "
            "out, or create the index with late='drop'."
        )
    return fitting, late


def _check_passed(
    slots: list[int],
    identities: Mapping[int, str],
    state: WaveState,
    ledger: Ledger,
    definition: WaveDefinition,
) -> None:
    """Raise where slots of the window bring other rows than before, or go backwards."""
    for slot in slots:
        delivered = None if slot > state.newest else ledger.identity(slot)
        if slot > state.newest or delivered == identities[slot]:
            continue
        label = definition.slotting.label
        if delivered is not None:
            raise SlotConflict(
                f"Slot {slot} ({label(slot)}) was appended before with other rows. Use amend to "
                "add late rows to it."
            )
        raise SlotBackwards(
            f"Slot {slot} ({label(slot)}) lies before the newest slot {state.newest} "
            f"({label(state.newest)}). Append slots in order, and use amend for late rows."
        )


def check_gaps(
    slots: list[int], new: set[int], state: WaveState | None, definition: WaveDefinition
) -> None:
    """Raise GapTooLarge where there are more empty slots beside a new one than the index allows."""
    known = slots if state is None else [state.newest, *slots]
    for before, after in pairwise(known):
        empty = after - before - 1
        if new & {before, after} and empty > definition.gap_limit:
            label = definition.slotting.label
            raise GapTooLarge(
                f"Between slot {before} ({label(before)}) and slot {after} ({label(after)}) there "
                f"are {empty} empty slots, more than max_gap={definition.gap_limit}. If the times "
                "are right, append empty slots with slot=, or create the index with a larger "
                "max_gap."
            )
