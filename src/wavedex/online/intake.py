"""Rows in whatever form somebody has them, as one Arrow batch in the schema of a window.

Batches, tables and readers of Arrow, data frames, dictionaries of arrays or lists, lists of
dictionaries, and one row as a dictionary. Columns are found by their names. Values are cast where
nothing is lost by it; else nothing is taken, and SchemaMismatch says which column it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, MissingColumn, SchemaMismatch
from wavedex.index.core.definition import VIEWS_KEPT_AS
from wavedex.rows.arrow import from_values, to_arrow
from wavedex.rows.tables import to_table


def read_schema(schema: Any) -> pa.Schema:
    """The schema that somebody gives, or that of rows. Raises BadDefinition."""
    if isinstance(schema, pa.Schema):
        found = schema
    elif isinstance(getattr(schema, "schema", None), pa.Schema):
        found = schema.schema
    else:
        try:
            found = pa.schema(schema)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise BadDefinition(
                f"{schema!r} is no schema ({error}). Give a pyarrow schema, such as "
                'pa.schema([("src", pa.int64())]).'
            ) from error
    if len({*found.names}) != len(found.names) or not found.names:
        raise BadDefinition(f"A schema needs columns of different names; this has {found.names}.")
    return pa.schema([_kept(field) for field in found], found.metadata)


def _kept(field: pa.Field) -> pa.Field:
    """A column as it is kept. Raises BadDefinition where rows cannot be taken from its type.

    Codes of dictionaries are wide, since the batches of a stream have words of their own. Views
    become plain text.
    """
    kind = VIEWS_KEPT_AS.get(field.type, field.type)
    if pt.is_dictionary(kind):
        codes = kind.index_type if kind.index_type.bit_width >= 32 else pa.int32()
        words = VIEWS_KEPT_AS.get(kind.value_type, kind.value_type)
        kind = pa.dictionary(codes, words, kind.ordered)
    try:
        pa.concat_arrays([pa.nulls(1, kind)] * 2).take(to_arrow(np.zeros(1, np.int64)))
    except pa.ArrowException as error:
        raise BadDefinition(
            f"Column {field.name!r} of type {kind} cannot be kept: {error}. Cast it to a plainer "
            "type, or leave it out."
        ) from error
    return field.with_type(kind)


class Intake:
    """Makes batches of one schema of what is given."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._names = schema.names
        self._known: pa.Schema | None = None
        """A schema that was found equal: batches of a source have one and the same."""

    def batch(self, rows: Any) -> pa.RecordBatch:
        """The rows as one batch. Raises SchemaMismatch, MissingColumn."""
        if isinstance(rows, pa.RecordBatch):
            if rows.schema is self._known:
                return rows
            if rows.schema.equals(self.schema):
                self._known = rows.schema
                return rows
        return self._cast(self._table(rows))

    def _table(self, rows: Any) -> pa.Table:
        if isinstance(rows, Mapping):
            return self._from_mapping(rows)
        if isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
            return self._from_rows(rows)
        if isinstance(rows, list) and not rows:
            return self.schema.empty_table()
        table = to_table(rows)
        is_arrow = isinstance(rows, pa.Table | pa.RecordBatch | pa.RecordBatchReader)
        return table if is_arrow else _copied(table)

    def _from_rows(self, rows: Sequence[Any]) -> pa.Table:
        """Rows as dictionaries, each with all columns."""
        columns: dict[str, list[Any]] = {name: [] for name in self._names}
        for row in rows:
            if not isinstance(row, Mapping):
                raise SchemaMismatch(
                    f"{row!r} is no row. Give dictionaries of columns, or a table."
                )
            self._check_names([*row])
            for name, values in columns.items():
                values.append(row[name])
        arrays = [self._column(name, values) for name, values in columns.items()]
        return pa.table(arrays, schema=self.schema)

    def _from_mapping(self, rows: Mapping[str, Any]) -> pa.Table:
        """Columns by name, or one row."""
        self._check_names([*rows])
        arrays = [self._column(name, rows[name]) for name in self._names]
        lengths = {len(each) for each in arrays}
        if len(lengths) > 1:
            said = ", ".join(f"{n} {len(a)}" for n, a in zip(self._names, arrays, strict=True))
            raise SchemaMismatch(f"The columns have different numbers of rows: {said}.")
        return pa.table(arrays, schema=self.schema)

    def _column(self, name: str, values: Any) -> pa.Array:
        kind = self.schema.field(name).type
        nested = pt.is_nested(kind) and not isinstance(values, pa.Array | pa.ChunkedArray)
        is_plain = isinstance(values, str | bytes) or not hasattr(values, "__len__")
        is_one = is_plain or (nested and _is_one(values, kind))
        is_many = isinstance(values, np.ndarray | pa.Array | pa.ChunkedArray) or not is_one
        try:
            if isinstance(values, pa.ChunkedArray):
                values = values.combine_chunks()
            found = self._array(values if is_many else [values], kind)
            return found if found.type == kind else found.cast(kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise SchemaMismatch(
                f"Column {name!r} cannot be of type {kind}: {error}. Give values of that type."
            ) from error

    @staticmethod
    def _array(values: Any, kind: pa.DataType) -> pa.Array:
        if isinstance(values, np.ndarray):
            copied = values.copy()  # The caller may write into it later.
            is_plain = copied.ndim == 1 and copied.dtype.kind in "iufb"
            return to_arrow(copied) if is_plain else pa.array(copied, kind)
        if pt.is_integer(kind) and any(isinstance(each, float | np.floating) for each in values):
            return pa.array(values).cast(kind)  # Which refuses what is not whole.
        return from_values(values, kind) if isinstance(values, list) else pa.array(values, kind)

    def _check_names(self, given: Sequence[str]) -> None:
        missing = [name for name in self._names if name not in given]
        if missing:
            raise MissingColumn(
                f"The rows lack {', '.join(map(repr, missing))}. The window has "
                f"{', '.join(self._names)}; the rows have {', '.join(given) or 'no columns'}."
            )
        if len({*given}) < len(given):
            raise SchemaMismatch(f"The rows have a column twice: {', '.join(given)}. Drop one.")
        unknown = [name for name in given if name not in self._names]
        if unknown:
            raise SchemaMismatch(
                f"The window has no column {', '.join(map(repr, unknown))}. It has "
                f"{', '.join(self._names)}: drop the others, or give the window their columns."
            )

    def _cast(self, table: pa.Table) -> pa.RecordBatch:
        self._check_names(table.column_names)
        columns = []
        for field in self.schema:
            column = table.column(field.name)
            try:
                column = column if column.type == field.type else column.cast(field.type)
            except pa.ArrowException as error:
                raise SchemaMismatch(
                    f"Column {field.name!r} is {column.type} and cannot be {field.type}: {error}. "
                    "Cast it before."
                ) from error
            columns.append(_one(column))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _is_one(values: Any, kind: pa.DataType) -> bool:
    """Whether values of a nested type are one of them, and not a list of some."""
    if isinstance(values, Mapping):
        return True
    is_list = pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind)
    return is_list and not any(each is None or isinstance(each, list | tuple) for each in values)


def _copied(table: pa.Table) -> pa.Table:
    """A table of which nobody else has the numbers: a frame may be written to while rows wait."""
    places = to_arrow(np.arange(table.num_rows))
    columns = [
        column.take(places) if pt.is_primitive(column.type) else column for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)
