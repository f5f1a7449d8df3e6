"""What an index is: the answers given at its creation, checked, and written once as `index.json`.

Everything that a later reader or writer must know stands here. A migration notes what it changes in
the manifest of its commit, and so do all commits after it. The names there are the same, and what
they say takes the place of the answer here (`Definition.at`). What changes with every commit stands
in the manifests alone.

The file is plain JSON. The schema is Arrow's own message in base64, with a readable copy beside it.

This module has what all kinds of index have. Each kind adds its own answers, and says what its
readers see of a commit (`View`).
"""

from __future__ import annotations

import base64
import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import pyarrow as pa
import xxhash

from wavedex import slots
from wavedex.engine.technique import Technique
from wavedex.engine.techniques import technique
from wavedex.errors import (
    BadDefinition,
    Damaged,
    NewerFormat,
    OlderFormat,
    OtherKind,
)
from wavedex.files.contract import AnyFiles, needs_local_disk
from wavedex.files.names import DEFINITION
from wavedex.log.codec import BAD_JSON
from wavedex.log.manifest import Manifest, SubIndex
from wavedex.plan import Operation, State, apply, operation_from_json
from wavedex.plan.slot_set import SPAN_MAX
from wavedex.rows.entries import EntrySpec
from wavedex.show.drawing import Drawing
from wavedex.store.formats import Format, find_format
from wavedex.store.part import Part, Slots
from wavedex.store.room import Sizes
from wavedex.store.shard import Range, Shard

FORMAT = 6
"""The format version that this code writes."""
OLDEST_FORMAT = 5
"""The oldest that it reads: in format 5 manifests have the same under other names."""
PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
"""What views are kept as."""
CHANGE_COLUMN = "_change"
"""The column of a row's change in the feed: +1 where it entered the window, -1 where it left."""
COMMIT_COLUMN = "_commit"
"""The column of the commit with which the row entered or left."""

Target = tuple[Shard, Range | None]
"""A shard to ask, and the ordinals in which its rows count; None for all of them."""


class View(Protocol):
    """What readers see of one commit. Opens no file."""

    @property
    def slots(self) -> Slots:
        """The slots that are live."""

    def targets(
        self,
        name: str,
        opened: Shard,
        part: Part,
        start: int | None,
        stop: int | None,
        expired: bool,
    ) -> Iterable[Target]:
        """Whom to ask in one part of the sub-index `name` for rows of a span of time.

        The times of the rows are from `start` on and before `stop`. With `expired`, rows that are
        over are asked for too, where they are still there.
        """


@dataclass(frozen=True, kw_only=True)
class Definition(ABC):
    """An index of any kind as it was created."""

    schema: pa.Schema
    """The columns that are kept."""
    offered: pa.Schema
    """The columns that a record has."""
    key: str | tuple[str, ...]
    """The column of keys, or several."""
    position: str | None
    """The column that says where in a list of keys an entry's key stood, if that is kept."""
    pointer: tuple[str, str] | None
    """The two columns that say in which file and row an entry's record lies, if that is kept."""
    time: str | None
    """The column that `since` and `until` are compared with."""
    slotting: slots.Slotting
    """What cuts ordinals into slots. Entries are ordered by their ordinals."""
    update: str
    """The technique by which sub-indexes are updated."""
    shards: int
    """How many shards there are."""
    format: str
    """What parts are written as."""
    nulls: str
    """What becomes of rows without a key: "error" or "skip"."""
    growth: float
    """How many times larger each room in buckets is than the one before."""
    first_room: int
    """The entries that the smallest room holds."""
    keep_commits: int
    """How many commits are kept."""
    keep_s: float
    """For how many seconds commits are kept, however many they are."""
    roots: tuple[str, ...]
    """The folders over which sub-indexes are spread, if there are any."""
    former_formats: tuple[str, ...] = ()
    """The formats that migrations have left."""
    identity: str = ""
    """What tells it from every other index, on its roots and on servers."""
    read_from: str = field(default="", compare=False)
    """The checksum of the file that it was read from; empty where it was not read from one."""

    kind: ClassVar[str]
    """What stands for it in `index.json`."""
    drawing: ClassVar[Drawing]
    """How it is shown."""
    counts_slots: ClassVar[bool] = True
    """Whether manifests say how many rows each slot has."""

    @property
    @abstractmethod
    def spec(self) -> EntrySpec:
        """The entries as they are stored."""

    @abstractmethod
    def complete(self, table: pa.Table, at: Any) -> pa.Table:
        """Rows of the schema with what else is stored of them. Raises BadTime.

        `at` is what was said of their time.
        """

    def at_to_json(self, at: Any) -> Any:
        """What was said of the time of rows, as plain JSON to be sent elsewhere."""
        return at

    def at_from_json(self, said: Any) -> Any:
        """What was said of the time of rows, from such JSON."""
        return said

    @abstractmethod
    def check_slots(self, slots: slots.Ordinals, at: Any) -> None:
        """Raise BadTime where rows are of other slots than was said."""

    def living(self, rows: pa.RecordBatch, at: Any) -> pa.RecordBatch:
        """The complete rows without those that are over when they come.

        `at` is what was said of their time.
        """
        return rows

    @abstractmethod
    def view(self, manifest: Manifest) -> View:
        """What readers see of a commit."""

    @abstractmethod
    def state_of(self, manifest: Manifest) -> State | None:
        """The planner's state, None while nothing came. Raises ValueError where it is no state."""

    @property
    def unguessed(self) -> Any:
        """What is said of the time of rows before anything is known of it."""
        return None

    @abstractmethod
    def drained(
        self,
        state: State | None,
        draining: Mapping[str, SubIndex],
        own: Mapping[str, Any],
    ) -> dict[str, SubIndex]:
        """What is left of sub-indexes that drain; `own` is what the kind keeps in the manifest."""

    def own_after(
        self, own: Mapping[str, Any], draining: Mapping[str, SubIndex]
    ) -> Mapping[str, Any]:
        """What the kind keeps in the manifest, once it is known what still drains."""
        return own

    @abstractmethod
    def layout_findings(self, manifest: Manifest) -> Iterable[str]:
        """Where the sub-indexes of a commit do not hold what was planned, a line each."""

    @abstractmethod
    def describe(self, manifest: Manifest) -> dict[str, Any]:
        """What a kind of index has to say of a commit beside what all have, as plain JSON."""

    @abstractmethod
    def _own_json(self) -> dict[str, Any]:
        """The answers that only this kind of index has, as plain JSON."""

    @classmethod
    @abstractmethod
    def _own_from_json(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answers that only this kind of index has, from such JSON."""

    @classmethod
    def _read_slots(cls, data: dict[str, Any]) -> slots.Slotting:
        """The slots that `to_json` of them described. Raises BadDefinition."""
        return slots.from_json(data)

    @abstractmethod
    def check_planner(self) -> None:
        """Raise BadDefinition where no planner goes with the answers."""

    @property
    def longest_slots(self) -> int:
        """How many slots after its birth a row may end, where rows have ends of their own."""
        return 0

    @property
    def zone(self) -> str:
        """The zone in which times without one are local.

        That goes for times of rows, for `since` and `until`, and for instants.
        """
        return getattr(self.slotting, "zone", "UTC")

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.spec.key_names

    @property
    @abstractmethod
    def cycle(self) -> int:
        """After about how many slots plans come round."""

    @property
    def forgets(self) -> bool:
        """Whether what is over must have left every file when a write returns."""
        return False

    @cached_property
    def technique(self) -> Technique:
        """How sub-indexes are updated."""
        return technique(self.update)

    @cached_property
    def package(self) -> Format:
        """What writes parts and opens them."""
        return find_format(self.format, self.identity)

    @cached_property
    def rooms(self) -> Sizes:
        """The sizes of room in buckets that grow."""
        return Sizes(self.growth, self.first_room)

    def at(self, settings: Mapping[str, Any]) -> Self:
        """The definition with what migrations changed, as a manifest holds it. Raises Damaged."""
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

    @cached_property
    def checksum(self) -> str:
        """The checksum of its file, by which every manifest knows what the index was created as."""
        return self.read_from or xxhash.xxh64_hexdigest(self.to_bytes())

    def check_created(self, manifest: Manifest) -> None:
        """Raise Damaged where a commit was made by another definition.

        REQUIRES: this is the definition as the index was created.
        """
        if manifest.definition not in ("", self.checksum):
            raise changed_since(manifest)

    def to_bytes(self) -> bytes:
        """The content of `index.json`."""
        return (json.dumps(self.to_json(), indent=2) + "\n").encode()

    def to_json(self) -> dict[str, Any]:
        """All answers, as plain JSON."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "schema": base64.b64encode(self.schema.serialize()).decode(),
            "offered": base64.b64encode(self.offered.serialize()).decode(),
            "columns": {field.name: str(field.type) for field in self.schema},
            "key": self.key if isinstance(self.key, str) else list(self.key),
            "position": self.position,
            "pointer": None if self.pointer is None else list(self.pointer),
            "time": self.time,
            "slots": self.slotting.to_json(),
            **self._own_json(),
            "update": self.update,
            "shards": self.shards,
            "file_format": self.format,
            "nulls": self.nulls,
            "growth": self.growth,
            "first_room": self.first_room,
            "keep_commits": self.keep_commits,
            "keep_s": self.keep_s,
            "roots": list(self.roots),
            "former_formats": list(self.former_formats),
            "identity": self.identity,
        }

    @classmethod
    def _from_json(cls, body: Mapping[str, Any], name: str) -> Self:
        try:
            definition = cls(
                schema=_read_schema(body["schema"]),
                offered=_read_schema(body["offered"]),
                key=body["key"] if isinstance(body["key"], str) else tuple(body["key"]),
                position=body["position"],
                pointer=None if body["pointer"] is None else tuple(body["pointer"]),
                time=body["time"],
                slotting=cls._read_slots(body["slots"]),
                **cls._own_from_json(body),
                update=body["update"],
                shards=whole_number("shards", body["shards"], 1),
                format=body["file_format"],
                nulls=body["nulls"],
                growth=float(body["growth"]),
                first_room=whole_number("first_room", body["first_room"], 1),
                keep_commits=whole_number("keep_commits", body["keep_commits"], 1),
                keep_s=float(body["keep_s"]),
                roots=tuple(body["roots"]),
                former_formats=tuple(body["former_formats"]),
                identity=body["identity"],
            )
            definition.technique.check(definition.spec, definition.package)
            definition.check_planner()
            _ = definition.rooms, definition.spec.key_type
        except (*BAD_JSON, pa.ArrowException, OSError, BadDefinition) as error:
            raise Damaged(f"{name} is no definition ({error})") from error
        return definition


def changed_since(manifest: Manifest) -> Damaged:
    """What to say where a definition is not the one that a commit was made by."""
    return Damaged(f"{DEFINITION} is not what it was when commit {manifest.commit} was made")


def read_definition(kinds: Iterable[type[Definition]], data: bytes, name: str) -> Definition:
    """The definition in a file's content.

    Raises NewerFormat, OlderFormat, Damaged, or OtherKind where it is of none of these kinds.
    """
    try:
        body = json.loads(data)
        version = int(body["format"])
    except BAD_JSON as error:
        raise Damaged(f"{name} is no definition ({error})") from error
    if version > FORMAT:
        raise NewerFormat(
            f"{name} has format {version}; this version of Wavedex reads up to {FORMAT}. "
            "Install a newer Wavedex."
        )
    if version < OLDEST_FORMAT:
        raise OlderFormat(
            f"{name} has format {version}, which only the Wavedex that wrote it reads; this one "
            f"reads {OLDEST_FORMAT} to {FORMAT}. Append the same rows to a new index."
        )
    for kind in kinds:
        if body.get("kind") == kind.kind:
            read = kind._from_json(body, name)
            return replace(read, read_from=xxhash.xxh64_hexdigest(data))
    raise OtherKind(f"{name} is no definition (there is no kind of index {body.get('kind')!r})")


def owed_by(manifest: Manifest) -> list[Operation]:
    """The operations of a preparation that was not done yet.

    Raises Damaged where they make no sense for the commit.
    """
    layout = {name: sub.slots for name, sub in manifest.everything.items()}
    try:
        owed = [operation_from_json(operation) for operation in manifest.owed]
        apply(layout, owed)
    except (AssertionError, KeyError, ValueError) as error:
        raise Damaged(f"commit {manifest.commit} owes what cannot be done ({error})") from error
    return owed


def _read_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def whole_number(name: str, value: Any, least: int) -> int:
    """The value of an option as a whole number. Raises BadDefinition."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise BadDefinition(f"{name}={value!r} is not a whole number of at least {least}.")
    return operator.index(value)


def window_of(value: Any) -> int:
    """The number of slots of a window. Raises BadDefinition.

    A sub-index holds fewer than twice as many slots, which must be bits of one set.
    """
    window = whole_number("window", value, 1)
    if window > SPAN_MAX // 2:
        raise BadDefinition(
            f"window={window:,} is more than {SPAN_MAX // 2:,} slots. Choose longer slots, and "
            "fewer of them."
        )
    return window
