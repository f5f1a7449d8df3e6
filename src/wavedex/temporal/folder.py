"""A set over time on disk: its definition, its commits, and the files that they name.

A commit writes what changed, and now and then all that the method keeps. So its cost goes by what
changed, and opening takes a few changes in at most. The files of a commit last before it appears in
the journal: what crashed left the old state.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import xxhash

from wavedex.errors import (
    AlreadyExists,
    CommitGone,
    ConcurrentWrite,
    Damaged,
    NotAnIndex,
    WavedexError,
)
from wavedex.files import names
from wavedex.files.contract import AnyFiles, FileRef, Output, is_there
from wavedex.files.names import DATA, LOCK, LOG, SET
from wavedex.log.outside import Outside
from wavedex.rows.arrays import own_view, read_arrays, read_batch, write_arrays, write_batch
from wavedex.rows.pieces import concat
from wavedex.temporal.commit import Changed, SetCommit, set_journal
from wavedex.temporal.definition import SetDefinition
from wavedex.temporal.events import Columns, Events
from wavedex.temporal.state import State

COMMITS_KEPT = 2
"""A commit stays until the one after the next, for whoever is opening it."""
LOG_MIN = 1 << 19
"""Changes of up to so many bytes are taken in as a set is opened, before they go into its base."""
LOG_PART = 4
"""The same for this part of the bytes of the base, where that is more."""
MERGED_MAX = 65_536
"""Segments of fewer changes become part of later ones, so that there are few."""

T = TypeVar("T")
_BROKEN = (
    ValueError, LookupError, TypeError, AttributeError, OverflowError, pa.ArrowException,
    WavedexError,
)  # fmt: skip


class Loaded(NamedTuple):
    """A set as it is in memory, and the commit that it is of."""

    commit: SetCommit
    state: State | None
    """None before the types of its columns are known."""


class SetFolder:
    """The folder of a set."""

    def __init__(self, files: AnyFiles, definition: SetDefinition, around: Outside) -> None:
        self.files, self.definition, self._around = files, definition, around
        self.journal = set_journal(files)

    # -- coming to be -------------------------------------------------------------------------

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], definition: SetDefinition, around: Outside
    ) -> SetFolder:
        """Make an empty set. Raises AlreadyExists."""
        files = around.files(path)
        if files.exists("") and [*files.list("")]:
            _check_leftover(files)
        files.make_folder("")
        with files.lock(LOCK):
            _check_leftover(files)
            for folder in (DATA, LOG):
                files.make_folder(folder)
            for leftover in files.list(LOG) if files.is_local else ():
                files.remove(f"{LOG}/{leftover}")
            token = around.token()
            first = SetCommit(
                0,
                around.now().isoformat(),
                (token,),
                definition.checksum,
                schema=definition.schema,
            )
            made = cls(files, definition, around)
            made.journal.commit(first, token)
            try:
                draft = names.definition_draft(token, SET)
                files.publish(SET, definition.to_bytes(), draft)
            except FileExistsError:
                raise _taken(files) from None
            files.sync_folder(names.ABOVE)
        return made

    @classmethod
    def open(cls, path: str | os.PathLike[str], around: Outside) -> SetFolder:
        """A set that is there. Raises NotAnIndex, NewerFormat and Damaged."""
        files = around.files(path)
        try:
            content = files.read(SET)
        except (FileNotFoundError, NotADirectoryError):
            if is_there(files, names.DEFINITION):
                raise NotAnIndex(
                    f"{path} is an index, and no set over time: open it with wavedex.open, and ask "
                    "its history, if it keeps one."
                ) from None
            raise NotAnIndex(
                f"{path} is no set over time: it has no {SET}. Check the path, or create a set "
                "there with TemporalSet.create."
            ) from None
        return cls(files, SetDefinition.from_bytes(content), around)

    # -- reading ------------------------------------------------------------------------------

    def load(self, held: Loaded | None = None) -> Loaded:
        """The set as of the newest commit. Raises Damaged.

        Where it is the one that is held, or goes on from it, only what is new is read.
        """
        while True:
            commit = self.journal.latest()
            self._check_definition(commit)
            try:
                return self._load(commit, held)
            except FileNotFoundError as error:
                if self.journal.latest().commit == commit.commit:
                    raise Damaged(
                        f"commit {commit.commit} names a file that is gone ({error})"
                    ) from error
                # A newer one has come, and its files were removed.

    def load_commit(self, number: int) -> Loaded:
        """The set as of a commit. Raises CommitGone where that is not kept, and Damaged."""
        try:
            commit = self.journal.read(number)
            self._check_definition(commit)
            return self._load(commit, None)
        except FileNotFoundError as error:
            raise CommitGone(
                f"Commit {number} of {self.files.root} is not kept. There are "
                f"{self.journal.commits()}."
            ) from error

    def _check_definition(self, commit: SetCommit) -> None:
        if commit.definition != self.definition.checksum:
            raise Damaged(f"{SET} is not what it was when commit {commit.commit} was made")

    def _load(self, commit: SetCommit, held: Loaded | None) -> Loaded:
        if held is not None and held.commit.commit == commit.commit:
            return held
        columns = commit.columns
        if columns is None:
            return Loaded(commit, None)
        known = 0
        state = None if held is None else held.state
        if held is not None and state is not None and _goes_on(commit, held.commit):
            known = len(held.commit.segments)
        else:
            state = self._from_base(commit, columns)
        for segment in commit.segments[known:]:
            events = self._events(segment, columns)
            with _whole(segment.file.name):
                state.take(events)
        return Loaded(commit, state)

    def _from_base(self, commit: SetCommit, columns: Columns) -> State:
        state = self.definition.state(columns)
        if commit.base is None:
            return state
        ref = commit.base.file
        whole = self.files.private(ref)
        _check_sum(ref, whole)
        arrays, said = read_arrays(pa.py_buffer(whole), ref.name)
        with _whole(ref.name):
            widths = json.loads(said["widths"])
            kept: dict[str, Any] = {}
            for name, values in arrays.items():
                if name not in widths:
                    kept[name] = values
                    continue
                flat = own_view(values, whole, ref.name)
                kept[name] = flat if widths[name] is None else flat.reshape(-1, widths[name])
            state.restore(kept, commit.base.changes)
            state.check_restored()
        return state

    def _events(self, segment: Changed, columns: Columns) -> Events:
        ref = segment.file
        buffer = self.files.map(ref)
        _check_sum(ref, buffer)
        batch = read_batch(buffer, ref.name)
        sign = pa.int32() if self.definition.counted else pa.int8()
        wanted = [columns.ids, columns.times, sign, *columns.rows.types]
        if batch.schema.types != wanted or batch.num_rows != segment.changes:
            raise Damaged(f"{ref.name} has other columns or rows than its commit says")
        with _whole(ref.name):
            batch.validate(full=True)
            return Events.from_batch(batch, columns)

    # -- writing ------------------------------------------------------------------------------

    def write(
        self,
        held: Loaded,
        state: State,
        pending: Sequence[Events],
        marks: dict[str, int],
        whole: bool = False,
        horizon: int | None = None,
        forgets: bool = False,
    ) -> Loaded:
        """Commit what came since: the held commit is followed by one of this state.

        All is written anew if `whole`. What `forgets` lets go of the commits and files before it.
        Raises ConcurrentWrite where another writer came first. Nothing has changed then.
        """
        before = held.commit
        with self.files.lock(LOCK):
            newest = self.journal.commits()[-1]
            if newest != before.commit:
                raise ConcurrentWrite(
                    f"Another writer committed {newest} to {self.files.root} since commit "
                    f"{before.commit} was read. Call refresh(), which lets go of changes that were "
                    "not committed, and make them again."
                )
            token = self._around.token()
            number = before.commit + 1
            fresh = sum(each.nbytes for each in pending)
            logged = sum(each.file.bytes for each in before.segments) + fresh
            based = 0 if before.base is None else before.base.file.bytes
            base, segments = before.base, before.segments
            if whole or logged > max(LOG_MIN, based // LOG_PART):
                base, segments = self._write_base(state, number, token), ()
            elif pending:
                segments = self._write_segment(before, state, pending, number, token)
            commit = before.next(
                self._around.now().isoformat(),
                token,
                schema=state.columns.schema,
                base=base,
                segments=segments,
                marks={**before.marks, **marks},
                horizon=before.horizon if horizon is None else horizon,
                floor=number if forgets else before.floor,
            )
            self.journal.commit(commit, token, before)
            keep = 1 if forgets else COMMITS_KEPT
            self.journal.vacuum(keep, now_s=self._around.now().timestamp(), whole=forgets)
        return Loaded(commit, state)

    def _write_base(self, state: State, number: int, token: str) -> Changed:
        arrays = state.arrays
        widths: dict[str, int | None] = {}
        flat: dict[str, Any] = {}
        for name, values in arrays.items():
            flat[name] = values
            if isinstance(values, np.ndarray):
                widths[name] = values.shape[1] if values.ndim == 2 else None
                flat[name] = np.ascontiguousarray(values).reshape(-1)

        def fill(sink: Output) -> None:
            write_arrays(sink, flat, {"widths": json.dumps(widths)})

        name = names.set_file(number, token, "base")
        ref = self.files.create(name, fill)
        self.files.sync(name)
        return Changed(ref, state.changes)

    def _write_segment(
        self, before: SetCommit, state: State, pending: Sequence[Events], number: int, token: str
    ) -> tuple[Changed, ...]:
        """Segments with one more. Those before it that are not much longer become part of it.

        So there are few, and each change is written a few times at most.
        """
        batches = [events.to_batch(state.instants) for events in pending]
        kept = [*before.segments]
        count = sum(batch.num_rows for batch in batches)
        while kept and kept[-1].changes < min(2 * count, MERGED_MAX):
            earlier = self._events(kept.pop(), state.columns)
            batches.insert(0, earlier.to_batch(state.instants))
            count += len(earlier)
        whole = concat(batches)
        name = names.set_file(number, token, "changes")
        ref = self.files.create(name, lambda sink: write_batch(sink, whole, "lz4"))
        self.files.sync(name)
        return (*kept, Changed(ref, count))


def _goes_on(commit: SetCommit, held: SetCommit) -> bool:
    """Whether a commit has what another has, and more changes behind it."""
    count = len(held.segments)
    same = (commit.base, commit.horizon, commit.schema) == (held.base, held.horizon, held.schema)
    return same and commit.segments[:count] == held.segments


def _check_sum(ref: FileRef, content: Any) -> None:
    if xxhash.xxh64_hexdigest(content) != ref.checksum:
        raise Damaged(f"{ref.name} has another checksum than its commit says")


@contextlib.contextmanager
def _whole(name: str) -> Any:
    """Whatever breaks on the content of a file is damage of the file."""
    try:
        yield
    except Damaged:
        raise
    except _BROKEN as error:
        raise Damaged(f"{name} does not have what a set has ({error})") from error


def _check_leftover(files: AnyFiles) -> None:
    """Raise AlreadyExists where there is more than what a `create` that crashed has left."""
    try:
        there = {*files.list("")}
    except NotADirectoryError:
        raise _taken(files) from None
    if not there <= {DATA, LOG, LOCK} or (there and files.list(DATA)):
        raise _taken(files)
    if any(names.commit_of(name) not in (0, None) for name in files.list(LOG)):
        raise _taken(files)


def _taken(files: AnyFiles) -> AlreadyExists:
    return AlreadyExists(
        f"There is something at {files.root} already. Choose another path, or use "
        "TemporalSet.open if it is a set over time."
    )
