"""One atomic refresh: rows that come, go and get another end, at one instant and in one commit.

1. A batch of a stream that was taken before is passed over. The rows are checked. Their instant is
   said, or they say it themselves (`wavedex.index.lifetime.moments`).
2. Rows that are retracted or get another end are looked for among those that lived before: nothing
   that comes with the same commit is meant. If one is not there, nothing is changed.
3. They are hidden where they lie. What comes, with the other ends, goes through the refresh that is
   due (`wavedex.index.lifetime.refresh`).

Updates, appends and batches of streams are the cases in which rows only come. To retract rows, or
to give them other ends, are the others; by themselves they leave what is due to the next refresh,
and cost what they touch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import xxhash

from wavedex.engine.change import Change
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.delivery import Delivery, InMemory
from wavedex.index.core.turns import Place, Turn, place_of
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.counted import at_instant, follow
from wavedex.index.lifetime.definition import At, LifeDefinition
from wavedex.index.lifetime.moments import LifeHolder, Moment, When, last_due, looking_at
from wavedex.index.lifetime.refresh import NOTHING_REPLACED, Refreshed, check_forwards, refresh
from wavedex.index.lifetime.retraction import (
    Matching,
    Meant,
    Replaced,
    Retracted,
    meant_by,
    meant_exactly,
    replace_rows,
)
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.log.manifest import Manifest, Notes
from wavedex.log.progress import Sources


@dataclass(frozen=True)
class Application:
    """What somebody gives to be done in one commit."""

    insert: Delivery
    retract: InMemory | Matching | None = None
    prolong: InMemory | None = None


def apply(
    index: LifeHolder,
    given: Application,
    when: When,
    turn: Turn | None = None,
) -> Refreshed:
    """Do all of it at an instant.

    Raises RefreshBackwards, GapTooLarge, AnotherStream, StreamOutOfStep, RowNotThere and what
    bringing and writing raise.
    """
    index = given.insert.working(index)
    writer = index.writer
    with looking_at(index, given.insert, when) as moment:

        def at(manifest: Manifest) -> At:
            definition = index.definition_at(manifest)
            if turn is not None and place_of(manifest, turn).is_earlier:
                return definition.unguessed  # Only to see whether they are what they were.
            return moment.at(definition, manifest)

        bring = given.insert.waiting(index, at)
        with writer.writing() as manifest:
            place = None if turn is None else place_of(manifest, turn)
            if place is not None and place.is_last:
                return _repeated(writer.definition, manifest)
            if place is None or not place.is_earlier:
                moment.check_forwards(writer.definition, manifest)
            with bring(manifest) as arriving:
                return _take(index, manifest, given, arriving, moment, place)


def _take(
    index: LifeHolder,
    manifest: Manifest,
    given: Application,
    arriving: Arriving,
    moment: Moment,
    place: Place | None,
) -> Refreshed:
    """Do all of it with rows that are there."""
    writer, definition = index.writer, index.writer.definition
    now = moment.settle(definition, manifest, arriving)
    with _asking(index, manifest, given, now or 0) as asked:
        sources = Sources(marks=given.insert.marks) if given.insert.marks else None
        if place is not None:
            identity = asked.identity(arriving)
            if place.is_repeated(identity):
                return _repeated(definition, manifest)
            sources = replace(place.noted(identity), marks=given.insert.marks)
        if not asked and moment.is_silent(arriving, now):
            arriving = replace(arriving, null_keys=arriving.null_keys + asked.null_keys)
            return _pass_over(writer, manifest, arriving, sources)
        counted = moment.counted(definition, manifest)
        replaced = replace(NOTHING_REPLACED, null_keys=asked.null_keys)
        if asked:
            # Where it was never refreshed there are no rows either, at whatever instant.
            arrivals = follow(definition, manifest, now or 0, counted)
            clock = LifeClock.of(manifest).at(now or 0, arrivals)
            replaced = asked.look_up(index, manifest, clock)
        assert now is not None  # What was never refreshed has no rows that are asked for.
        name = "apply" if replaced else "update"
        named = replace(replaced, name=name)
        return refresh(writer, manifest, now, arriving, counted, sources, named)


def _pass_over(
    writer: LifeWriter, manifest: Manifest, arriving: Arriving, sources: Sources | None
) -> Refreshed:
    """Only note that a batch without rows came: there is no instant and nothing to refresh."""
    slot = last_due(writer.definition, manifest)
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


def _repeated(definition: LifeDefinition, manifest: Manifest) -> Refreshed:
    """What is said of a batch that was taken before."""
    return Refreshed(manifest.commit, last_due(definition, manifest), repeated=True)


def retract(index: LifeHolder, now: int, rows: InMemory | Matching) -> Retracted:
    """Hide rows from now on. Raises RowNotThere, and then nothing has changed."""
    return _replace(index, Application(InMemory(None), retract=rows), now, "retract")


def prolong(index: LifeHolder, now: int, rows: InMemory) -> Retracted:
    """Give rows other ends. Raises RowNotThere, and then nothing has changed."""
    return _replace(index, Application(InMemory(None), prolong=rows), now, "prolong")


def _replace(index: LifeHolder, given: Application, now: int, name: str) -> Retracted:
    """Replace rows, and leave what is due to the next refresh."""
    writer = index.writer
    bring = given.insert.waiting(index, lambda _: At(now))
    with writer.writing() as manifest:
        check_forwards(manifest, now, writer.definition)
        clock = LifeClock.of(manifest).at(now)
        with bring(manifest) as nothing, _asking(index, manifest, given, now) as asked:
            replaced = asked.look_up(index, manifest, clock)
            if not replaced:
                return Retracted(manifest.commit, 0)
            alone = replace(replaced, name=name, waits=True)
            done = refresh(writer, manifest, now, nothing, None, None, alone)
    return Retracted(done.commit, done.retracted + done.prolonged)


@dataclass(frozen=True)
class _Asked:
    """The rows that are to be retracted, and those that are to get another end."""

    retract: Meant | None
    prolong: Arriving | None
    sent: tuple[str, ...]
    """The identities of the rows that say so. No rows are the same as none."""
    null_keys: int
    """How many of these had no key."""

    def __bool__(self) -> bool:
        """Whether there are any rows."""
        return bool(self.sent)

    def identity(self, arriving: Arriving) -> str:
        """What they and the rows that come with them are known by."""
        said = " ".join((arriving.sent.identity, *self.sent))
        return xxhash.xxh64_hexdigest(said.encode()) if self.sent else said

    def look_up(self, index: LifeHolder, manifest: Manifest, clock: LifeClock) -> Replaced:
        """Find them where they lie. `clock` is that of the commit. Raises RowNotThere."""
        definition, files = index.definition_at(manifest), index.writer.workshop.files
        found = replace_rows(definition, files, manifest, clock, self.retract, self.prolong)
        return replace(found, null_keys=self.null_keys)


@contextmanager
def _asking(
    index: LifeHolder, manifest: Manifest, given: Application, now: int
) -> Iterator[_Asked]:
    """What is asked for of rows that are there."""
    definition = index.definition_at(manifest)
    with (
        _brought(index, manifest, given.retract, lambda each: _last(each, manifest, now)) as gone,
        _brought(index, manifest, given.prolong, lambda _: At(now, bound="now")) as prolonged,
    ):
        meant: Meant | None = None
        sent = []
        if isinstance(given.retract, Matching):
            meant = meant_by(definition, given.retract)
            if meant.rows.num_rows:
                sent.append(f"matching {meant.identity}")
        elif gone is not None and gone.sent.rows:
            meant = meant_exactly(definition, gone)
            sent.append(f"retract {gone.sent.identity}")
        if prolonged is not None and prolonged.sent.rows:
            sent.append(f"prolong {prolonged.sent.identity}")
        null_keys = sum(each.null_keys for each in (gone, prolonged) if each)
        yield _Asked(meant, prolonged, tuple(sent), null_keys)


@contextmanager
def _brought(
    index: LifeHolder,
    manifest: Manifest,
    rows: InMemory | Matching | None,
    at: Callable[[LifeDefinition], At],
) -> Iterator[Arriving | None]:
    """Rows as they are, None where there are none or where they are only to be matched."""
    if not isinstance(rows, InMemory):
        yield None
        return
    bring = rows.waiting(index, lambda each: at(index.definition_at(each)))
    with bring(manifest) as arriving:
        yield arriving


def _last(definition: LifeDefinition, manifest: Manifest, now: int) -> At:
    """What is known of rows that only say which rows are meant."""
    return replace(at_instant(definition, now, LifeClock.of(manifest).arrivals), bound=None)
