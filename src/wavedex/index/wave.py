"""The wave index: what users hold. It ties slots, plans, the engine, the stores and the log together.

A write goes one way: the batch is checked, the plan is drawn, the engine writes new files, one manifest is committed, and
then what the plan left for later is prepared in a commit of its own. Everything that can be refused is refused before a
file is touched. Reads go through a snapshot of the newest commit.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.engine.local import LocalEngine
from wavedex.engine.shard import Workshop
from wavedex.errors import (
    AlreadyExists,
    BadTime,
    Damaged,
    NotAnIndex,
    PreparationOwed,
    WavedexError,
)
from wavedex.index import admission
from wavedex.index.arriving import Arriving, arrive
from wavedex.index.definition import Definition, define
from wavedex.index.snapshot import Snapshot, rows_by_slot
from wavedex.index.verify import find_damage
from wavedex.log import DATA, LOCK, LOG, Log, Manifest, SubIndex
from wavedex.plan import (
    Amend,
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

DEFINITION = "index.json"
COMMITS_KEPT = 2
"""How many commits stay when a write cleans up: the newest, and one for readers that are just opening it."""


@dataclass(frozen=True)
class Surroundings:
    """What an index takes from outside: the disk, the clock and names that are new. Tests hand in others."""

    files: Callable[[str | os.PathLike[str]], Files] = Files
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    token: Callable[[], str] = lambda: secrets.token_hex(4)


@dataclass(frozen=True)
class Appended:
    """What an append or amend did.

    `slots` are the slots that it brought into the window, empty where all of them were there already with the same rows;
    `rows` the entries that it wrote; `null_keys` the rows skipped for want of a key, `late` those dropped because they
    were older than the window, `expired` those of slots that the same batch pushed out again.
    """

    commit: int
    slots: list[int] = field(default_factory=list)
    rows: int = 0
    null_keys: int = 0
    late: int = 0
    expired: int = 0


class WaveIndex:
    """An index over the last W slots of some data, in plain files below one folder.

    Create one with `WaveIndex.create`, open one with `wavedex.open`. Any number of processes may read it while one
    writes.
    """

    def __init__(self, files: Files, definition: Definition, surroundings: Surroundings) -> None:
        """Use `WaveIndex.create` or `wavedex.open` instead."""
        self._files = files
        self._definition = definition
        self._surroundings = surroundings
        self._log = Log(files)
        workshop = Workshop(
            files, definition.spec, definition.slotting, definition.technique, definition.sizes
        )
        self._engine = LocalEngine(workshop, definition.shards)
        self._cached: tuple[int, Snapshot] | None = None

    # -- creating and opening -------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        key: str,
        time: str | None = None,
        slot: str | int | None = "1 day",
        zone: str = "UTC",
        origin: Any = None,
        window: int,
        indexes: int = 4,
        scheme: str = "wata",
        update: str = "runs",
        include: Sequence[str] | None = None,
        shards: int = 2,
        format: str = "arrow",  # noqa: A002 - the contract's name
        nulls: str = "error",
        late: str = "error",
        max_gap: int | None = None,
        growth: float = 2.0,
        first_room: int = 4,
        spread: bool = True,
        surroundings: Surroundings | None = None,
    ) -> WaveIndex:
        """Create an empty index in a new folder. Raises BadDefinition, AlreadyExists and their kin.

        `time` names the column that says which slot a row belongs to; without it each append says so itself. `window` is
        the number of slots kept, `indexes` over how many sub-indexes they are spread. docs/schemes.md helps to choose
        `scheme` and `update`; the defaults suit most.
        """
        definition = define(
            schema,
            key=key,
            time=time,
            slot=slot,
            zone=zone,
            origin=origin,
            window=window,
            indexes=indexes,
            scheme=scheme,
            update=update,
            include=include,
            shards=shards,
            format=format,
            nulls=nulls,
            late=late,
            max_gap=max_gap,
            growth=growth,
            first_room=first_room,
            spread=spread,
        )
        around = surroundings or Surroundings()
        files = around.files(path)
        leftovers = {DATA, LOG, LOCK}
        if files.exists(DEFINITION) or set(files.list("")) - leftovers or files.root.is_file():
            raise AlreadyExists(f"There is something at {path} already. Choose another path.")
        files.make_folder("")
        with files.lock(LOCK):
            for folder in (DATA, LOG):
                if files.exists(folder):
                    files.remove_tree(folder)
                files.make_folder(folder)
            log = Log(files)
            log.commit(Manifest(0, "create", around.now().isoformat()), around.token())
            draft = f"{LOG}/{DEFINITION}.tmp"
            files.create(draft, lambda sink: sink.write(definition.to_bytes()))
            files.sync(draft)
            files.link(draft, DEFINITION)
            files.sync_folder("")
            files.remove(draft)
        return cls(files, definition, around)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, surroundings: Surroundings | None = None
    ) -> WaveIndex:
        """Open an index. Raises NotAnIndex, NewerFormat or Damaged."""
        around = surroundings or Surroundings()
        files = around.files(path)
        try:
            content = files.read(DEFINITION)
        except (FileNotFoundError, NotADirectoryError):
            raise NotAnIndex(
                f"{path} is no index: it has no {DEFINITION}. Check the path, or create an index there "
                "with WaveIndex.create."
            ) from None
        return cls(files, Definition.from_bytes(content, DEFINITION), around)

    # -- reading --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The window as the newest commit has it, which never changes while it is held."""
        while True:
            manifest = self._log.latest()
            try:
                return Snapshot(self._definition, self._files, manifest)
            except FileNotFoundError as error:
                if self._log.commits()[-1] == manifest.commit:
                    raise Damaged(f"{error.filename} is missing") from error

    def probe(
        self,
        key: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of one key. See `Snapshot.probe`."""
        return self._current().probe(key, since, until, columns, expired)

    def probe_many(
        self,
        keys: Iterable[Any],
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of several keys. See `Snapshot.probe_many`."""
        return self._current().probe_many(keys, since, until, columns, expired)

    def probe_range(
        self,
        low: Any,
        high: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of a range of keys. See `Snapshot.probe_range`."""
        return self._current().probe_range(low, high, since, until, columns, expired)

    def scan(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.RecordBatchReader:
        """All entries, batch by batch. See `Snapshot.scan`."""
        return self._current().scan(since, until, columns, expired)

    def files(self, since: Any = None, until: Any = None) -> list[str]:
        """Paths for other tools. See `Snapshot.files`."""
        return self._current().files(since, until)

    @property
    def slots(self) -> list[int]:
        """The slots of the window, oldest first; empty while nothing was appended."""
        return self._current().slots

    @property
    def sub_indexes(self) -> dict[str, list[int]]:
        """The slots that each sub-index holds."""
        return self._current().sub_indexes

    @property
    def schema(self) -> pa.Schema:
        """The columns of an entry."""
        return self._definition.schema

    @property
    def definition(self) -> Definition:
        """What it was created as."""
        return self._definition

    @property
    def path(self) -> str:
        """The folder it lives in."""
        return str(self._files.root)

    def describe(self) -> dict[str, Any]:
        """What is in it and what its scheme promises, as plain JSON."""
        snapshot = self._current()
        manifest, definition = snapshot._manifest, self._definition
        label = definition.slotting.label
        by_slot = rows_by_slot(snapshot)

        def sub(index: SubIndex) -> dict[str, Any]:
            parts = max((len(parts) for parts in index.shards), default=0)
            return {
                "slots": sorted(index.slots),
                "rows": index.rows,
                "bytes": index.bytes,
                "parts": parts,
            }

        return {
            "path": self.path,
            "commit": manifest.commit,
            "written_at": manifest.written_at,
            "columns": {field.name: str(field.type) for field in definition.schema},
            "key": definition.key,
            "time": definition.time,
            "scheme": definition.scheme_name,
            "update": definition.update,
            "window": definition.window,
            "indexes": definition.indexes,
            "shards": definition.shards,
            "hard": definition.scheme.hard,
            "extra_slots_max": definition.scheme.extra_slots,
            "rows": sum(by_slot.values()),
            "bytes": sum(file.bytes for file in manifest.files.values()),
            "slots": [
                {"slot": slot, "label": label(slot), "rows": by_slot[slot]} for slot in by_slot
            ],
            "sub_indexes": {name: sub(index) for name, index in manifest.indexes.items()},
            "temporaries": {name: sub(index) for name, index in manifest.temps.items()},
            "preparation_owed": bool(manifest.owed),
            "totals": dict(manifest.totals),
        }

    def verify(self) -> None:
        """Read every byte of the newest commit, check every checksum and every rule. Raises Damaged."""
        snapshot = self.snapshot()
        findings = find_damage(self._definition, self._files, snapshot._manifest)
        if findings:
            raise Damaged(findings)

    # -- writing --------------------------------------------------------------------------------

    def append(self, batch: Any, slot: Any = None) -> Appended:
        """Append the rows of the next slot or slots, and let what is older than the window go.

        `batch` is a pyarrow Table or RecordBatch, or a pandas or Polars data frame. `slot` says which slot it is where
        there is no time column; with an empty batch it passes an empty slot through. A slot that was appended before
        with the same rows is passed over, so that an append can be repeated.

        Raises SchemaMismatch, MissingColumn, NullKeys, NullTimes, BadTime, SlotBackwards, SlotConflict, GapTooLarge,
        OutsideWindow, ConcurrentWrite, DiskFull or ReadOnly; the index is then as it was.
        """
        number = None if slot is None else self._slot_number(slot)
        arriving = arrive(batch, self._definition, number)
        with self._writing() as manifest:
            state = _state_of(manifest)
            admitted = admission.admit(
                arriving, number, state, manifest.delivered, self._definition
            )
            if not admitted.slots:
                return Appended(manifest.commit, null_keys=arriving.null_keys, late=admitted.late)
            plan, state = self._plan(state, admitted.slots)
            covered = frozenset().union(*state.indexes.values())
            fresh = admitted.rows.take(admission.among(admitted.rows.slots, covered))
            expired = admitted.rows.batch.num_rows - fresh.batch.num_rows
            oldest = state.newest - self._definition.window + 1
            delivered = {**manifest.delivered, **admitted.identities}
            manifest = self._commit(
                manifest,
                "append",
                plan.transition,
                state,
                fresh,
                arriving=frozenset(admitted.slots),
                owed=plan.preparation,
                delivered={slot: rows for slot, rows in delivered.items() if slot >= oldest},
                counts={
                    "rows": fresh.batch.num_rows + expired,
                    "null_keys": arriving.null_keys,
                    "late": admitted.late,
                },
            )
            commit = manifest.commit
            self._finish(manifest)
        return Appended(
            commit,
            admitted.slots,
            fresh.batch.num_rows,
            arriving.null_keys,
            admitted.late,
            expired,
        )

    def amend(self, batch: Any, slot: Any = None) -> Appended:
        """Add late rows to slots that are still in the window.

        They reach every sub-index and every temporary that holds their slot. Raises OutsideWindow for rows of other
        slots (older ones are dropped and counted where the index was created with late="drop").
        """
        number = None if slot is None else self._slot_number(slot)
        arriving = arrive(batch, self._definition, number)
        with self._writing() as manifest:
            state = _state_of(manifest)
            rows, late = admission.admit_late(arriving, state, self._definition)
            if state is None or not rows.batch.num_rows:
                return Appended(manifest.commit, null_keys=arriving.null_keys, late=late)
            slots = frozenset(rows.slots.tolist())
            held = {**manifest.indexes, **manifest.temps}
            operations = [
                Amend(slots & sub.slots, name) for name, sub in held.items() if slots & sub.slots
            ]
            manifest = self._commit(
                manifest,
                "amend",
                operations,
                state,
                rows,
                arriving=slots,
                owed=(),
                delivered=manifest.delivered,
                counts={"rows": rows.batch.num_rows, "null_keys": arriving.null_keys, "late": late},
            )
            commit = manifest.commit
            self._finish(manifest)
        return Appended(commit, sorted(slots), rows.batch.num_rows, arriving.null_keys, late)

    def vacuum(self, keep: int = 1) -> list[str]:
        """Remove all but the newest `keep` commits and every file that none of them names.

        Readers that hold an older snapshot go on reading it. Returns the names of the files that were removed.
        """
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise BadTime(f"keep={keep!r} is not a whole number of at least 1.")
        with self._files.lock(LOCK):
            return self._log.vacuum(keep)

    def prepare(self) -> bool:
        """Do the preparation that a crash or a full disk left undone. Returns whether there was any."""
        with self._files.lock(LOCK):
            manifest = self._log.latest()
            return self._prepare(manifest).commit != manifest.commit

    # -- the path of a write ----------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Manifest]:
        """Hold the lock, and start from the newest manifest with nothing owed."""
        with self._files.lock(LOCK):
            yield self._prepare(self._log.latest())

    def _plan(self, state: WaveState | None, slots: list[int]) -> tuple[Plan, WaveState]:
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

    def _commit(
        self,
        manifest: Manifest,
        operation: str,
        operations: Sequence[Operation],
        state: WaveState,
        rows: Arriving | None,
        *,
        arriving: frozenset[int],
        owed: Sequence[Operation],
        delivered: Mapping[int, str],
        counts: Mapping[str, int],
    ) -> Manifest:
        """Write what the operations ask for and commit it."""
        token = self._surroundings.token()
        subs = self._engine.run(
            operations,
            manifest,
            rows.batch if rows is not None and rows.batch.num_rows else None,
            arriving,
            self._log.commits()[0],
            token,
        )
        indexes = {name: sub for name, sub in subs.items() if name in state.indexes}
        following = Manifest(
            commit=manifest.commit + 1,
            operation=operation,
            written_at=self._surroundings.now().isoformat(),
            state=state.to_json(),
            indexes={name: indexes[name] for name in state.indexes},
            temps={name: sub for name, sub in subs.items() if name not in indexes},
            owed=tuple(map(operation_to_json, (*owed, *self._merges(indexes)))),
            delivered=delivered,
            totals={
                name: manifest.totals.get(name, 0) + counts.get(name, 0)
                for name in {**manifest.totals, **counts}
            },
        )
        try:
            self._log.commit(following, token)
        except WavedexError:
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

    def _prepare(self, manifest: Manifest) -> Manifest:
        """Do what is owed, in a commit of its own, and return the manifest after it."""
        if not manifest.owed:
            return manifest
        state = _state_of(manifest)
        assert state is not None
        return self._commit(
            manifest,
            "prepare",
            [operation_from_json(operation) for operation in manifest.owed],
            state,
            None,
            arriving=frozenset(),
            owed=(),
            delivered=manifest.delivered,
            counts={},
        )

    def _finish(self, manifest: Manifest) -> None:
        """After a commit: prepare for the next slot, and clear away what nobody needs."""
        try:
            self._prepare(manifest)
            self._log.vacuum(COMMITS_KEPT)
        except WavedexError as error:
            raise PreparationOwed(
                f"The rows are in the index as commit {manifest.commit}, but the work ahead for the "
                f"next slot was not done: {error} The next write does it first; do not append again."
            ) from error

    def _slot_number(self, slot: Any) -> int:
        start, stop = self._definition.slotting.bounds(slot, slot)
        if start is None or stop is None or start >= stop:
            raise BadTime(f"slot={slot!r} is out of range. Give the number of a slot.")
        return int(self._definition.slotting.slots_of(np.array([start], np.int64))[0])

    def _current(self) -> Snapshot:
        """A snapshot of the newest commit, the same one for as long as nothing was committed."""
        changed_at = self._changed_at()
        if self._cached is not None and self._cached[0] == changed_at:
            return self._cached[1]
        snapshot = self.snapshot()
        # A folder's time of change moves in steps; within a step another commit could hide.
        if time.time_ns() - changed_at > _CLOCK_STEP_NS:
            self._cached = changed_at, snapshot
        else:
            self._cached = None
        return snapshot

    def _changed_at(self) -> int:
        return os.stat(self._log_path).st_mtime_ns

    @property
    def _log_path(self) -> str:
        return f"{self._files.root}/{LOG}"

    def __repr__(self) -> str:
        definition = self._definition
        return (
            f"<WaveIndex {self.path}: {definition.window} slots in {definition.indexes} sub-indexes, "
            f"{definition.scheme_name}, {definition.update}>"
        )


_CLOCK_STEP_NS = 20_000_000
"""The steps in which file systems note times of change are of a few milliseconds."""


def _state_of(manifest: Manifest) -> WaveState | None:
    return None if manifest.state is None else WaveState.from_json(dict(manifest.state))
