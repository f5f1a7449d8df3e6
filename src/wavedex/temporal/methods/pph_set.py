"""Partially persistent hashing with evolving sets (Section 4.1): a hashing of what is alive, and a
Snapshot Index for each of its buckets.

A question goes to the bucket in which the id would have been at the version, and there to the pages
that were useful then: about two pages, however long the history. That holds while the load of the
hashing stays below the usefulness of pages (Section 4.1.2), so that a bucket is in one page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wavedex.errors import BadDefinition
from wavedex.temporal.changes import I32, I64, BucketPages, Changes, Lifespans
from wavedex.temporal.hashing.catalogue import HashingSettings, hashing_of
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.contract import Arrays, Method
from wavedex.temporal.methods.snapshot_store import SnapshotStore


@dataclass(frozen=True)
class PphSetSettings(HashingSettings):
    """What can be set of `pph-s`."""

    usefulness: float = 0.3
    """u: a full page is useful while this part of its records is alive. From 0 to 1."""
    trees: str = "memory"
    """Where the upper levels of time-trees count as being: in `memory`, or on `disk`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_usefulness(self.usefulness)
        if self.trees not in ("memory", "disk"):
            raise BadDefinition(f"trees={self.trees!r} is neither 'memory' nor 'disk'.")


def check_usefulness(usefulness: float) -> None:
    """Raise BadDefinition where this cannot be a usefulness."""
    if not 0 < usefulness <= 1:
        raise BadDefinition(
            f"usefulness={usefulness!r} is no part of a page. Give a number above 0, up to 1, such "
            "as 0.3."
        )


class PphSet(Method):
    """Partially persistent hashing with evolving sets."""

    name = "pph-s"
    settings = PphSetSettings

    def __init__(self, layout: Layout, settings: Any) -> None:
        super().__init__(layout, settings)
        self.hashing = hashing_of(settings, layout.records)
        on_disk = settings.trees == "disk"
        self.store = SnapshotStore(layout, settings.usefulness, on_disk, self.io)
        self._events = Events()

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""
        return {**self.hashing.arrays, **self.store.arrays}

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""
        self.hashing.restore(arrays)
        self.store.restore(arrays)

    @property
    def pages(self) -> int:
        """Pages of records and of time-trees."""
        return self.store.pages

    def apply(self, changes: Changes) -> None:
        """Take changes in."""
        entries = int(changes.entries.max(initial=-1)) + 1
        done = 0
        while done < len(changes):
            done = self.hashing.plan(changes, done, self._events)
            self.store.apply(self._events, self.hashing.buckets, entries)

    def find(self, oid: int, version: int) -> int:
        """The pointer of an id at a version; -2 where it is not alive."""
        return self.store.find(self.hashing.bucket_at(oid, version), oid, version)

    def find_many(self, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many."""
        return self.store.find_many(self.hashing.buckets_at(ids, versions), ids, versions)

    def alive_at(self, version: int) -> tuple[I64, I32]:
        """All ids at a version, and their pointers."""
        return self.store.alive_at(self.hashing.used_at(version), version)

    def lifespans(self, oid: int) -> Lifespans:
        """All lifespans of an id."""
        return self.store.lifespans(oid, self.hashing.buckets_ever(oid))

    def was_alive(self, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive at some version of a span."""
        buckets = self.hashing.buckets_of(oid, since, until).tolist()
        return any(self.store.was_alive(bucket, oid, since, until) for bucket in buckets)

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""
        return self.store.everything()

    @property
    def buckets(self) -> int:
        """How many buckets there ever were."""
        return self.hashing.buckets

    def pages_of(self, bucket: int) -> BucketPages:
        """The pages of a bucket."""
        return self.store.pages_of(bucket)

    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
        yield from self.hashing.findings()
        yield from self.store.findings(self.hashing.alive)
