"""Partially persistent hashing (Section 4): a hashing of what is alive, and the history of each of
its buckets.

A question goes to the bucket in which the id would have been at the version, and there to the pages
that were useful then: about two pages, however long the history.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from wavedex.temporal.changes import I32, I64, BucketPages, Changes, Lifespans
from wavedex.temporal.hashing.catalogue import hashing_of
from wavedex.temporal.hashing.contract import Hashing
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods import persistent_kernels as kernels
from wavedex.temporal.methods.contract import Arrays, Method
from wavedex.temporal.methods.histories import Histories
from wavedex.temporal.soundness import Known

ORDERED_MIN = 4_096
"""So many questions are put in the order of their buckets, whose pages are then at hand."""


class Persistent(Method):
    """A hashing, and the histories of its buckets."""

    store: Histories

    def __init__(self, layout: Layout, settings: Any) -> None:
        super().__init__(layout, settings)
        self.hashing = self._hashing(settings, layout)
        self.store = self._histories(settings)
        self._events = Events()

    def _hashing(self, settings: Any, layout: Layout) -> Hashing:
        """A hashing of what is alive, of nobody yet."""
        return hashing_of(settings, layout.records)

    @abstractmethod
    def _histories(self, settings: Any) -> Histories:
        """Histories of buckets, all empty."""

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""
        return {**self.hashing.arrays, **self.store.arrays}

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""
        self.hashing.restore(arrays)
        self.store.restore(arrays)

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        self.hashing.check(known)
        self.store.check(known)

    @property
    def pages(self) -> int:
        """Pages of records, and of what leads to them in each bucket."""
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
        """What `find` says of each of many. COST: large batches are asked a bucket at a time."""
        buckets = self.hashing.buckets_at(ids, versions)
        if len(ids) < ORDERED_MIN:
            return self.store.find_many(buckets, ids, versions)
        order = np.empty(len(ids), np.int32)
        kernels.in_order(buckets, np.zeros(self.hashing.buckets + 1, np.int32), order)
        found = np.empty(len(ids), np.int32)
        found[order] = self.store.find_many(buckets[order], ids[order], versions[order])
        return found

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
