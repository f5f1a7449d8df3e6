"""The path of a write: a plan is carried out, one manifest is committed, and then what the plan left for later is done.

One writer at a time, by a lock that the system takes back when its process ends, and by the commit itself, which fails
where another was first. A commit that fails leaves the index as it was; a preparation that fails stays owed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from wavedex.engine.shard import Workshop
from wavedex.errors import CommitUncertain, PreparationOwed
from wavedex.index.arriving import Arriving, nothing
from wavedex.index.definition import Definition
from wavedex.index.surroundings import Surroundings
from wavedex.log import LOCK, OPEN, Log, Manifest, Progress, SubIndex
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
)
from wavedex.store.access import AnyFiles
from wavedex.store.part import Part

OPEN_PARTS_MAX = 64
"""How many runs of a stream may wait in a shard before they are merged, so that a probe does not ask more."""
OPEN_PARTS_FEW = 8
"""So many are let be; between the two they are merged once the small ones weigh a quarter of the largest."""

K = TypeVar("K", bound=Hashable)


class Writer:
    """Carries out plans on one index and commits them."""

    def __init__(self, files: AnyFiles, definition: Definition, surroundings: Surroundings) -> None:
        self._files = files
        self._definition = definition
        self._surroundings = surroundings
        self._log = Log(files)
        self.workshop = Workshop(
            files=files,
            spec=definition.spec,
            slotting=definition.slotting,
            technique=definition.technique,
            sizes=definition.sizes,
            build=definition.build,
        )
        self._engine = surroundings.engine(self.workshop, definition.shards)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Manifest]:
        """Hold the lock, and start from the newest manifest.

        What it owes is done by `prepare`, once the change is known to be a good one. Raises BadDefinition where files
        are changed in place and the index is on no local disk, ConcurrentWrite where another writer holds the lock.
        """
        self._definition.check_place(self._files)
        with self._files.lock(LOCK):
            yield self._log.latest()

    def plan(self, manifest: Manifest, slots: Sequence[int]) -> tuple[Plan, WaveState]:
        """The plan for new slots, with which those of the delta that they pass are sealed."""
        plan, state = self._plan(state_of(manifest), slots)
        sealed = frozenset(slot for slot in manifest.open_slots if slot <= state.newest)
        taken = [Delete(sealed, OPEN)] if sealed else []
        return Plan((*plan.transition, *taken), plan.preparation), state

    def _plan(self, state: WaveState | None, slots: Sequence[int]) -> tuple[Plan, WaveState]:
        """Start for a full window on an empty index, a fold of transitions otherwise."""
        scheme, window = self._definition.scheme, self._definition.window
        if state is not None and slots[0] - state.newest - 1 < window:
            return plan_fold(scheme, state, range(state.newest + 1, slots[-1] + 1))
        gone = [Drop(name) for name in (state.temps if state is not None else ())]
        if slots[-1] - slots[0] + 1 >= window:
            start, last = scheme.start(slots[-1])
            return Plan((*gone, *start.transition), start.preparation), last
        start, empty = scheme.start(slots[0] - 1)
        fold, last = plan_fold(scheme, empty, range(slots[0], slots[-1] + 1))
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
    ) -> Manifest:
        """Write what the operations ask for and commit it; what is not given stays as it was."""
        token = self._surroundings.token()
        subs = self._engine.run(
            operations,
            manifest,
            rows,
            self._log.commits()[0],
            token,
        )
        held = {} if state is None else {name: subs.pop(name) for name in state.indexes}
        delta = subs.pop(OPEN, None)
        following = Manifest(
            commit=manifest.commit + 1,
            operation=operation,
            written_at=self._surroundings.now().isoformat(),
            state=None if state is None else state.to_json(),
            indexes=held,
            temps=subs,
            owed=tuple(map(operation_to_json, (*owed, *self._merges(held, delta)))),
            batch=manifest.batch if batch is None else batch,
            delivered=manifest.delivered if delivered is None else delivered,
            totals=_add(manifest.totals, counts or {}),
            open=delta if delta is not None and delta.slots else None,
            streams=manifest.streams if streams is None else streams,
            marks={**manifest.marks, **(marks or {})},
        )
        arrived = {slot: found.rows for slot, found in rows.summary.items()}
        slots = frozenset().union(*(sub.slots for sub in following.shown.values()))
        counted = _add(manifest.rows, arrived)
        following = replace(
            following, rows={slot: count for slot, count in counted.items() if slot in slots}
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

    def _merges(self, indexes: Mapping[str, SubIndex], delta: SubIndex | None) -> list[Operation]:
        """The merges that sub-indexes of several parts, or with hidden rows, are owed, and a delta of many."""
        if not self._definition.technique.defers_merges:
            return []
        merges: list[Operation] = [
            Merge(name)
            for name, sub in indexes.items()
            if any(len(parts) > 1 or not all(p.is_whole for p in parts) for parts in sub.shards)
        ]
        if delta is not None and any(map(_is_worth_merging, delta.shards)):
            merges.append(Merge(OPEN))
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
            nothing(self._definition),
        )

    def finish(self, manifest: Manifest) -> None:
        """After a commit: prepare for the next slot, and clear away what nobody needs."""
        try:
            self.prepare(manifest)
            self._log.vacuum(self._definition.keep_commits)
        except Exception as error:
            raise PreparationOwed(
                f"The rows are in the index as commit {manifest.commit}, but the work ahead for the "
                f"next slot, or clearing away what is old, failed: {error} The next write does it "
                "first; do not append again."
            ) from error


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
