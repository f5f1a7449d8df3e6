"""Doubly partitioned indexes: rows of variable lifetimes, by when they came and by when they go.

A row of data is inserted in one slot, its *birth*, and expires in another, its *death*, at most p
slots later. A grid of G rows and E columns has a sub-index in every cell. Row i holds the births of
partition i, column j the deaths of partition j. Cell (i, j) is I(i E + j + 1), as the papers number
them. A refresh takes what expires out of one column, puts what arrives into one row, and leaves the
other cells alone (Section 3.1).

- Ordinary kinds delete the deaths that are over (Algorithms 1 and 2 of the report).
- Lazy kinds (Algorithm 3) treat the births as a WATA* wave. The row with the oldest births is left
  alone until all of them are over, and is then thrown away.
- Count kinds (Algorithm 4) only guess when rows expire. They examine the slots around the present
  one.

Plans and never performs: no file, no clock. The same state and slot give the same plan. Knows slots
and never rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wavedex.errors import BadGrid
from wavedex.plan.grids.methods import METHODS, Method, check_numbers, check_partitions, find_method
from wavedex.plan.grids.partition import WAVE, Partition
from wavedex.plan.grids.state import GridState
from wavedex.plan.operations import (
    Build,
    Delete,
    Examine,
    Insert,
    Layout,
    Operation,
    Plan,
    Slots,
    apply,
)
from wavedex.plan.state import WaveState
from wavedex.plan.waves.wata import Wata

_NONE: Slots = frozenset()


@dataclass(frozen=True)
class Grid:
    """A method, and the numbers and partitions it is used with."""

    method: str
    """Its name among the METHODS."""
    window: int
    """p, the number of refresh slots."""
    rows: int
    """G, the number of partitions of births."""
    columns: int
    """E, the number of partitions of deaths."""
    births: str
    """How births are partitioned."""
    deaths: str
    """How deaths are partitioned."""
    seed: int = 0
    """What a random partition is drawn from."""
    reach: tuple[int, int] = (1, 1)
    """For guessed expirations: how many slots before and after the present one are examined."""

    def __post_init__(self) -> None:
        find_method(self.method)
        check_partitions(self.method, self.births, self.deaths)
        check_numbers(self.method, self.window, self.rows, self.columns)
        if type(self.seed) is not int:
            raise BadGrid(f"seed is {self.seed!r}: give a whole number.")
        if not _are_counts(self.reach):
            raise BadGrid(f"reach is {self.reach!r}: give two whole numbers from 0, as (1, 1).")

    @property
    def name(self) -> str:
        """The name of its method."""
        return self.method

    @property
    def reclusters(self) -> bool:
        """Whether a sub-index that changes is packed anew."""
        return self._traits.reclusters

    @property
    def counts(self) -> bool:
        """Whether expirations are guesses, since windows are counted in rows."""
        return self._traits.counts

    @property
    def lazy(self) -> bool:
        """Whether rows that are over may be held until all births of a grid row are."""
        return self.births == WAVE

    @property
    def indexes(self) -> int:
        """n, the number of sub-indexes."""
        return self.rows * self.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The sub-indexes I1 to In."""
        return tuple(f"I{number}" for number in range(1, self.indexes + 1))

    def start(self, newest: int, late: Slots = _NONE) -> tuple[Plan, GridState]:
        """Plan the first grid: births of the p slots up to `newest`, deaths of the p after it.

        `late` is for guessed expirations: slots that have passed and have rows.
        """
        if self.lazy:
            births = _by_row(self._wave.start(newest)[1])
        else:
            births = self._births_of(range(newest - self.window + 1, newest + 1))
        builds = [Build(_NONE, name) for name in self.names]
        return _settle(newest, {}, [*builds, *self._inserts(births, newest, late)], births)

    def transition(self, state: GridState, slot: int) -> tuple[Plan, GridState]:
        """Plan the refresh of the next slot.

        REQUIRES: `slot` is one past the newest slot of `state`.
        """
        assert slot == state.newest + 1, f"slot {slot} does not follow slot {state.newest}"
        return self.refresh(state, slot)

    def refresh(self, state: GridState, slot: int, late: Slots = _NONE) -> tuple[Plan, GridState]:
        """Plan a refresh that brings all slots after the newest up to `slot`, in one go.

        Expiry comes before insertion. After p slots or more nothing is left of a grid whose
        expirations are known, and it starts again.

        `late` is for guessed expirations. It has the slots that are farther back than a refresh
        reaches and still have rows. It also has the slots that have passed and get rows now. All
        other guessed slots that far back are taken to be empty.

        REQUIRES: `slot` is after the newest slot of `state`.
        ENSURES: each row of data with birth b and death e, b <= slot < e <= b + p, belongs to one
        cell. It is the same cell as if the slots had come one by one, except for lazy kinds that
        start again.
        COST: in slots, p for each grid row with births; a lazy kind steps its wave for each slot.
        """
        assert slot > state.newest, f"slot {slot} does not follow slot {state.newest}"
        if slot - state.newest >= self.window and not self.counts:
            return self.start(slot)
        births, arriving = self._step(state, slot)
        if self.counts:
            expiry = list(self._examine(state, slot, late))
        else:
            expiry = list(self._expire(state, slot, births))
        passed = frozenset(guess for guess in late if guess <= slot)
        inserts = self._inserts(arriving, slot, passed)
        return _settle(slot, state.indexes, [*expiry, *inserts], births)

    @property
    def _traits(self) -> Method:
        return METHODS[self.method]

    @property
    def _wave(self) -> Wata:
        return Wata(self.window, self.rows)

    def _births_of(self, slots: range) -> dict[str, Slots]:
        side = Partition(self.births, self.window, self.rows, "births", self.seed)
        return {str(row): part for row, part in enumerate(side.split(slots), start=1)}

    def _step(self, state: GridState, slot: int) -> tuple[dict[str, Slots], dict[str, Slots]]:
        """Return the births of each row after `slot`, and those that come with this refresh."""
        if self.lazy:
            layout = {f"I{row}": slots for row, slots in state.births.items()}
            wave = WaveState(state.newest, layout, {})
            for arriving in range(state.newest + 1, slot + 1):
                wave = self._wave.transition(wave, arriving)[1]
            births = _by_row(wave)
            return births, {row: _after(slots, state.newest) for row, slots in births.items()}
        new = self._births_of(range(max(state.newest, slot - self.window) + 1, slot + 1))
        live = {row: _after(state.births[row] | new[row], slot - self.window) for row in new}
        return live, new

    def _inserts(
        self, births: dict[str, Slots], slot: int, late: Slots = _NONE
    ) -> Iterator[Operation]:
        """Put births into the cells of their rows, which take the deaths of the next p slots."""
        side = Partition(self.deaths, self.window, self.columns, "deaths", self.seed)
        deaths = side.split([*late, *range(slot + 1, slot + self.window + 1)])
        for row, slots in births.items():
            for cell, column in zip(self._cells(row), deaths, strict=True):
                if slots and column:
                    yield Insert(slots, column, cell)

    def _expire(self, state: GridState, slot: int, births: dict[str, Slots]) -> Iterator[Operation]:
        """Delete deaths up to `slot`; throw away rows of cells whose births have left the wave."""
        for row, after in births.items():
            thrown = self.lazy and not state.births[row] <= after
            waits = self._traits.throws_only or (self.lazy and slot - self.window in after)
            for cell in self._cells(row):
                over = frozenset(held for held in state.indexes[cell] if held <= slot)
                if thrown:
                    yield Build(_NONE, cell)
                elif over and not waits:
                    yield Delete(over, cell)

    def _examine(self, state: GridState, slot: int, late: Slots) -> Iterator[Operation]:
        """Examine guessed deaths that are within reach or late; forget what is farther back."""
        before, beyond = self.reach
        first, last = state.newest + 1 - before, slot + beyond
        for cell, held in state.indexes.items():
            due = frozenset(guess for guess in held if first <= guess <= last) | held & late
            empty = frozenset(guess for guess in held if guess < first) - late
            if due and empty:
                yield Delete(empty, cell)
            if due:
                yield Examine(due, cell)

    def _cells(self, row: str) -> Sequence[str]:
        return self.names[(int(row) - 1) * self.columns : int(row) * self.columns]


def grid(
    method: str,
    window: int,
    rows: int,
    columns: int,
    partition: Sequence[str] | None = None,
    seed: int = 0,
    reach: tuple[int, int] = (1, 1),
) -> Grid:
    """Return the grid of a method for `window` slots.

    `partition` says how births and how deaths are partitioned. Raises UnknownScheme for unknown
    names, BadGrid for what does not fit the method.

    >>> grid("lazy-rebuild", 8, 2, 2).births
    'wave'
    """
    traits = find_method(method)
    sides = (traits.births, traits.deaths) if partition is None else partition
    if not isinstance(sides, list | tuple) or len(sides) != 2:
        raise BadGrid(f"partition is {partition!r}: give that of births and that of deaths.")
    births, deaths = sides
    return Grid(method, window, rows, columns, births, deaths, seed, reach)


def _settle(
    slot: int, layout: Layout, operations: list[Operation], births: dict[str, Slots]
) -> tuple[Plan, GridState]:
    return Plan(tuple(operations)), GridState(slot, apply(layout, operations), births)


def _by_row(wave: WaveState) -> dict[str, Slots]:
    return {name.removeprefix("I"): slots for name, slots in wave.indexes.items()}


def _after(slots: Slots, newest: int) -> Slots:
    return frozenset(slot for slot in slots if slot > newest)


def _are_counts(reach: object) -> bool:
    if not isinstance(reach, tuple) or len(reach) != 2:
        return False
    return all(type(slots) is int and slots >= 0 for slots in reach)
