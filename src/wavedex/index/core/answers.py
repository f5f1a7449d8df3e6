"""Are these answers an index? What every kind asks, checked."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex import slots
from wavedex.clock import SECOND_NS
from wavedex.errors import BadDefinition, BadTime, MissingColumn, UnknownScheme
from wavedex.files.address import files_at
from wavedex.index.core.definition import (
    AT_COLUMN,
    CHANGE_COLUMN,
    COMMIT_COLUMN,
    VIEWS_KEPT_AS,
    whole_number,
)
from wavedex.log.followers import Bound
from wavedex.rows.arrow import to_arrow
from wavedex.rows.content import hash_rows
from wavedex.rows.entries import END_COLUMN, SLOT_COLUMN
from wavedex.store.formats import find_format
from wavedex.temporal.methods.catalogue import METHODS

KEEP_FOLLOWED = "7 days"
"""How far followers may fall behind if nobody says it: a week, as a log of events is often kept."""
KEEP_S_MAX = 1000 * 365 * 86_400.0
"""A clock set back by this is still a date."""
PARTS_MAX = 30_000
"""Linux lets a process map 65,530 files, and an open part is two or three of them for a moment."""


def shared_answers(
    schema: pa.Schema,
    *,
    needed: set[str | None],
    key: tuple[str, ...],
    position: str | None,
    pointer: Sequence[str] | None,
    include: Sequence[str] | None,
    shards: int,
    format: str,  # noqa: A002 - the contract's name
    nulls: str,
    growth: float,
    first_room: int,
    keep_commits: int,
    keep_for: Any,
    keep_followed: Any,
    history: str | None,
    roots: Sequence[str | os.PathLike[str]] | None,
) -> dict[str, Any]:
    """The answers that every kind of index has, checked; `needed` columns are kept in any case."""
    kept = schema if include is None else _included(schema, include, needed)
    kept = pa.schema([_storable(_single(field, key)) for field in kept], kept.metadata)
    if position is not None:
        kept = _with_position(kept, schema, position)
    if pointer is not None:
        kept = _with_pointer(kept, schema, pointer)
    check_names(kept)
    if isinstance(growth, bool) or not isinstance(growth, int | float):
        raise BadDefinition(f"growth={growth!r} is no number.")
    check_choice("nulls", nulls, ("error", "skip"))
    return {
        "schema": kept,
        "offered": schema,
        "key": key[0] if len(key) == 1 else key,
        "position": position,
        "pointer": None if pointer is None else (pointer[0], pointer[1]),
        "shards": whole_number("shards", shards, 1),
        "format": find_format(format).settled(format),
        "nulls": nulls,
        "growth": float(growth),
        "first_room": whole_number("first_room", first_room, 1),
        "keep_commits": whole_number("keep_commits", keep_commits, 1),
        "keep_s": _keep_s("keep_for", keep_for),
        "keep_followed": read_bound(keep_followed, keep_commits),
        "history": check_history(history),
        "roots": _root_names(roots),
    }


def check_history(method: str | None) -> str:
    """The method of a history; empty without one. Raises BadDefinition."""
    if method is None:
        return ""
    check_choice("history", method, (*METHODS,))
    return method


def check_column(role: str, name: Any, schema: pa.Schema) -> None:
    """Raise MissingColumn where there is no such column, BadDefinition where there is no schema."""
    if not isinstance(schema, pa.Schema):
        raise BadDefinition(f"schema is a {type(schema).__name__}; pass a pyarrow.Schema.")
    if name is not None and name not in schema.names:
        raise MissingColumn(_no_column(f"{role}={name!r}", schema))


def check_parts(shards: int, indexes: int) -> None:
    """Raise BadDefinition where there are more parts than a process can map."""
    parts = shards * indexes
    if parts > PARTS_MAX:
        raise BadDefinition(
            f"{shards} shards of {indexes} sub-indexes are {parts:,} parts, and "
            f"{PARTS_MAX:,} is the most that a process can map. Use fewer of either."
        )


def check_names(schema: pa.Schema) -> None:
    """Raise BadDefinition where a column has a name that is taken, or that another one has."""
    for name in (SLOT_COLUMN, END_COLUMN, CHANGE_COLUMN, AT_COLUMN, COMMIT_COLUMN):
        if name in schema.names:
            raise BadDefinition(f"The column name {name} is taken. Rename that column.")
    twice = {name for name in schema.names if schema.names.count(name) > 1}
    if twice:
        raise BadDefinition(f"The schema has the column {min(twice)!r} twice. Rename one of them.")


def key_names(key: str | Sequence[str]) -> tuple[str, ...]:
    """The columns of the key. Raises BadDefinition."""
    names = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise BadDefinition(f"key={key!r} names no column. Pass a name, or a list of names.")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadDefinition(f"key={key!r} has {min(twice)!r} twice. Name each column once.")
    return names


def _single(field: pa.Field, keys: tuple[str, ...]) -> pa.Field:
    """A key column of lists as the column of one value of them, which each entry holds."""
    if field.name not in keys or not (pt.is_list(field.type) or pt.is_large_list(field.type)):
        return field
    return pa.field(field.name, field.type.value_type, metadata=field.metadata)


def _with_position(kept: pa.Schema, schema: pa.Schema, position: Any) -> pa.Schema:
    if not isinstance(position, str) or position in schema.names:
        raise BadDefinition(
            f"position={position!r}: give the name of a new column, for the place of a key in its "
            "list."
        )
    return kept.append(pa.field(position, pa.int32(), nullable=False))


def _with_pointer(kept: pa.Schema, schema: pa.Schema, pointer: Any) -> pa.Schema:
    names = tuple(pointer) if isinstance(pointer, Sequence) and not isinstance(pointer, str) else ()
    taken = {*schema.names, *kept.names}
    if len({*names}) != 2 or any(not isinstance(name, str) or name in taken for name in names):
        raise BadDefinition(
            f"pointer={pointer!r}: give the names of two new columns, for the file and for the "
            "row of a record."
        )
    file, row = names
    return kept.append(pa.field(file, pa.string(), nullable=False)).append(
        pa.field(row, pa.int64(), nullable=False)
    )


def _root_names(roots: Sequence[str | os.PathLike[str]] | None) -> tuple[str, ...]:
    """The folders over which sub-indexes are spread. Raises BadDefinition."""
    if roots is None:
        return ()
    if isinstance(roots, str | bytes | os.PathLike) or not isinstance(roots, Sequence) or not roots:
        raise BadDefinition(f"roots={roots!r} is no list. Pass a list of folders, one a disk.")
    names = tuple(str(files_at(root).root) for root in roots)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise BadDefinition(f"roots has {min(twice)!r} twice. Name each folder once.")
    return names


def _keep_s(name: str, given: Any) -> float:
    """For how many seconds commits are kept. Raises BadDefinition."""
    try:
        kept = 0.0 if given is None else slots.duration_ns(given) / SECOND_NS
    except BadTime as error:
        raise BadDefinition(f"{name}={given!r} is no duration. {error}") from error
    if kept > KEEP_S_MAX:
        raise BadDefinition(f"{name}={given!r} is longer than a thousand years. Give less.")
    return kept


def read_bound(given: Any, keep_commits: int) -> Bound:
    """How far followers may fall behind: commits or a time. Raises BadDefinition.

    Who keeps one commit wants what is over to be gone, and keeps nothing for followers either.
    """
    if given is None:
        given = 0 if keep_commits == 1 else KEEP_FOLLOWED
    if isinstance(given, str) and given.strip().isdecimal():
        given = int(given)
    if isinstance(given, str | dt.timedelta):
        return Bound(seconds=_keep_s("keep_followed", given))
    return Bound(commits=whole_number("keep_followed", given, 0))


def _included(schema: pa.Schema, include: Sequence[str], needed: set[str | None]) -> pa.Schema:
    if isinstance(include, str) or not isinstance(include, Iterable):
        raise BadDefinition(f"include={include!r} is no list. Pass a list of column names.")
    for name in include:
        if name not in schema.names:
            raise MissingColumn(_no_column(f"include has {name!r}", schema))
    wanted = {*include, *needed}
    return pa.schema([field for field in schema if field.name in wanted])


def _no_column(what: str, schema: pa.Schema) -> str:
    return f"{what}, but there is no such column. The columns are {', '.join(schema.names)}."


def _storable(field: pa.Field) -> pa.Field:
    """The field as it is kept. Raises BadDefinition where nothing can be done with its type.

    Dictionaries count in 32 bits, so that those of several batches have room in one. Views become
    plain strings.
    """
    kind = VIEWS_KEPT_AS.get(field.type, field.type)
    if pt.is_dictionary(kind) and kind.index_type != pa.int32():
        kind = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    try:
        column = pa.nulls(1, kind)
        hash_rows(pa.record_batch([column], names=["column"]))
        column.take(to_arrow(np.zeros(1, np.int64)))
    except (pa.ArrowException, TypeError, ValueError, RecursionError, AttributeError):
        raise BadDefinition(
            f"Column {field.name!r} of type {kind} cannot be kept. Cast it to a plainer type, or "
            "leave it out with include=."
        ) from None
    return field.with_type(kind)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise UnknownScheme where a value is none of the choices."""
    if value not in choices:
        raise UnknownScheme(f"{name}={value!r} is none of {', '.join(map(repr, choices))}.")
