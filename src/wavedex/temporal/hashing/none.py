"""No hashing at all: one bucket, in which everybody is (a Snapshot Index by itself)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, Changes
from wavedex.temporal.hashing.contract import Hashing
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.soundness import Known, demand_shape

_ONE: I32 = np.zeros(1, np.int32)


class OneBucket(Hashing):
    """Everything in bucket 0."""

    name = "none"

    def __init__(self) -> None:
        self._alive: I64 = np.zeros(1, np.int64)

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """How many ids are alive."""
        return {"hash_alive": self._alive}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""
        self._alive = np.array(arrays["hash_alive"])

    def check(self, known: Known) -> None:
        """Raise Damaged where another number of ids is alive."""
        demand_shape(self._alive, known.is_alive.sum(keepdims=True), [0], "how many are alive")

    @property
    def buckets(self) -> int:
        """One."""
        return 1

    def plan(self, changes: Changes, start: int, events: Events) -> int:
        """Take changes in as they are."""
        stop = min(len(changes), start + events.room)
        span, count = slice(start, stop), stop - start
        events.buckets[:count] = 0
        events.ids[:count] = changes.ids[span]
        events.versions[:count] = changes.versions[span]
        events.kinds[:count] = changes.signs[span]
        events.entries[:count] = changes.entries[span]
        events.pointers[:count] = changes.pointers[span]
        events.count = count
        self._alive += changes.signs[span].sum(dtype=np.int64)
        return stop

    def bucket_at(self, oid: int, version: int) -> int:
        """The one that there is."""
        return 0

    def buckets_at(self, ids: I64, versions: I32) -> I32:
        """The one that there is, for each."""
        return np.zeros(len(ids), np.int32)

    def used_at(self, version: int) -> I32:
        """The one that there is."""
        return _ONE

    def buckets_of(self, oid: int, since: int, until: int) -> I32:
        """The one that there is."""
        return _ONE

    def buckets_ever(self, oid: int) -> I32:
        """The one that there is."""
        return _ONE

    @property
    def alive(self) -> int:
        """How many ids are alive."""
        return int(self._alive[0])

    def findings(self) -> Iterator[str]:
        """What is wrong: nothing that the pages do not tell."""
        yield from ()
