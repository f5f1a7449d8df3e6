"""The path of a write: a plan is carried out, one manifest is committed, and then what the plan left for later is done.

One writer at a time, by a lock that the system takes back when its process ends, and by the commit itself, which fails
where another was first. A commit that fails leaves the index as it was; a preparation that fails stays owed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from wavedex.engine.local import LocalEngine
from wavedex.engine.shard import Workshop
from wavedex.errors import CommitUncertain, PreparationOwed
from wavedex.index.arriving import Arriving, nothing
from wavedex.index.definition import Definition
from wavedex.index.surroundings import Surroundings
from wavedex.log import LOCK, Log, Manifest, SubIndex
from wavedex.plan import (
    Drop,
    Merge,
    Operation,
    Plan,
    WaveState,
    operation_from_json,
    operation_to_json,
    plan_fold,
)
from wavedex.store.files import Files

COMMITS_KEPT = 2
"""How many commits stay when a write cleans up: the newest, and one for readers that are just opening it."""


class Writer:
    """Carries out plans on one index and commits them."""

    def __init__(self, files: Files, definition: Definition, surroundings: Surroundings) -> None:
        self._files = files
        self._definition = definition
        self._surroundings = surroundings
        self._log = Log(files)
        workshop = Workshop(
            files=files,
            spec=definition.spec,
            slotting=definition.slotting,
            technique=definition.technique,
            sizes=definition.sizes,
            build=definition.build,
        )
        self._engine = LocalEngine(workshop, definition.shards)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Manifest]:
        """Hold the lock, and start from the newest manifest.

        What it owes is done by `prepare`, once the change is known to be a good one.
        """
        with self._files.lock(LOCK):
            yield self._log.latest()

    def plan(self, state: WaveState | None, slots: list[int]) -> tuple[Plan, WaveState]:
        """The plan for new slots: Start for a full window on an empty index, a fold of transitions otherwise."""
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
        state: WaveState,
        rows: Arriving,
        *,
        owed: Sequence[Operation],
        batch: str,
        delivered: Mapping[int, str],
        counts: Mapping[str, int],
    ) -> Manifest:
        """Write what the operations ask for and commit it."""
        token = self._surroundings.token()
        subs = self._engine.run(
            operations,
            manifest,
            rows,
            self._log.commits()[0],
            token,
        )
        indexes = {name: sub for name, sub in subs.items() if name in state.indexes}
        arrived = {slot: found.rows for slot, found in rows.summary.items()}
        held = frozenset().union(*(sub.slots for sub in indexes.values()))
        following = Manifest(
            commit=manifest.commit + 1,
            operation=operation,
            written_at=self._surroundings.now().isoformat(),
            state=state.to_json(),
            indexes={name: indexes[name] for name in state.indexes},
            temps={name: sub for name, sub in subs.items() if name not in indexes},
            owed=tuple(map(operation_to_json, (*owed, *self._merges(indexes)))),
            batch=batch,
            delivered=delivered,
            rows={
                slot: manifest.rows.get(slot, 0) + arrived.get(slot, 0)
                for slot in held & {*manifest.rows, *arrived}
            },
            totals={
                name: manifest.totals.get(name, 0) + counts.get(name, 0)
                for name in {**manifest.totals, **counts}
            },
        )
        try:
            self._log.commit(following, token)
        except CommitUncertain:
            raise
        except BaseException:
            self._engine.discard(following.commit, token)
            raise
        return following

    def _merges(self, indexes: Mapping[str, SubIndex]) -> list[Operation]:
        """The merges that sub-indexes of several parts, or with hidden rows, are owed."""
        if not self._definition.technique.defers_merges:
            return []
        return [
            Merge(name)
            for name, sub in indexes.items()
            if any(len(parts) > 1 or not all(p.is_whole for p in parts) for parts in sub.shards)
        ]

    def prepare(self, manifest: Manifest) -> Manifest:
        """Do what is owed, in a commit of its own, and return the manifest after it."""
        if not manifest.owed:
            return manifest
        state = state_of(manifest)
        assert state is not None
        return self.commit(
            manifest,
            "prepare",
            [operation_from_json(operation) for operation in manifest.owed],
            state,
            nothing(self._definition),
            owed=(),
            batch=manifest.batch,
            delivered=manifest.delivered,
            counts={},
        )

    def finish(self, manifest: Manifest) -> None:
        """After a commit: prepare for the next slot, and clear away what nobody needs."""
        try:
            self.prepare(manifest)
            self._log.vacuum(COMMITS_KEPT)
        except Exception as error:
            raise PreparationOwed(
                f"The rows are in the index as commit {manifest.commit}, but the work ahead for the "
                f"next slot, or clearing away what is old, failed: {error} The next write does it "
                "first; do not append again."
            ) from error


def state_of(manifest: Manifest) -> WaveState | None:
    """The scheme's state, None while nothing was appended."""
    return None if manifest.state is None else WaveState.from_json(dict(manifest.state))
