"""The path of a write: carry out a plan, commit one manifest, then do what the plan left for later.

There is one writer at a time. A lock sees to it, which the system takes back when the writer's
process ends. So does the commit itself, which fails where another was first.

A commit that fails leaves the index as it was. A preparation that fails stays owed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from wavedex.cost.forecast import Forecast, bytes_to_write, rows_to_write
from wavedex.engine.base import Drafted
from wavedex.engine.change import Attempt, Change, Rows
from wavedex.engine.workshop import Workshop
from wavedex.errors import (
    CommitUncertain,
    ConcurrentWrite,
    Damaged,
    PreparationOwed,
    ServerNotTrusted,
    WavedexError,
)
from wavedex.events import LOGGER, Committed, is_anybody_there, publish
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import DATA, LOCK, LOG, STAGED, base_of, told_name
from wavedex.index.core.arrival import nothing
from wavedex.index.core.definition import Definition, owed_by
from wavedex.index.core.roots import check_roots
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.work_ahead import WorkAhead
from wavedex.log.followers import Followed
from wavedex.log.journal import TOKENS_KEPT
from wavedex.log.ledger import Ledger
from wavedex.log.manifest import OPEN, PREPARE, Log, Manifest, SubIndex, Work
from wavedex.plan import Merge, Operation, State, operation_to_json
from wavedex.plan.slot_set import Slots, last_of, slots_of, union
from wavedex.progress import is_watched, underway
from wavedex.store.formats import Format, find_format
from wavedex.store.part import Part

OPEN_PARTS_MAX = 64
"""Up to this many runs of a stream may wait in a shard before they are merged.

That bounds how many of them a probe asks.
"""
OPEN_PARTS_FEW = 8
"""Up to this many parts are left unmerged.

Between the two limits, parts are merged once the small ones weigh a quarter of the largest.
"""

WORK_RECORDED = ("append", "seal", PREPARE, "update", "apply")
"""For these commits a manifest says how much was written, and how much should have been."""
WORK_KEPT = 32
"""A manifest says it for this many of them, the last ones."""

PATIENCE_S = 2.0
"""How long a vacuum and an erase wait for readers that are leaving.

A server notices a while later that a reader has left.
"""

K = TypeVar("K", bound=Hashable)
D = TypeVar("D", bound=Definition)


class Writer(Generic[D]):
    """Carries out plans on one index and commits them."""

    def __init__(self, files: AnyFiles, created: D, surroundings: Surroundings) -> None:
        self._files = files
        self._created = created
        self._surroundings = surroundings
        self._log = Log(files)
        self._commit = -1
        self.ahead = WorkAhead(self._finish_alone)
        self.before_clearing: Callable[[D], None] = lambda _: None
        """Called before commits go, which it may read once more. It knows nothing of the index."""
        self.use(created)

    def use(self, definition: D) -> None:
        """Write as this definition says from now on."""
        self.definition = definition
        self.workshop = Workshop(
            files=self._files,
            spec=definition.spec,
            slotting=definition.slotting,
            technique=definition.technique,
            sizes=definition.rooms,
            format=definition.package,
            longest=definition.longest_slots,
            forgets=definition.forgets,
        )
        self._engine = self._surroundings.engine(self.workshop, definition.shards)

    @property
    def settings(self) -> dict[str, Any]:
        """What a manifest must hold of the present definition, beside what `index.json` holds."""
        return self._created.settings_for(self.definition)

    def _finish_alone(self) -> None:
        """Do what is owed, where nobody waits for it. What fails stays owed to the next write."""
        try:
            with self.writing(preparing=True) as manifest:
                self.finish(manifest)
        except ConcurrentWrite:
            LOGGER.debug("%s: another writer is there and does what is owed", self._files.root)
        except Exception as error:
            LOGGER.warning("%s: %s", self._files.root, error)

    @contextlib.contextmanager
    def writing(self, preparing: bool = False) -> Iterator[Manifest]:
        """Hold the lock, and start from the newest manifest and the definition that it goes by.

        `prepare` does what the manifest owes, once the change is known to be a good one.

        Raises BadDefinition where files are changed in place and the index is on no local disk,
        ConcurrentWrite where another writer holds the lock, ServerNotTrusted where it lies on a
        server that only its own files name, Damaged where `index.json` is not what it was.
        """
        with self._files.lock(LOCK, preparing):
            for folder in (DATA, LOG, STAGED):
                self._files.path(folder)  # Raises NotOurs for a link, before anything is written.
            manifest = self._log.latest()
            self._created.check_created(manifest)
            check_roots(self._files, self._created.slotting, manifest)
            definition = self._created.at(manifest.settings)
            if definition != self.definition:
                self.use(definition)
            definition.check_place(self._files)
            definition.package.check_trusted()
            self._commit = manifest.commit
            with self._keeping_up():
                yield manifest

    @contextlib.contextmanager
    def _keeping_up(self) -> Iterator[None]:
        """Raise ConcurrentWrite where files are missing because another writer cleared up.

        That happens where no lock kept the other writer out.
        """
        try:
            yield
        except (Damaged, FileNotFoundError) as error:
            if self._files.is_local or self._log.commits()[-1] <= self._commit:
                raise
            raise ConcurrentWrite(
                f"Another writer went on from commit {self._commit} of {self._files.root}, and "
                "cleared away what was being read. Nothing was changed since; do it again on the "
                "new state."
            ) from error

    def grown(self, manifest: Manifest, arrived: Mapping[int, int]) -> State | None:
        """The planner's state once more rows have come for some slots, or fewer are left."""
        return self.definition.state_of(manifest)

    def commit(self, manifest: Manifest, change: Change) -> Manifest:
        """Carry out a change and commit it; what its notes leave out stays as it was."""
        begun_s = time.perf_counter()
        into_files = self.definition.technique.writes_into_files
        attempt = Attempt(
            commit=manifest.commit + 1,
            token=self._surroundings.token(),
            oldest_kept=self._log.oldest() if into_files else 0,
        )
        with self._keeping_up():
            drafted = self._engine.draft(change, manifest, attempt)
            forecast = self._foretell(manifest, change, drafted)
            with underway(str(self._files.root), change.name, forecast.rows, forecast.bytes):
                subs, handed = self._engine.run(drafted)
        following = self._following(manifest, change, subs, attempt)
        ledger = replace(
            manifest.ledger,
            rows=add_counts(
                add_counts(manifest.ledger.rows, change.rows.counts), change.notes.gone
            ),
            delivered={**manifest.ledger.delivered, **change.notes.delivered},
        )
        try:
            following = replace(
                following,
                ledger=self._noted(following, ledger, attempt.token),
                told=self._told(change, attempt),
            )
            work = self._work(manifest, following, handed, forecast)
            following = replace(following, work=work)
            self._log.commit(following, attempt.token, manifest)
        except CommitUncertain:
            raise
        except BaseException as error:
            # An interrupt can come after the manifest has. Without a lock it can come before the
            # manifest does. The files must stay in both cases.
            is_over = self._files.is_local or isinstance(error, Exception)
            if is_over and self._log.holds(following) is False:
                self._engine.discard(attempt)
            raise
        self._commit = following.commit
        if is_anybody_there():
            try:
                self._tell(manifest, change, following, sum(handed.values()), begun_s)
            except Exception:  # The commit is in, whatever is told of it.
                LOGGER.exception("Commit %s of %s", following.commit, self._files.root)
        return following

    def _tell(
        self, before: Manifest, change: Change, after: Manifest, written: int, begun_s: float
    ) -> None:
        """Tell whoever wants to know of a commit."""
        label, totals = self.definition.slotting.label, change.notes.totals
        seen, seen_before = (slots_of(self.definition.view(each).slots) for each in (after, before))
        had_rows = union(part.shown for sub in before.shown.values() for part in sub.parts)
        publish(
            Committed(
                path=str(self._files.root),
                operation=change.name,
                commit=after.commit,
                rows=sum(change.rows.counts.values()),
                bytes=written,
                seconds=time.perf_counter() - begun_s,
                newest=label(last_of(seen)) if seen else "",
                left=tuple(label(slot) for slot in sorted((seen_before - seen) & had_rows)),
                late=totals.get("late", 0),
                null_keys=totals.get("null_keys", 0),
            )
        )

    def _following(
        self,
        manifest: Manifest,
        change: Change,
        subs: dict[str, SubIndex],
        attempt: Attempt,
    ) -> Manifest:
        """The manifest after a change, without what is noted of slots and of the work."""
        state, notes = change.state, change.notes
        held = {} if state is None else {name: subs.pop(name) for name in state.indexes}
        delta = subs.pop(OPEN, None)
        old = {name: subs.pop(name) for name in manifest.draining}
        own = manifest.own if notes.own is None else notes.own
        draining = self.definition.drained(state, old, own)
        owed = (*change.owed, *self._merges(held, draining, delta))
        return Manifest(
            commit=attempt.commit,
            operation=change.name,
            written_at=self._surroundings.now().isoformat(),
            state=None if state is None else state.to_json(),
            indexes=held,
            temps=subs,
            draining=draining,
            open=delta if delta is not None and delta.slots else None,
            owed=tuple(map(operation_to_json, owed)),
            batch=manifest.batch if notes.batch is None else notes.batch,
            totals=add_counts(manifest.totals, notes.totals),
            sources=manifest.sources.and_then(notes.sources),
            settings=manifest.settings if notes.settings is None else notes.settings,
            work=manifest.work,
            floor=manifest.floor if notes.floor is None else notes.floor,
            own=self.definition.own_after(own, draining),
            tokens=(*manifest.tokens, attempt.token)[-TOKENS_KEPT:],
            definition=self._created.checksum,
        )

    def _told(self, change: Change, attempt: Attempt) -> FileRef | None:
        """The file of the rows of which the parts will not tell, if there are any."""
        told = change.notes.told
        if told is None:
            return None
        return told.write(self._files, told_name(attempt.commit, attempt.token))

    def _noted(self, following: Manifest, ledger: Ledger, token: str) -> Ledger:
        """What is noted of slots: nothing, unless a kind of index has a use for it."""
        return Ledger()

    def _foretell(self, manifest: Manifest, change: Change, drafted: Drafted) -> Forecast:
        """What a change should write, from its drafts, where anybody wants to know."""
        if change.name not in WORK_RECORDED and not is_watched():
            return Forecast(0, 0)
        rows = self._plan_rows(manifest, change, drafted)
        size = bytes_to_write(
            rows,
            change.name,
            manifest.work,
            self.definition.cycle,
            bytes_a_row(manifest, change.rows),
        )
        return Forecast(rows, size)

    def _plan_rows(self, manifest: Manifest, change: Change, drafted: Drafted) -> int:
        """How many rows a change should write."""
        counts = change.rows.counts
        arriving = slots_of(counts)

        def total(slots: Slots) -> int:
            return manifest.ledger.total(slots) + sum(counts[each] for each in arriving & slots)

        return rows_to_write(self.workshop, drafted.tasks, total)

    def _work(
        self,
        before: Manifest,
        following: Manifest,
        handed: Mapping[str, int],
        forecast: Forecast,
    ) -> tuple[Work, ...]:
        """What is remembered of the work of the last transitions and preparations."""
        if following.operation not in WORK_RECORDED:
            return before.work
        known = before.files
        # What was staged, or written by a package itself, is known by its size alone.
        others = sum(
            max(0, ref.bytes - known[name].bytes) if name in known else ref.bytes
            for name, ref in following.files.items()
            if name not in handed
        )
        written = sum(handed.values()) + others
        newest = None if following.state is None else following.state["newest"]
        done = Work(
            following.commit, following.operation, newest, forecast.bytes, written, forecast.rows
        )
        return (*before.work, done)[-WORK_KEPT:]

    def _merges(
        self,
        indexes: Mapping[str, SubIndex],
        draining: Mapping[str, SubIndex],
        delta: SubIndex | None,
    ) -> list[Operation]:
        """The merges that are owed.

        Sub-indexes of several parts, or with hidden rows, are owed one. Others are owed one where
        they have many parts. Where merges are not deferred, only the delta has several parts.
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
        return self.commit(manifest, self._preparation(manifest, owed_by(manifest)))

    def _preparation(self, manifest: Manifest, operations: Sequence[Operation]) -> Change:
        return Change(
            name=PREPARE,
            state=self.definition.state_of(manifest),
            rows=nothing(self.definition),
            operations=tuple(operations),
        )

    def _forget(self, manifest: Manifest) -> None:
        """Write parts anew whose files hold slots that are over and not shown any more.

        That is a commit of its own.
        """
        if manifest.state is None or not self.definition.forgets:
            return
        live = frozenset().union(*(sub.slots for sub in manifest.shown.values()))
        stale = [
            Merge(name)
            for name, sub in manifest.everything.items()
            if any(not part.held - part.shown <= live for part in sub.parts)
        ]
        if stale:
            self.commit(manifest, self._preparation(manifest, stale))

    def finish(self, manifest: Manifest) -> None:
        """After a commit: prepare for the next slot, and clear away what nobody needs.

        Where that is to be done later, it is only noted; not where what is over must be gone.
        """
        if not self.definition.forgets and self.ahead.put_off():
            return
        try:
            self._forget(self.prepare(manifest))
            # Where one commit is kept, what has expired is gone at once, whoever is reading it.
            one = self.definition.keep_commits == 1
            now_s = None if one else self._surroundings.now().timestamp()
            self.clear(self.definition.keep_commits, self._kept_since(), now_s, whole=False)
            self.sweep()
        except Exception as error:
            raise self.owed(
                manifest,
                f"Commit {manifest.commit} is made and all that it brought is in the index, but "
                f"the work ahead for the next slot, or clearing away what is old, failed: {error} "
                "The next write does it first; do not do the same again.",
            ) from error

    def clear(
        self,
        keep: int,
        since: str | None = None,
        now_s: float | None = None,
        whole: bool = True,
    ) -> list[str]:
        """Vacuum the log, as `Journal.vacuum` does, but for what followers have not read."""
        self.before_clearing(self.definition)
        followed = Followed(self.definition.keep_followed, self._surroundings.now())
        return self._log.vacuum(keep, since, now_s, whole, followed)

    def owed(self, manifest: Manifest, text: str) -> WavedexError:
        """What to raise where a commit was made and what follows failed.

        It says that the commit is in only if the log has it.
        """
        held = self._log.holds(manifest)
        if held:
            return PreparationOwed(text)
        if held is None:
            return CommitUncertain(
                f"Commit {manifest.commit} was made, and what follows it failed; whether it is "
                "still in the log cannot be told. Look to the disk; an append may then be "
                "repeated, an amendment only if its rows are not there."
            )
        return ConcurrentWrite(
            f"Another writer has written over commit {manifest.commit} of {self._files.root}: "
            "what it brought is not in the index. See to it that there is one writer, and do it "
            "again."
        )

    def check_all_trusted(self) -> None:
        """Raise ServerNotTrusted where a server is named by the index's own files alone.

        Servers that the index has left count too.
        """
        for stored in self._packages():
            stored.check_trusted()

    def sweep(self, patience_s: float = 0.0) -> list[str]:
        """Let packages clear away what no file stands for any more, and return what readers hold.

        Where a reader holds something, packages wait for `patience_s`, since it may just be
        leaving. A server that the index has left is passed over unless it is trusted: nobody who
        only writes need know it.

        REQUIRES: the writer's lock is held.
        """

        def names() -> list[str]:
            return [*map(base_of, self._files.names_in(DATA)), *self._files.list(STAGED)]

        sweeps = [stored.sweep for stored in self._packages() if _is_trusted(stored)]
        return [
            held
            for sweep in sweeps
            if sweep is not None
            for held in sweep(self._files, names, patience_s)
        ]

    def _packages(self) -> list[Format]:
        """What the index lies in, and all that it has lain in."""
        names = (self.definition.format, *self.definition.former_formats)
        return [find_format(name, self.definition.identity) for name in names]

    def _kept_since(self) -> str | None:
        """From when on commits are kept, however many they are."""
        if not self.definition.keep_s:
            return None
        kept = dt.timedelta(seconds=self.definition.keep_s)
        return (self._surroundings.now() - kept).isoformat()


def _is_trusted(stored: Format) -> bool:
    try:
        stored.check_trusted()
    except ServerNotTrusted:
        return False
    return True


def _is_worth_merging(parts: Sequence[Part]) -> bool:
    if len(parts) <= OPEN_PARTS_FEW:
        return False
    largest = max(part.rows for part in parts)
    small = sum(part.rows for part in parts) - largest
    return 4 * small >= largest or len(parts) > OPEN_PARTS_MAX


def bytes_a_row(manifest: Manifest, rows: Rows) -> float:
    """What a row has taken so far, or in a new index what an arriving row takes in memory."""
    parts = [part for sub in manifest.everything.values() for part in sub.parts]
    parts += [part for parts in rows.staged for part in parts]
    held = sum(part.rows for part in parts)
    if held:
        return sum(part.bytes for part in parts) / held
    return rows.batch.nbytes / rows.batch.num_rows if rows.batch.num_rows else 0.0


def add_counts(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    """The sums, name by name."""
    return {**one, **{name: one.get(name, 0) + count for name, count in other.items()}}
