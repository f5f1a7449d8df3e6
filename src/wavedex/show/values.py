"""How does a value look outside of Arrow? The same in every format that is text.

Times are ISO 8601. Binary is hex, as it is typed as a key. Decimals are strings in JSON, since a
number there has no scale; those that are whole are numbers. What is not a number, in a column of
floats, is null in JSON, which has no word for it.

Columns are converted at once where Arrow can; only nested values are walked. Makes no scalars and
no arrays of Python values where it can do without. For those, Arrow looks for pandas, which takes
half a second to load.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt


def json_column(column: pa.Array) -> list[Any]:
    """The values of a column as JSON has them.

    >>> json_column(pa.array([decimal.Decimal("1.50"), None]))
    ['1.50', None]
    """
    column = _flat(column)
    kind = column.type
    if pt.is_timestamp(kind):
        column = _iso(column)
    elif pt.is_date(kind) or pt.is_time(kind):
        column = column.cast(pa.string())
    elif pt.is_decimal(kind) and kind.scale == 0:
        return [None if value is None else int(value) for value in column.to_pylist()]
    elif pt.is_decimal(kind):
        column = column.cast(pa.string())
    elif pt.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.nulls(len(column), kind))
    elif pt.is_nested(kind) or _is_bytes(kind):
        return [plain(value) for value in column.to_pylist()]
    return column.to_pylist()


def csv_column(column: pa.Array) -> pa.Array:
    """A column that Arrow's CSV writer takes: times with a zone in UTC, nested values as JSON."""
    column = _flat(column)
    kind = column.type
    if pt.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    if pt.is_string_view(kind):
        return column.cast(pa.string())
    if _is_bytes(kind):
        return pa.array([plain(value) for value in column.to_pylist()], pa.string())
    if pt.is_nested(kind):
        values = (plain(value) for value in column.to_pylist())
        return pa.array([None if v is None else json_text(v) for v in values], pa.string())
    return column


def plain(value: Any) -> Any:
    """A value out of a nested column as JSON has it.

    >>> plain([{"at": dt.date(2026, 1, 2), "share": math.nan}])
    [{'at': '2026-01-02', 'share': None}]
    """
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _flat(column: pa.Array) -> pa.Array:
    """Without dictionaries; durations as counts of their unit."""
    if pt.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.int64()) if pt.is_duration(column.type) else column


def _is_bytes(kind: pa.DataType) -> bool:
    sized = pt.is_fixed_size_binary(kind)
    return bool(sized or pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind))


def _iso(column: pa.Array) -> pa.Array:
    """Timestamps as datetime.isoformat has them, in the column's zone."""
    zone = column.type.tz
    text = None
    if zone not in (None, "UTC"):
        try:
            text = pc.replace_substring_regex(
                column.cast(pa.string()), r"([+-]\d\d)(\d\d)$", r"\1:\2"
            )
        except pa.ArrowInvalid:  # There is no database of zones on this machine.
            zone = "UTC"
    if text is None:
        text = column.cast(pa.timestamp(column.type.unit)).cast(pa.string())
        text = text if zone is None else pc.replace_substring_regex(text, "$", "+00:00")
    text = pc.replace_substring(text, " ", "T", max_replacements=1)
    text = pc.replace_substring_regex(text, r"\.0+($|[Z+-])", r"\1")
    return pc.replace_substring_regex(text, "Z$", "+00:00")
