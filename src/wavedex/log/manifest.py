"""The state of an index after one commit.

It says which parts each sub-index is made of, and what the next write must know.

What a planner's state, an owed operation or the words of a kind of index mean is not its business:
those are plain JSON here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from wavedex.errors import (
    Damaged,
)
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import (
    base_of,
    check_part_file,
    commit_of,
)
from wavedex.log.codec import (
    BAD_JSON,
    PLAIN,
    TABLE,
    Codec,
    fields_from_json,
    fields_to_json,
    kept,
    listed,
    maybe,
    named,
    seal,
    unseal,
)
from wavedex.log.journal import Journal, came_after
from wavedex.log.ledger import Ledger
from wavedex.log.progress import SOURCES, Sources
from wavedex.log.told import Told
from wavedex.plan.slot_set import NO_SLOTS, slots_from_json, slots_to_json, union
from wavedex.store.part import Part, Slots, check_claims

OPEN = "open"
"""The name of the delta, beside the names that schemes give."""
PREPARE = "prepare"
"""What a commit is called that only works ahead."""


@dataclass(frozen=True)
class SubIndex:
    """A sub-index or temporary: the slots it covers, and its parts, shard by shard."""

    slots: Slots
    shards: tuple[tuple[Part, ...], ...]

    @property
    def parts(self) -> Iterator[Part]:
        """All parts of all shards."""
        return (part for parts in self.shards for part in parts)

    @property
    def is_over(self) -> bool:
        """Whether there is no part of it any more."""
        return not any(self.shards)

    @property
    def rows(self) -> int:
        """The rows in its files."""
        return sum(part.rows for part in self.parts)

    @property
    def rows_hidden(self) -> int:
        """The rows in its files that no longer count."""
        return sum(part.hidden.rows for part in self.parts if part.hidden is not None)

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(part.bytes for part in self.parts)

    @property
    def commit(self) -> int | None:
        """The last commit that wrote a file of its rows, by the names of its files.

        None where there is no such file.
        """
        refs = (ref for part in self.parts for ref in part.files.values())
        told = (commit_of(base_of(ref.name)) for ref in refs)
        return max((commit for commit in told if commit is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """As a manifest holds it."""
        shards = [[part.to_json() for part in parts] for parts in self.shards]
        return {"slots": slots_to_json(self.slots), "shards": shards}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SubIndex:
        """The sub-index that a manifest holds."""
        shards = tuple(tuple(map(Part.from_json, parts)) for parts in data["shards"])
        return cls(slots_from_json(data["slots"]), shards)


class Work(NamedTuple):
    """What one commit was expected to write, and what it wrote."""

    commit: int
    operation: str
    newest: int | None
    """The newest slot then."""
    predicted_bytes: int
    written_bytes: int
    planned_rows: int = 0
    """The rows that its plan expected. Forecasts for later commits of its kind go by them."""


_SUB_INDEX = Codec(SubIndex.to_json, SubIndex.from_json)
_FILE = Codec(
    lambda ref: [ref.name, ref.bytes, ref.checksum],
    lambda data: FileRef(check_part_file(data[0]), int(data[1]), str(data[2])),
)
_LEDGER = Codec(fields_to_json, lambda data: Ledger(**fields_from_json(Ledger, data)))


@dataclass(frozen=True)
class Manifest:
    """The state of an index after one commit. A field that is not given is as in a new index."""

    commit: int = kept()
    """Its number."""
    operation: str = kept()
    """What the change was called that led here: append, prepare, update ..."""
    written_at: str = kept()
    """When, in ISO format and UTC."""
    state: Mapping[str, Any] | None = kept(default=None)
    """The planner's state; None while the index is new."""
    indexes: Mapping[str, SubIndex] = kept(named(_SUB_INDEX), make=dict)
    """The sub-indexes."""
    temps: Mapping[str, SubIndex] = kept(named(_SUB_INDEX), make=dict)
    """The temporaries, which no reader sees."""
    draining: Mapping[str, SubIndex] = kept(named(_SUB_INDEX), make=dict)
    """The sub-indexes from before a migration. They stay until their slots are over."""
    open: SubIndex | None = kept(maybe(_SUB_INDEX), default=None)
    """The delta: what came for slots that are not sealed yet."""
    owed: tuple[Mapping[str, Any], ...] = kept(listed(PLAIN), default=())
    """The operations of a preparation that was not done yet."""
    batch: str = kept(default="")
    """The identity of the last append, including rows it expired at once."""
    ledger: Ledger = kept(_LEDGER, make=Ledger)
    """For each slot its rows, and what it was delivered with."""
    totals: Mapping[str, int] = kept(TABLE, make=dict)
    """What was counted since the beginning."""
    sources: Sources = kept(SOURCES, make=Sources)
    """How far streams and other sources have come."""
    settings: Mapping[str, Any] = kept(TABLE, make=dict)
    """What migrations have changed of the definition."""
    work: tuple[Work, ...] = kept(listed(Codec(list, lambda data: Work(*data))), default=())
    """What the last transitions were expected to write, and what they wrote."""
    floor: int = kept(default=0)
    """The oldest commit that may be kept. Those before it have rows that were erased."""
    own: Mapping[str, Any] = kept(TABLE, make=dict)
    """What only its kind of index knows, as plain JSON."""
    tokens: tuple[str, ...] = kept(listed(PLAIN), default=())
    """The tokens of the last commits, its own last.

    No two attempts have the same token, so no two manifests have the same bytes.
    """
    definition: str = kept(default="")
    """The checksum of what the index was created as."""
    told: FileRef | None = kept(maybe(_FILE), default=None)
    """The rows that came or went with this commit and of which its parts do not tell."""
    tells: bool = kept(default=True)
    """Whether it tells of such rows, if there were any. An earlier Wavedex did not."""

    def follows(self, other: Manifest) -> bool | None:
        """Whether it is another manifest, or came to be on top of it.

        None where that is too long ago to tell.
        """
        return came_after(self, other)

    @property
    def shown(self) -> dict[str, SubIndex]:
        """What readers look at: the sub-indexes, those that drain, and the delta."""
        delta = {} if self.open is None else {OPEN: self.open}
        return {**self.indexes, **self.draining, **delta}

    @property
    def everything(self) -> dict[str, SubIndex]:
        """Sub-indexes, temporaries and the delta."""
        return {**self.shown, **self.temps}

    @property
    def open_slots(self) -> Slots:
        """The slots that are not sealed yet."""
        return NO_SLOTS if self.open is None else self.open.slots

    @property
    def away(self) -> Slots:
        """The slots whose rows lie in sub-indexes that drain, whatever the scheme's state says."""
        return union(sub.slots for sub in self.draining.values())

    @property
    def held_slots(self) -> Slots:
        """The slots that are in a sub-index, with or without rows.

        A sub-index that drains counts only while it has parts.
        """
        subs = (
            sub for name, sub in self.shown.items() if name not in self.draining or not sub.is_over
        )
        return union(sub.slots for sub in subs)

    @property
    def files(self) -> dict[str, FileRef]:
        """Every file that it names."""
        subs = self.everything.values()
        data = {ref.name: ref for sub in subs for part in sub.parts for ref in part.all_files}
        others = [each.file for each in self.ledger.segments]
        if self.told is not None:
            others.append(self.told)
        return {**data, **{ref.name: ref for ref in others}}

    @property
    def rows(self) -> Mapping[int, int]:
        """How many rows each slot has. COST: that of the whole ledger."""
        return self.ledger.all_rows

    @property
    def delivered(self) -> Mapping[int, str]:
        """What each slot was delivered with. COST: that of the whole ledger."""
        return self.ledger.all_delivered

    def only(self, shard: int, name: str | None = None) -> Manifest:
        """What a reader of one shard must know, of all sub-indexes or of one.

        It is enough to read, and not to write.
        """
        shown = {
            each: SubIndex(
                sub.slots, tuple(p if n == shard else () for n, p in enumerate(sub.shards))
            )
            for each, sub in self.shown.items()
            if name in (None, each)
        }
        slots = (
            SubIndex(self.open_slots, ((),) * len(next(iter(shown.values())).shards))
            if shown
            else None
        )
        return replace(
            self,
            state=None if self.state is None else {"newest": self.state["newest"]},
            open=shown.pop(OPEN, slots),
            indexes=shown,
            temps={},
            draining={},
            owed=(),
            ledger=Ledger(),
            work=(),
            tokens=(),
        )

    @property
    def is_preparation(self) -> bool:
        """Whether it only works ahead."""
        return self.operation == PREPARE

    def to_bytes(self) -> bytes:
        """The content of its file: JSON, with a checksum over the rest."""
        return seal("manifest", fields_to_json(self))

    @classmethod
    def from_bytes(cls, data: bytes, name: str, files: AnyFiles | None = None) -> Manifest:
        """The manifest in a file's content. Raises Damaged where it is not what was written.

        The rest of its ledger is read from `files` when it is asked for.
        """
        try:
            body = _as_of_now(unseal("manifest", data))
            check_claims(body)
            found = cls(**fields_from_json(cls, body))
            return replace(found, ledger=replace(found.ledger, files=files))
        except BAD_JSON as error:
            raise Damaged(f"{name} is no manifest ({error})") from error


@dataclass(frozen=True, kw_only=True)
class Notes:
    """What a change notes in its manifest beside parts and slots.

    What is not given stays as it was.
    """

    batch: str | None = None
    """What an append is known by, should it come again."""
    delivered: Mapping[int, str] = field(default_factory=dict)
    """What new slots were delivered with."""
    gone: Mapping[int, int] = field(default_factory=dict)
    """How many rows fewer slots have, as numbers below 0."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """What is added to the counts since the beginning."""
    sources: Sources = field(default_factory=Sources)
    """How far streams and other sources have come."""
    settings: Mapping[str, Any] | None = None
    """What migrations have changed of the definition."""
    floor: int | None = None
    """The oldest commit that may be kept from then on."""
    own: Mapping[str, Any] | None = None
    """What only the kind of index knows."""
    told: Told | None = None
    """The rows that come or go and of which the parts will not tell."""


def _as_of_now(body: dict[str, Any]) -> dict[str, Any]:
    """What an index of format 5 or 6 has in its manifests, as they are written now."""
    body = {"told": None, "tells": "told" in body, **body}  # new with format 7
    if "own" in body:
        return body
    ledger = {name: body[name] for name in ("delivered", "rows")}
    return {
        **body,
        "ledger": {**ledger, "segments": body["ledger"]},
        "sources": {name: body[name] for name in ("streams", "marks")},
        "own": {name: body[name] for name in ("now", "arrivals", "drained_at")},
    }


class Log(Journal[Manifest]):
    """The manifests of one index."""

    def __init__(self, files: AnyFiles) -> None:
        super().__init__(files, Manifest.from_bytes)
