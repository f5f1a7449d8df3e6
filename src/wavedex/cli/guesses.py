"""Types for columns of text, where there is no index yet that has them.

A type is taken only where every value of the column is one and would be written the same again. So
007 stays a text, and so does a column of numbers with one name among them. What was found is shown
before it is kept.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from wavedex.rows import compute as pc

_DATE = r"^\d{4}-\d\d-\d\d$"
_LOCAL = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?$"
_INSTANT = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d(:?\d\d)?)$"
_TIMES: dict[str, pa.DataType] = {
    _DATE: pa.date32(),
    _LOCAL: pa.timestamp("us"),
    _INSTANT: pa.timestamp("us", "UTC"),
}
_VALUES: dict[str, pa.DataType] = {
    r"^(0|-?[1-9]\d{0,17})$": pa.int64(),
    r"^-?(0|[1-9]\d{0,14})(\.\d{1,15})?([eE][+-]?\d{1,2})?$": pa.float64(),
    r"^(true|false)$": pa.bool_(),
    **_TIMES,
}


def guess_types(table: pa.Table) -> pa.Table:
    """Columns of text in the first type that every value of them is: numbers, truths and times."""
    return _guessed(table, _VALUES)


def guess_times(table: pa.Table) -> pa.Table:
    """Columns of text in which every value is a time, as times. JSON has types for all else."""
    return _guessed(table, _TIMES)


def _guessed(table: pa.Table, kinds: dict[str, pa.DataType]) -> pa.Table:
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if pt.is_string(column.type) and (kind := _fitting(column, kinds)) is not None:
            try:
                table = table.set_column(place, name, column.cast(kind))
            except pa.ArrowInvalid:  # Such as 2026-02-30, which looks like a date and is none.
                continue
    return table


def _fitting(column: pa.ChunkedArray, kinds: dict[str, pa.DataType]) -> pa.DataType | None:
    """The type that a column fits, None where it stays a text. A column of nothing stays one."""
    if column.null_count == len(column):
        return None
    for pattern, kind in kinds.items():
        if pc.all(pc.match_substring_regex(column, pattern)).as_py():
            return kind
    return None
