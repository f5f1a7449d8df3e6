"""A part: one built piece of a sub-index in one shard, as a manifest names it, and how much of it is shown.

A sub-index is made of parts: one where it is packed, several while runs wait to be merged. A part's files hold the rows of
some slots; a sub-index may show only the youngest of them, because a slot that was deleted from it, or that another
sub-index took over, can stay in the file until the file goes. Plain JSON both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wavedex.slots import Slotting
from wavedex.store.access import FileRef

Slots = frozenset[int]


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a sub-index in one shard.

    `store` is the kind of its files, `files` the files by their role, `held` the slots of which they have rows, `shown`
    those that count, `rows` the number of rows in the files, `content` their order-free hash where the files grow in
    place and so have no checksum. `hidden` is a part of rows that do not count any more, each of which stands in the files
    too; it goes when the part is next written. `born` are the slots in which rows were inserted, where they are ordered by
    their ends, and perhaps more.
    """

    store: str
    files: Mapping[str, FileRef]
    held: Slots
    shown: Slots
    rows: int
    content: int | None = None
    hidden: Part | None = None
    born: Slots = frozenset()

    def __hash__(self) -> int:
        return hash((self.store, *self.files.values(), self.shown, self.hidden))

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
        return replace(self, shown=self.shown & frozenset(slots))

    @property
    def is_whole(self) -> bool:
        """Whether every row in the files counts."""
        return self.shown == self.held

    def runs(self, slots: Slots) -> list[tuple[int, int]]:
        """The first and last slot of each run of `slots`, where a run ends only at a held slot that is not among them.

        Rows of slots that the part does not hold cannot be met, so a gap in `held` does not end a run.
        """
        runs: list[tuple[int, int]] = []
        open_run = False
        for slot in sorted(self.held):
            if slot not in slots:
                open_run = False
            elif open_run:
                runs[-1] = (runs[-1][0], slot)
            else:
                runs.append((slot, slot))
                open_run = True
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
                role: {"name": file.name, "bytes": file.bytes, "checksum": file.checksum}
                for role, file in self.files.items()
            },
            "held": to_ranges(self.held),
            "shown": to_ranges(self.shown),
            "rows": self.rows,
            "content": None if self.content is None else f"{self.content:016x}",
            **({} if self.hidden is None else {"hidden": self.hidden.to_json()}),
            **({"born": to_ranges(self.born)} if self.born else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Part:
        """The part that a manifest holds."""
        return cls(
            store=data["store"],
            files={
                role: FileRef(file["name"], file["bytes"], file["checksum"])
                for role, file in data["files"].items()
            },
            held=from_ranges(data["held"]),
            shown=from_ranges(data["shown"]),
            rows=data["rows"],
            content=None if data["content"] is None else int(data["content"], 16),
            hidden=cls.from_json(data["hidden"]) if "hidden" in data else None,
            born=from_ranges(data.get("born", [])),
        )


def to_ranges(slots: Iterable[int]) -> list[list[int]]:
    """Slots as a short list of inclusive ranges.

    >>> to_ranges({3, 4, 5, 11})
    [[3, 5], [11, 11]]
    """
    ranges: list[list[int]] = []
    for slot in sorted(slots):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1][1] = slot
        else:
            ranges.append([slot, slot])
    return ranges


def from_ranges(ranges: Iterable[Iterable[int]]) -> Slots:
    """The slots of such a list.

    >>> sorted(from_ranges([[3, 5], [11, 11]]))
    [3, 4, 5, 11]
    """
    return frozenset(slot for since, until in ranges for slot in range(since, until + 1))
