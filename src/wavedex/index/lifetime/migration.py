"""A change in how a lifetime index is kept, while readers go on.

It may be another method, grid or partitioning. There are two ways:

- `rebuild` reads all rows that live and deals them out anew.
- `drain` leaves the old sub-indexes as they are, and puts only what arrives into the new grid. An
  old sub-index goes with its last row.

Either is one commit, which also notes the new settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from wavedex.engine.change import Change
from wavedex.index.core.arrival import nothing
from wavedex.index.core.migration import Migrated, bring, place_parts
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.refresh import sifting
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.log.manifest import OPEN, Manifest, Notes
from wavedex.plan import Build, GridState, Insert, Operation
from wavedex.plan.slot_set import union
from wavedex.store.part import Part, Slots

_NONE: Slots = frozenset()


def migrate(
    writer: LifeWriter, change: Callable[[LifeDefinition], LifeDefinition], strategy: str
) -> Migrated:
    """Bring the index to what `change` makes of its definition.

    Raises BadDefinition and what a write raises.
    """
    return bring(writer, change, strategy, partial(_commit, writer, drains=strategy == "drain"))


def _commit(
    writer: LifeWriter, manifest: Manifest, later: LifeDefinition, *, drains: bool
) -> Manifest:
    before = writer.definition
    state, clock = before.state_of(manifest), LifeClock.of(manifest)
    delta = [] if manifest.open is None else [*manifest.open.shards]
    parts = delta if drains else _all_parts(manifest)
    operations: list[Operation] = []
    if state is not None:
        late = _late(before, manifest, state)
        plan, state = later.grid.start(state.newest, late)
        operations = [*plan.transition]
    if manifest.open is not None:
        newest = before.slotting.due(clock.now or 0) if state is None else state.newest
        births = frozenset({newest + 1})
        operations += [Build(_NONE, OPEN), Insert(births, manifest.open.slots, OPEN)]
    old = [*manifest.indexes.values(), *manifest.draining.values()] if drains else []
    draining = {f"O{number}": sub for number, sub in enumerate(old, start=1) if any(sub.shards)}
    emptied = replace(manifest, indexes={}, temps={}, draining=draining, open=None)
    writer.use(later)
    rows = nothing(later) if not parts else place_parts(before, later, parts)
    change = Change(
        name="migrate",
        state=state,
        rows=rows,
        operations=sifting(emptied, operations, later.floors_at(clock)),
        notes=Notes(settings=writer.settings, own=replace(clock, drained_at=clock.came).to_json()),
    )
    return writer.commit(emptied, change)


def _all_parts(manifest: Manifest) -> list[tuple[Part, ...]]:
    """All parts that readers see, shard by shard."""
    subs = [sub.shards for sub in manifest.shown.values()]
    return [
        tuple(part for parts in of_shard for part in parts) for of_shard in zip(*subs, strict=True)
    ]


def _late(definition: LifeDefinition, manifest: Manifest, state: GridState) -> Slots:
    """Guessed ends that have passed, of rows that live."""
    if not definition.counts:
        return _NONE
    held = union(part.held for sub in manifest.shown.values() for part in sub.parts)
    return frozenset(slot for slot in held if slot <= state.newest)
