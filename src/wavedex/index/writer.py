"""The path of a write: a plan is carried out, one manifest is committed, and then what the plan left for later is done.

One writer at a time, by a lock that the system takes back when its process ends, and by the commit itself, which fails
where another was first. A commit that fails leaves the index as it was; a preparation that fails stays owed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from wavedex.engine.forecast import rows_to_write
from wavedex.engine.shard import Workshop
from wavedex.errors import CommitUncertain, PreparationOwed
from wavedex.index.arriving import Arriving, nothing
from wavedex.index.definition import Definition
from wavedex.index.roots import check_roots
from wavedex.index.surroundings import Surroundings
from wavedex.log import DATA, LOCK, OPEN, STAGED, Log, Manifest, Progress, SubIndex, Work, base_of
from wavedex.plan import (
    Delete,
    Drop,
    Merge,
    Operation,
    Plan,
    WaveState,
    operation_from_json,
    operation_to_json,
    plan_fold,
    without,
)
from wavedex.store.access import AnyFiles
from wavedex.store.formats import find_format
from wavedex.store.part import Part

OPEN_PARTS_MAX = 64
"""How many runs of a stream may wait in a shard before they are merged, so that a probe does not ask more."""
OPEN_PARTS_FEW = 8
"""So many are let be; between the two they are merged once the small ones weigh a quarter of the largest."""

WORK_RECORDED = ("append", "seal", "prepare")
"""The commits of which a manifest says how much was written, and how much should have been."""
WORK_KEPT = 32
"""Of how many of them it does."""

K = TypeVar("K", bound=Hashable)


class Writer:
    """Carries out plans on one index and commits them."""

    def __init__(self, files: AnyFiles, created: Definition, surroundings: Surroundings) -> None:
        self._files = files
        self._created = created
        self._surroundings = surroundings
        self._log = Log(files)
        self.use(created)

    def use(self, definition: Definition) -> None:
        """From now on, write as this definition has it."""
        self.definition = definition
        self.workshop = Workshop(
            files=self._files,
            spec=definition.spec,
            slotting=definition.slotting,
            technique=definition.technique,
            sizes=definition.rooms,
            format=definition.package,
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

    def plan(
        self, manifest: Manifest, slots: Sequence[int], arrived: Mapping[int, int]
    ) -> tuple[Plan, WaveState]:
        """The plan for new slots, with which those of the delta that they pass are sealed.

        `arrived` are the rows that come for them now, beside those that the delta has already.
        """
        plan, state = self.plan_slots(state_of(manifest), slots, _add(manifest.rows, arrived))
        sealed = frozenset(slot for slot in manifest.open_slots if slot <= state.newest)
        taken = [Delete(sealed, OPEN)] if sealed else []
        away = manifest.away
        transition = (*without(plan.transition, away), *taken)
        return Plan(transition, without(plan.preparation, away)), state

    def grown(self, manifest: Manifest, arrived: Mapping[int, int]) -> WaveState | None:
        """The state once more rows have come for slots of the window; those of open slots are weighed when they are sealed."""
        state = state_of(manifest)
        if state is None or not self.definition.scheme.weighs:
            return state
        weighed = {slot for slot in arrived if slot <= state.newest} - manifest.away
        return state.grown({slot: arrived[slot] for slot in weighed})

    def plan_slots(
        self, state: WaveState | None, slots: Sequence[int], sizes: Mapping[int, int]
    ) -> tuple[Plan, WaveState]:
        """Start for a full window on an empty index, a fold of transitions otherwise."""
        scheme, window = self.definition.scheme, self.definition.window
        if state is not None and slots[0] - state.newest - 1 < window:
            return plan_fold(scheme, state, range(state.newest + 1, slots[-1] + 1), sizes)
        gone = [Drop(name) for name in (state.temps if state is not None else ())]
        if slots[-1] - slots[0] + 1 >= window and not scheme.weighs:
            start, last = scheme.start(slots[-1])
            return Plan((*gone, *start.transition), start.preparation), last
        start, empty = scheme.start(slots[0] - 1)
        fold, last = plan_fold(scheme, empty, range(slots[0], slots[-1] + 1), sizes)
        first = (*gone, *start.transition, *start.preparation, *fold.transition)
        return Plan(first, fold.preparation), last

    def commit(
        self,
        manifest: Manifest,
        operation: str,
        operations: Sequence[Operation],
        state: WaveState | None,
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
    ) -> Manifest:
        """Write what the operations ask for and commit it; what is not given stays as it was.

        `erased` are keys whose rows are left out of everything, `gone` how many rows of each slot those are, and `floor` is
        the oldest commit that may be kept from then on.
        """
        expected = self._foretell(operations, manifest, rows)
        token = self._surroundings.token()
        subs = self._engine.run(
            operations, manifest, rows, self._log.commits()[0], token, erased=erased
        )
        held = {} if state is None else {name: subs.pop(name) for name in state.indexes}
        delta = subs.pop(OPEN, None)
        draining = self._drained(state, {name: subs.pop(name) for name in manifest.draining})
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
            totals=_add(manifest.totals, counts or {}),
            open=delta if delta is not None and delta.slots else None,
            streams=manifest.streams if streams is None else streams,
            marks={**manifest.marks, **(marks or {})},
            settings=manifest.settings if settings is None else settings,
            draining=draining,
            work=manifest.work,
            floor=manifest.floor if floor is None else floor,
        )
        slots = frozenset().union(
            *(sub.slots for sub in following.shown.values() if not sub.is_over)
        )
        counted = _add(_add(manifest.rows, rows.counts), gone or {})
        following = replace(
            following,
            rows={slot: count for slot, count in counted.items() if slot in slots},
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

    def _foretell(self, operations: Sequence[Operation], manifest: Manifest, rows: Arriving) -> int:
        """How many bytes the operations should write, by the rows of each slot and what a row has taken so far."""
        parts = [part for sub in manifest.everything.values() for part in sub.parts]
        parts += [part for parts in rows.staged for part in parts]
        held = sum(part.rows for part in parts)
        if held:
            width = sum(part.bytes for part in parts) / held
        elif rows.batch.num_rows:
            width = rows.batch.nbytes / rows.batch.num_rows
        else:
            return 0
        counts = _add(manifest.rows, rows.counts)
        technique = self.definition.technique
        arriving = frozenset(rows.summary)
        return round(width * rows_to_write(technique, operations, manifest, counts, arriving))

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

    def _drained(
        self, state: WaveState | None, draining: Mapping[str, SubIndex]
    ) -> dict[str, SubIndex]:
        """What is left of sub-indexes that drain.

        Their files go with the last slot that is live. Their slots are remembered for as long as the scheme takes them for its own.
        """
        if state is None:
            return dict(draining)
        oldest = state.newest - self.definition.window + 1
        mentioned = frozenset().union(*state.layout.values())
        left = {name: sub for name, sub in draining.items() if sub.slots & mentioned}
        return {
            name: sub if max(sub.slots) >= oldest else SubIndex(sub.slots, ((),) * len(sub.shards))
            for name, sub in left.items()
        }

    def _merges(
        self,
        indexes: Mapping[str, SubIndex],
        draining: Mapping[str, SubIndex],
        delta: SubIndex | None,
    ) -> list[Operation]:
        """The merges that sub-indexes of several parts, or with hidden rows, are owed, and others of many parts."""
        if not self.definition.technique.defers_merges:
            return []
        stored = self.definition.package
        merges: list[Operation] = [
            Merge(name)
            for name, sub in indexes.items()
            if not all(stored.is_packed(parts) for parts in sub.shards)
        ]
        others = {**draining, **({} if delta is None else {OPEN: delta})}
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
            state_of(manifest),
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


def state_of(manifest: Manifest) -> WaveState | None:
    """The scheme's state, None while nothing was appended."""
    return None if manifest.state is None else WaveState.from_json(dict(manifest.state))


def _is_worth_merging(parts: Sequence[Part]) -> bool:
    if len(parts) <= OPEN_PARTS_FEW:
        return False
    largest = max(part.rows for part in parts)
    small = sum(part.rows for part in parts) - largest
    return 4 * small >= largest or len(parts) > OPEN_PARTS_MAX


def _add(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    """The sums, name by name."""
    return {**one, **{name: one.get(name, 0) + count for name, count in other.items()}}
