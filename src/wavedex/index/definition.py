"""What an index is: the answers given when it was created, checked, and written once as `index.json`.

Everything that a later reader or writer must know and that never changes stands here; what changes with every commit
stands in the manifests. Plain JSON; the schema is Arrow's own message in base64, with a readable copy beside it.
"""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex import slots
from wavedex.engine.technique import Technique, technique
from wavedex.errors import (
    BadDefinition,
    Damaged,
    MissingColumn,
    NewerFormat,
    NotThereYet,
    OlderFormat,
    UnknownScheme,
)
from wavedex.plan import SCHEMES, Scheme, options_of, scheme
from wavedex.store.access import AnyFiles, needs_local_disk
from wavedex.store.arrow import to_arrow
from wavedex.store.content import hash_rows
from wavedex.store.entries import SLOT_COLUMN, EntrySpec
from wavedex.store.formats import FORMATS, Build
from wavedex.store.keys import key_type
from wavedex.store.room import Sizes

FORMAT = 2
"""The format version that this code writes. Readers refuse any other."""
PARTS_MAX = 30_000
"""Linux lets a process map 65,530 files, and an open part is two or three of them for a moment."""
PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
"""What views are kept as."""
CHANGE_COLUMN = "_change"
"""The column of +1 for a row that entered the window and -1 for one that left, in the feed of changes."""
COMMIT_COLUMN = "_commit"
"""The column of the commit with which it did."""
_PLANNED_SCHEMES = ("wata-bounded", "wata-offline")


@dataclass(frozen=True)
class Definition:
    """A wave index as it was created. Build one with `define`, which checks it.

    `schema` has the columns that are kept, `accepted` the names of all that a batch may have.
    """

    schema: pa.Schema
    accepted: frozenset[str]
    key: str
    time: str | None
    slotting: slots.Slotting
    window: int
    indexes: int
    scheme_name: str
    update: str
    shards: int
    format: str
    nulls: str
    late: str
    max_gap: int
    growth: float
    first_room: int
    spread: bool
    keep_commits: int

    @cached_property
    def spec(self) -> EntrySpec:
        """The entries as they are stored."""
        if self.time is not None:
            return EntrySpec(self.schema, self.key, self.time)
        hidden = pa.field(SLOT_COLUMN, pa.int64(), nullable=False)
        return EntrySpec(self.schema.append(hidden), self.key, SLOT_COLUMN)

    @cached_property
    def scheme(self) -> Scheme:
        """The planner. Deletion is prepared ahead where the sub-index is copied to be updated."""
        wanted = {"spread": self.spread, "ahead": self.update == "simple-shadow"}
        known = options_of(self.scheme_name)
        options = {name: value for name, value in wanted.items() if name in known}
        return scheme(self.scheme_name, self.window, self.indexes, **options)

    @cached_property
    def technique(self) -> Technique:
        """How sub-indexes are updated."""
        return technique(self.update)

    @cached_property
    def build(self) -> Build:
        """How parts that never change are written."""
        return FORMATS[self.format].build

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of room in buckets that grow."""
        return Sizes(self.growth, self.first_room)

    def check_place(self, files: AnyFiles) -> None:
        """Raise BadDefinition where an index like this cannot be written to."""
        if self.technique.writes_into_files and not files.is_local:
            raise needs_local_disk(files.root)

    def to_bytes(self) -> bytes:
        """The content of `index.json`."""
        body = {
            "format": FORMAT,
            "kind": "wave",
            "schema": base64.b64encode(self.schema.serialize()).decode(),
            "accepted": sorted(self.accepted),
            "columns": {field.name: str(field.type) for field in self.schema},
            "key": self.key,
            "time": self.time,
            "slots": self.slotting.to_json(),
            "window": self.window,
            "indexes": self.indexes,
            "scheme": self.scheme_name,
            "update": self.update,
            "shards": self.shards,
            "file_format": self.format,
            "nulls": self.nulls,
            "late": self.late,
            "max_gap": self.max_gap,
            "growth": self.growth,
            "first_room": self.first_room,
            "spread": self.spread,
            "keep_commits": self.keep_commits,
        }
        return (json.dumps(body, indent=2) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Definition:
        """The definition in a file's content. Raises NewerFormat, OlderFormat or Damaged."""
        try:
            body = json.loads(data)
            version = int(body["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{name} is no definition ({error})") from error
        if version > FORMAT:
            raise NewerFormat(
                f"{name} has format {version}; this version of Wavedex reads up to {FORMAT}. "
                "Install a newer Wavedex."
            )
        if version < FORMAT:
            raise OlderFormat(
                f"{name} has format {version}, which only the Wavedex that wrote it reads; this one reads "
                f"{FORMAT}. Append the same rows to a new index."
            )
        try:
            definition = cls(
                schema=pa.ipc.read_schema(pa.py_buffer(base64.b64decode(body["schema"]))),
                accepted=frozenset(body["accepted"]),
                key=body["key"],
                time=body["time"],
                slotting=slots.from_json(body["slots"]),
                window=_whole("window", body["window"], 1),
                indexes=_whole("indexes", body["indexes"], 1),
                scheme_name=body["scheme"],
                update=body["update"],
                shards=_whole("shards", body["shards"], 1),
                format=body["file_format"],
                nulls=body["nulls"],
                late=body["late"],
                max_gap=_whole("max_gap", body["max_gap"], 0),
                growth=float(body["growth"]),
                first_room=_whole("first_room", body["first_room"], 1),
                spread=bool(body["spread"]),
                keep_commits=_whole("keep_commits", body["keep_commits"], 1),
            )
            definition.technique.check(definition.spec)
            _ = definition.scheme, definition.sizes, definition.spec.key_type, definition.build
        except (ValueError, KeyError, TypeError, pa.ArrowInvalid, BadDefinition) as error:
            raise Damaged(f"{name} is no definition ({error})") from error
        return definition


def define(
    schema: pa.Schema,
    *,
    key: str,
    time: str | None,
    slot: str | int | None,
    zone: str,
    origin: Any,
    window: int,
    indexes: int | None,
    scheme: str,
    update: str,
    include: Sequence[str] | None,
    shards: int,
    format: str,  # noqa: A002 - the contract's name
    nulls: str,
    late: str,
    max_gap: int | None,
    growth: float,
    first_room: int,
    spread: bool,
    keep_commits: int,
) -> Definition:
    """Check the answers and return the definition. Raises BadDefinition and its kin."""
    if not isinstance(schema, pa.Schema):
        raise BadDefinition(f"schema is a {type(schema).__name__}; pass a pyarrow.Schema.")
    if not isinstance(key, str):
        raise NotThereYet("Keys of several columns are planned and not there yet. Name one column.")
    for role, name in (("key", key), ("time", time)):
        if name is not None and name not in schema.names:
            raise MissingColumn(_no_column(f"{role}={name!r}", schema))
    _check_names(schema)
    kept = schema if include is None else _included(schema, include, key, time)
    kept = pa.schema([_storable(field) for field in kept], kept.metadata)
    window = _whole("window", window, 1)
    indexes = min(4, window) if indexes is None else _whole("indexes", indexes, 1)
    shards = _whole("shards", shards, 1)
    if shards * indexes > PARTS_MAX:
        raise BadDefinition(
            f"{shards} shards of {indexes} sub-indexes are {shards * indexes:,} parts, and "
            f"{PARTS_MAX:,} is the most that a process can map. Use fewer of either."
        )
    max_gap = window if max_gap is None else _whole("max_gap", max_gap, 0)
    first_room = _whole("first_room", first_room, 1)
    if isinstance(growth, bool) or not isinstance(growth, int | float):
        raise BadDefinition(f"growth={growth!r} is no number.")
    _check_choice("nulls", nulls, ("error", "skip"))
    _check_choice("late", late, ("error", "drop"))
    _check_choice("format", format, tuple(FORMATS))
    if not isinstance(scheme, str):
        raise UnknownScheme(f"scheme={scheme!r} is no name. Choose one of {', '.join(SCHEMES)}.")
    if scheme in _PLANNED_SCHEMES:
        raise NotThereYet(f"scheme={scheme!r} is planned and not there yet. Use 'wata'.")
    if scheme not in SCHEMES:
        raise UnknownScheme(f"There is no scheme {scheme!r}. Choose one of {', '.join(SCHEMES)}.")
    time_type = None if time is None else schema.field(time).type
    definition = Definition(
        schema=kept,
        accepted=frozenset(schema.names),
        key=key,
        time=time,
        slotting=slots.slotting(time_type, slot, zone, origin),
        window=window,
        indexes=indexes,
        scheme_name=scheme,
        update=update,
        shards=shards,
        format=format,
        nulls=nulls,
        late=late,
        max_gap=max_gap,
        growth=float(growth),
        first_room=first_room,
        spread=bool(spread),
        keep_commits=_whole("keep_commits", keep_commits, 1),
    )
    key_type(schema.field(key).type)
    _ = definition.scheme, definition.sizes
    if format not in definition.technique.formats:
        raise BadDefinition(
            f"update={update!r} changes its files, and files of format={format!r} cannot be changed. "
            "Use update='runs' or 'packed-shadow', or format='arrow'."
        )
    definition.technique.check(definition.spec)
    FORMATS[format].check(definition.spec)
    return definition


def _check_names(schema: pa.Schema) -> None:
    for name in (SLOT_COLUMN, CHANGE_COLUMN, COMMIT_COLUMN):
        if name in schema.names:
            raise BadDefinition(f"The column name {name} is taken. Rename that column.")
    twice = {name for name in schema.names if schema.names.count(name) > 1}
    if twice:
        raise BadDefinition(f"The schema has the column {min(twice)!r} twice. Rename one of them.")


def _included(schema: pa.Schema, include: Sequence[str], key: str, time: str | None) -> pa.Schema:
    if isinstance(include, str) or not isinstance(include, Iterable):
        raise BadDefinition(f"include={include!r} is no list. Pass a list of column names.")
    for name in include:
        if name not in schema.names:
            raise MissingColumn(_no_column(f"include has {name!r}", schema))
    wanted = {*include, key, time}
    return pa.schema([field for field in schema if field.name in wanted])


def _no_column(what: str, schema: pa.Schema) -> str:
    return f"{what}, but there is no such column. The columns are {', '.join(schema.names)}."


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise BadDefinition(f"{name}={value!r} is not a whole number of at least {least}.")
    return operator.index(value)


def _storable(field: pa.Field) -> pa.Field:
    """The field as it is kept. Raises BadDefinition where nothing can be done with its type.

    Dictionaries count in 32 bits, so that those of several batches have room in one; views become plain strings.
    """
    kind = PLAIN.get(field.type, field.type)
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


def _check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UnknownScheme(f"{name}={value!r} is none of {', '.join(map(repr, choices))}.")
