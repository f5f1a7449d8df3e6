"""What the writers of the data source do with a lifetime index, once tasks have staged the rows.

The tasks do not know when rows of counted windows will be over: how far the streams have come is known only when all rows
are there. Those rows are read and guessed again here; others are named as they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from wavedex.errors import BadDefinition
from wavedex.index.core.arrival import Arriving, Bring, settle
from wavedex.index.core.staged import read_rows
from wavedex.index.core.turns import Turn
from wavedex.index.lifetime import feed as life_feeding
from wavedex.index.lifetime import refresh as refreshing
from wavedex.index.lifetime.counted import at_instant, count_seen, follow
from wavedex.index.lifetime.feed import Seen, at_seen, look
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.lifetime.refresh import check_forwards
from wavedex.index.opening import AnyIndex
from wavedex.log.manifest import Manifest


def instant_of(index: AnyIndex, now: str | None) -> int | None:
    """The instant that the option `now` means. Raises BadTime, BadDefinition where the index has none."""
    if now is None:
        return None
    if not isinstance(index, LifetimeIndex):
        raise BadDefinition("The option now is for lifetime indexes. Leave it out.")
    number = now.strip().removeprefix("-")
    return index.instant(int(now) if number.isdecimal() else now)


def refresh(index: LifetimeIndex, bring: Bring, now: int | None) -> None:
    """One refresh, at the instant that was given or that the rows bring."""
    with _brought(index, bring, now) as (rows, seen):
        if now is None:
            life_feeding.append(index.writer, rows, seen)
            return
        positions = {} if seen is None else seen.positions
        with index.writer.writing() as manifest:
            definition = index.writer.definition
            check_forwards(manifest, now, definition)
            counted = count_seen(definition, manifest, positions)
            with rows(manifest) as arriving:
                refreshing.refresh(index.writer, manifest, now, arriving, counted)


def feed(index: LifetimeIndex, bring: Bring, turn: Turn) -> None:
    """One batch of a stream."""
    with _brought(index, bring, None) as (rows, seen):
        life_feeding.feed(index.writer, rows, turn, seen)


@contextmanager
def _brought(
    index: LifetimeIndex, bring: Bring, now: int | None
) -> Iterator[tuple[Bring, Seen | None]]:
    """What brings the rows, and what they say of time where windows are counted."""
    if not index.definition.counts:
        yield bring, None
        return
    manifest = index.manifest
    definition = index.definition_at(manifest)
    with bring(manifest) as staged:
        table = read_rows(index.storage, definition, staged)
        seen = look(definition, table)

        def guessed(manifest: Manifest) -> AbstractContextManager[Arriving]:
            definition = index.definition_at(manifest)
            at = at_seen(definition, manifest, seen)
            if now is not None:
                counted = count_seen(definition, manifest, seen.positions)
                at = at_instant(definition, now, follow(definition, manifest, now, counted))
            return nullcontext(settle(table, staged.null_keys, definition, at))

        yield guessed, seen
