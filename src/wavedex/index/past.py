"""The rows of a key as they were at a past time, from the commits that are kept.

The last commit that is not after the time has them, but for what the next one changed up to then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadCondition, BadTime, CommitGone, RowsGone
from wavedex.files.contract import AnyFiles
from wavedex.index.core.changes import ChangeFeed, said_of, time_type
from wavedex.index.core.definition import AT_COLUMN, CHANGE_COLUMN, Definition
from wavedex.index.reading.snapshot import Snapshot
from wavedex.log.manifest import Log
from wavedex.rows import compute as pc
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.entries import one_batch
from wavedex.rows.matching import match_rows
from wavedex.slots import from_ordinals
from wavedex.slots.contract import ORDINAL_MAX
from wavedex.temporal.instants import Instants

if TYPE_CHECKING:
    from wavedex.temporal import TemporalSet


class Kept(Protocol):
    """An index, as far as its past must know one."""

    @property
    def definition(self) -> Definition:
        """What it is."""

    @property
    def storage(self) -> AnyFiles:
        """The files below its folder."""

    @property
    def change_feed(self) -> ChangeFeed[Any]:
        """What finds and reads changes."""

    @property
    def history(self) -> TemporalSet | None:
        """Which keys were there when."""

    def snapshot(self, commit: int | None = None) -> Snapshot:
        """The window as a commit has it."""


def rows_as_of(
    index: Kept, key: Any, time: Any, columns: Sequence[str] | None, others: Sequence[Any]
) -> pa.Table:
    """The rows of a key at a time; `others` is what else was asked, and must be nothing.

    Raises BadCondition, BadTime, BadKey, RowsGone where only membership is left, and CommitGone
    where nothing is.
    """
    if any(each is not None for each in others):
        raise BadCondition("as_of= goes with the key and with columns=, and with nothing else.")
    definition = index.definition
    tick = tick_of(definition, time)
    try:
        rows = _rows_at(index, definition, key, tick)
    except CommitGone as error:
        history = index.history
        if history is None:
            raise CommitGone(
                f"{error} Create the index with keep_for= for the rows of some time to be kept, or "
                "with history= for who was there, for ever."
            ) from error
        there = history.contains(key, _time_of(definition, tick))
        raise RowsGone(
            f"{error} Only membership is left: the key {key!r} was {'' if there else 'not '}in the "
            "window then.",
            there,
        ) from error
    return rows if columns is None else rows.select([*columns])


def _rows_at(index: Kept, definition: Definition, key: Any, tick: int) -> pa.Table:
    log = Log(index.storage)
    kept = log.commits()
    found, following = None, None
    for commit in reversed(kept):
        manifest = log.find(commit)
        reached = None if manifest is None else definition.reached(manifest)
        if reached is None or _tick(definition, reached) <= tick:
            found = commit
            break
        following = commit
    if found is None or (following is not None and following != found + 1):
        raise CommitGone(
            f"No commit that is kept has the rows of {_time_of(definition, tick)}: there are "
            f"{said_of(kept)}."
        )
    with index.snapshot(found) as held:
        rows = held.probe(key)
    if following is None:
        return rows
    changed = _changed(definition, index.change_feed, found, following, key, tick)
    went, came = (
        changed.filter(pc.equal(changed[CHANGE_COLUMN], sign)).select(rows.schema.names)
        for sign in (-1, 1)
    )
    stayed = ~match_rows(one_batch(rows), one_batch(went))[0]
    return pa.concat_tables([rows.filter(to_arrow(stayed)), came])


def tick_of(definition: Definition, time: Any) -> int:
    """A time that a user gave, as a number that the set of a history knows. Raises BadTime.

    A date means the end of its day, as it does in `until`, and a number the instant that it is.
    """
    kind = time_type(definition)
    if pt.is_integer(kind):
        return Instants(kind).tick_of(time)
    if isinstance(time, int) and not isinstance(time, bool):
        raise BadTime(f"as_of={time!r} is a number. Give a date or a datetime.")
    stop = definition.slotting.bounds(None, time)[1]
    return _tick(definition, ORDINAL_MAX if stop is None else stop - 1)


def _time_of(definition: Definition, tick: int) -> Any:
    """Such a number as a time: a number, a date or a datetime."""
    return Instants(time_type(definition)).time(tick)


def _tick(definition: Definition, ordinal: int) -> int:
    column = from_ordinals(np.array([ordinal], np.int64), time_type(definition))
    return int(number_view(column)[0])


def _changed(
    definition: Definition, feed: ChangeFeed[Any], since: int, until: int, key: Any, tick: int
) -> pa.Table:
    """What a commit changed of a key, up to a tick."""
    table = pa.Table.from_batches(feed.read(feed.find(since, until)), feed.schema)
    kind = definition.spec.key_type
    names = definition.key_names
    wanted = kind.of_plain(kind.plain(key))
    parts = [wanted] if len(names) == 1 else wanted.flatten()
    for name, value in zip(names, parts, strict=True):
        table = table.filter(pc.equal(table[name], value[0]))
    ticks = number_view(table[AT_COLUMN].combine_chunks())
    return table.filter(to_arrow(ticks <= tick))
