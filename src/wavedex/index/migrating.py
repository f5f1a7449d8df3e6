"""A change of mind: another scheme, window, number of sub-indexes or shards, technique or format, while readers go on.

There are two ways. `rebuild` makes the new layout at once, of the rows that are in the window: parts that can stay as they
are are only named anew, the others are written. `drain` leaves the old sub-indexes alone: slots that arrive go into the
new layout, which begins with nothing in it, and an old sub-index goes when its last slot is over. Either is one commit,
which also notes the new settings, so that it has happened or it has not. Rows that had left the window do not come back
with a longer one; a shorter one forgets at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd

from wavedex.errors import BadDefinition
from wavedex.index.arriving import Arriving, nothing
from wavedex.index.definition import Definition
from wavedex.index.planning import WaveWriter
from wavedex.index.wave_definition import WaveDefinition, state_of, window_of
from wavedex.index.writer import D, Writer
from wavedex.ledger import Ledger
from wavedex.log import OPEN, Manifest, SubIndex
from wavedex.plan import Build, Operation, WaveState, without
from wavedex.store.part import Part, Slots

STRATEGIES = ("rebuild", "drain")


@dataclass(frozen=True)
class Migrated:
    """What a migration did: the commit from which on the index is what `changed` says, nothing where it was that before."""

    commit: int
    changed: dict[str, object]


def migrate(
    writer: WaveWriter, change: Callable[[WaveDefinition], WaveDefinition], strategy: str
) -> Migrated:
    """Bring the index to what `change` makes of its definition. Raises BadDefinition and what a write raises."""
    carry_out = partial(_drain if strategy == "drain" else _rebuild, writer)
    done = bring(writer, change, strategy, carry_out)
    if "sizes" in done.changed:
        done.changed["sizes"] = dict(writer.definition.sizes)
    return done


def bring(
    writer: Writer[D],
    change: Callable[[D], D],
    strategy: str,
    carry_out: Callable[[Manifest, D], Manifest],
) -> Migrated:
    """Bring an index of any kind to what `change` makes of its definition; `carry_out` commits that."""
    if strategy not in STRATEGIES:
        raise BadDefinition(f"strategy={strategy!r} is none of {', '.join(map(repr, STRATEGIES))}.")
    with writer.writing() as manifest:
        later = change(writer.definition)
        changed = _changed_settings(writer.definition, later, strategy)
        if not changed:
            return Migrated(manifest.commit, {})
        later.check_place(writer.workshop.files)
        manifest = carry_out(manifest, later)
        writer.finish(manifest)
    return Migrated(manifest.commit, changed)


def _changed_settings(before: Definition, later: Definition, strategy: str) -> dict[str, object]:
    """What a migration changes, by the names that users know. Raises BadDefinition where it cannot be drained."""
    changed = before.settings_for(later)
    if "file_format" in changed:
        changed["format"] = changed.pop("file_format")
        del changed["former_formats"]
    if strategy == "drain" and later.shards != before.shards:
        raise BadDefinition(
            f"shards={later.shards} changes where every key lies, and sub-indexes that drain have theirs in "
            f"{before.shards}. Rebuild it instead: strategy='rebuild', which is what happens without --drain."
        )
    return changed


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
        # What grows must not be what readers of an earlier commit look at, who say so only where files change.
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
    return writer.commit(
        manifest,
        "migrate",
        operations,
        state,
        rows,
        owed=owed,
        settings=writer.settings,
    )


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


def place_parts(before: Definition, later: Definition, parts: list[tuple[Part, ...]]) -> Arriving:
    """The same rows for the shards that there are then.

    Parts stay as they are where shards and format do. Else each shard takes its rows from those that can have any.
    """
    if not parts:
        return nothing(later)
    if (later.shards, later.format) == (before.shards, before.format):
        return replace(nothing(later), staged=tuple(parts))
    # Two shard numbers can belong to one hash if they leave the same rest by the greatest common divisor.
    step = gcd(before.shards, later.shards)
    staged = [
        tuple(part for old in range(shard % step, before.shards, step) for part in parts[old])
        for shard in range(later.shards)
    ]
    return replace(nothing(later), staged=tuple(staged), mixed=True)
