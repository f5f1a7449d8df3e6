"""Extendible hashing: a directory leads to buckets, and is doubled where one needs another bit.

The second ephemeral hashing, as the paper's method is independent of it (Section 6). A bucket is
split by its own load, not by that of all: controlled where its load is above g, uncontrolled where
it has more than a page. Two that were one are merged where their load together is below f. The
directory is halved when no bucket needs its last bit.

Its history is the depth of the directory as of each version at which that changed, and when each
bucket came and went. An id was in the bucket whose number is the longest ending of its hash that
was the number of a bucket then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, NOW, Changes
from wavedex.temporal.growing import Growing
from wavedex.temporal.hashing import extendible_kernels as kernels
from wavedex.temporal.hashing.contract import Hashing
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.hashing.lists import Lists, check_lists
from wavedex.temporal.soundness import Known, are_in, demand, demand_shape

LONG_AGO = -(2**31)
"""The version as of which the first buckets were there."""
_NO_BUCKET = "the hashing leads to a bucket that is not there"
_AS_MADE = [kernels.LEAST, kernels.ABOVE, kernels.BELOW, kernels.MIXED]
_COUNTED = [kernels.HISTORY, kernels.MOST, kernels.TURNS, kernels.ALIVE, kernels.DEEPEST]
ROOM = 1024
"""For how many lines of the history and turns there is room before changes are planned."""


class ExtendibleHashing(Hashing):
    """Buckets of what is alive, by extendible hashing."""

    name = "extendible"

    def __init__(
        self, first: int, records: int, low: float, high: float, mixed: bool, controlled: bool
    ) -> None:
        """Begin with the next power of two of `first` buckets, of pages with so many records."""
        least = (first - 1).bit_length()
        cells = 1 << least
        self._shape: I64 = np.zeros(11, np.int64)
        self._shape[[kernels.DEPTH, kernels.LEAST]] = least
        self._shape[[kernels.MOST, kernels.DEEPEST, kernels.TURNS]] = cells
        self._shape[[kernels.HISTORY, kernels.LONGEST]] = 1
        above = max(1, math.floor(high * records)) if controlled else records
        self._shape[kernels.ABOVE] = above
        self._shape[kernels.BELOW] = min(math.ceil(low * records), above + 1)
        self._shape[kernels.MIXED] = mixed
        self._history = Growing(np.int32, 2)
        self._directory, self._depths = Growing(np.int32), Growing(np.int32)
        self._heads, self._counts = Growing(np.int32, fill=-1), Growing(np.int32)
        self._lines, self._turns = Growing(np.int32, 3), Growing(np.int32)
        self._after, self._before = Growing(np.int32, fill=-1), Growing(np.int32, fill=-1)
        self._hashes = Growing(np.int64)
        for each in (self._history, *self._by_number, self._turns):
            each.reserve(cells)
        self._history.room[0] = LONG_AGO, least
        numbers = np.arange(cells)
        self._directory.room[:cells] = self._lines.room[:cells, kernels.BEGIN] = numbers
        self._lines.room[:cells, [kernels.COUNT, kernels.ROOM]] = 1
        self._depths.room[:cells] = least
        self._turns.room[:cells] = LONG_AGO
        self._made = self._shape.copy()

    @property
    def _by_number(self) -> tuple[Growing, ...]:
        """What has a place for each number of a bucket, the directory first."""
        return self._directory, self._depths, self._heads, self._counts, self._lines

    @property
    def depth(self) -> int:
        """How many bits lead through the directory now."""
        return int(self._shape[kernels.DEPTH])

    @property
    def buckets(self) -> int:
        """How many numbers of buckets there ever were."""
        return int(self._shape[kernels.MOST])

    @property
    def directory(self) -> I32:
        """The bucket of each ending of a hash."""
        found: I32 = self._directory.room[: 1 << self.depth]
        return found

    @property
    def history(self) -> I32:
        """In the place of the array H: version and depth, a line for each change of it."""
        found: I32 = self._history.room[: self._shape[kernels.HISTORY]]
        return found

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that it keeps."""
        return {
            "hash_shape": self._shape,
            "hash_history": self.history,
            "hash_directory": self.directory,
            "hash_depths": self._depths.room[: self.buckets],
            "hash_heads": self._heads.room[: self.buckets],
            "hash_counts": self._counts.room[: self.buckets],
            "hash_lines": self._lines.room[: self.buckets],
            "hash_turns": self._turns.room[: self._shape[kernels.TURNS]],
            "hash_after": self._after.used,
            "hash_before": self._before.used,
            "hash_hashes": self._hashes.used,
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""
        self._shape = np.array(arrays["hash_shape"])
        self._history.restore(arrays["hash_history"])
        self._directory.restore(arrays["hash_directory"])
        self._depths.restore(arrays["hash_depths"])
        self._heads.restore(arrays["hash_heads"])
        self._counts.restore(arrays["hash_counts"])
        self._lines.restore(arrays["hash_lines"])
        self._turns.restore(arrays["hash_turns"])
        self._after.restore(arrays["hash_after"])
        self._before.restore(arrays["hash_before"])
        self._hashes.restore(arrays["hash_hashes"])

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        shape = self._shape
        demand_shape(shape, self._made, _AS_MADE, "the hashing")
        least, depths = int(shape[kernels.LEAST]), self._depths.used
        ever = np.append(self._history.used[:, 1], shape[kernels.DEPTH])
        demand(are_in(ever, least, kernels.DEPTH_MOST + 1), "its directory has no such depth")
        counts = [self._history.count, len(depths), self._turns.count, int(known.is_alive.sum())]
        counts += [(depths == self.depth).sum()]
        demand(counts[0] and counts == shape[_COUNTED].tolist(), "the hashing is counted wrongly")
        self._check_buckets(least)
        places = np.flatnonzero(known.is_alive)
        demand(len(places) == 0 or places[-1] < self._hashes.count, _NO_BUCKET)
        cells = self._hashes.room[places] & ((1 << self.depth) - 1)
        links = self._after.used, self._before.used
        check_lists(
            Lists(self._heads.used, self._counts.used, *links), places,
            self.directory[cells].astype(np.int64),
        )  # fmt: skip

    def _check_buckets(self, least: int) -> None:
        """Raise Damaged where the directory or a line leads to what is not there."""
        depths, leads, lines = self._depths.used, self._directory.used, self._lines.used
        numbers = np.arange(len(depths))
        demand(len(leads) == 1 << self.depth, _NO_BUCKET)
        demand(are_in(leads, 0, len(depths)) and len(lines) == len(depths), _NO_BUCKET)
        used = depths >= 0
        demand(are_in(depths[used], least, self.depth + 1), _NO_BUCKET)
        demand((numbers[used] >> depths[used] == 0).all() and used[leads].all(), _NO_BUCKET)
        endings = np.arange(len(leads)) & ((1 << depths[leads].astype(np.int64)) - 1)
        demand((leads == endings).all(), _NO_BUCKET)
        begin, count, room = lines.astype(np.int64).T
        ends = begin + room
        fits = (begin >= 0) & (count >= 0) & (count <= room) & (ends <= self._turns.count)
        longest = int(self._shape[kernels.LONGEST])
        demand(fits.all() and 0 <= longest <= self._turns.count, "a bucket has turns nowhere")

    # -- changing -----------------------------------------------------------------------------

    def plan(self, changes: Changes, start: int, events: Events) -> int:
        """Take changes in from `start` on; the first that was not."""
        self._make_room(changes, start, events)
        at, events.count = kernels.plan(
            changes.ids, changes.versions, changes.signs, changes.entries, changes.pointers, start,
            self._shape, self._history.room, self._directory.room, self._depths.room,
            self._heads.room, self._counts.room, self._lines.room, self._turns.room,
            self._after.room, self._before.room, self._hashes.room,
            events.buckets, events.ids, events.versions, events.kinds, events.entries,
            events.pointers,
        )  # fmt: skip
        return int(at)

    def _make_room(self, changes: Changes, start: int, events: Events) -> None:
        entries = int(changes.entries[start:].max(initial=-1)) + 1
        for each in (self._after, self._before, self._hashes):
            each.reserve(entries)
            each.count = max(each.count, entries)
        self._history.reserve(int(self._shape[kernels.HISTORY]) + ROOM)
        for each in self._by_number:
            each.reserve(max(2 << self.depth, self.buckets))
        turning = (self.depth + 1) * (2 * int(self._shape[kernels.LONGEST]) + kernels.ROOM_MIN)
        self._turns.reserve(int(self._shape[kernels.TURNS]) + ROOM + turning)
        largest = int(self._counts.room[: self.buckets].max(initial=0)) + 1
        moving = max(largest, (self.depth + 1) * int(self._shape[kernels.BELOW]))
        if 3 + 2 * moving > events.room:
            events.make_room(2 * (3 + 2 * moving))

    # -- asking -------------------------------------------------------------------------------

    def bucket_at(self, oid: int, version: int) -> int:
        """The bucket of an id at a version."""
        return int(
            kernels.bucket_at(
                oid, version, self._shape, self._history.room, self._lines.room, self._turns.room
            )
        )

    def buckets_at(self, ids: I64, versions: I32) -> I32:
        """The bucket of each id at its version."""
        found = np.empty(len(ids), np.int32)
        kernels.buckets_at(
            ids, versions, self._shape, self._history.room, self._lines.room, self._turns.room,
            found,
        )  # fmt: skip
        return found

    def used_at(self, version: int) -> I32:
        """The buckets that there were at a version."""
        found = np.empty(self.buckets, np.int32)
        lines, turns = self._lines.room, self._turns.room
        return found[: kernels.used_at(version, self._shape, lines, turns, found)]

    def buckets_of(self, oid: int, since: int, until: int) -> I32:
        """The buckets that an id may have been in, each once."""
        least, deepest = int(self._shape[kernels.LEAST]), int(self.history[:, 1].max())
        last = self._ending(oid, deepest)
        endings = {last & ((1 << depth) - 1) for depth in range(least, deepest + 1)}
        turns = np.concatenate([self._turns_of(each) for each in endings])
        versions = np.unique(turns[(since < turns) & (turns <= until)])
        versions = np.append(np.int32(since), versions).astype(np.int32)
        return np.unique(self.buckets_at(np.full(len(versions), oid, np.int64), versions))

    def buckets_ever(self, oid: int) -> I32:
        """The buckets that an id may ever have been in, each once."""
        return self.buckets_of(oid, LONG_AGO, NOW)

    def _ending(self, oid: int, depth: int) -> int:
        """The last bits of the hash of an id."""
        return int(kernels.ending(oid, depth, self._shape))

    def _turns_of(self, number: int) -> I32:
        """When a number became and ceased to be that of a bucket, by turns."""
        if number >= self.buckets:
            return np.zeros(0, np.int32)
        begin, count, _ = self._lines.room[number].tolist()
        found: I32 = self._turns.room[begin : begin + count]
        return found

    @property
    def alive(self) -> int:
        """How many ids are alive."""
        return int(self._shape[kernels.ALIVE])

    # -- checking -----------------------------------------------------------------------------

    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
        shape, history = self._shape, self.history
        depths = self._depths.room[: self.buckets]
        if (history[1:, 0] <= history[:-1, 0]).any():
            yield "the history of the hashing is not in order"
        if history[-1, 1] != self.depth:
            yield "the directory is not as deep as the last line of its history says"
        used = np.flatnonzero(depths >= 0)
        if self.used_at(NOW).tolist() != used.tolist():
            yield "the buckets of the hashing are not those that their turns say"
        if (depths == self.depth).sum() != shape[kernels.DEEPEST]:
            yield "the deepest buckets of the hashing are counted wrongly"
        leads, cells = self.directory, np.arange(1 << self.depth)
        known = np.isin(leads, used).all()
        if not known or (leads != cells & ((1 << depths[leads]) - 1)).any():
            yield "the directory leads to a bucket that has other bits"
            return
        if self._counts.room[used].sum() != shape[kernels.ALIVE]:
            yield "the buckets of the hashing do not hold as many ids as are alive"
        for bucket in used.tolist():
            yield from self._findings_in(bucket)
            turns = self._turns_of(bucket)
            if (turns[1:] <= turns[:-1]).any():
                yield f"the turns of bucket {bucket} are not in order"

    def _findings_in(self, bucket: int) -> Iterator[str]:
        entry, count = int(self._heads.room[bucket]), 0
        mask = (1 << int(self._depths.room[bucket])) - 1
        while entry >= 0 and count <= self._counts.room[bucket]:
            if int(self._hashes.room[entry]) & mask != bucket:
                yield f"an id lies in bucket {bucket} and belongs elsewhere"
            entry, count = int(self._after.room[entry]), count + 1
        if count != self._counts.room[bucket]:
            yield f"bucket {bucket} of the hashing has another count than its list"
