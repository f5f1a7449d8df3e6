"""What an index is: the answers given when it was created, checked, and written once as `index.json`.

Everything that a later reader or writer must know stands here. What is changed by a migration stands in the manifest of
that commit and of all after it, under the same names, and takes the place of the answer here (`Definition.at`); what
changes with every commit stands in the manifests alone. Plain JSON; the schema is Arrow's own message in base64, with a
readable copy beside it.
"""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from wavedex import slots
from wavedex.engine.technique import Technique, technique
from wavedex.errors import (
    BadDefinition,
    Damaged,
    NewerFormat,
    OlderFormat,
)
from wavedex.plan import Scheme, options_of, scheme
from wavedex.store.access import AnyFiles, needs_local_disk
from wavedex.store.entries import SLOT_COLUMN, EntrySpec
from wavedex.store.formats import Format, find_format
from wavedex.store.room import Sizes

FORMAT = 3
"""The format version that this code writes. Readers refuse any other."""
PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
"""What views are kept as."""
CHANGE_COLUMN = "_change"
"""The column of +1 for a row that entered the window and -1 for one that left, in the feed of changes."""
COMMIT_COLUMN = "_commit"
"""The column of the commit with which it did."""


@dataclass(frozen=True)
class Definition:
    """A wave index as it was created. `wavedex.index.defining` makes one and checks it.

    `schema` has the columns that are kept, `offered` those that a record has. `key` is a column or several; `position` is
    the column that says where in a list of keys an entry's key stood, if that is kept, and `pointer` are the two that say in
    which file and row its record lies.
    """

    schema: pa.Schema
    offered: pa.Schema
    key: str | tuple[str, ...]
    position: str | None
    pointer: tuple[str, str] | None
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
    max_gap: int | None
    growth: float
    first_room: int
    spread: bool
    keep_commits: int
    keep_s: float
    max_size: int | None
    sizes: Mapping[int, int]
    roots: tuple[str, ...]
    former_formats: tuple[str, ...] = ()
    identity: str = ""

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.spec.key_names

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
        first = min(self.sizes, default=1)
        wanted = {
            "spread": self.spread,
            "ahead": self.update == "simple-shadow",
            "max_size": self.max_size,
            "first": first,
            "sizes": tuple(
                self.sizes.get(slot, 0) for slot in range(first, max(self.sizes, default=0) + 1)
            )
            or None,
        }
        known = options_of(self.scheme_name)
        options = {
            name: value for name, value in wanted.items() if name in known and value is not None
        }
        return scheme(self.scheme_name, self.window, self.indexes, **options)

    @cached_property
    def technique(self) -> Technique:
        """How sub-indexes are updated."""
        return technique(self.update)

    @cached_property
    def package(self) -> Format:
        """What writes parts and opens them."""
        return find_format(self.format)

    @cached_property
    def rooms(self) -> Sizes:
        """The sizes of room in buckets that grow."""
        return Sizes(self.growth, self.first_room)

    @property
    def gap_limit(self) -> int:
        """How many empty slots may lie between two batches: as many as the window has, if nothing else was said."""
        return self.window if self.max_gap is None else self.max_gap

    def at(self, settings: Mapping[str, Any]) -> Definition:
        """The definition with what migrations have changed, as a manifest holds it. Raises Damaged."""
        return self._from_json({**self.to_json(), **settings}, "the manifest") if settings else self

    def settings_for(self, later: Definition) -> dict[str, Any]:
        """What a manifest must hold so that `at` gives another definition."""
        mine = self.to_json()
        return {name: value for name, value in later.to_json().items() if mine[name] != value}

    def check_place(self, files: AnyFiles) -> None:
        """Raise BadDefinition where an index like this cannot be written to."""
        on_disk = self.technique.writes_into_files or self.package.needs_local_disk
        if on_disk and not files.is_local:
            raise needs_local_disk(files.root)

    def to_bytes(self) -> bytes:
        """The content of `index.json`."""
        return (json.dumps(self.to_json(), indent=2) + "\n").encode()

    def to_json(self) -> dict[str, Any]:
        """All answers, as plain JSON."""
        return {
            "format": FORMAT,
            "kind": "wave",
            "schema": base64.b64encode(self.schema.serialize()).decode(),
            "offered": base64.b64encode(self.offered.serialize()).decode(),
            "columns": {field.name: str(field.type) for field in self.schema},
            "key": self.key if isinstance(self.key, str) else list(self.key),
            "position": self.position,
            "pointer": None if self.pointer is None else list(self.pointer),
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
            "keep_s": self.keep_s,
            "max_size": self.max_size,
            "sizes": {str(slot): rows for slot, rows in sorted(self.sizes.items())},
            "roots": list(self.roots),
            "former_formats": list(self.former_formats),
            "identity": self.identity,
        }

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
        return cls._from_json(body, name)

    @classmethod
    def _from_json(cls, body: Mapping[str, Any], name: str) -> Definition:
        try:
            definition = cls(
                schema=_read_schema(body["schema"]),
                offered=_read_schema(body["offered"]),
                key=body["key"] if isinstance(body["key"], str) else tuple(body["key"]),
                position=body["position"],
                pointer=None if body["pointer"] is None else tuple(body["pointer"]),
                time=body["time"],
                slotting=slots.from_json(body["slots"]),
                window=whole_number("window", body["window"], 1),
                indexes=whole_number("indexes", body["indexes"], 1),
                scheme_name=body["scheme"],
                update=body["update"],
                shards=whole_number("shards", body["shards"], 1),
                format=body["file_format"],
                nulls=body["nulls"],
                late=body["late"],
                max_gap=None
                if body["max_gap"] is None
                else whole_number("max_gap", body["max_gap"], 0),
                growth=float(body["growth"]),
                first_room=whole_number("first_room", body["first_room"], 1),
                spread=bool(body["spread"]),
                keep_commits=whole_number("keep_commits", body["keep_commits"], 1),
                keep_s=float(body["keep_s"]),
                max_size=body["max_size"],
                sizes={int(slot): rows for slot, rows in body["sizes"].items()},
                roots=tuple(body["roots"]),
                former_formats=tuple(body["former_formats"]),
                identity=body["identity"],
            )
            definition.technique.check(definition.spec, definition.package)
            _ = definition.scheme, definition.rooms, definition.spec.key_type
        except (ValueError, KeyError, TypeError, pa.ArrowInvalid, BadDefinition) as error:
            raise Damaged(f"{name} is no definition ({error})") from error
        return definition


def _read_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def whole_number(name: str, value: Any, least: int) -> int:
    """The value of an option as a whole number. Raises BadDefinition."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise BadDefinition(f"{name}={value!r} is not a whole number of at least {least}.")
    return operator.index(value)
