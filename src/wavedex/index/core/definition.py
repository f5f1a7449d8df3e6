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

import datetime as dt
import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
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
from wavedex.log.codec import (
    BAD_JSON,
    PLAIN,
    REAL,
    SCHEMA,
    Codec,
    fields_from_json,
    fields_to_json,
    kept,
    listed,
    maybe,
    pair,
)
from wavedex.log.followers import NO_BOUND, Bound
from wavedex.log.manifest import Manifest, SubIndex
from wavedex.plan import Operation, State, apply, operation_from_json
from wavedex.plan.slot_set import SPAN_MAX
from wavedex.rows.entries import EntrySpec
from wavedex.show.drawing import Drawing
from wavedex.store.formats import Format, find_format
from wavedex.store.part import Part, Slots
from wavedex.store.room import Sizes
from wavedex.store.shard import Range, Shard

FORMAT = 8
"""The format version that this code writes."""
OLDEST_FORMAT = 5
"""The oldest that it reads: `wavedex.log.manifest` says what was different."""
VIEWS_KEPT_AS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
"""What views are kept as."""
CHANGE_COLUMN = "_change"
"""The column of a row's change in the feed: +1 where it entered the window, -1 where it left."""
AT_COLUMN = "_at"
"""The column of the instant at which it did."""
COMMIT_COLUMN = "_commit"
"""The column of the commit with which the row entered or left."""

Target = tuple[Shard, Range | None]
"""A shard to ask, and the ordinals in which its rows count; None for all of them."""


class Targets(list[Target]):
    """Whom to ask for a key."""

    def __init__(self, targets: Iterable[Target], in_order: bool) -> None:
        super().__init__(targets)
        self.in_order = in_order
        """Whether their answers, one after the other, are in the order of time."""


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

    def arranged(self, targets: list[Target]) -> Targets:
        """The targets of one shard, oldest first, as far as they lie apart in time."""

    def stretches(self, targets: Sequence[Target]) -> list[list[Target]]:
        """Targets of any shards in groups, each later than the one before it."""


def whole_number(name: str, value: Any, least: int) -> int:
    """The value of an option as a whole number. Raises BadDefinition."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise BadDefinition(f"{name}={value!r} is not a whole number of at least {least}.")
    return operator.index(value)


def whole(name: str, least: int = 1) -> Codec:
    """How such an option is kept."""
    return Codec(lambda value: value, lambda data: whole_number(name, data, least))


_KEY = Codec(
    lambda key: key if isinstance(key, str) else list(key),
    lambda data: data if isinstance(data, str) else tuple(data),
)
_BOUND = Codec(lambda bound: [bound.commits, bound.seconds], lambda data: Bound(data[0], data[1]))
_SLOTS = Codec(lambda slotting: slotting.to_json(), slots.from_json)


@dataclass(frozen=True, kw_only=True)
class Definition(ABC):
    """An index of any kind as it was created."""

    schema: pa.Schema = kept(SCHEMA)
    """The columns that are kept."""
    offered: pa.Schema = kept(SCHEMA)
    """The columns that a record has."""
    key: str | tuple[str, ...] = kept(_KEY)
    """The column of keys, or several."""
    position: str | None = kept()
    """The column that says where in a list of keys an entry's key stood, if that is kept."""
    pointer: tuple[str, str] | None = kept(maybe(pair(PLAIN)))
    """The two columns that say in which file and row an entry's record lies, if that is kept."""
    time: str | None = kept()
    """The column that `since` and `until` are compared with."""
    slotting: slots.Slotting = kept(_SLOTS, name="slots")
    """What cuts ordinals into slots. Entries are ordered by their ordinals."""
    update: str = kept()
    """The technique by which sub-indexes are updated."""
    shards: int = kept(whole("shards"))
    """How many shards there are."""
    format: str = kept(name="file_format")
    """What parts are written as."""
    nulls: str = kept()
    """What becomes of rows without a key: "error" or "skip"."""
    growth: float = kept(REAL)
    """How many times larger each room in buckets is than the one before."""
    first_room: int = kept(whole("first_room"))
    """The entries that the smallest room holds."""
    keep_commits: int = kept(whole("keep_commits"))
    """How many commits are kept."""
    keep_s: float = kept(REAL)
    """For how many seconds commits are kept, however many they are."""
    keep_followed: Bound = kept(_BOUND, default=NO_BOUND)
    """How long commits are kept that a follower has not read."""
    roots: tuple[str, ...] = kept(listed(PLAIN))
    """The folders over which sub-indexes are spread, if there are any."""
    former_formats: tuple[str, ...] = kept(listed(PLAIN), default=())
    """The formats that migrations have left."""
    history: str = kept(default="")
    """The method by which it is kept which keys were there when; empty where it is not."""
    identity: str = kept(default="")
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

    def lives(self, rows: pa.RecordBatch, at: Any) -> npt.NDArray[np.bool_]:
        """Which of the complete rows are not over when they come.

        `at` is what was said of their time.
        """
        return np.ones(rows.num_rows, np.bool_)

    @abstractmethod
    def view(self, manifest: Manifest) -> View:
        """What readers see of a commit."""

    @abstractmethod
    def state_of(self, manifest: Manifest) -> State | None:
        """The planner's state, None while nothing came. Raises ValueError where it is no state."""

    @abstractmethod
    def recent(self, manifest: Manifest, span: Any) -> int | None:
        """The first ordinal of the last part of a commit; None while nothing came.

        `span` is how long that part is. Raises BadTime.
        """

    @abstractmethod
    def reached(self, manifest: Manifest) -> int | None:
        """The instant as of which a commit is, as an ordinal; None while nothing came."""

    @property
    @abstractmethod
    def kept_as(self) -> str:
        """How it is kept, in a few words."""

    @property
    def unguessed(self) -> Any:
        """What is said of the time of rows before anything is known of it."""
        return None

    @property
    def only_named(self) -> Any:
        """What is said of the time of rows that only say which rows are meant."""
        return self.unguessed

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
        columns = {field.name: str(field.type) for field in self.schema}
        return {"format": FORMAT, "kind": self.kind, "columns": columns, **fields_to_json(self)}

    @classmethod
    def _from_json(cls, body: Mapping[str, Any], name: str) -> Self:
        try:
            # Before format 8 nothing was kept for followers, and no history.
            definition = cls(
                **fields_from_json(cls, {"keep_followed": [0, None], "history": "", **body})
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


def window_of(value: Any, slotting: slots.Slotting) -> int:
    """The number of slots of a window: as given, or of a length of time. Raises BadDefinition.

    A sub-index holds fewer than twice as many slots, which must be bits of one set.
    """
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, str | dt.timedelta):
        value = slotting.slots_in(value)
    window = whole_number("window", value, 1)
    if window > SPAN_MAX // 2:
        raise BadDefinition(
            f"window={window:,} is more than {SPAN_MAX // 2:,} slots. Choose longer slots, and "
            "fewer of them."
        )
    return window
