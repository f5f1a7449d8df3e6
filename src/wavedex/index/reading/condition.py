"""A condition on rows: an expression of DuckDB's SQL, as `where=` takes it.

DuckDB says of each row whether it meets the condition, and nothing else goes through it: rows keep
the types that they have in the index. Only the columns that the condition names are shown to it.

What the condition says of the time column and of a key in so many words is looked up rather than
compared row by row: `at >= '2026-01-05' and user = 'ann'`. That is a matter of speed alone, since
every row that is found is still held against the whole condition.

A condition may come from a user of a service. It can reach no file, no setting and no other table.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadCondition, BadKey, BadTime
from wavedex.extras import require
from wavedex.index.core.definition import Definition
from wavedex.rows.arrow import has_bytes

Bounds = tuple[int | None, int | None]
"""Ordinals from the first, included, to the second, not included; None is no bound."""

_ROUNDED = dt.timedelta(microseconds=1)
"""Python's times may be rounded by as much."""
_COMPARED = {
    "COMPARE_EQUAL": "=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<",
}
_TURNED = {"=": "=", ">": "<", "<": ">"}
_local = threading.local()


@dataclass(frozen=True)
class Condition:
    """What rows must meet."""

    text: str
    """The expression."""
    zone: str
    """Where times without a zone are local."""
    columns: tuple[str, ...]
    """The columns that it names."""
    bounds: Bounds = (None, None)
    """No row outside of these times meets it."""
    keys: tuple[Any, ...] | None = None
    """No row of another key meets it; None where any may."""

    def within(self, bounds: Bounds) -> Bounds:
        """What it leaves of a span of time."""
        return _narrowed(bounds, self.bounds)

    def filter(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that meet it. Raises BadCondition where it cannot be said of one."""
        if not rows.num_rows:
            return rows
        duckdb = require("duckdb")
        shown = _shown(pa.Table.from_batches([rows]), self.columns)
        try:
            said = _connection(self.zone).from_arrow(shown).project(f"({self.text}\n) as met")
            met = said.to_arrow_table().column(0).combine_chunks()
        except duckdb.Error as error:
            raise _refused(self.text, error, rows.schema.names) from error
        return rows.filter(met)  # A row of which it is not known, being null, does not meet it.


def read_condition(text: Any, definition: Definition) -> Condition:
    """What a condition on the rows of an index says. Raises BadCondition."""
    tree, columns = _read(text, definition.schema)
    parts = tree["children"] if tree.get("type") == "CONJUNCTION_AND" else [tree]
    bounds: Bounds = (None, None)
    keys: tuple[Any, ...] | None = None
    for part in parts:
        name, sign, values = _compared(part, definition.zone)
        if values and name == str(definition.time).lower():
            bounds = _narrowed(bounds, _bounds(definition, sign, values))
        if values and name == str(definition.key).lower() and sign == "=" and keys is None:
            keys = _keys(definition, values)
    return Condition(text, definition.zone, columns, bounds, keys)


def read_rows_condition(text: Any, schema: pa.Schema, zone: str) -> Condition:
    """What a condition says on rows that are in no index. Raises BadCondition."""
    return Condition(text, zone, _read(text, schema)[1])


def _read(text: Any, schema: pa.Schema) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A condition as a tree, and the columns that it names. Raises BadCondition."""
    if not isinstance(text, str) or not text.strip():
        raise BadCondition(
            f'where={text!r} is no condition. Give one in SQL, such as "amount > 100".'
        )
    tree = _parsed(text, schema.names)
    inside = [*_nodes(tree)]
    if any(node.get("class") == "SUBQUERY" for node in inside):
        raise BadCondition(f"where={text!r} asks another table. Name columns of the index only.")
    named = {
        name.lower()
        for node in inside
        if node.get("class") == "COLUMN_REF"
        for name in node["column_names"]
    }
    columns = tuple(name for name in schema.names if name.lower() in named)
    if len({name.lower() for name in columns}) < len(columns):
        raise BadCondition(
            f"where={text!r} names one of {', '.join(columns)}, which SQL cannot tell apart. Ask "
            "without it, and filter what is found."
        )
    _check_bound(text, schema, columns)
    return tree, columns


def _parsed(text: str, names: Sequence[str]) -> dict[str, Any]:
    """The expression as a tree. Raises BadCondition."""
    said = _asked(
        "select json_serialize_sql(?::varchar)", f"select 1 from index_rows where (\n{text}\n)"
    )
    found = json.loads(said)
    if found["error"]:
        raise _refused(text, found["error_message"], names)
    if len(found["statements"]) != 1 or not (
        tree := found["statements"][0]["node"].get("where_clause")
    ):
        raise BadCondition(f"where={text!r} is more than a condition. Give an expression alone.")
    return dict(tree)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a tree."""
    if isinstance(tree, dict):
        yield tree
        tree = [*tree.values()]
    for each in tree if isinstance(tree, list) else ():
        yield from _nodes(each)


def _check_bound(text: str, schema: pa.Schema, columns: Sequence[str]) -> None:
    """See that DuckDB knows the columns and what is done to them. Raises BadCondition."""
    duckdb = require("duckdb")
    try:
        rows = _connection("UTC").from_arrow(_shown(schema.empty_table(), columns))
        rows.filter(f"({text}\n)")
        kind = str(rows.project(f"({text}\n) as met").types[0])
    except duckdb.Error as error:
        raise _refused(text, error, schema.names) from error
    if kind not in ("BOOLEAN", '"NULL"', "NULL"):
        raise BadCondition(
            f"where={text!r} is {kind} and not true or false. Compare it with something."
        )


def _shown(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """What of some rows a condition looks at. Where that is nothing, they are only counted."""
    if columns:
        shown = rows.select([*columns])
        return shown.cast(pa.schema(map(_comparable, shown.schema)), safe=False)
    return pa.table({"": pa.nulls(rows.num_rows, pa.int8())})


def _comparable(field: pa.Field) -> pa.Field:
    """Instants to the microsecond: DuckDB compares finer ones with no others."""
    is_fine = pt.is_timestamp(field.type) and field.type.unit == "ns"
    return field.with_type(pa.timestamp("us", field.type.tz)) if is_fine else field


def _compared(node: dict[str, Any], zone: str) -> tuple[str | None, str, list[Any]]:
    """The column that is compared with values, how, and the values; no values where it is not so.

    The column is in lower case, as DuckDB takes it.
    """
    kind, pairs = node.get("type"), []
    if kind in _COMPARED:
        sign = _COMPARED[kind]
        pairs = [
            (node["left"], sign, [node["right"]]),
            (node["right"], _TURNED[sign], [node["left"]]),
        ]
    elif kind == "COMPARE_IN":
        first, *others = node["children"]
        pairs = [(first, "=", others)]
    elif kind == "COMPARE_BETWEEN":
        pairs = [(node["input"], "<>", [node["lower"], node["upper"]])]
    for column, sign, values in pairs:
        is_column = column.get("class") == "COLUMN_REF" and len(column["column_names"]) == 1
        if is_column and all(map(_is_constant, values)):
            found = [_value(each, zone) for each in values]
            return column["column_names"][0].lower(), sign, found if None not in found else []
    return None, "", []


def _is_constant(node: dict[str, Any]) -> bool:
    """Whether it is a value, or a text cast to another type, that is the same at any time."""
    if node.get("class") == "CAST":
        return _is_constant(node["child"])
    return node.get("class") == "CONSTANT"


def _value(node: dict[str, Any], zone: str) -> Any:
    """What a constant comes to; None where it comes to nothing, or to another thing each day."""
    duckdb = require("duckdb")
    whole = json.loads(_asked("select json_serialize_sql('select 1')"))
    whole["statements"][0]["node"]["select_list"] = [node]
    try:
        text = _asked("select json_deserialize_sql(?::json)", json.dumps(whole))
        value = _connection(zone).execute(text).fetchall()[0][0]
    except duckdb.Error:
        return None  # What is wrong with it is said when a row is held against it.
    is_told = not isinstance(value, dt.date) or re.search(r"'\s*\d", text)
    return value if is_told else None  # 'today' and 'now' are dates too.


def _bounds(definition: Definition, sign: str, values: list[Any]) -> Bounds:
    """The times that a comparison leaves; all of them where they cannot be told."""
    if sign == "=" and len(values) > 1:
        starts, stops = zip(*(_bounds(definition, sign, [each]) for each in values), strict=True)
        return _hull(min, starts), _hull(max, stops)
    try:
        low, high = values[0], values[-1]
        if isinstance(low, dt.datetime) and isinstance(high, dt.datetime):
            low, high = low - _ROUNDED, high + _ROUNDED
        if type(low) is int and type(high) is int and _counts(definition):
            start, stop = low, high + 1
        elif isinstance(low, str | dt.date) and isinstance(high, str | dt.date):
            start, stop = definition.slotting.bounds(low, high)  # type: ignore[assignment]
        else:
            return None, None
    except (BadTime, OverflowError, TypeError):
        return None, None
    return (None if sign == "<" else start), (None if sign == ">" else stop)


def _hull(pick: Callable[[Iterable[int]], int], ends: Sequence[int | None]) -> int | None:
    """The outermost of some bounds; none where one of them is none."""
    known = [end for end in ends if end is not None]
    return pick(known) if len(known) == len(ends) else None


def _counts(definition: Definition) -> bool:
    """Whether times are numbers."""
    return bool(pt.is_integer(definition.schema.field(definition.time).type))


def _narrowed(one: Bounds, other: Bounds) -> Bounds:
    starts = [each for each in (one[0], other[0]) if each is not None]
    stops = [each for each in (one[1], other[1]) if each is not None]
    return max(starts, default=None), min(stops, default=None)


def _keys(definition: Definition, values: list[Any]) -> tuple[Any, ...] | None:
    """The keys that a condition leaves; None where values of the key's type are not what it has."""
    key_type = definition.spec.key_type
    kind = key_type.arrow_type
    plain = str if has_bytes(kind) and not pt.is_binary(kind) else int
    if not all(type(value) is plain for value in values):
        return None
    try:
        for value in values:
            key_type.plain(value)
    except BadKey:
        return None
    return tuple(dict.fromkeys(values))


def _asked(query: str, *values: str) -> Any:
    return _connection("UTC").execute(query, [*values]).fetchall()[0][0]


def _connection(zone: str) -> Any:
    """A connection of this thread's own that can reach nothing but what it is shown."""
    held = getattr(_local, "held", None)
    if held is None:
        duckdb = require("duckdb")
        connection = duckdb.connect(":memory:", config={"enable_external_access": "false"})
        held = _local.held = [connection, None]
    if held[1] != zone:
        held[0].execute(f"set TimeZone = '{zone}'").fetchall()
        held[1] = zone
    return held[0]


def _refused(text: str, error: Any, names: Sequence[str]) -> BadCondition:
    """What DuckDB has against a condition, and what to do about it."""
    said = " ".join(str(error).split(" LINE ")[0].split("\n")[0].split())
    said = re.sub(r"^\w+ Error: ", "", said).rstrip(".!")
    known = [name for name in names if re.search(rf"(?<![\w\"]){re.escape(name)}(?![\w\"])", text)]
    hint = f" The columns are {', '.join(names)}."
    if "syntax error" in said and known:
        hint = f' A column whose name is a word of SQL goes in quotes, as "{known[0]}".'
    return BadCondition(f"where={text!r} cannot be understood: {said}.{hint}")
