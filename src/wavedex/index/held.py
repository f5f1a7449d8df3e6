"""What every kind of index can do: it is opened, read through snapshots, checked and cleared up.

Reads go through a snapshot of the newest commit. It is taken again only when there is a newer one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import pyarrow as pa
import xxhash

from wavedex.crew import let_go
from wavedex.errors import (
    BadDefinition,
    CommitGone,
    Damaged,
    NotAnIndex,
    OtherKind,
    WavedexError,
)
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import DEFINITION, LOG, manifest_name
from wavedex.index import erasure as erasing
from wavedex.index.core.answers import check_history
from wavedex.index.core.changes import ChangeFeed, Changes, Position
from wavedex.index.core.creation import create_at, forgetting, open_at
from wavedex.index.core.definition import Definition, changed_since
from wavedex.index.core.delivery import Offer
from wavedex.index.core.description import describe
from wavedex.index.core.follower import Follower
from wavedex.index.core.manner import Manner, manner_of
from wavedex.index.core.migration import Migrated
from wavedex.index.core.roots import check_roots
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.verification import find_damage
from wavedex.index.core.writer import PATIENCE_S, D, Writer
from wavedex.index.erasure import Erased
from wavedex.index.history import History
from wavedex.index.past import rows_as_of
from wavedex.index.reading.readable import Readable
from wavedex.index.reading.snapshot import Snapshot
from wavedex.log.followers import standings
from wavedex.log.manifest import Log, Manifest
from wavedex.show.html import to_html
from wavedex.slots import NamedSlots
from wavedex.store.checks import CheckedParts
from wavedex.store.shard import Shard

if TYPE_CHECKING:
    from wavedex.temporal import TemporalSet

T = TypeVar("T")


class Held(Readable, Generic[D]):
    """An index that somebody holds. Any number of processes may read it while one writes."""

    snapshot_kind: ClassVar[type[Snapshot]] = Snapshot
    definition_kind: ClassVar[type[Definition]]
    writer_kind: ClassVar[type[Writer[Any]]]
    changes_kind: ClassVar[Changes[Any]]

    def __init__(
        self, files: AnyFiles, definition: D, surroundings: Surroundings, check: bool = False
    ) -> None:
        """Use `create` of its kind or `wavedex.open` instead."""
        self._checked = CheckedParts(answers=True) if check else None
        self._files = files
        self._definition = definition
        self._log = Log(files)
        self._surroundings = surroundings
        self._writer: Writer[D] = self.writer_kind(files, definition, surroundings)
        self._cached: tuple[Hashable | None, Snapshot] | None = None
        self._history = History(files, self.changes_kind, surroundings)
        self._writer.before_clearing = self._history.keep_up
        self._migrated: tuple[Mapping[str, Any], D] = ({}, definition)

    create: ClassVar[Callable[..., Any]]
    """Makes a new one. Each kind has options of its own."""
    append: Callable[..., Any]
    """Takes rows that say themselves when they are from."""
    migrate: Callable[..., Migrated]
    """Changes how it is kept. Each kind has options of its own."""

    @classmethod
    def _create(
        cls,
        path: str | os.PathLike[str],
        definition: D,
        surroundings: Surroundings | None,
        first: Offer | None,
    ) -> Self:
        """Make one, with its first rows if there are any: all of it or nothing."""
        around = surroundings or Surroundings()
        definition = replace(definition, identity=around.token())
        if first is not None:
            first.check(definition)
        files = create_at(path, definition, around)
        index = cls(files, definition, around)
        if first is not None:
            with forgetting(files):
                index.append(first)
        return index

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        surroundings: Surroundings | None = None,
        check: bool = False,
    ) -> Self:
        """Open an index of this kind; `wavedex.open` opens any.

        With `check`, every file is compared with its checksum before it is first answered from.
        Raises NotAnIndex, NewerFormat, OlderFormat or Damaged.
        """
        around = surroundings or Surroundings()
        kind = cls.definition_kind
        try:
            files, definition = open_at(path, around, (kind,))
        except OtherKind:
            raise NotAnIndex(
                f"{path} is no {kind.kind} index. Use wavedex.open, which opens any kind."
            ) from None
        return cls(files, cast(D, definition), around, check)

    # -- reading --------------------------------------------------------------------------------

    def changes(
        self, since_commit: Position | None, until_commit: Position | None = None
    ) -> pa.RecordBatchReader:
        """The rows that came and went after one commit and up to another, as they did.

        Up to the newest, if `until_commit` is not given. Each row has the columns of the schema and
        three more. `_change` is +1 for a row that came and -1 for one that went. `_at` is when: in
        a wave index, when the slot that came was over; in a lifetime index, when the row was
        inserted, ended, or was given another end. `_commit` is the commit that brought it.

        Rows are in the order of `_at`, those that went before those that came, and `_at` never goes
        backwards from one commit to the next.

        Instead of a commit, `("orders", 17)` means the one that took batch 17 of the stream. From
        None on, all that `until_commit` has came. Backwards, from a later commit to an earlier one,
        there is nothing. Raises CommitGone where one of the two, or a commit between, is not kept
        any more (see `keep_commits` of `create`) or was never there; BadPosition where no stream
        has been.
        """
        check_roots(self._files, self._definition.slotting, self._log.latest())
        feed = self.change_feed
        if since_commit is None and until_commit is None:
            batches = feed.read_newest()
        else:
            batches = feed.read(feed.find(since_commit, until_commit))
        return pa.RecordBatchReader.from_batches(feed.schema, batches)

    @property
    def change_feed(self) -> ChangeFeed[D]:
        """What finds and reads changes, in two steps. Raises BadDefinition."""
        return ChangeFeed(self._files, self._definition, self.changes_kind, self._checked)

    def follow(self, name: str, since: Position | None = None, *, wait: Any = None) -> Follower:
        """A reader of changes that goes on where it stopped, under a name of its own.

        Until it says that it has read a commit (`advance`), the index keeps all that it needs to
        read on, for as long as `keep_followed` of `create` says.

        A new one begins with all that is there, or with what follows `since`. `wait` is how long to
        wait for a writer then. Raises BadName, CommitGone, BadPosition, BadDefinition where the
        index keeps nothing for followers.
        """
        manner = manner_of(wait)

        def locked(call: Callable[[], None]) -> None:
            def alone() -> None:
                with self._writer.writing():
                    call()

            self._writer.ahead.carry_out(alone, manner)

        follower = Follower(self, name, locked)
        if since is not None and name not in self.followers:
            follower.move(since)
        return follower

    @property
    def followers(self) -> dict[str, int | None]:
        """The commit up to which each follower has read; None for one at its first look."""
        found = standings(self._files.list(LOG))
        return {
            name: standing.commit if standing.has_read else None
            for name, standing in sorted(found.items())
        }

    @property
    def history(self) -> TemporalSet | None:
        """Which keys were in the window when, as of the newest commit; None if it is not kept.

        It outlives the rows. Times are the instants of changes (`_at`). See `history` of `create`,
        and `keep_history`.
        """
        manifest = self._log.latest()
        definition = self.definition_at(manifest)
        return self._history.shown(definition, manifest.commit) if definition.history else None

    def keep_history(self, method: str = "pph-s", *, wait: Any = None) -> TemporalSet:
        """Keep from now on which keys are in the window, and return what is known of it.

        It begins with the rows that are there. Where a history is kept already, and commits that it
        should have been fed with are gone, it goes on from what is there. Raises BadDefinition
        where it is kept by another method.
        """
        check_history(method)

        def keep() -> None:
            with self._writer.writing() as manifest:
                self._history.begin(self._writer, manifest, method)

        self._write(self._writer, keep, manner_of(wait))
        history = self.history
        assert history is not None
        return history

    def _as_of(
        self, key: Any, time: Any, columns: Sequence[str] | None, others: Sequence[Any]
    ) -> pa.Table:
        return rows_as_of(self, key, time, columns, others)

    def snapshot(self, commit: int | None = None) -> Snapshot:
        """The window as the newest commit has it, or an earlier one. It does not change while held.

        Raises CommitGone where that commit is not kept any more (see `keep_commits` and `keep_for`
        of `create`).
        """
        if commit is None:
            return self._take(None).held()
        if isinstance(commit, bool) or not hasattr(commit, "__index__"):
            raise CommitGone(
                f"commit={commit!r} is no number of a commit. Give one of {self.commits}."
            )
        missing = None
        if commit in self.commits:
            try:
                return self.at(self._log.read(commit)).held()
            except FileNotFoundError as error:
                missing = error
        if missing is not None and commit in self.commits:
            raise Damaged(f"{missing.filename} is missing") from missing
        raise CommitGone(
            f"{self.path} has no commit {commit}, or not any more: it keeps {self.commits}. Ask "
            "for one of them, or create the index with a larger keep_commits or keep_for."
        )

    def at(self, manifest: Manifest, opened: dict[FileRef, Shard] | None = None) -> Snapshot:
        """The window as a manifest has it.

        From afar, files are fetched as they are needed, and all of them by `held`. Raises
        FileNotFoundError where its files are not kept any more, RootMissing where a disk is not
        there.
        """
        definition = self.definition_at(manifest)
        check_roots(self._files, self._definition.slotting, manifest, reading=True)
        checked = self._checked
        found = self.snapshot_kind(definition, self._files, manifest, opened, checked=checked)
        found.source = type(self), self.path
        return found

    def definition_at(self, manifest: Manifest) -> D:
        """What the index was when a commit was made.

        Raises Damaged where `index.json` is not what it was.
        """
        self._definition.check_created(manifest)
        settings, definition = self._migrated
        if settings != manifest.settings:
            definition = self._definition.at(manifest.settings)
            self._migrated = manifest.settings, definition
        return definition

    @property
    def commit(self) -> int:
        """The number of the newest commit."""
        return self._log.latest().commit

    @property
    def commits(self) -> list[int]:
        """The numbers of the commits that are kept, oldest first."""
        return self._log.commits()

    def _take(self, earlier: Snapshot | None) -> Snapshot:
        """A snapshot of the newest commit.

        It is the earlier one if that still is the newest, or else one that opens what that lacks.
        """
        opened = {} if earlier is None else earlier.opened()
        while True:
            manifest = self._log.latest()
            if earlier is not None and earlier.manifest == manifest:
                return earlier
            try:
                taken = self.at(manifest, opened)
            except FileNotFoundError as error:
                self._check_overtaken(manifest, error)
            else:
                if not self._files.is_local:
                    taken.renew = self._renewed
                return taken

    def _renewed(self, overtaken: Snapshot, error: FileNotFoundError) -> Snapshot:
        """A snapshot of the newest commit, instead of one that has lost a file.

        Raises Damaged where it is the newest that has lost it.
        """
        self._check_overtaken(overtaken.manifest, error)
        return self._take(overtaken)

    def _check_overtaken(self, manifest: Manifest, error: FileNotFoundError) -> None:
        if self._log.commits()[-1] == manifest.commit:
            raise Damaged(f"{error.filename} is missing") from error

    @property
    def schema(self) -> pa.Schema:
        """The columns of an entry."""
        return self._definition.schema

    @property
    def manifest(self) -> Manifest:
        """The state after the newest commit."""
        return self._log.latest()

    @property
    def definition(self) -> D:
        """What it is: as it was created, and as it was migrated since."""
        return self.definition_at(self.manifest)

    @property
    def created(self) -> D:
        """What it was created as."""
        return self._definition

    @property
    def surroundings(self) -> Surroundings:
        """What it takes from outside."""
        return self._surroundings

    @property
    def path(self) -> str:
        """The folder it lives in, or its URI."""
        return str(self._files.root)

    @property
    def storage(self) -> AnyFiles:
        """The files below its folder."""
        return self._files

    @property
    def writer(self) -> Writer[D]:
        """What commits to it."""
        return self._writer

    def describe(self) -> dict[str, Any]:
        """What is in it, how it is kept and what its planner promises, as plain JSON."""
        manifest = self._log.latest()
        return {
            "path": self.path,
            **describe(self.definition_at(manifest), manifest),
            "followers": self.followers,
            "history": self._history.describe() if self.definition.history else None,
        }

    def verify(self) -> None:
        """Read every byte of the newest commit, check every checksum and rule. Raises Damaged.

        The commit is pinned meanwhile, so that a writer that goes on does not remove its files.
        """
        while True:
            manifest = self._log.latest()
            definition = self.definition_at(manifest)
            check_roots(self._files, self._definition.slotting, manifest)
            try:
                pin = self._files.pin(manifest_name(manifest.commit))
            except FileNotFoundError:
                continue
            try:
                self._check_definition(manifest)
                findings = find_damage(definition, self._files, manifest)
            finally:
                pin.close()
            if not findings:
                return
            # Where nothing is pinned, a writer may have removed what was being read.
            if self._files.exists(manifest_name(manifest.commit)):
                raise Damaged(findings)

    def _check_definition(self, manifest: Manifest) -> None:
        """Raise Damaged where the disk has another definition than a commit was made by."""
        try:
            content = self._files.read(DEFINITION)
        except FileNotFoundError:
            raise Damaged(f"{DEFINITION} is missing") from None
        if xxhash.xxh64_hexdigest(content) != self._definition.checksum:
            raise changed_since(manifest)

    # -- writing --------------------------------------------------------------------------------

    def erase(self, keys: Iterable[Any], *, wait: Any = None) -> Erased:
        """Erase all rows of these keys, from every file, before it returns.

        Keys that are not there do no harm. Earlier commits go too, however many are kept otherwise:
        their files have the rows. If a reader has mapped a file, the file loses its name at once,
        and its place on the disk once that reader lets go. The records that pointers lead to are
        not touched, nor is the source of the rows.

        Raises BadKey, ConcurrentWrite and what other writes raise; the index is then as it was.
        Raises EraseUnfinished where no reader finds the rows any more and a file that has them
        could not be removed.
        """
        asked = [*keys] if isinstance(keys, Iterator) else keys  # They are looked up twice.

        def erase() -> Erased:
            erased = erasing.erase(self._writer, self._files, asked)
            if self._writer.definition.history:
                with self._writer.writing():
                    self._history.keep_up(self._writer.definition)
                    self._history.erase(self._writer.definition, asked)
            return erased

        return self._write(self._writer, erase, manner_of(wait))

    def vacuum(self, keep: int = 1, *, wait: Any = None) -> list[str]:
        """Remove all but the newest `keep` commits and every file that none of them names.

        What followers have not read stays, up to the bound (`keep_followed`). Readers that hold an
        older snapshot go on reading it. Returns the names of the files that were removed.
        """
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise BadDefinition(f"keep={keep!r} is not a whole number of at least 1.")

        def clear() -> list[str]:
            with self._writer.writing():
                removed = self._writer.clear(keep)
                self._writer.sweep(PATIENCE_S)
                return removed

        return self._writer.ahead.carry_out(clear, manner_of(wait))

    def prepare(self, *, wait: Any = None) -> bool:
        """Do the preparation that was left for later, or that a crash or a full disk left undone.

        Returns whether there was any. One that a thread of this process is at is waited for.
        """

        def work_ahead() -> bool:
            with self._writer.writing() as manifest:
                return self._writer.prepare(manifest).commit != manifest.commit

        return self._writer.ahead.carry_out(work_ahead, manner_of(wait))

    def _write(self, writer: Writer[Any], call: Callable[[], T], manner: Manner) -> T:
        """Make a call that writes, with a writer that may be another's than this index's own."""
        self._writer.ahead.settle()
        self._let_go()
        return writer.ahead.carry_out(call, manner)

    def slot_number(self, slot: Any) -> int:
        """The number of the slot that a number, a date or a datetime means. Raises BadTime."""
        return self._definition.slotting.number(slot)

    def _let_go(self) -> None:
        """Before a write: let the room of what is mapped be used again.

        What was fetched from afar is worth keeping.
        """
        if self._files.is_local and self._cached is not None:
            held, self._cached = [self._cached], None
            let_go(held)

    def _current(self) -> Snapshot:
        """A snapshot of the newest commit, the same one for as long as nothing was committed."""
        try:
            version = self._files.version(LOG)
        except FileNotFoundError:
            version = None  # What is missing is said when the newest commit is looked for.
        cached = self._cached
        if cached is None or version is None or cached[0] != version:
            cached = version, self._take(None if cached is None else cached[1])
            self._cached = cached
        return cached[1]

    def close(self) -> None:
        """Wait for what is being prepared, and let go of the files that are mapped.

        It is opened again when it is used again.
        """
        self._writer.ahead.settle()
        self._cached = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        """Opened again where it arrives, with the surroundings that are usual there."""
        return type(self).open, (self.path,)

    _inner = frozenset(
        {
            *("at", "change_feed", "changes_kind", "created", "definition", "definition_at"),
            *(
                "definition_kind",
                "instant",
                "manifest",
                "slot_number",
                "snapshot_kind",
                "storage",
                "surroundings",
            ),
            *("writer", "writer_kind"),
        }
    )

    def __repr__(self) -> str:
        try:
            current = self._current()
            seen = NamedSlots(sorted(current.window), self._definition.slotting)
            said = f"{seen}, {self.definition.kept_as}, commit {current.commit}"
        except (WavedexError, OSError) as error:
            said = f"cannot be read ({type(error).__name__})"
        return f"<{type(self).__name__} {self.path}: {said}>"

    def _repr_html_(self) -> str:
        return to_html(self._definition.drawing, self.describe(), self._definition.slotting.label)
