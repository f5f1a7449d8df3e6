"""A part: one built piece of a sub-index in one shard, as a manifest names it.

A sub-index is made of parts: one if it is packed, several while runs wait to be merged. A part's
files hold the rows of some slots. The part also says how much of that is shown. A sub-index may
show only the youngest slots: a slot that was deleted from it, or that another sub-index took over,
can stay in the file until the file goes. Plain JSON both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wavedex.files.contract import FileRef
from wavedex.files.names import check_part_file
from wavedex.plan.slot_set import (
    NO_SLOTS,
    SPAN_MAX,
    first_of,
    last_of,
    ranges_of,
    slots_before,
    slots_from,
    slots_from_json,
    slots_of,
    slots_to_json,
)
from wavedex.plan.slot_set import Slots as Slots
from wavedex.slots import Slotting

SLOTS_MAX = 1 << 29
"""How many slots all that is in one manifest may claim together: 64 megabytes, at a bit each.

A manifest of a few kilobytes could claim any number. A window of 86,400 slots in 32 shards claims
six million.
"""
FAR_BITS = 512
"""What a slot takes if it lies too far from others to be a bit beside theirs."""
_SLOT_LISTS = ("slots", "held", "shown", "born", "births")
_LAYOUTS = ("indexes", "temps", "births")


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a sub-index in one shard."""

    store: str
    """The kind of its files."""
    files: Mapping[str, FileRef]
    """The files by their role."""
    held: Slots
    """The slots of which the files have rows."""
    shown: Slots
    """The slots that count."""
    rows: int
    """The number of rows in the files."""
    content: int | None = None
    """The order-free hash of the rows, if the files grow in place and so have no checksum."""
    hidden: Part | None = None
    """A part of rows that do not count any more. Each of them stands in the files too.

    It goes when the part is next written.
    """
    born: Slots = NO_SLOTS
    """The slots in which rows were inserted, and perhaps more, if rows are ordered by end."""

    def __hash__(self) -> int:
        return hash((self.store, *self.files.values(), self.hidden))

    def is_same(self, other: Part) -> bool:
        """Whether the same rows of the same files are to be read, whatever is shown of them."""
        return (self.files, self.hidden) == (other.files, other.hidden)

    @property
    def all_files(self) -> list[FileRef]:
        """Its files, and those of the rows that are hidden."""
        own = [*self.files.values()]
        return own if self.hidden is None else [*own, *self.hidden.all_files]

    def show(self, slots: Iterable[int]) -> Part:
        """The same files with fewer slots shown."""
        return replace(self, shown=self.shown & slots_of(slots))

    @property
    def is_whole(self) -> bool:
        """Whether every row in the files counts."""
        return self.shown == self.held

    def runs(self, slots: Slots) -> list[tuple[int, int]]:
        """The first and last slot of each run of `slots`.

        A run ends only at a held slot that is not among them. Rows of slots that the part does not
        hold cannot be met, so a gap in `held` does not end a run.
        """
        runs: list[tuple[int, int]] = []
        held = slots_of(self.held)
        left, others = held & slots_of(slots), held - slots_of(slots)
        while left:
            first = first_of(left)
            others = slots_from(others, first)
            run = slots_before(left, first_of(others)) if others else left
            runs.append((first, last_of(run)))
            left = left - run
        return runs

    def ranges(self, slots: Slots, slotting: Slotting) -> list[tuple[int, int] | None]:
        """The ranges of ordinals in which rows of these slots lie; None stands for all of them."""
        if slots >= self.held:
            return [None]
        return [(slotting.start(first), slotting.stop(last)) for first, last in self.runs(slots)]

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(file.bytes for file in self.all_files)

    def to_json(self) -> dict[str, Any]:
        """As a manifest holds it."""
        return {
            "store": self.store,
            "files": {
                role: {
                    "name": check_part_file(file.name),
                    "bytes": file.bytes,
                    "checksum": file.checksum,
                }
                for role, file in self.files.items()
            },
            "held": slots_to_json(self.held),
            "shown": slots_to_json(self.shown),
            "rows": self.rows,
            "content": None if self.content is None else f"{self.content:016x}",
            **({} if self.hidden is None else {"hidden": self.hidden.to_json()}),
            **({"born": slots_to_json(self.born)} if self.born else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Part:
        """The part in a manifest. Raises NotOurs where a file has a name that we do not give."""
        return cls(
            store=data["store"],
            files={
                role: FileRef(check_part_file(file["name"]), file["bytes"], file["checksum"])
                for role, file in data["files"].items()
            },
            held=from_ranges(data["held"]),
            shown=from_ranges(data["shown"]),
            rows=data["rows"],
            content=None if data["content"] is None else int(data["content"], 16),
            hidden=cls._hidden(data["hidden"]) if "hidden" in data else None,
            born=from_ranges(data.get("born", [])),
        )

    @classmethod
    def _hidden(cls, data: Mapping[str, Any]) -> Part:
        """The hidden rows of a part.

        They hide no rows themselves, or a manifest could go as deep as it likes.
        """
        if "hidden" in data:
            raise ValueError("rows are hidden of hidden rows")
        return cls.from_json(data)


def to_ranges(slots: Iterable[int]) -> list[list[int]]:
    """Slots as a short list of inclusive ranges.

    >>> to_ranges({3, 4, 5, 11})
    [[3, 5], [11, 11]]
    """
    return ranges_of(slots)


def from_ranges(ranges: object) -> Slots:
    """The slots of such a list, or of what a manifest holds in its place.

    >>> sorted(from_ranges([[3, 5], 11]))
    [3, 4, 5, 11]
    """
    return slots_from_json(ranges)


def check_claims(manifest: Mapping[str, Any]) -> None:
    """Raise ValueError where a manifest, as plain JSON, claims more slots than it may.

    Makes none of these slots.
    """
    state = manifest["state"] or {}
    groups = [manifest[name] for name in ("indexes", "temps", "draining")]
    subs = [sub for group in groups for sub in group.values()]
    layouts = [each for name in _LAYOUTS for each in state.get(name, {}).values()]
    claimed = sum(map(_claimed, [*subs, manifest["open"] or {}, *manifest["owed"]]))
    claimed += sum(map(_room_for, layouts))
    if claimed > SLOTS_MAX:
        raise ValueError(f"it claims {claimed:,} slots, more than {SLOTS_MAX:,}")


def _claimed(data: Mapping[str, Any]) -> int:
    """How many slots a sub-index, a part or an operation claims, with all that belongs to it."""
    inner = [part for parts in data.get("shards", ()) for part in parts]
    if "hidden" in data:
        inner.append(data["hidden"])
    own = sum(_room_for(data[name]) for name in _SLOT_LISTS if name in data)
    return own + sum(map(_claimed, inner))


def _room_for(listed: Iterable[int | list[Any]]) -> int:
    """How many slots side by side take as much memory as this list of slots, ranges and bitmaps."""
    spans = [_span_of(each) for each in listed]
    if not spans:
        return 0
    first, stop = min(start for start, _ in spans), max(stop for _, stop in spans)
    if stop - first <= SPAN_MAX:
        return stop - first
    return FAR_BITS * sum(stop - start for start, stop in spans)


def _span_of(each: int | list[Any]) -> tuple[int, int]:
    """The first slot, and the one past the last, for which a slot, a range or a bitmap has room."""
    if isinstance(each, int):
        return each, each + 1
    first, last = each
    return first, first + 6 * len(last) if isinstance(last, str) else max(first, last + 1)
