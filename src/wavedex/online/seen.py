"""What is there of a window: rows, structures, basic windows, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from wavedex.errors import MissingColumn, WindowBroken
from wavedex.online.archive import Archive
from wavedex.online.attributes import Attribute
from wavedex.online.contents import BasicWindow, Contents, Slide
from wavedex.online.domain import Domain
from wavedex.online.filling import Filling
from wavedex.online.layout import Layout
from wavedex.online.pace import CountPace, Pace
from wavedex.online.queries.columns import named
from wavedex.online.steps import shown
from wavedex.online.subscriptions import Pressure, Schedule
from wavedex.online.turns import Turn, in_turn
from wavedex.rows.arrow import to_arrow
from wavedex.slots import from_ordinals


class Watcher(Protocol):
    """Somebody who is told of every basic window that becomes complete."""

    def slid(self, slide: Slide) -> None:
        """A basic window became complete. What left for it can still be read."""


class Seen:
    """The part of a window that says what is there."""

    schema: pa.Schema
    pace: Pace
    layout: Layout
    schedule: Schedule
    turn: Turn
    _contents: Contents
    _filling: Filling
    _watchers: list[Watcher]
    _archives: list[Archive]
    _schemas: dict[Any, pa.Schema]
    _broken: BaseException | None

    # -- for queries -------------------------------------------------------------------------------

    @property
    def contents(self) -> Contents:
        """The rows and structures, for queries. Raises WindowBroken."""
        self._check_whole()
        return self._contents

    def attribute(self, name: str) -> Attribute | None:
        """An attribute with a structure; None for a plain column.

        Raises MissingColumn, WindowBroken.
        """
        self._check_whole()
        found = self._contents.attributes.get(name) if isinstance(name, str) else None
        if found is None and name not in self.schema.names:
            raise MissingColumn(
                f"There is no column {name!r}. There are {', '.join(self.schema.names)}."
            )
        return found

    def schema_of(self, query: Any, make: Callable[[], pa.Schema]) -> pa.Schema:
        """The columns of a query's answers, made once."""
        found = self._schemas.get(query)
        if found is None:
            found = self._schemas[query] = make()
        return found

    # -- what is there -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many rows can be seen."""
        return self._contents.rows

    @property
    def waiting(self) -> int:
        """How many rows wait until their basic window is complete."""
        return self._filling.waiting

    @property
    def late_rows(self) -> int:
        """How many rows came too late and were dropped."""
        return self._filling.late_rows

    @property
    def repeated_rows(self) -> int:
        """How many rows came again that the archive had when the window was restored."""
        return self._filling.repeated_rows

    @property
    def load(self) -> Pressure | None:
        """How far the window keeps up; None where it does not ask itself."""
        return self.schedule.pressure

    @property
    def filling(self) -> Filling:
        """How rows fill basic windows."""
        return self._filling

    @property
    def complete(self) -> int | None:
        """The number of the newest basic window that is complete; None before the first."""
        circle = self._contents.circle
        return circle[-1].number if circle else None

    @property
    def since(self) -> Any:
        """When the oldest basic window begins; None before the first, or by rows."""
        oldest = next(self.basics(), None)
        return None if oldest is None else self._moment(oldest.number, after=False)

    @property
    def until(self) -> Any:
        """When the newest basic window ends; None before the first, or by rows."""
        return None if self.complete is None else self._moment(self.complete, after=True)

    def _moment(self, number: int, *, after: bool) -> Any:
        """When a basic window begins or ends, in the type of the time."""
        pace = self.pace
        if isinstance(pace, CountPace):
            return None
        ordinal = pace.slotting.stop(number) if after else pace.slotting.start(number)
        return from_ordinals(np.array([ordinal]), pace.kind)[0].as_py()

    @property
    def steps(self) -> dict[str, dict[str, int]]:
        """How many nodes the structures of each attribute have visited (`wavedex.online.steps`)."""
        attributes = self._contents.attributes.items()
        return {name: shown(attribute.steps) for name, attribute in attributes}

    @property
    def nbytes(self) -> int:
        """How many bytes rows and structures take."""
        attributes = self._contents.attributes.values()
        indexes = {id(each.index): each.index.nbytes for each in attributes if each.index}
        return self._contents.nbytes + sum(indexes.values())

    def index(self, name: str) -> Domain:
        """The index of an attribute, for another window to share: `index={"src": w.index("src")}`.

        Raises MissingColumn where it has none.
        """
        return self._attribute(name).domain

    @in_turn
    def rows(self, columns: Sequence[str] | None = None, *, newest: bool = False) -> pa.RecordBatch:
        """The rows that can be seen, in the order in which they came; the newest first if asked."""
        contents = self._contents
        asked = named(columns)
        names = None if asked is None else [self.check_column(name) for name in asked]
        found = contents.span(contents.oldest, contents.shown, names)
        return found.take(to_arrow(np.arange(len(self))[::-1])) if newest else found

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for Arrow's C interface: DuckDB, Polars and pandas read a window by its name."""
        return pa.Table.from_batches([self.rows()]).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Window of {self.pace}: {len(self):,} rows, {self.waiting:,} waiting>"

    def basics(self) -> Iterator[BasicWindow]:
        """The basic windows that can be seen, the oldest first."""
        return iter(tuple(self._contents.circle))

    def watch(self, watcher: Watcher) -> None:
        """Have somebody told of every basic window from now on, who must not raise.

        `subscribe` is for those who may.
        """
        self._watchers.append(watcher)

    @property
    def watchers(self) -> tuple[Watcher, ...]:
        """Those who are told of every basic window."""
        return tuple(self._watchers)

    def unwatch(self, watcher: Watcher) -> None:
        """Tell somebody no more."""
        self._watchers.remove(watcher)
        self._archives = [each for each in self._archives if each is not watcher]

    def check_column(self, name: str) -> str:
        """See that rows have values of a column, and return its name. Raises MissingColumn."""
        if not isinstance(name, str) or name not in self._contents.columns:
            if name in self.schema.names:
                storage = self.layout.storage_of(name)
                raise MissingColumn(
                    f"Rows have no {name!r}: its storage is {storage!r}, which keeps counts only. "
                    "Store it as 'list'."
                )
            raise MissingColumn(
                f"There is no column {name!r}. There are {', '.join(self.schema.names)}."
            )
        return name

    def _attribute(self, name: str) -> Attribute:
        attribute = self.attribute(name)
        if attribute is None or attribute.index is None:
            attributes = self._contents.attributes.items()
            having = ", ".join(each for each, found in attributes if found.index) or "none"
            raise MissingColumn(
                f"The window has no index on {name!r}; columns with one: {having}. Make it with "
                f"index=[{name!r}]."
            )
        return attribute

    def _check_whole(self) -> None:
        if self._broken is not None:
            raise WindowBroken(
                f"The window is not whole: {type(self._broken).__name__}: {self._broken}. Make "
                "another one, or fill it again with Window.restore."
            )
