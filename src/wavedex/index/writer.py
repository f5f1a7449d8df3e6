"""The path of a write: a plan is carried out, one manifest is committed, and then what the plan left for later is done.

One writer at a time, by a lock that the system takes back when its process ends, and by the commit itself, which fails
where another was first. A commit that fails leaves the index as it was; a preparation that fails stays owed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import pyarrow as pa

from wavedex.engine.forecast import rows_to_write
from wavedex.engine.shard import Workshop
from wavedex.errors import CommitUncertain, PreparationOwed
from wavedex.index.arriving import Arriving, nothing
from wavedex.index.definition import Definition, State
from wavedex.index.roots import check_roots
from wavedex.index.surroundings import Surroundings
from wavedex.log import (
    DATA,
    LOCK,
    OPEN,
    STAGED,
    Arrivals,
    Log,
    Manifest,
    Progress,
    SubIndex,
    Work,
    base_of,
)
from wavedex.plan import Merge, Operation, operation_from_json, operation_to_json
from wavedex.store.access import AnyFiles
from wavedex.store.formats import find_format
from wavedex.store.part import Part

OPEN_PARTS_MAX = 64
"""How many runs of a stream may wait in a shard before they are merged, so that a probe does not ask more."""
OPEN_PARTS_FEW = 8
"""So many are let be; between the two they are merged once the small ones weigh a quarter of the largest."""

WORK_RECORDED = ("append", "seal", "prepare", "update")
"""The commits of which a manifest says how much was written, and how much should have been."""
WORK_KEPT = 32
"""Of how many of them it does."""

K = TypeVar("K", bound=Hashable)
D = TypeVar("D", bound=Definition)


class Writer(Generic[D]):
    """Carries out plans on one index and commits them."""

    def __init__(self, files: AnyFiles, created: D, surroundings: Surroundings) -> None:
        self._files = files
        self._created = created
        self._surroundings = surroundings
        self._log = Log(files)
        self.use(created)

    def use(self, definition: D) -> None:
        """From now on, write as this definition has it."""
        self.definition = definition
        self.workshop = Workshop(
            files=self._files,
            spec=definition.spec,
            slotting=definition.slotting,
            technique=definition.technique,
            sizes=definition.rooms,
            format=definition.package,
            longest=definition.longest_slots,
        )
        self._engine = self._surroundings.engine(self.workshop, definition.shards)

    @property
    def settings(self) -> dict[str, Any]:
        """What a manifest must hold of the definition that is used, beside what `index.json` holds."""
        return self._created.settings_for(self.definition)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Manifest]:
        """Hold the lock, and start from the newest manifest and the definition that it goes by.

        What it owes is done by `prepare`, once the change is known to be a good one. Raises BadDefinition where files
        are changed in place and the index is on no local disk, ConcurrentWrite where another writer holds the lock.
        """
        with self._files.lock(LOCK):
            manifest = self._log.latest()
            check_roots(self._files, self._created.slotting, manifest)
            definition = self._created.at(manifest.settings)
            if definition != self.definition:
                self.use(definition)
            definition.check_place(self._files)
            yield manifest

    def grown(self, manifest: Manifest, arrived: Mapping[int, int]) -> State | None:
        """The planner's state once more rows have come for some slots, or fewer are left."""
        return self.definition.state_of(manifest)

    def commit(
        self,
        manifest: Manifest,
        operation: str,
        operations: Sequence[Operation],
        state: State | None,
        rows: Arriving,
        *,
        owed: Sequence[Operation] = (),
        batch: str | None = None,
        delivered: Mapping[int, str] | None = None,
        counts: Mapping[str, int] | None = None,
        streams: Mapping[str, Progress] | None = None,
        marks: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        erased: pa.Array | None = None,
        gone: Mapping[int, int] | None = None,
        floor: int | None = None,
        now: int | None = None,
        arrivals: tuple[Arrivals, ...] | None = None,
        hides: Mapping[int, Mapping[tuple[str, int], pa.RecordBatch]] | None = None,
        floors: Mapping[str, int] | None = None,
    ) -> Manifest:
        """Write what the operations ask for and commit it; what is not given stays as it was.

        `erased` are keys whose rows are left out of everything, `gone` how many rows of each slot those are, and `floor` is
        the oldest commit that may be kept from then on. `hides` are rows to hide and `floors` say which are over, as the
        engine has them; `now` and `arrivals` are noted.
        """
        expected = 0
        if operation in WORK_RECORDED:
            expected = self._foretell(operations, manifest, rows)
        token = self._surroundings.token()
        subs = self._engine.run(
            operations,
            manifest,
            rows,
            self._log.commits()[0],
            token,
            erased=erased,
            hides=hides,
            floors=floors,
        )
        held = {} if state is None else {name: subs.pop(name) for name in state.indexes}
        delta = subs.pop(OPEN, None)
        old = {name: subs.pop(name) for name in manifest.draining}
        arrivals = manifest.arrivals if arrivals is None else arrivals
        came = arrivals[-1].positions if arrivals else {}
        draining = self.definition.drained(state, old, manifest.drained_at, came)
        following = Manifest(
            commit=manifest.commit + 1,
            operation=operation,
            written_at=self._surroundings.now().isoformat(),
            state=None if state is None else state.to_json(),
            indexes=held,
            temps=subs,
            owed=tuple(map(operation_to_json, (*owed, *self._merges(held, draining, delta)))),
            batch=manifest.batch if batch is None else batch,
            delivered=manifest.delivered if delivered is None else delivered,
            totals=add_counts(manifest.totals, counts or {}),
            open=delta if delta is not None and delta.slots else None,
            streams=manifest.streams if streams is None else streams,
            marks={**manifest.marks, **(marks or {})},
            settings=manifest.settings if settings is None else settings,
            draining=draining,
            work=manifest.work,
            floor=manifest.floor if floor is None else floor,
            now=manifest.now if now is None else now,
            arrivals=arrivals,
            drained_at=manifest.drained_at if draining else {},
        )
        counted = add_counts(add_counts(manifest.rows, rows.counts), gone or {})
        following = replace(
            following,
            rows=self._count(following, counted),
            work=self._work(manifest, following, expected),
        )
        try:
            self._log.commit(following, token, manifest)
        except CommitUncertain:
            raise
        except BaseException:
            # An interrupt can come after the manifest has; its files must stay then.
            if not self._log.is_published(following):
                self._engine.discard(following.commit, token)
            raise
        return following

    def _count(self, following: Manifest, counted: Mapping[int, int]) -> dict[int, int]:
        """How many rows each slot has that is in a sub-index."""
        subs = following.shown.values()
        slots = frozenset().union(*(sub.slots for sub in subs if not sub.is_over))
        return {slot: count for slot, count in counted.items() if slot in slots}

    def _foretell(self, operations: Sequence[Operation], manifest: Manifest, rows: Arriving) -> int:
        """How many bytes the operations should write, by the rows of each slot and what a row has taken so far."""
        counts = add_counts(manifest.rows, rows.counts)
        technique = self.definition.technique
        arriving = frozenset(rows.summary)
        written = rows_to_write(technique, operations, manifest, counts, arriving)
        return round(bytes_a_row(manifest, rows) * written)

    def _work(self, before: Manifest, following: Manifest, expected: int) -> tuple[Work, ...]:
        """What is remembered of the work of the last transitions and preparations."""
        if following.operation not in WORK_RECORDED:
            return before.work
        mine = f"{following.commit:010d}-"
        known = before.files
        written = sum(
            ref.bytes
            if base_of(name).startswith(mine) or name not in known
            else max(0, ref.bytes - known[name].bytes)
            for name, ref in following.files.items()
        )
        newest = None if following.state is None else following.state["newest"]
        done = Work(following.commit, following.operation, newest, expected, written)
        return (*before.work, done)[-WORK_KEPT:]

    def _merges(
        self,
        indexes: Mapping[str, SubIndex],
        draining: Mapping[str, SubIndex],
        delta: SubIndex | None,
    ) -> list[Operation]:
        """The merges that sub-indexes of several parts, or with hidden rows, are owed, and others of many parts.

        Where merges are not deferred, only the delta has several parts.
        """
        merges: list[Operation] = []
        others = {} if delta is None else {OPEN: delta}
        if self.definition.technique.defers_merges:
            stored = self.definition.package
            merges += [
                Merge(name)
                for name, sub in indexes.items()
                if not all(stored.is_packed(parts) for parts in sub.shards)
            ]
            others = {**draining, **others}
        merges += [
            Merge(name) for name, sub in others.items() if any(map(_is_worth_merging, sub.shards))
        ]
        return merges

    def prepare(self, manifest: Manifest) -> Manifest:
        """Do what is owed, in a commit of its own, and return the manifest after it."""
        if not manifest.owed:
            return manifest
        return self.commit(
            manifest,
            "prepare",
            [operation_from_json(operation) for operation in manifest.owed],
            self.definition.state_of(manifest),
            nothing(self.definition),
        )

    def finish(self, manifest: Manifest) -> None:
        """After a commit: prepare for the next slot, and clear away what nobody needs."""
        try:
            self.prepare(manifest)
            self._log.vacuum(self.definition.keep_commits, self._kept_since())
            self.sweep()
        except Exception as error:
            raise PreparationOwed(
                f"Commit {manifest.commit} is made and all that it brought is in the index, but the work ahead for the "
                f"next slot, or clearing away what is old, failed: {error} The next write does it "
                "first; do not do the same again."
            ) from error

    def sweep(self) -> list[str]:
        """Let packages clear away what no file stands for any more, and return what readers hold of that.

        REQUIRES: the writer's lock is held.
        """

        def names() -> list[str]:
            return [*map(base_of, self._files.names_in(DATA)), *self._files.list(STAGED)]

        formats = (self.definition.format, *self.definition.former_formats)
        sweeps = (find_format(name).sweep for name in formats)
        return [held for sweep in sweeps if sweep is not None for held in sweep(names)]

    def _kept_since(self) -> str | None:
        """From when on commits are kept, however many they are."""
        if not self.definition.keep_s:
            return None
        kept = dt.timedelta(seconds=self.definition.keep_s)
        return (self._surroundings.now() - kept).isoformat()


def _is_worth_merging(parts: Sequence[Part]) -> bool:
    if len(parts) <= OPEN_PARTS_FEW:
        return False
    largest = max(part.rows for part in parts)
    small = sum(part.rows for part in parts) - largest
    return 4 * small >= largest or len(parts) > OPEN_PARTS_MAX


def bytes_a_row(manifest: Manifest, rows: Arriving) -> float:
    """What a row has taken so far, or what one of those takes in memory that come first."""
    parts = [part for sub in manifest.everything.values() for part in sub.parts]
    parts += [part for parts in rows.staged for part in parts]
    held = sum(part.rows for part in parts)
    if held:
        return sum(part.bytes for part in parts) / held
    return rows.batch.nbytes / rows.batch.num_rows if rows.batch.num_rows else 0.0


def add_counts(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    """The sums, name by name."""
    return {**one, **{name: one.get(name, 0) + count for name, count in other.items()}}
