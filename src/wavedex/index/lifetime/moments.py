"""The instant of a refresh: said by whoever asks for it, or read off its rows.

Rows that say themselves what the time is bring the latest insertion time that was seen, in them or
before. So the instant never goes backwards. Where windows are counted, each stream has come to the
largest position that was seen, if nobody says how far.

One wrong row can set a clock that is read off the rows, and the clock never goes back. So such an
instant is refused where it lies further ahead than the longest lifetime. With it everything in the
index would be over, or all that comes would be late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from wavedex.errors import GapTooLarge
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.delivery import Delivery, Holder
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.counted import Counted, at_instant, count_seen, follow
from wavedex.index.lifetime.definition import At, LifeDefinition
from wavedex.index.lifetime.refresh import check_forwards
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.log.manifest import Manifest


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


@dataclass(frozen=True)
class When:
    """What was said of the instant."""

    now: int | None = None
    """The instant; None where the rows say it."""
    counted: Counted | None = None
    """How far streams have come; None where the rows say it, or where windows are not counted."""


@dataclass(frozen=True)
class Seen:
    """What rows say of time."""

    latest: int | None
    """The latest insertion, None without rows."""
    positions: Mapping[str, int] = field(default_factory=dict)
    """The largest position in each counted window."""


@dataclass(frozen=True)
class Moment:
    """The instant of one refresh, as far as it is known before its rows are there."""

    when: When
    """What was said of it."""
    seen: Seen | None
    """What its rows say, where they had to be looked at beforehand."""

    def at(self, definition: LifeDefinition, manifest: Manifest) -> At:
        """What to say of the time of the rows when they are brought. Raises BadTime."""
        now = self._now(manifest, None if self.seen is None else self.seen.latest)
        if self.when.now is None and (self.seen is None or now is None):
            return definition.unguessed
        assert now is not None
        counted = self.counted(definition, manifest)
        return at_instant(definition, now, follow(definition, manifest, now, counted))

    def counted(self, definition: LifeDefinition, manifest: Manifest) -> Counted | None:
        """How far streams have come then."""
        if self.when.counted is not None:
            return self.when.counted
        positions = {} if self.seen is None else self.seen.positions
        return count_seen(definition, manifest, positions)

    def settle(
        self, definition: LifeDefinition, manifest: Manifest, arriving: Arriving
    ) -> int | None:
        """The instant, once the rows are there; None where nothing says it. Raises GapTooLarge."""
        now = self._now(manifest, self._latest(arriving))
        if now is not None and self.when.now is None:
            _check_jump(definition, manifest, now)
        return now

    def is_silent(self, arriving: Arriving, now: int | None) -> bool:
        """Whether neither anybody nor a row says anything new of time. `now` is as of `settle`.

        Without an instant there are no rows that could be pushed out, however far streams came.
        """
        says_counted = self.when.counted is not None and now is not None
        return self.when.now is None and not says_counted and self._latest(arriving) is None

    def check_forwards(self, definition: LifeDefinition, manifest: Manifest) -> None:
        """Raise RefreshBackwards where an instant was said that is before the last one."""
        if self.when.now is not None:
            check_forwards(manifest, self.when.now, definition)

    def _latest(self, arriving: Arriving) -> int | None:
        """The latest insertion. Rows that were over when they came were looked at beforehand."""
        if self.seen is not None:
            return self.seen.latest
        return max((found.latest for found in arriving.summary.values()), default=None)

    def _now(self, manifest: Manifest, latest: int | None) -> int | None:
        if self.when.now is not None:
            return self.when.now
        known = [each for each in (latest, LifeClock.of(manifest).now) if each is not None]
        return max(known, default=None)


@contextmanager
def looking_at(index: LifeHolder, rows: Delivery, when: When) -> Iterator[Moment]:
    """Look at rows for what they say of time, where they must be looked at before they are brought.

    That is so where windows are counted, and nobody says both what the time is and how far streams
    have come.
    """
    counts, time = index.created.counts, index.created.time
    if not counts or (when.now is not None and when.counted is not None):
        yield Moment(when, None)
        return
    with rows.held(index):
        found = rows.largest(index, [time, *counts])
        if found is None:
            yield Moment(when, Seen(None))
        else:
            yield Moment(when, Seen(found[0], dict(zip(counts, found[1:], strict=True))))


def last_due(definition: LifeDefinition, manifest: Manifest) -> int | None:
    """The last refresh that was due, None where there was none yet."""
    now = LifeClock.of(manifest).now
    return None if now is None else definition.slotting.due(now)


def _check_jump(definition: LifeDefinition, manifest: Manifest, now: int) -> None:
    """Raise GapTooLarge where an instant is further ahead than anything lives."""
    last = last_due(definition, manifest)
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
