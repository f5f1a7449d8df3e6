"""A set over time in memory: times and ids become numbers, and a method keeps what happened.

Takes in all events of a batch or none. Opens no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.errors import AlreadyInSet, BadTime, NotInSet, SchemaMismatch, TimeBackwards, TooLarge
from wavedex.rows.arrow import to_arrow
from wavedex.temporal.alive import Alive
from wavedex.temporal.changes import I32, I64, NO_POINTER, NOW, Bools, Changes, Lifespans
from wavedex.temporal.counted import Counted
from wavedex.temporal.events import Columns, Events
from wavedex.temporal.ids.catalogue import ids_of
from wavedex.temporal.instants import Instants
from wavedex.temporal.methods.contract import Method, are_alive
from wavedex.temporal.rows import CarriedRows
from wavedex.temporal.soundness import Known, bounded, demand

EVENTS_MAX = 2**31 - 2
"""There are at most as many changes, times and rows: they are numbered with 32 bits."""


class State:
    """The history of a set."""

    def __init__(
        self, make: Callable[[bool], Method], columns: Columns, counted: bool = False
    ) -> None:
        """An empty one. `make` makes the method; it is told whether ids carry rows.

        If `counted`, each id may be there many times, and carries nothing.
        """
        self.columns = columns
        self.ids = ids_of(columns.ids)
        self.instants = Instants(columns.times)
        self.rows = CarriedRows(columns.rows)
        self.alive = Counted() if counted else Alive()
        self.carries = bool(columns.rows.names)
        self.method = make(self.carries)
        self.changes = 0
        self.last: int | None = None
        """The tick of the last change."""

    # -- what is kept -------------------------------------------------------------------------

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any] | pa.Array]:
        """All that is kept."""
        parts: list[Mapping[str, Any]] = [
            self.ids.arrays, self.instants.arrays, self.alive.arrays, self.method.arrays,
            self.rows.arrays,
        ]  # fmt: skip
        return {name: values for part in parts for name, values in part.items()}

    def restore(self, arrays: Mapping[str, Any], changes: int) -> None:
        """Be as another was, of which so many changes were known."""
        for part in (self.ids, self.instants, self.alive, self.method, self.rows):
            part.restore(arrays)
        self.changes = changes
        self.last = int(self.instants.ticks[-1]) if len(self.instants) else None

    def check_restored(self) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there.

        COST: looks at headers, and at times of records. No loop over pages.
        """
        is_told = (self.changes > 0) == (len(self.instants) > 0)
        demand(is_told and self.changes >= 0, "it has no times of its changes")
        for part in (self.ids, self.instants, self.rows):
            part.check()
        self.method.check(Known(len(self.instants), self.rows.count, self.alive.is_alive))

    def findings(self) -> Iterator[str]:
        """What is wrong with what is kept, in sentences."""
        yield from self.ids.findings()
        if (np.diff(self.instants.ticks) <= 0).any():
            yield "the times are not in order"
        yield from self.alive.findings()
        yield from self.method.findings()
        spans = self.method.everything()
        if self.carries and (len(spans.pointers) and spans.pointers.max() >= self.rows.count):
            yield "an id carries a row that is not there"
        if {*spans.ids[spans.ends == NOW].tolist()} != {*self.alive.ids.tolist()}:
            yield "other ids are alive than those whose lifespans have no end"

    # -- changing -----------------------------------------------------------------------------

    def check(self, events: Events) -> tuple[I64, I32]:
        """See whether events are possible, and count them and who is alive after them.

        Returns the numbers of their ids and their entries, for `apply`. Raises TimeBackwards,
        AlreadyInSet, NotInSet and TooLarge, and nothing has changed then.
        """
        self._check_order(events)
        if self.changes + len(events) > EVENTS_MAX:
            raise TooLarge(f"A set takes up to {EVENTS_MAX:,} changes. Begin another one.")
        known = self.ids.count
        numbers = self.ids.number(events.ids)
        entries, bad = self.alive.take(numbers, events.signs.astype(np.int8, copy=False))
        if bad >= 0:
            error = self._impossible(events, bad)
            self.ids.take_back(known)
            raise error
        if len(events):
            self.last = int(events.ticks[-1])
            self.changes += len(events)
        return numbers, entries

    def take(self, events: Events) -> None:
        """Take in events as a set was told of them before."""
        if isinstance(self.alive, Counted):
            self.count(events)
        else:
            self.apply(events, *self.check(events))

    def count(self, events: Events) -> Events:
        """Take in by how much ids are there more or less often. What it came to, by instant.

        Raises TimeBackwards, and NotInSet where there would be fewer than none. Nothing has changed
        then.
        """
        assert isinstance(self.alive, Counted)
        self._check_order(events)
        known = self.ids.count
        numbers = self.ids.number(events.ids)
        net = self.alive.count(numbers, events.signs.astype(np.int32), events.ticks)
        if isinstance(net, int):
            error = self._impossible(events, net)
            self.ids.take_back(known)
            raise error
        found = events.take(net.event_rows, net.signs)
        if len(events):
            self.last = int(events.ticks[-1])
            self.changes += len(found)
        self.apply(found, numbers[net.event_rows], net.entries)
        return events.take(net.rows, net.deltas)

    def apply(self, events: Events, numbers: I64, entries: I32) -> None:
        """Take in events that `check` has found possible.

        Raises Damaged where pages do not fit each other. What is kept is not whole then.
        """
        versions = self.instants.number(events.ticks)
        pointers = np.full(len(events), NO_POINTER, np.int32)
        if self.carries:
            added = events.signs > 0
            pointers[added] = self.rows.count + np.arange(added.sum(), dtype=np.int32)
            self.rows.append(events.rows.filter(to_arrow(added)))
        signs = events.signs.astype(np.int8, copy=False)
        with bounded():
            self.method.apply(Changes(numbers, versions, signs, entries, pointers))

    def _check_order(self, events: Events) -> None:
        ticks = events.ticks
        if not len(ticks):
            return
        last = self.last
        if last is not None and ticks[0] < last:
            raise TimeBackwards(
                f"An event is from {self._said(ticks[0])}, before the last change, which was at "
                f"{self._said(last)}. Changes come in the order of their times."
            )
        backwards = np.flatnonzero(ticks[1:] < ticks[:-1])
        if len(backwards):
            row = int(backwards[0]) + 1
            raise TimeBackwards(
                f"The event at row {row} is from {self._said(ticks[row])}, before the one above "
                f"it, which is from {self._said(ticks[row - 1])}. Sort the events by their times; "
                "at one time, removals come before additions."
            )

    def _said(self, tick: Any) -> str:
        return str(self.instants.time(int(tick)))

    def _impossible(self, events: Events, bad: int) -> Exception:
        oid, when = events.ids[bad].as_py(), self._said(events.ticks[bad])
        oid = tuple(oid.values()) if isinstance(oid, dict) else oid
        if events.signs[bad] > 0:
            return AlreadyInSet(
                f"The id {oid!r} is added at {when} (row {bad}), and it is in the set already. "
                "Remove it first. Nothing was changed."
            )
        return NotInSet(
            f"The id {oid!r} is removed at {when} (row {bad}), and it is not in the set. Nothing "
            "was changed."
        )

    # -- asking -------------------------------------------------------------------------------

    def find(self, oid: Any, tick: int) -> int:
        """The number of the row of an id at a tick, -1 without one; -2 where it was not there."""
        return self.method.find(self.ids.number_of(oid), self.instants.version_at(tick))

    def contains_many(self, oids: Any, ticks: I64) -> Bools:
        """Whether each id was there at its tick, or all at one. Raises BadTime."""
        numbers, versions = self.ids.numbers_of(oids), self.instants.versions_at(ticks)
        if len(versions) == 1:
            versions = np.repeat(versions, len(numbers))
        if len(numbers) != len(versions):
            raise BadTime(
                f"{len(numbers):,} ids are asked for at {len(versions):,} times. Give as many "
                "times as ids, or one for all."
            )
        return are_alive(self.method.find_many(numbers, versions))

    def snapshot(self, tick: int) -> tuple[pa.Array, I32]:
        """The ids that were there at a tick, and the numbers of their rows."""
        numbers, pointers = self.method.alive_at(self.instants.version_at(tick))
        return self.ids.values(numbers), pointers

    def was_alive(self, oid: Any, since: int, until: int) -> bool:
        """Whether an id was there at some tick from `since` to `until`, both included."""
        if until < since:
            return False
        first, last = self.instants.version_at(since), self.instants.version_at(until)
        return self.method.was_alive(self.ids.number_of(oid), first, last)

    def lifespans(self, oid: Any) -> Lifespans:
        """All lifespans of an id."""
        return self.method.lifespans(self.ids.number_of(oid))

    def check_like(self, other: State) -> None:
        """Raise SchemaMismatch where another set has ids or times of another type."""
        for what, one, its in (
            ("ids", self.columns.ids, other.columns.ids),
            ("times", self.columns.times, other.columns.times),
        ):
            if one != its:
                raise SchemaMismatch(
                    f"One set has {what} of type {one} and the other of type {its}. Load one of "
                    "them with the types of the other."
                )

    def between(self, low: Any, high: Any, tick: int) -> tuple[pa.Array, I32]:
        """The ids from `low` to `high` at a tick, in order, and the numbers of their rows."""
        version = self.instants.version_at(tick)
        if self.ids.are_numbers:
            first, last = self.ids.number_of(low), self.ids.number_of(high)
            numbers, pointers = self.method.between(first, last, version)
            return self.ids.values(numbers), pointers
        ids, pointers = self.snapshot(tick)
        edges = self.ids.column([low, high])
        ranks = self.ids.ranks(pa.concat_arrays([edges, ids]))
        inside = np.flatnonzero((ranks[2:] >= ranks[0]) & (ranks[2:] <= ranks[1]))
        order = inside[ranks[2:][inside].argsort(kind="stable")]
        return ids.take(to_arrow(order)), pointers[order]
