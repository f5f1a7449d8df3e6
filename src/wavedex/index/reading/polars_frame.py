"""The window as a lazy frame of Polars: one commit. Nothing is read until it is collected.

Polars says which columns it wants, which rows (a predicate) and how many at most. Columns that it
does not want are not read. A predicate that compares the time column with fixed times narrows the
scan as `since` and `until` would. It is applied to every batch all the same. So a part of it that
is not understood here costs time and no rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import SchemaMismatch
from wavedex.extras import require
from wavedex.index.reading.asked import Asked
from wavedex.index.reading.readable import stream_targets

if TYPE_CHECKING:
    from wavedex.index.reading.snapshot import Snapshot

BATCH_ROWS = 100_000
"""Rows of a frame where Polars does not say how many: as many as it asks for when it does."""
Bounds = tuple[int | None, int | None]
"""The first ordinal that can count, and the first that cannot any more; None for no such."""
_UNITS = {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}


def make_frame(snapshot: Snapshot, asked: Asked) -> Any:
    """The lazy frame. Raises SchemaMismatch, MissingColumn, BadTime or PackageMissing."""
    polars, plugins = require("polars"), require("polars.io.plugins")
    names = snapshot.names(asked.columns)
    spec, time = snapshot.definition.spec, snapshot.definition.time
    bounds = snapshot.definition.slotting.bounds(asked.since, asked.until)
    schema = pa.schema([spec.schema.field(name) for name in names])
    try:
        kinds = polars.from_arrow(schema.empty_table()).schema
    except (polars.exceptions.PolarsError, pa.ArrowException, ValueError, TypeError) as error:
        raise SchemaMismatch(
            f"Polars cannot read the columns {', '.join(names)}: {error}. Choose others with "
            "columns=."
        ) from error

    def read(
        wanted: list[str] | None, predicate: Any, rows_max: int | None, batch_rows: int | None
    ) -> Iterator[Any]:
        shown = names if wanted is None else wanted
        ends = bounds
        # How many rows are read is said of rows before the predicate.
        if predicate is not None and rows_max is None and time is not None:
            told = ends_of(_tree(predicate, polars), time, spec.schema.field(time).type)
            ends = _both(bounds, told)
        left = rows_max
        targets = snapshot.targets_between(*ends, asked.expired)
        for batch in stream_targets(snapshot, targets, list(dict.fromkeys(shown))):
            for at in range(0, batch.num_rows, batch_rows or BATCH_ROWS):
                piece = batch.slice(at, batch_rows or BATCH_ROWS)
                piece = piece if left is None else piece.slice(0, left)
                left = None if left is None else left - piece.num_rows
                frame = polars.from_arrow(piece)
                yield frame if predicate is None else frame.filter(predicate)
                if left == 0:
                    return

    return plugins.register_io_source(read, schema=kinds, is_pure=True)


def _tree(predicate: Any, polars: Any) -> Any:
    """A predicate as Polars writes it down, or None where it cannot."""
    try:
        return json.loads(predicate.meta.serialize(format="json"))
    except (polars.exceptions.PolarsError, ValueError):
        return None


def ends_of(tree: Any, column: str, time_type: pa.DataType) -> Bounds:
    """Between which ordinals a predicate can be true, as far as it is understood.

    >>> tree = {
    ...     "BinaryExpr": {
    ...         "left": {"Column": "at"},
    ...         "op": "LtEq",
    ...         "right": {"Literal": {"Scalar": {"Int64": 4}}},
    ...     }
    ... }
    >>> ends_of(tree, "at", pa.int64())
    (None, 5)
    """
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
            return _both(ends_of(left, column, time_type), ends_of(right, column, time_type))
        case {"BinaryExpr": {"left": {"Column": name}, "op": op, "right": literal}}:
            at = _ordinal(literal, time_type)
            if name == column and at is not None and op in _ENDS:
                return _ENDS[op](at)
        case {"BinaryExpr": {"left": literal, "op": op, "right": {"Column": name}}}:
            at = _ordinal(literal, time_type)
            if name == column and at is not None and op in _TURNED:
                return _ENDS[_TURNED[op]](at)
        case {
            "Function": {
                "input": [{"Column": name}, low, high],
                "function": {"Boolean": {"IsBetween": {"closed": str()}}},
            }
        }:
            first, last = _ordinal(low, time_type), _ordinal(high, time_type)
            if name == column and first is not None and last is not None:
                return first, last + 1
    return None, None


_ENDS: dict[str, Callable[[int], Bounds]] = {
    "Eq": lambda at: (at, at + 1),
    "Gt": lambda at: (at + 1, None),
    "GtEq": lambda at: (at, None),
    "Lt": lambda at: (None, at),
    "LtEq": lambda at: (None, at + 1),
}
_TURNED = {"Eq": "Eq", "Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq"}


def _ordinal(literal: Any, time_type: pa.DataType) -> int | None:
    """The ordinal of a fixed time of exactly the column's type, else None.

    Polars would convert one of the two.
    """
    match literal:
        case {"Literal": {"Scalar": {"Datetime": [int(at), unit, zone]}}}:
            same = pt.is_timestamp(time_type) and _UNITS.get(unit) == time_type.unit
            return at if same and (zone is None) == (time_type.tz is None) else None
        case {"Literal": {"Scalar": {"Date": int(at)}}}:
            return at if pt.is_date32(time_type) else None
        case {"Literal": {"Scalar": dict(value)}} if len(value) == 1:
            ((kind, at),) = value.items()
            same = pt.is_integer(time_type) and kind.lower() == str(time_type)
            return at if same and type(at) is int else None
    return None


def _both(one: Bounds, other: Bounds) -> Bounds:
    """What lies between both."""
    starts = [end for end in (one[0], other[0]) if end is not None]
    stops = [end for end in (one[1], other[1]) if end is not None]
    return max(starts, default=None), min(stops, default=None)
