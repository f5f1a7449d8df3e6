"""How a stream gets in: batch by batch, each once, into slots open until the watermark passes.

1. A batch that was taken before is passed over (`wavedex.index.core.turns`).
2. Rows are sorted by their slots. Rows of slots that are not sealed yet go into the delta, where
   they can be queried at once. Rows of sealed slots that the watermark has not passed are amended.
   Later rows are counted, and set aside where somebody wants them.
3. The watermark follows the latest time that was seen, by a delay.
4. The slots that the watermark has passed are sealed, in a commit of its own. That is the scheme's
   transition, which finds their rows in the delta. Nothing expires before.

Where it is cut off between the two commits, the next batch, or the same one again, seals what is
left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from wavedex.engine.change import Change
from wavedex.index.core.arrival import Arriving, Bring, nothing
from wavedex.index.core.turns import Turn, place_of
from wavedex.index.wave.admission import check_gaps
from wavedex.index.wave.append import amendments
from wavedex.index.wave.definition import WaveDefinition, state_of
from wavedex.index.wave.writer import WaveWriter
from wavedex.log.manifest import OPEN, Manifest, Notes
from wavedex.plan import Add, Build, Operation
from wavedex.plan.slot_set import union
from wavedex.slots import NamedSlots
from wavedex.store.part import Slots

STREAMED = "streamed"
"""What a slot of a stream was delivered with, in place of the identity of its rows."""
_LEAST = -(2**63)


@dataclass(frozen=True)
class Batch:
    """One batch of a stream."""

    stream: str
    """The name of the stream."""
    number: int
    """The number of the batch."""
    delay: int
    """How far the watermark lags behind the latest time, in ordinals."""
    takes_over: bool = False
    """Whether it may feed an index that another stream fed before."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """How far the sources of the batch have come, by name."""

    @property
    def turn(self) -> Turn:
        """Whose turn it is."""
        return Turn(self.stream, self.number, self.takes_over)


@dataclass(frozen=True)
class Fed:
    """What a batch of a stream did."""

    commit: int
    """The newest commit once it was taken."""
    rows: int = 0
    """How many rows entered."""
    amended: int = 0
    """How many of these went into slots that were sealed."""
    late: int = 0
    """How many rows came too late and were left out."""
    null_keys: int = 0
    """How many rows had no key and were skipped."""
    sealed: list[int] = field(default_factory=list)
    """The slots that the batch closed."""
    repeated: bool = False
    """Whether it had been taken before."""


@dataclass(frozen=True)
class _Sorted:
    """The rows of a batch, sorted out."""

    entering: Arriving
    """The rows that enter."""
    amended: int
    """How many of these go into sealed slots."""
    late: Arriving
    """The rows that come too late."""


def feed(
    writer: WaveWriter,
    bring: Bring,
    batch: Batch,
    set_aside: Callable[[Arriving], object] | None = None,
) -> Fed:
    """Take one batch of a stream.

    Raises AnotherStream, StreamOutOfStep, GapTooLarge and what bringing raises. Raises
    PreparationOwed where the batch is in and only what follows failed.
    """
    with writer.writing() as manifest:
        definition = writer.definition
        place = place_of(manifest, batch.turn)
        if place.is_last:
            manifest, sealed = _seal(writer, manifest, place.watermark)
            writer.finish(manifest)
            return Fed(manifest.commit, sealed=sealed, repeated=True)
        with bring(manifest) as arriving:
            if place.is_repeated(arriving.sent.identity):
                return Fed(manifest.commit, repeated=True)
            before = place.watermark
            rows = _sort_out(arriving, manifest, definition, before)
            _check_ahead(rows.entering, manifest, definition)
            if set_aside is not None and rows.late.rows:
                set_aside(rows.late)
            watermark = _follow(before, rows.entering, batch.delay)
            manifest = writer.prepare(manifest)
            totals = {
                "rows": rows.entering.rows,
                "null_keys": arriving.null_keys,
                "late": rows.late.rows,
            }
            change = Change(
                name="feed",
                state=writer.grown(manifest, rows.entering.counts),
                rows=rows.entering,
                operations=tuple(_operations(manifest, frozenset(rows.entering.summary))),
                notes=Notes(
                    totals=totals,
                    sources=replace(
                        place.noted(arriving.sent.identity, watermark), marks=batch.marks
                    ),
                ),
            )
            manifest = writer.commit(manifest, change)
        try:
            manifest, sealed = _seal(writer, manifest, watermark)
        except Exception as error:
            raise writer.owed(
                manifest,
                f"The batch is in the index as commit {manifest.commit}, but sealing the slots "
                f"that are over failed: {error} The next batch does it, or this one again, of "
                "which no row enters twice.",
            ) from error
        writer.finish(manifest)
    return Fed(
        manifest.commit,
        rows.entering.rows,
        rows.amended,
        rows.late.rows,
        arriving.null_keys,
        NamedSlots(sealed, writer.definition.slotting),
    )


def _sort_out(
    arriving: Arriving, manifest: Manifest, definition: WaveDefinition, watermark: int | None
) -> _Sorted:
    state = state_of(manifest)
    newest = _LEAST - 1 if state is None else state.newest
    oldest = _LEAST if state is None else newest - definition.window + 1
    entering = [
        slot
        for slot in arriving.summary
        if slot >= oldest and (watermark is None or definition.slotting.stop(slot) > watermark)
    ]
    sealed = [slot for slot in entering if slot <= newest]
    return _Sorted(
        arriving.only(entering),
        sum(arriving.summary[slot].rows for slot in sealed),
        arriving.only(arriving.summary.keys() - set(entering)),
    )


def _check_ahead(entering: Arriving, manifest: Manifest, definition: WaveDefinition) -> None:
    """Refuse rows far ahead of all others, which would push the whole window out."""
    state = state_of(manifest)
    newest = _LEAST - 1 if state is None else state.newest
    ahead = {slot for slot in entering.summary if slot > newest} - manifest.open_slots
    if ahead:
        check_gaps(sorted(manifest.open_slots | ahead), ahead, state, definition)


def _operations(manifest: Manifest, slots: Slots) -> list[Operation]:
    operations = amendments(manifest, slots)
    held = union(sub.slots for sub in manifest.everything.values())
    if fresh := slots - held:
        operations.append(Build(fresh, OPEN) if manifest.open is None else Add(fresh, OPEN))
    return operations


def _follow(watermark: int | None, entering: Arriving, delay: int) -> int | None:
    latest = [found.latest - delay for found in entering.summary.values()]
    known = [] if watermark is None else [watermark]
    return max([*known, *latest], default=None)


def _seal(
    writer: WaveWriter, manifest: Manifest, watermark: int | None
) -> tuple[Manifest, list[int]]:
    """Seal the slots that end at the watermark or before."""
    definition = writer.definition
    if watermark is None or watermark < _LEAST:
        return manifest, []
    last = int(definition.slotting.slots_of(np.array([watermark]))[0]) - 1
    state = state_of(manifest)
    first = min(manifest.open_slots, default=last + 1) if state is None else state.newest + 1
    sealed = list(range(first, last + 1))
    if not sealed:
        return manifest, []
    manifest = writer.prepare(manifest)
    plan, state = writer.plan(manifest, sealed, {})
    change = Change(
        name="seal",
        state=state,
        rows=nothing(definition),
        operations=plan.transition,
        owed=plan.preparation,
        notes=Notes(delivered=dict.fromkeys(sealed, STREAMED)),
    )
    return writer.commit(manifest, change), sealed
