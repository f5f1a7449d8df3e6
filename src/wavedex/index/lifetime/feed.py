"""Rows that bring their own instant: how streams, and batches without one, get in.

1. A batch of a stream that was taken before is passed over (`wavedex.index.core.turns`).
2. The instant is the latest insertion time that was seen, in the batch or before it. So it never
   goes backwards. Where windows are counted, each stream has come to the largest position that was
   seen.
3. Then it is one refresh. Rows that come late are as good as others. Rows that are over already are
   left out.

One wrong row can set a clock that is read off the rows, and the clock never goes back. So an
instant that lies further ahead than the longest lifetime is refused. With it everything in the
index would be over, or all that comes would be late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from wavedex.engine.change import Change
from wavedex.errors import GapTooLarge
from wavedex.index.core.arrival import Arriving, Bring
from wavedex.index.core.delivery import Delivery, Holder
from wavedex.index.core.turns import Turn, place_of
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.counted import Counted, at_instant, count_seen, follow
from wavedex.index.lifetime.definition import At, LifeDefinition
from wavedex.index.lifetime.refresh import Refreshed, check_forwards, refresh
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.log.manifest import Manifest, Notes
from wavedex.log.progress import Sources


@dataclass(frozen=True)
class Seen:
    """What rows say of time."""

    latest: int | None
    """The latest insertion, None without rows."""
    positions: Mapping[str, int] = field(default_factory=dict)
    """The largest position in each counted window."""


class LifeHolder(Holder, Protocol):
    """A lifetime index, as far as what gets in must know one."""

    @property
    def created(self) -> LifeDefinition:
        """What it was created as."""

    def definition_at(self, manifest: Manifest) -> LifeDefinition:
        """What it was when a commit was made."""

    @property
    def writer(self) -> LifeWriter:
        """What commits to it."""


def update(index: LifeHolder, rows: Delivery, now: int, counted: Counted | None) -> Refreshed:
    """Refresh the index at an instant.

    `counted` says how far streams have come, where windows are counted. Raises RefreshBackwards,
    FromTheFuture and what bringing and writing raise.
    """
    return _update(rows.working(index), rows, now, lambda manifest: counted)


def update_by_rows(index: LifeHolder, rows: Delivery, now: int) -> Refreshed:
    """The same where only the rows say how far streams have come."""
    index = rows.working(index)
    with _looked_at(index, rows) as seen:
        positions = {} if seen is None else seen.positions

        def counted(manifest: Manifest) -> Counted | None:
            return count_seen(index.definition_at(manifest), manifest, positions)

        return _update(index, rows, now, counted)


def append(index: LifeHolder, rows: Delivery) -> Refreshed:
    """Refresh the index with rows that say what the time is.

    Raises GapTooLarge and what bringing and writing raise.
    """
    index = rows.working(index)
    sources = Sources(marks=rows.marks) if rows.marks else None
    with _looked_at(index, rows) as seen:
        bring = _bring_seen(index, rows, seen)
        with index.writer.writing() as manifest, bring(manifest) as arriving:
            return _take(index.writer, manifest, arriving, seen, sources)


def feed(index: LifeHolder, rows: Delivery, turn: Turn) -> Refreshed:
    """Take one batch of a stream.

    Raises AnotherStream, StreamOutOfStep and what `append` raises.
    """
    index = rows.working(index)
    writer = index.writer
    with _looked_at(index, rows) as seen:
        bring = _bring_seen(index, rows, seen)
        with writer.writing() as manifest:
            place = place_of(manifest, turn)
            if place.is_last:
                return repeated(writer.definition, manifest)
            with bring(manifest) as arriving:
                sent = arriving.sent.identity
                if place.is_repeated(sent):
                    return repeated(writer.definition, manifest)
                return _take(writer, manifest, arriving, seen, place.noted(sent))


def _update(
    index: LifeHolder, rows: Delivery, now: int, counted: Callable[[Manifest], Counted | None]
) -> Refreshed:
    def at(manifest: Manifest) -> At:
        definition = index.definition_at(manifest)
        arrivals = follow(definition, manifest, now, counted(manifest))
        return at_instant(definition, now, arrivals)

    bring = rows.waiting(index, at)
    with index.writer.writing() as manifest:
        check_forwards(manifest, now, index.writer.definition)
        with bring(manifest) as arriving:
            return refresh(index.writer, manifest, now, arriving, counted(manifest))


@contextmanager
def _looked_at(index: LifeHolder, rows: Delivery) -> Iterator[Seen | None]:
    """What rows say of time, where windows are counted.

    Otherwise None, and the rows are asked once they are there.
    """
    counts = index.created.counts
    if not counts:
        yield None
        return
    time = index.created.time
    assert time is not None
    with rows.held(index):
        found = rows.largest(index, [time, *counts])
        if found is None:
            yield Seen(None)
        else:
            yield Seen(found[0], dict(zip(counts, found[1:], strict=True)))


def _bring_seen(index: LifeHolder, rows: Delivery, seen: Seen | None) -> Bring:
    """Bring rows that say themselves what the time is."""

    def at(manifest: Manifest) -> At:
        definition = index.definition_at(manifest)
        if seen is None or seen.latest is None:
            return definition.unguessed
        now, counted = _moment(definition, manifest, seen.latest, seen)
        return at_instant(definition, now, follow(definition, manifest, now, counted))

    return rows.waiting(index, at)


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
    """Only note that a batch without rows came: there is no instant and nothing to refresh."""
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


def repeated(definition: LifeDefinition, manifest: Manifest) -> Refreshed:
    """What is said of a batch that was taken before."""
    return Refreshed(manifest.commit, _due(definition, manifest), repeated=True)


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
            f"A row was inserted in the time of refresh {due} ({label(due)}), which is "
            f"{due - last} refreshes after the last instant ({label(last)}): further ahead than "
            f"anything lives, by max_lifetime no more than {definition.window}. If its time is "
            "right, say so with update(now) first; if not, leave it out."
        )
