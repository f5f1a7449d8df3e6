"""One shard's share of a change, as it is handed to a thread or sent to a task of Spark's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from wavedex.engine.change import Attempt, Places
from wavedex.engine.draft import Draft
from wavedex.plan.slot_set import union
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Share


@dataclass(frozen=True)
class Incoming:
    """The rows that a change brings for one shard, and those that it takes out by name."""

    rows: Share
    """Those in memory, perhaps none."""
    staged: tuple[Part, ...]
    """Parts that lie on disk already."""
    mixed: bool
    """Whether those parts have rows of other shards too, which do not count."""
    births: tuple[Slots, ...]
    """The births that operations tell apart."""
    keys: pa.Array | None
    """The keys to erase, if this shard owns any."""
    hidden: Places
    """The rows to hide."""

    @property
    def is_read(self) -> bool:
        """Whether staged parts must be read, because not all of their rows go the same way."""
        return bool(self.staged) and (self.mixed or len(self.births) > 1)

    @property
    def all_births(self) -> Slots:
        """Every birth that operations name."""
        return union(self.births)


@dataclass(frozen=True)
class ShardTask:
    """One shard's share of a change."""

    shard: int
    shards: int
    """How many there are."""
    attempt: Attempt
    drafts: Mapping[str, Draft]
    """What becomes of every sub-index and temporary."""
    shown: tuple[Part, ...]
    """The parts that readers see now."""
    incoming: Incoming
    homes: Mapping[str, str]
    """The folder for new files of each name."""
    draining: frozenset[str]
    """The names of sub-indexes from before a migration."""


class Settled(NamedTuple):
    """What came of one shard's share."""

    parts: dict[str, tuple[Part, ...]]
    """The parts of every name that there is then."""
    written: dict[str, int]
    """The bytes that were written to each file."""
