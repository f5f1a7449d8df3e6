"""What a lifetime index is: rows with ends of their own, in a grid by their births and deaths.

The cells of the grid are its sub-indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex import slots
from wavedex.errors import (
    BadTime,
    EndBeforeBeginning,
    FromTheFuture,
    LifetimeTooLong,
    NullTimes,
    SchemaMismatch,
)
from wavedex.index.core.definition import Definition, whole
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.view import LifeView
from wavedex.log.codec import PLAIN, REAL, Codec, kept, named, pair
from wavedex.log.manifest import Manifest, SubIndex
from wavedex.plan import Grid, GridState, State, grid
from wavedex.rows.arrow import to_arrow
from wavedex.rows.entries import END_COLUMN, EntrySpec
from wavedex.show.drawing import GRID, Drawing
from wavedex.slots import Ordinals, ends
from wavedex.slots.ends import Ends
from wavedex.store.room import Sizes
from wavedex.store.sieve import above

_FAR = 2**62
"""A position that no row has."""
_LAST = 2**63 - 1
_ENDS = Codec(lambda slotting: slotting.to_json(), ends.from_json)
_NUMBER = Codec(int, int)
METHOD_UPDATES = {True: "packed-shadow", False: "in-place"}
"""How sub-indexes are updated, by whether the method reclusters them."""


@dataclass(frozen=True)
class At:
    """What is known when rows arrive."""

    now: int | None = None
    """The instant, if one was said."""
    positions: Mapping[str, int] = field(default_factory=dict)
    """How far each stream has come, by its name, where windows are counted."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """How many rows of each stream come to an ordinal of time."""
    bound: str | None = "birth"
    """From when on a row may live for the bound on lifetimes.

    It is "birth", or "now" where the row gets another end. It is None where the row only says which
    row is meant.
    """
    is_known: bool = True
    """Whether all this is known. Otherwise it will be told later."""


@dataclass(frozen=True, kw_only=True)
class LifeDefinition(Definition):
    """A lifetime index as it was created. `wavedex.index.lifetime.answers` makes one and checks it.

    There are three ways to tell a row's end: `expires`, `lifetime` and `counts`.
    """

    slotting: Ends = kept(_ENDS, name="slots")
    """What cuts ends into slots. Each slot ends with a refresh."""
    time: str = kept()
    """The column of births."""
    expires: str | None = kept()
    """The column of ends, if there is one."""
    lifetime: str | None = kept()
    """The column that says how long after its birth a row ends, if there is one."""
    counts: Mapping[str, int] = kept(named(_NUMBER))
    """The columns of positions in counted windows, each with the rows of its window.

    With them, ends are guessed.
    """
    spans: Mapping[str, int] = kept(named(_NUMBER))
    """The columns with the times of the rows that an entry was made of.

    Each comes with the window which that row was in, as ordinals.
    """
    window: int = kept(whole("window"))
    """The bound on lifetimes, in refreshes."""
    sides: tuple[int, int] = kept(pair(whole("grid")), name="grid")
    """The partitions of births in the grid, and of deaths."""
    method: str = kept()
    """The name of the method."""
    partition: tuple[str, str] = kept(pair(PLAIN))
    """How births and deaths are partitioned."""
    seed: int = kept(whole("seed", 0))
    """What random partitions are drawn from."""
    reach: tuple[int, int] = kept(pair(PLAIN))
    """How many slots before and after the present one a refresh examines, with counted windows."""
    buckets: float = kept(REAL)
    """How many chained buckets a key has on average, where nothing is reclustered."""

    kind: ClassVar[str] = "lifetime"
    drawing: ClassVar[Drawing] = GRID
    counts_slots: ClassVar[bool] = False

    @cached_property
    def spec(self) -> EntrySpec:
        if self.expires is not None:
            return EntrySpec(self.schema, self.key, self.expires, self.time)
        hidden = pa.field(END_COLUMN, pa.int64(), nullable=False)
        return EntrySpec(self.schema.append(hidden), self.key, END_COLUMN, self.time)

    @property
    def cycle(self) -> int:
        """After how many refreshes all rows and all columns of the grid have had their turn."""
        return self.window

    @cached_property
    def grid(self) -> Grid:
        """The planner."""
        return grid(self.method, self.window, *self.sides, self.partition, self.seed, self.reach)

    @cached_property
    def rooms(self) -> Sizes:
        return Sizes(self.growth, self.first_room, self.buckets)

    @property
    def longest_slots(self) -> int:
        return self.window

    @property
    def longest(self) -> int:
        """The bound on lifetimes, in ordinals."""
        return self.window * self.slotting.width

    def check_planner(self) -> None:
        _ = self.grid

    # -- what arrives ---------------------------------------------------------------------------

    def complete(self, table: pa.Table, at: At) -> pa.Table:
        """With the end of each row, where no column has it.

        Raises NullTimes, LifetimeTooLong and their kin.
        """
        births = slots.ordinals(table.column(self.time))
        for name in self.spans:
            _check_no_nulls(table, name, "the times of the rows that it was made of")
        if self.counts:
            found = self._guess(table, at)
        else:
            found = self._ends(table, births)
            self._check_lifetimes(births, found, at)
        if self.expires is not None:
            return table
        return table.append_column(self.spec.schema.field(END_COLUMN), to_arrow(found))

    def recent(self, manifest: Manifest, span: Any) -> int | None:
        length = self.slotting.length(span)
        now = LifeClock.of(manifest).now
        return None if now is None else now - length + 1

    def reached(self, manifest: Manifest) -> int | None:
        return LifeClock.of(manifest).now

    @property
    def kept_as(self) -> str:
        rows, columns = self.sides
        return f"{rows}x{columns} by {self.method}"

    @property
    def unguessed(self) -> At:
        """What rows come with before it is known how far streams have come.

        The ends of counted windows are guessed later.
        """
        positions, rates = dict.fromkeys(self.counts, _FAR), dict.fromkeys(self.counts, 0.0)
        return At(0, positions, rates, is_known=False)

    @property
    def only_named(self) -> At:
        return replace(self.unguessed, bound=None)

    def lives(self, rows: pa.RecordBatch, at: At) -> npt.NDArray[np.bool_]:
        if at.now is None or at.bound != "birth" or not at.is_known:
            return np.ones(rows.num_rows, np.bool_)
        floors = {name: at.positions[name] - size for name, size in self.counts.items()}
        return above(floors)(rows) if self.counts else self.spec.ordinals(rows) > at.now

    def at_to_json(self, at: At) -> dict[str, Any]:
        return asdict(at)

    def at_from_json(self, said: Mapping[str, Any]) -> At:
        return At(**said)

    def check_slots(self, slots: Ordinals, at: At) -> None:
        """Rows of any slots may come."""

    def _ends(self, table: pa.Table, births: Ordinals) -> Ordinals:
        name = self.expires or self.lifetime
        assert name is not None
        _check_no_nulls(table, name, "an end")
        column = table.column(name)
        if self.expires is not None:
            return slots.ordinals(column)
        if pt.is_duration(column.type):
            unit = pa.duration(self.schema.field(self.time).type.unit)
            try:
                column = column.cast(unit).cast(pa.int64())
            except pa.ArrowInvalid as error:
                raise SchemaMismatch(
                    f"Column {name!r} has lifetimes that are no whole numbers of {unit}, the unit "
                    f"of {self.time!r}, or too large for it ({error}). Round them, or create the "
                    "index with times of a finer unit."
                ) from error
        # No farther than 64 bits reach: such a life is too long in any case.
        return births + np.minimum(slots.ordinals(column), _LAST - np.maximum(births, 0))

    def _check_lifetimes(self, births: Ordinals, found: Ordinals, at: At) -> None:
        wrong = np.flatnonzero(found < births)
        if len(wrong):
            raise EndBeforeBeginning(
                f"{len(wrong)} of {len(births)} rows end before they begin, the first of them row "
                f"{wrong[0]} of those with a key. Look to {self.expires or self.lifetime!r}, or "
                "leave those rows out."
            )
        since = births if at.bound == "birth" or at.now is None else np.full_like(births, at.now)
        lives = found.astype(np.uint64) - since.astype(np.uint64)  # as far apart as 64 bits reach
        wrong = np.flatnonzero((found > since) & (lives > self.longest))
        if len(wrong) and at.bound is not None:
            raise LifetimeTooLong(
                f"{len(wrong)} of {len(births)} rows live longer than max_lifetime, {self.window} "
                f"refreshes of {self.slotting.period}, the first of them row {wrong[0]} of those "
                "with a key. End them earlier, or create an index with a larger max_lifetime."
            )

    def _guess(self, table: pa.Table, at: At) -> Ordinals:
        """When each row will be over at the present rates: a guess (Section 4.2).

        It is within the bound on lifetimes.
        """
        if at.now is None:
            raise BadTime("Rows of counted windows come with an instant. Use update.")
        if at.bound is None:
            return np.full(table.num_rows, at.now, np.int64)
        left = np.full(table.num_rows, float(self.longest))
        for name, size in self.counts.items():
            _check_no_nulls(table, name, "a position")
            positions = slots.ordinals(table.column(name))
            if len(positions) and positions.max() > at.positions[name]:
                raise FromTheFuture(
                    f"Rows have positions up to {positions.max()} in {name!r}, and "
                    f"{at.positions[name]} rows have arrived there. Say with arrived= how far the "
                    "stream has come."
                )
            rate = at.rates[name]
            if rate > 0:
                left = np.minimum(left, (positions + size - at.positions[name]) / rate)
        return at.now + np.clip(left, 1, self.longest).astype(np.int64)

    # -- what is seen and what is left ----------------------------------------------------------

    def view(self, manifest: Manifest) -> LifeView:
        return LifeView.of(
            manifest,
            self.slotting,
            self.spec,
            horizon=self.horizon(manifest),
            floors=self.floors(manifest),
        )

    def horizon(self, manifest: Manifest) -> int | None:
        """The last instant at which a row that is over may end."""
        return None if self.counts else LifeClock.of(manifest).now

    def floors(self, manifest: Manifest) -> dict[str, int]:
        """The positions up to which rows are over, where windows are counted."""
        return self.floors_at(LifeClock.of(manifest)) if self.counts else {}

    def floors_at(self, clock: LifeClock) -> dict[str, int]:
        """The same for a clock that shows how far streams have come."""
        came = clock.came
        return {name: came[name] - size for name, size in self.counts.items()} if came else {}

    def state_of(self, manifest: Manifest) -> GridState | None:
        return None if manifest.state is None else GridState.from_json(dict(manifest.state))

    def drained(
        self,
        state: State | None,
        draining: Mapping[str, SubIndex],
        own: Mapping[str, Any],
    ) -> dict[str, SubIndex]:
        """The sub-indexes that may have rows that live."""
        if state is None:
            return dict(draining)
        if self.counts:
            clock = LifeClock.from_json(own)
            lives = draining and self.may_live(clock.drained_at, clock.came)
            return dict(draining) if lives else {}
        return {
            name: sub
            for name, sub in draining.items()
            if any(slot > state.newest for slot in sub.slots)
        }

    def own_after(self, own: Mapping[str, Any], draining: Mapping[str, SubIndex]) -> dict[str, Any]:
        """What is left of the clock once it is known what still drains.

        How far streams had come when sub-indexes began to drain is forgotten with the last of
        those.
        """
        clock = LifeClock.from_json(own)
        return (clock if draining else replace(clock, drained_at={})).to_json()

    def may_live(self, since: Mapping[str, int], came: Mapping[str, int]) -> bool:
        """Whether an entry that came at `since` can live at `came`.

        It can where none of its windows has been filled anew.
        """
        return all(came[name] - since[name] < size for name, size in self.counts.items())

    def layout_findings(self, manifest: Manifest) -> Iterable[str]:
        """Whether the sub-indexes hold what was planned."""
        state = self.state_of(manifest)
        planned = {} if state is None else state.layout
        if {name: sub.slots for name, sub in manifest.indexes.items()} != planned:
            yield f"commit {manifest.commit} holds other slots than its method planned"

    def describe(self, manifest: Manifest) -> dict[str, Any]:
        state = self.state_of(manifest)
        shown = manifest.shown.values()
        newest = None if state is None else state.newest
        now = LifeClock.of(manifest).now
        return {
            "method": self.method,
            "grid": list(self.sides),
            "partition": list(self.partition),
            "window": self.window,
            "indexes": self.grid.indexes,
            "expires": self.expires,
            "lifetime": self.lifetime,
            "counts": dict(self.counts),
            "spans": dict(self.spans),
            "reach": list(self.reach),
            "seed": self.seed,
            "buckets": self.buckets,
            "refresh_every": self.slotting.period,
            "refresh": newest,
            "refreshed_at": None if newest is None else self.slotting.label(newest),
            "now": now,
            "now_at": None if now is None else self.slotting.moment(now),
            "births": {} if state is None else {n: sorted(s) for n, s in state.births.items()},
            "rows_held": sum(sub.rows for sub in shown),
            "rows_hidden": sum(sub.rows_hidden for sub in shown),
        }


def _check_no_nulls(table: pa.Table, name: str, needed: str) -> None:
    """Raise NullTimes where a row lacks what it needs."""
    nulls = table.column(name).null_count
    if nulls:
        raise NullTimes(
            f"{nulls} of {table.num_rows} rows have no {name!r}. Every row needs {needed}; leave "
            "those rows out."
        )
