"""Which filters of Spark can be answered by probes and spans of time, and exactly or not.

A filter that is answered exactly is not evaluated again; one that only narrows is. Values are compared here as Spark
compares them: times in microseconds, whatever unit the index has.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import pyarrow as pa
import pyarrow.types as pt
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from wavedex.errors import BadKey
from wavedex.index.definition import Definition
from wavedex.spark.types import is_exact

_BOUNDS = (EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)
_EPOCH = dt.datetime(1970, 1, 1)
COMBINATIONS_MAX = 10_000
"""How many keys of several columns are looked up one by one; for more the window is scanned."""


@dataclass(frozen=True)
class Wanted:
    """What is left to read: keys or a range of keys, and a span of time as `scan` takes it; None for all."""

    keys: tuple[Any, ...] | None = None
    low: Any = None
    high: Any = None
    since: Any = None
    until: Any = None


def push(
    filters: Sequence[Filter], definition: Definition, wanted: Wanted
) -> tuple[Wanted, list[Filter]]:
    """What the filters leave to read, and those that must still be evaluated. All filters hold together."""
    wanted, left = _push_keys(filters, definition, wanted)
    if wanted.since is None and wanted.until is None:
        wanted, left = _push_times(left, definition, wanted)
    return wanted, left


def _push_keys(
    filters: Sequence[Filter], definition: Definition, wanted: Wanted
) -> tuple[Wanted, list[Filter]]:
    if not all(is_exact(definition.schema.field(name).type) for name in definition.key_names):
        return wanted, list(filters)
    if len(definition.key_names) > 1:
        return _push_combinations(filters, definition, wanted)
    (name,) = definition.key_names
    left = []
    for each in filters:
        if getattr(each, "attribute", None) != (name,):
            left.append(each)
            continue
        match each:
            case EqualTo(_, value) | EqualNullSafe(_, value) if value is not None:
                keys = _keys((value,), definition)
            case In(_, values):
                keys = _keys([value for value in values if value is not None], definition)
            case IsNotNull(_):
                continue  # No entry lacks its key.
            case _:
                keys = None
                wanted = _narrow_keys(each, definition, wanted)
        if keys is None or wanted.keys is not None:
            left.append(each)
        else:
            wanted = replace(wanted, keys=keys)
    return wanted, left


def _push_combinations(
    filters: Sequence[Filter], definition: Definition, wanted: Wanted
) -> tuple[Wanted, list[Filter]]:
    """Where every column of the key is bound to values, the keys are all combinations of these."""
    # No entry lacks any column of its key.
    left = [
        each
        for each in filters
        if not (isinstance(each, IsNotNull) and _name_of(each) in definition.key_names)
    ]
    bound: dict[str, tuple[Filter, Sequence[Any]]] = {}
    for each in left:
        match each:
            case EqualTo(_, value) | EqualNullSafe(_, value) if value is not None:
                values: Sequence[Any] = [value]
            case In(_, several):
                values = [value for value in several if value is not None]
            case _:
                continue
        name = _name_of(each)
        if name in definition.key_names:
            bound.setdefault(name, (each, values))
    if len(bound) < len(definition.key_names):
        return wanted, left
    columns = [bound[name][1] for name in definition.key_names]
    if prod(map(len, columns)) > COMBINATIONS_MAX:
        return wanted, left
    keys = _keys([*product(*columns)], definition)
    if keys is None:
        return wanted, left
    answered = [each for each, _ in bound.values()]
    left = [each for each in left if not any(each is one for one in answered)]
    return replace(wanted, keys=keys), left


def _name_of(each: Filter) -> str:
    """The column that a filter is about; nothing where it is about a field of one."""
    attribute: tuple[str, ...] = getattr(each, "attribute", ())
    return attribute[0] if len(attribute) == 1 else ""


def _keys(values: Sequence[Any], definition: Definition) -> tuple[Any, ...] | None:
    """The keys, or None where the index cannot have such keys and Spark had better judge."""
    try:
        definition.spec.key_type.array(values)
    except BadKey:
        return None
    return tuple(values)


def _narrow_keys(each: Filter, definition: Definition, wanted: Wanted) -> Wanted:
    """Bounds of keys narrow what is read; Spark evaluates them again, for those that are not included."""
    if not isinstance(each, _BOUNDS) or _keys((each.value,), definition) is None:
        return wanted
    if isinstance(each, GreaterThan | GreaterThanOrEqual):
        return replace(
            wanted, low=each.value if wanted.low is None else max(wanted.low, each.value)
        )
    return replace(wanted, high=each.value if wanted.high is None else min(wanted.high, each.value))


def _push_times(
    filters: Sequence[Filter], definition: Definition, wanted: Wanted
) -> tuple[Wanted, list[Filter]]:
    """Bounds of the time, as whole units: microseconds for times, days for dates, numbers for numbers."""
    if definition.time is None:
        return wanted, list(filters)
    kind = definition.schema.field(definition.time).type
    first: int | None = None
    last: int | None = None
    left = []
    for each in filters:
        mine = getattr(each, "attribute", None) == (definition.time,)
        if mine and isinstance(each, IsNotNull):
            continue
        value = _unit(each.value, kind) if mine and isinstance(each, _BOUNDS) else None
        if value is None:
            left.append(each)
            continue
        if pt.is_integer(kind):
            left.append(each)  # Numbers narrow to whole slots only.
        if isinstance(each, EqualTo | GreaterThan | GreaterThanOrEqual):
            least = value + isinstance(each, GreaterThan)
            first = least if first is None else max(first, least)
        if isinstance(each, EqualTo | LessThan | LessThanOrEqual):
            most = value - isinstance(each, LessThan)
            last = most if last is None else min(last, most)
    since = None if first is None else _moment(first, kind, definition, last=False)
    until = None if last is None else _moment(last, kind, definition, last=True)
    return replace(wanted, since=since, until=until), left


def _unit(value: Any, kind: pa.DataType) -> int | None:
    """The value as a whole number, or None where it is of another kind, or has no neighbour that Python can write."""
    if pt.is_timestamp(kind) and isinstance(value, dt.datetime):
        if (value.tzinfo is None) != (kind.tz is None):
            return None
        naive = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        if naive in (dt.datetime.min, dt.datetime.max):
            return None
        return (naive - _EPOCH) // dt.timedelta(microseconds=1)
    if pt.is_date32(kind) and type(value) is dt.date and dt.date.min < value < dt.date.max:
        return value.toordinal() - _EPOCH.toordinal()
    if pt.is_integer(kind) and type(value) is int:
        return value
    return None


def _moment(unit: int, kind: pa.DataType, definition: Definition, *, last: bool) -> Any:
    """What `since` or `until` is for the first or the last unit that counts."""
    if pt.is_integer(kind):
        return definition.slotting.asked(unit)
    if pt.is_date32(kind):
        return dt.date.fromordinal(unit + _EPOCH.toordinal())
    at = _EPOCH + dt.timedelta(microseconds=unit)
    # Up to the last nanosecond of the last microsecond.
    return f"{at.isoformat(timespec='microseconds')}{'999' if last else '000'}{'+00:00' if kind.tz else ''}"
