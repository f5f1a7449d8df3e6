"""What a window holds: rows in circular arrays, attributes, and a circle of basic windows.

Rows are known by arrival numbers. Those from `oldest` up to `shown` can be seen; those from there
up to `entered` are of the newest basic window, which is not complete. The circle says which rows
each basic window has; the oldest makes room for the newest, so that there are always as many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from wavedex.errors import WavedexError
from wavedex.events import LOGGER
from wavedex.online.attributes import Attribute, ListAttribute
from wavedex.online.rows import Column, PiecedColumn, capacity_for, column_for
from wavedex.online.spill import Spill, SpilledColumn

_ROOMY = 16
"""Circular arrays are made smaller where they could hold so many times the rows that are there."""
I64 = np.ndarray[tuple[int], np.dtype[np.int64]]


class BasicWindow(NamedTuple):
    """A complete basic window."""

    number: int
    """Basic windows are counted."""
    first: int
    """Its first row."""
    stop: int
    """One past its last row."""


class Slide(NamedTuple):
    """A basic window that has become complete, and what left for it."""

    came: BasicWindow
    """The newest basic window."""
    left: BasicWindow | None
    """The one that made room for it. Its rows can be read until the next rows enter."""


class Contents:
    """The rows of a window, and the structures over them."""

    def __init__(
        self, schema: pa.Schema, count: int, capacity: int, spill: Spill | None = None
    ) -> None:
        self.schema = schema
        self._spill = spill
        self.capacity = capacity_for(capacity)
        self._least = self.capacity
        """The capacity that it begins with, and goes back to."""
        self.columns: dict[str, Column] = {}
        self.attributes: dict[str, Attribute] = {}
        self.oldest = self.shown = self.entered = 0
        self.circle: deque[BasicWindow] = deque(maxlen=count)
        self.takes_several = True
        self._checked: list[tuple[int, Attribute]] = []
        """The attributes of which a value may have no number."""
        self._pieced: list[Column] = []
        """The columns that hold on to what came with rows that have left."""
        self._turning: list[Attribute] = []
        """The attributes whose index is split."""
        self._takers: list[tuple[int, Column | None, Attribute | None]] = []
        """Who takes the values of each column of a batch, by its place."""

    def add(self, name: str, attribute: Attribute | None) -> None:
        """Keep a column of the schema, with the structures of an attribute if it has any."""
        if attribute is not None:
            self.attributes[name] = attribute
            self.takes_several &= attribute.takes_several
        if isinstance(attribute, ListAttribute) and attribute.has_values:
            self.columns[name] = attribute
        elif attribute is None or isinstance(attribute, ListAttribute):
            kind = self.schema.field(name).type
            is_here = self._spill is None
            self.columns[name] = column_for(kind, self.capacity) if is_here else SpilledColumn(kind)
        column = self.columns.get(name)
        if isinstance(column, Attribute):
            column = None  # It is its own column, and takes the values as an attribute.
        if isinstance(column, PiecedColumn):
            self._pieced.append(column)
        place = self.schema.get_field_index(name)
        self._takers.append((place, column, attribute))
        if attribute is not None and attribute.domain.values.has_checks:
            self._checked.append((place, attribute))
        if attribute is not None and attribute.index is not None and attribute.index.is_split:
            self._turning.append(attribute)

    @property
    def rows(self) -> int:
        """How many rows can be seen."""
        return self.shown - self.oldest

    @property
    def room(self) -> int:
        """How many rows may enter before some leave, or before there must be more room."""
        return self.capacity - (self.entered - self.oldest)

    @property
    def kept(self) -> list[str]:
        """The columns of which rows have values, in the order of the schema."""
        return [name for name in self.schema.names if name in self.columns]

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise SchemaMismatch where a value cannot be indexed: text that is no text."""
        for place, attribute in self._checked:
            attribute.domain.values.check(batch.column(place))

    def enter(self, batch: pa.RecordBatch) -> None:
        """Take rows into the newest basic window, where they cannot be seen."""
        if batch.num_rows > self.room:
            self._grow(batch.num_rows)
        first = self.entered
        for place, column, attribute in self._takers:
            values = batch.column(place)
            if column is not None:
                column.write(first, values)
            if attribute is not None:
                attribute.enter(first, values)
        self.entered = first + batch.num_rows

    def slide(self, basics: Sequence[BasicWindow]) -> Slide:
        """Show basic windows, the oldest first. Returns what happened, or the last of it.

        REQUIRES: one, unless `takes_several`.
        """
        left = None
        for basic in basics:
            left = self.circle[0] if len(self.circle) == self.circle.maxlen else None
            self.circle.append(basic)
        shown, oldest = basics[-1].stop, self.circle[0].first
        for attribute in self.attributes.values():
            attribute.slide(shown, oldest, completes=True, expires=left is not None)
        if self._spill is not None:
            for basic in basics:
                if basic.stop > oldest:
                    self._write(self._spill, basic)
        self.shown, self.oldest = shown, oldest
        return Slide(basics[-1], left)

    def let_go(self) -> None:
        """Let go of what rows that have left take, once nobody reads them any more."""
        for column in self._pieced:
            column.leave(self.oldest)
        for attribute in self._turning:
            attribute.domain.turn()
        if self.capacity > self._least and self.capacity > _ROOMY * (self.entered - self.oldest):
            self._resize(self._least)

    def take(self, rows: I64, names: Iterable[str] | None = None) -> pa.RecordBatch:
        """Some rows. REQUIRES: they are there."""
        chosen = self.kept if names is None else list(names)
        arrays = [self.columns[name].take(rows) for name in chosen]
        return self._batch(chosen, arrays, len(rows))

    def span(self, first: int, stop: int, names: Iterable[str] | None = None) -> pa.RecordBatch:
        """The rows from `first` up to `stop`, not included."""
        chosen = self.kept if names is None else list(names)
        arrays = [self.columns[name].span(first, stop) for name in chosen]
        return self._batch(chosen, arrays, stop - first)

    @property
    def nbytes(self) -> int:
        """How many bytes rows and structures take, without the indexes' own."""
        held = {id(each): each.nbytes for each in self.columns.values()}
        held |= {id(each): each.nbytes for each in self.attributes.values()}
        return sum(held.values())

    def _batch(self, names: list[str], arrays: list[pa.Array], rows: int) -> pa.RecordBatch:
        schema = pa.schema([self.schema.field(name) for name in names])
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _write(self, spill: Spill, basic: BasicWindow) -> None:
        """Put the rows of a basic window on disk."""
        spilled = {
            name: column
            for name, column in self.columns.items()
            if isinstance(column, SpilledColumn)
        }
        if not spilled or basic.first == basic.stop:
            return
        span = basic.first, basic.stop
        try:
            written = spill.write({name: column.span(*span) for name, column in spilled.items()})
        except WavedexError as error:
            self._spill = None
            LOGGER.warning("A window goes on in memory, since its disk failed: %s", error)
            return
        for name, column in spilled.items():
            column.replace(*span, written[name])

    def _grow(self, rows: int) -> None:
        """Make room for so many more rows."""
        self._resize(self.entered - self.oldest + rows)

    def _resize(self, rows: int) -> None:
        """Have room for so many rows, and for those that are there."""
        capacity = capacity_for(max(rows, self.entered - self.oldest))
        held: dict[int, Column | Attribute] = {id(each): each for each in self.columns.values()}
        held |= {id(each): each for each in self.attributes.values()}
        for each in held.values():
            each.grow(capacity, self.oldest, self.entered)
        self.capacity = capacity
