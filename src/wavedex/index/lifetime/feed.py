"""Rows that bring their own instant: how streams, and batches without one, get into a lifetime index.

1. A batch of a stream that was taken before is passed over (`wavedex.index.core.turns`).
2. The instant is the latest insertion time that was seen, in the batch or before it, so it never goes backwards. Where
   windows are counted, each stream has come to the largest position that was seen.
3. Then it is one refresh. Rows that come late are as good as others, and those that are over already are left out.

A clock that is read off the rows can be set by one wrong row, and it never goes back. So an instant that lies further ahead
than the longest lifetime is refused: everything in the index would be over, or all that comes would be late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from wavedex import slots
from wavedex.engine.change import Change
from wavedex.errors import GapTooLarge
from wavedex.index.core.arrival import Arriving, Bring
from wavedex.index.core.turns import Turn, check_turn
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.counted import Counted, at_instant, count_seen, follow
from wavedex.index.lifetime.definition import At, LifeDefinition
from wavedex.index.lifetime.refresh import Refreshed, refresh
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.log.manifest import Manifest, Notes
from wavedex.log.progress import Progress, Sources


@dataclass(frozen=True)
class Seen:
    """What rows say of time: the latest insertion, None without rows, and the largest position in each counted window."""

    latest: int | None
    positions: Mapping[str, int] = field(default_factory=dict)


def look(definition: LifeDefinition, table: pa.Table) -> Seen:
    """What rows that fit say of time. Raises NullTimes where one has no position."""
    if not table.num_rows:
        return Seen(None)
    definition.complete(table, definition.unguessed)
    names = (definition.time, *definition.counts)
    latest, *positions = (int(slots.ordinals(table.column(name)).max()) for name in names)
    return Seen(latest, dict(zip(definition.counts, positions, strict=True)))


def at_seen(definition: LifeDefinition, manifest: Manifest, seen: Seen | None) -> At:
    """What rows are to be guessed by that say themselves what the time is. REQUIRES: they were looked at, where they are guessed."""
    if not definition.counts or seen is None or seen.latest is None:
        return definition.unguessed
    now, counted = _moment(definition, manifest, seen.latest, seen)
    return at_instant(definition, now, follow(definition, manifest, now, counted))


def append(
    writer: LifeWriter,
    bring: Bring,
    seen: Seen | None = None,
    marks: Mapping[str, str] | None = None,
) -> Refreshed:
    """Refresh the index with rows that say what the time is. Raises GapTooLarge and what bringing and writing raise.

    `seen` is what they say, where windows are counted; otherwise it is asked once they are there. `marks` are noted in the
    commit.
    """
    sources = None if marks is None else Sources(marks=marks)
    with writer.writing() as manifest, bring(manifest) as arriving:
        return _take(writer, manifest, arriving, seen, sources)


def feed(writer: LifeWriter, bring: Bring, turn: Turn, seen: Seen | None = None) -> Refreshed:
    """Take one batch of a stream. Raises AnotherStream, StreamOutOfStep and what `append` raises."""
    with writer.writing() as manifest:
        progress = check_turn(manifest, turn)
        if progress is not None and progress.batch == turn.number:
            return Refreshed(manifest.commit, _due(writer.definition, manifest), repeated=True)
        sources = Sources({turn.stream: Progress(turn.number, None)})
        with bring(manifest) as arriving:
            return _take(writer, manifest, arriving, seen, sources)


def _take(
    writer: LifeWriter,
    manifest: Manifest,
    arriving: Arriving,
    seen: Seen | None,
    sources: Sources | None,
) -> Refreshed:
    definition = writer.definition
    latest = max((found.latest for found in arriving.summary.values()), default=None)
    if seen is not None:
        latest = seen.latest  # Of rows that were over when they came, too.
    if latest is None:
        return _pass_over(writer, manifest, arriving, sources)
    now, counted = _moment(definition, manifest, latest, seen)
    _check_jump(definition, manifest, now)
    return refresh(writer, manifest, now, arriving, counted, sources)


def _moment(
    definition: LifeDefinition, manifest: Manifest, latest: int, seen: Seen | None
) -> tuple[int, Counted | None]:
    """The instant that rows bring, and how far the streams have come."""
    last = LifeClock.of(manifest).now
    now = latest if last is None else max(latest, last)
    return now, count_seen(definition, manifest, {} if seen is None else seen.positions)


def _pass_over(
    writer: LifeWriter,
    manifest: Manifest,
    arriving: Arriving,
    sources: Sources | None,
) -> Refreshed:
    """Without rows there is no instant and nothing to refresh: it is only noted that the batch came."""
    slot = _due(writer.definition, manifest)
    if sources is not None:
        manifest = writer.commit(
            manifest,
            Change(
                name="update",
                state=writer.definition.state_of(manifest),
                rows=arriving,
                notes=Notes(totals={"null_keys": arriving.null_keys}, sources=sources),
            ),
        )
        writer.finish(manifest)
    return Refreshed(manifest.commit, slot, null_keys=arriving.null_keys)


def _due(definition: LifeDefinition, manifest: Manifest) -> int | None:
    now = LifeClock.of(manifest).now
    return None if now is None else definition.slotting.due(now)


def _check_jump(definition: LifeDefinition, manifest: Manifest, now: int) -> None:
    """Raise GapTooLarge where an instant is further ahead than anything lives."""
    last = _due(definition, manifest)
    if last is None:
        return
    due = definition.slotting.due(now)
    if due - last > definition.window:
        label = definition.slotting.label
        raise GapTooLarge(
            f"A row was inserted in the time of refresh {due} ({label(due)}), which is {due - last} refreshes after the "
            f"last instant ({label(last)}): further ahead than anything lives, by max_lifetime no more than "
            f"{definition.window}. If its time is right, say so with update(now) first; if not, leave it out."
        )
