"""What a set is told of: ids that were added and removed, when, and the rows that they carry.

Users hand over tables. Here they become columns of the types in which a set keeps them, all of them
checked, so that nothing is taken in of a table that has a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadTime, MissingColumn, NullKeys, NullTimes, SchemaMismatch
from wavedex.rows.arrow import empty_batch, number_view, to_arrow, to_numpy
from wavedex.rows.pieces import concat
from wavedex.rows.tables import plain_schema, to_table
from wavedex.temporal.changes import I8, I32, I64
from wavedex.temporal.ids.catalogue import ids_of, kept_type
from wavedex.temporal.ids.contract import Ids
from wavedex.temporal.instants import TICK_MAX, Instants, check_time_type
from wavedex.temporal.soundness import are_in, demand

Signs = I8 | I32


@dataclass(frozen=True)
class Columns:
    """The types of what a set keeps."""

    schema: pa.Schema
    """The columns of ids and of times, then those of the rows that ids carry."""

    @classmethod
    def of(cls, ids: pa.DataType, times: pa.DataType, rows: Sequence[pa.Field] = ()) -> Columns:
        """The columns of these types. Raises BadDefinition."""
        ids_of(ids)
        check_time_type(times)
        return cls(pa.schema([pa.field("oid", ids), pa.field("time", times), *rows]))

    @property
    def ids(self) -> pa.DataType:
        """The type of ids."""
        return self.schema.types[0]

    @property
    def times(self) -> pa.DataType:
        """The type of times."""
        return self.schema.types[1]

    @property
    def rows(self) -> pa.Schema:
        """The columns of the rows that ids carry."""
        return pa.schema([*self.schema][2:])


@dataclass(frozen=True)
class Names:
    """What the columns of events are called."""

    oid: str = "oid"
    time: str = "time"
    op: str = "op"


@dataclass(frozen=True)
class Events:
    """Additions and removals, in the order in which they happened."""

    ids: pa.Array
    ticks: I64
    signs: Signs
    """+1 or -1, or by how much more often an id is there where they are counted."""
    rows: pa.RecordBatch
    """What ids carry that were added; nothing counts of what stands beside removals."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take on disk."""
        return int((self.ids.nbytes + self.signs.nbytes + self.rows.nbytes) // 2)

    def take(self, places: I64, signs: Signs) -> Events:
        """Some of the ids at their times, with other signs, and without rows."""
        ids = self.ids.take(to_arrow(places))
        return Events(ids, self.ticks[places], signs, self.rows.slice(0, 0))

    @classmethod
    def concat(cls, several: Sequence[Events]) -> Events:
        """Events one after the other."""
        rows = [each.rows for each in several]
        return cls(
            pa.concat_arrays([each.ids for each in several]),
            np.concatenate([each.ticks for each in several]),
            np.concatenate([each.signs for each in several]),
            concat(rows) if rows[0].num_columns else rows[0],
        )

    def to_batch(self, instants: Instants) -> pa.RecordBatch:
        """As a batch, columns by their places: ids, times, op, rows."""
        names = [str(place) for place in range(3 + self.rows.num_columns)]
        first = [self.ids, instants.times_of(self.ticks), to_arrow(self.signs)]
        return pa.RecordBatch.from_arrays([*first, *self.rows.columns], names=names)

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch, columns: Columns) -> Events:
        """What was made a batch. Raises Damaged where it cannot have been."""
        ids, times, ops = batch.columns[:3]
        whole = [times, ops, ids, *(ids.flatten() if pt.is_struct(ids.type) else ())]
        demand(not any(each.null_count for each in whole), "a change has no id or no time")
        rows = pa.RecordBatch.from_arrays(batch.columns[3:], schema=columns.rows)
        ticks = number_view(times).astype(np.int64, copy=False)
        demand(are_in(ticks, 1 - TICK_MAX, TICK_MAX), "a time is further off than any can be")
        signs = to_numpy(ops)
        is_sign = (signs == 1) | (signs == -1)
        demand(signs.dtype == np.int32 or is_sign.all(), "a change neither adds nor removes")
        return cls(ids, ticks, signs, rows)


def columns_of(table: pa.Table, names: Names) -> Columns:
    """The columns in which a set would keep what a table of events has. Raises BadDefinition."""
    _check_names(table.schema, names)
    ids = kept_type(table.schema.field(names.oid).type)
    times = table.schema.field(names.time).type
    rows = [field for field in table.schema if field.name not in (names.oid, names.time, names.op)]
    if pt.is_integer(times):
        times = pa.int64()
    return Columns.of(ids, times, [field.with_nullable(True) for field in rows])


def table_of(events: Any) -> pa.Table:
    """Events of any kind as a table: all that counts as rows, and dictionaries of columns."""
    if isinstance(events, Mapping):
        try:
            events = pa.table(dict(events))
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise SchemaMismatch(
                f"Cannot make a table of these columns: {error}. Give each as a list, and all of "
                "the same length."
            ) from error
    table = to_table(events)
    return table.select(plain_schema(table.schema).names)


class Kept(Protocol):
    """What a set keeps, as far as events must fit it."""

    columns: Columns
    ids: Ids
    instants: Instants


def events_of(table: pa.Table, names: Names, kept: Kept, counted: bool) -> Events:
    """The events that a table has, in the types of a set. Raises SchemaMismatch and its kin."""
    columns, ids, instants = kept.columns, kept.ids, kept.instants
    _check_names(table.schema, names)
    others = [name for name in table.schema.names if name not in (names.oid, names.time, names.op)]
    wanted = columns.rows.names
    if {*others} != {*wanted} or len(others) != len(wanted):
        raise SchemaMismatch(
            f"The events carry {_listed(others)}, and those of this set carry {_listed(wanted)}. "
            "Select the same columns."
        )
    oids = ids.cast(table.column(names.oid))
    if oids.null_count or (pt.is_struct(oids.type) and any(c.null_count for c in oids.flatten())):
        raise NullKeys(f"Some of the ids in {names.oid!r} are null. Leave those events out.")
    if table.column(names.time).null_count:
        raise NullTimes(f"Some of the times in {names.time!r} are null. Leave those events out.")
    ticks = instants.ticks_of(table.column(names.time))
    if len(ticks) and not -TICK_MAX < int(ticks.min()) <= int(ticks.max()) < TICK_MAX:
        raise BadTime(f"Some of the times in {names.time!r} are further off than 2**62.")
    return Events(oids, ticks, _signs(table, names.op, counted), _rows(table, columns.rows))


def _check_names(schema: pa.Schema, names: Names) -> None:
    for what in ("oid", "time", "op"):
        name = getattr(names, what)
        if schema.names.count(name) != 1:
            raise MissingColumn(
                f"Events have a column {name!r}, once: these have {_listed(schema.names)}. Rename "
                f"the column, or say what it is called: {what}='...'."
            )


def _signs(table: pa.Table, name: str, counted: bool) -> Signs:
    column = table.column(name).combine_chunks()
    if not pt.is_integer(column.type) or column.null_count:
        raise SchemaMismatch(
            f"The column {name!r} says what happened: +1 where an id was added, -1 where it was "
            f"removed. It is of type {column.type}"
            f"{' and has nulls' if column.null_count else ''}."
        )
    found = to_numpy(column)
    if counted:
        return found.astype(np.int32)
    strange = np.flatnonzero((found != 1) & (found != -1))
    if len(strange):
        raise SchemaMismatch(
            f"The column {name!r} has {int(found[strange[0]])} at row {int(strange[0])}. It is +1 "
            "where an id was added, and -1 where it was removed."
        )
    return found.astype(np.int8)


def _rows(table: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    if not schema.names:
        return empty_batch(schema)
    try:
        cast = table.select(schema.names).cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise SchemaMismatch(
            f"The events carry other types than those of this set ({error}). Cast the columns."
        ) from error
    columns = [column.combine_chunks() for column in cast.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if names else "no columns"
