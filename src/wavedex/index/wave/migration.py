"""A change in how a wave index is kept, while readers go on.

It may be another scheme, window, number of sub-indexes or shards, technique or format. There are
two ways:

- `rebuild` makes the new layout at once, of the rows that are in the window. Parts that can stay as
  they are get new names. The others are written anew.
- `drain` leaves the old sub-indexes alone. Slots that arrive go into the new layout, which begins
  with nothing in it. An old sub-index goes when its last slot is over.

Either is one commit, which also notes the new settings. So it has happened or it has not.

With a longer window, rows that had left it do not come back. A shorter one forgets at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from wavedex.engine.change import Change
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.migration import Migrated, bring, place_parts
from wavedex.index.wave.definition import WaveDefinition, state_of, window_of
from wavedex.index.wave.writer import WaveWriter
from wavedex.log.ledger import Ledger
from wavedex.log.manifest import OPEN, Manifest, Notes, SubIndex
from wavedex.plan import Build, Operation, WaveState, without
from wavedex.store.part import Part, Slots


def migrate(
    writer: WaveWriter, change: Callable[[WaveDefinition], WaveDefinition], strategy: str
) -> Migrated:
    """Bring the index to what `change` makes of its definition.

    Raises BadDefinition and what a write raises.
    """
    carry_out = partial(_drain if strategy == "drain" else _rebuild, writer)
    done = bring(writer, change, strategy, carry_out)
    if "sizes" in done.changed:
        done.changed["sizes"] = dict(writer.definition.sizes)
    return done


def _rebuild(writer: WaveWriter, manifest: Manifest, later: WaveDefinition) -> Manifest:
    before = writer.definition
    state = state_of(manifest)
    live = _live(before, later, manifest, state)
    parts = _shown(manifest, live | manifest.open_slots)
    writer.use(later)
    operations: list[Operation] = []
    owed: tuple[Operation, ...] = ()
    if state is not None:
        window = range(state.newest - later.window + 1, state.newest + 1)
        sizes = {slot: manifest.rows.get(slot, 0) for slot in live}
        plan, state = writer.plan_slots(None, window, sizes)
        operations, owed = [*plan.transition], plan.preparation
    if manifest.open is not None:
        operations.append(Build(manifest.open_slots, OPEN))
    emptied = replace(_forgetting(manifest, live), draining={}, open=None)
    return _commit(writer, emptied, operations, owed, state, place_parts(before, later, parts))


def _drain(writer: WaveWriter, manifest: Manifest, later: WaveDefinition) -> Manifest:
    before = writer.definition
    manifest = writer.prepare(manifest)
    state = state_of(manifest)
    live = _live(before, later, manifest, state)
    delta = _shown(manifest, manifest.open_slots)
    writer.use(later)
    operations: tuple[Operation, ...] = ()
    owed: tuple[Operation, ...] = ()
    if state is not None:
        plan, state = later.scheme.start(state.newest)
        operations, owed = without(plan.transition, live), without(plan.preparation, live)
    old = [
        _showing(sub, live)
        for sub in (*manifest.indexes.values(), *manifest.draining.values())
        if sub.slots & live
    ]
    draining = {f"O{number}": sub for number, sub in enumerate(old, start=1)}
    present = replace(_forgetting(manifest, live), draining=draining, open=None)
    if manifest.open is not None:
        # What grows must not be what readers of an earlier commit look at, who say so only where
        # files change.
        operations = (*operations, Build(manifest.open_slots, OPEN))
    return _commit(writer, present, operations, owed, state, place_parts(before, later, delta))


def _commit(
    writer: WaveWriter,
    manifest: Manifest,
    operations: Sequence[Operation],
    owed: tuple[Operation, ...],
    state: WaveState | None,
    rows: Arriving,
) -> Manifest:
    change = Change(
        name="migrate",
        state=state,
        rows=rows,
        operations=tuple(operations),
        owed=owed,
        notes=Notes(settings=writer.settings),
    )
    return writer.commit(manifest, change)


def _live(
    before: WaveDefinition, later: WaveDefinition, manifest: Manifest, state: WaveState | None
) -> Slots:
    """The sealed slots that are in the window before and after."""
    if state is None:
        return frozenset()
    sealed = window_of(before, manifest) - manifest.open_slots
    return frozenset(slot for slot in sealed if slot > state.newest - later.window)


def _forgetting(manifest: Manifest, live: Slots) -> Manifest:
    """A manifest without the old layout, and without the rows of slots that are not live."""
    kept = live | manifest.open_slots
    rows = {slot: count for slot, count in manifest.rows.items() if slot in kept}
    return replace(manifest, indexes={}, temps={}, ledger=Ledger(manifest.delivered, rows))


def _showing(sub: SubIndex, slots: Slots) -> SubIndex:
    """A sub-index with only some of its slots."""
    shards = (tuple(part.show(slots) for part in parts) for parts in sub.shards)
    return SubIndex(
        sub.slots & slots, tuple(tuple(part for part in parts if part.shown) for parts in shards)
    )


def _shown(manifest: Manifest, slots: Slots) -> list[tuple[Part, ...]]:
    """The parts of each shard that readers see, with only some of their slots."""
    subs = [_showing(sub, slots) for sub in manifest.shown.values()]
    return [
        tuple(part for parts in of_shard for part in parts)
        for of_shard in zip(*(sub.shards for sub in subs), strict=True)
    ]
