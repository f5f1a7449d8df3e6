"""The journal: commits of anything, in one small file each, and how a next one comes to be.

A commit appears under its number all at once, or not at all where that number is taken.
All files that it names last before it is published.
So a crash leaves the old state, and some files that nobody names.

Readers take no lock: a commit and the files that it names never change,
except that stores which grow in place write into room that no commit shows.
Vacuum removes commits first and then the files that no kept one names, if we gave them their names.

Knows files and their names, and of a commit only what `Commit` says.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, Self, TypeVar

from wavedex.errors import (
    CommitUncertain,
    ConcurrentWrite,
    Damaged,
    NotAnIndex,
    NotOurs,
    StillPreparing,
    WavedexError,
)
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import (
    DATA,
    LOG,
    STAGED,
    commit_of,
    draft_name,
    folder_of,
    is_draft,
    is_manifest,
    is_part_file,
    manifest_name,
)
from wavedex.log.followers import Followed
from wavedex.log.leases import leased_commits, take_lease, useless_leases
from wavedex.plan.slot_set import ranges_of

STAGED_HOURS_KEPT = 24
"""How long a file below `staged/` that no manifest names counts as the work of a running task."""


PARSED_MAX = 8
"""How many manifests are remembered as they were parsed.

A write looks at the last few several times.
"""
LISTED = 32
"""How often vacuums list the files, to find those that nobody ever named.

Where k commits are kept, at most one vacuum in k / LISTED does so: one in ten for 320 commits.
"""
RECENT = 4
"""How many commits a write looks at for files of attempts that failed: its own, and those before.

A file is first named by the commit in its name, or by one that follows, within as many commits.
"""


def commits_in(names: Iterable[str]) -> list[int]:
    """The commits whose manifests are among the names in the log, oldest first."""
    found = [name for name in names if len(name) == 25 and name[20:] == ".json"]
    digits = "".join([name[:20] for name in found])
    if not digits.isascii() or not digits.isdigit():
        found = [name for name in found if is_manifest(name)]
    first, last = int(min(found, default="0")[:20]), int(max(found, default="-1")[:20])
    if last - first + 1 == len(found):  # as nearly always, and told without reading every number
        return [*range(first, last + 1)]
    return sorted(int(name[:20]) for name in found)


class Kept:
    """Which of the kept manifests tell whether a file is still named.

    The commits that name a file follow one another: none takes up what the one before has let go.
    So take a file that was named by a commit that is gone. It is named by the next commit that is
    kept, or by the last one before, or by none.
    The first commit that names a data file is the one in its name, or one soon after where a
    preparation came between. So a file with the number of a commit that is gone is named by the
    next that is kept, or by none.

    Unless `whole`, only some are asked. Those at the edges of gaps tell of all that belonged to
    commits that are gone, and so of whatever a vacuum that was cut off has left. The newest tell of
    attempts that failed.
    """

    def __init__(self, commits: Sequence[int], whole: bool) -> None:
        runs = [] if whole else ranges_of(commits)
        recent = commits[-RECENT:]
        self.count, self.oldest = len(commits), commits[0]
        self.asked = {*commits} if whole else {*recent, *(edge for run in runs for edge in run)}
        bounds = [(first + 1, min(last, recent[0]) - 1) for first, last in runs]
        self._unasked = [(first, last) for first, last in bounds if first <= last]

    def told(self, names: list[str]) -> list[str]:
        """The names in a folder of data whose files the manifests `asked` tell of."""
        for first, last in self._unasked:
            start, stop = f"{max(0, first - RECENT):010d}", f"{last + 1:010d}"
            names = [name for name in names if not start <= name < stop]
        return names


class Commit(Protocol):
    """What can be committed.

    It has a number, an instant, files, and bytes that no other attempt has.
    """

    @property
    def commit(self) -> int:
        """Its number."""

    @property
    def written_at(self) -> str:
        """When, in ISO format and UTC."""

    @property
    def floor(self) -> int:
        """The oldest commit that may be kept."""

    @property
    def files(self) -> Mapping[str, FileRef]:
        """Every file that it names."""

    @property
    def is_preparation(self) -> bool:
        """Whether it only works ahead, so that whoever came second may try again at once."""

    def to_bytes(self) -> bytes:
        """The content of its file."""

    def follows(self, other: Self) -> bool | None:
        """Whether it is the other one, or came to be on top of it; None if that cannot be told."""


M = TypeVar("M", bound=Commit)

TOKENS_KEPT = 32
"""A commit has the tokens of this many commits, the last ones.

Up to this many commits later, it can still be told whether one commit follows another.
"""


class Chained(Protocol):
    """A commit that knows the tokens of those before it, its own last. No two have the same."""

    @property
    def commit(self) -> int:
        """Its number."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the last commits."""


def came_after(one: Chained, other: Chained) -> bool | None:
    """Whether a commit is another one, or came to be on top of it.

    None where that is too long ago to tell.
    """
    commits = one.commit - other.commit
    if commits < 0:
        return False
    return one.tokens[-1 - commits] == other.tokens[-1] if commits < len(one.tokens) else None


class Journal(Generic[M]):
    """The commits below one folder."""

    def __init__(self, files: AnyFiles, parse: Callable[[bytes, str, AnyFiles], M]) -> None:
        """Read commits with `parse`.

        It makes a commit of the content of its file, its name, and the files it may look at.
        It raises Damaged.
        """
        self.files = files
        self._parse = parse
        self._parsed: dict[int, tuple[bytes, M]] = {}
        self._unlisted = sys.maxsize

    def commits(self) -> list[int]:
        """The numbers of the commits that are kept, oldest first."""
        return commits_in(self.files.list(LOG))

    def oldest(self) -> int:
        """The number of the oldest commit that is kept."""
        return self.commits()[0]

    def latest(self) -> M:
        """The newest manifest."""
        while True:
            commits = self.commits()
            if not commits and not self.files.exists(""):
                raise NotAnIndex(f"{self.files.root} is no index any more: its folder is gone.")
            if not commits:
                raise Damaged(f"{LOG}/ holds no manifest")
            try:
                return self.read(commits[-1])
            except FileNotFoundError:
                continue  # It was vacuumed after a newer one had come; look again.

    def read(self, commit: int) -> M:
        """The manifest of a commit. Raises FileNotFoundError where it is not kept.

        COST: the file is read each time. It is parsed only if it is not among the last few.
        """
        name = manifest_name(commit)
        data = self.files.read(name)
        known = self._parsed.pop(commit, None)
        if known is None or known[0] != data:
            known = data, self._parse(data, name, self.files)
            if known[1].commit != commit:
                raise Damaged(f"{name} is the manifest of commit {known[1].commit}")
        self._remember(*known)
        return known[1]

    def _remember(self, data: bytes, manifest: M) -> None:
        self._parsed[manifest.commit] = data, manifest
        if len(self._parsed) > PARSED_MAX:
            # Others may be reading at the same time, and be faster.
            self._parsed.pop(next(iter(self._parsed.copy())), None)

    def commit(self, manifest: M, token: str, after: M | None = None) -> None:
        """Publish the next manifest, the one `after` another.

        REQUIRES: the content of every file that it names lasts.
        Raises ConcurrentWrite where another writer was first. Nothing has changed then.
        Raises CommitUncertain where the manifest is there, or may be, and the disk does not say
        whether it lasts. The files that it names must stay then.
        What interrupts is raised as it is: ask `holds` what came of the commit.
        """
        draft = draft_name(manifest.commit, token)
        data = manifest.to_bytes()
        try:
            new = manifest.files.keys() - (after.files.keys() if after is not None else set())
            for folder in {DATA, *map(folder_of, new)} if new or after is None else ():
                self.files.sync_folder(folder)
            self.files.publish(manifest_name(manifest.commit), data, draft)
        except Exception as error:
            self._settle(manifest, error)
        else:
            if not self.files.is_local:
                self._settle(manifest, None)
        self._remember(data, manifest)

    def _settle(self, manifest: M, failure: Exception | None) -> None:
        """See what came of a commit that failed, or that no lock guarded.

        Raises, unless the commit is in the log and lasts.
        Without a lock a writer may be so slow that its number is taken, vacuumed, and free again.
        Nobody will ever look at what it publishes then, since all go by the newest commit.
        """
        held = self.holds(manifest)
        if held and not self.files.is_local:
            return
        if held is not False or isinstance(failure, CommitUncertain):
            why = failure or "Others went on, and it cannot be told from where."
            raise CommitUncertain(
                f"Commit {manifest.commit} was made, or may have been: {why} Look to the disk; "
                "an append may then be repeated, an amendment only if its rows are not there."
            ) from failure
        # A writer that was faster may have taken the number, or cleared the draft away.
        if failure is not None and not isinstance(failure, FileExistsError | FileNotFoundError):
            raise failure
        self._remove_stray(manifest)
        first = self.find(manifest.commit)
        is_preparing = first is not None and first.is_preparation
        raise (StillPreparing if is_preparing else ConcurrentWrite)(
            f"Another writer committed {manifest.commit} to {self.files.root} first. Nothing was "
            "changed; do it again on the new state, or wait for the other, as with wait='30 s'."
        )

    def _remove_stray(self, manifest: M) -> None:
        """Remove a manifest that later ones do not build on, if it is there."""
        name = manifest_name(manifest.commit)
        with contextlib.suppress(FileNotFoundError):
            if self.files.read(name) == manifest.to_bytes():
                self.files.remove(name)

    def holds(self, manifest: M) -> bool | None:
        """Whether a commit is in the log, or one that came to be on top of it.

        None where that cannot be told.
        """
        try:
            while (newest := max(self.commits(), default=-1)) == manifest.commit:
                with contextlib.suppress(FileNotFoundError):  # It was vacuumed since; look again.
                    name = manifest_name(manifest.commit)
                    return self.files.read(name) == manifest.to_bytes()
            return newest > manifest.commit and self.latest().follows(manifest)
        except (WavedexError, OSError):
            return None

    def lease(self, commit: int, now_s: float, token: str) -> int | None:
        """Keep a commit for some minutes from writers that clear up.

        Returns until when, or None where the commit is gone already.
        Where only one commit is kept, and when rows are erased, writers let go of it all the same.
        Raises WavedexError where the disk refuses.
        """
        until_s = take_lease(self.files, LOG, commit, now_s, token)
        return until_s if self.files.exists(manifest_name(commit)) else None

    def vacuum(
        self,
        keep: int,
        since: str | None = None,
        now_s: float | None = None,
        whole: bool = True,
        followed: Followed | None = None,
    ) -> list[str]:
        """Remove all but the newest `keep` manifests, and the files that no kept manifest names.

        These are kept too, but none of them from before an erase:

        - those that were written at `since` or later, and the one that was the newest then;
        - with `now_s`, those that are on lease then;
        - with `followed`, those that followers have not read.

        Manifests that a reader has pinned are kept. Unless `whole`, some files that no manifest
        ever named stay until a later time. Returns what was removed.
        REQUIRES: the writer's lock is held, where there are locks.
        COST: reads a few manifests for each that goes, however many are kept; with `whole`, all.
        """
        listed = self.files.list(LOG)
        commits = commits_in(listed)
        drafts = [name for name in listed if name[-4:] == ".tmp" and is_draft(name)]
        removed = [f"{LOG}/{name}" for name in drafts if self._is_over(name, commits[-1])]
        for name in removed:
            self.files.remove(name)
        leased = set() if now_s is None else leased_commits(listed, now_s)
        held = None if followed is None else followed.first(listed, commits, self._written_at)
        old = self._over(commits, keep, since, leased, held)
        named = {commit: self._names_in(commit) for commit in old}
        gone = [commit for commit in old if self.files.remove_unpinned(manifest_name(commit))]
        for name in useless_leases(listed, {*commits} - {*old}, now_s):
            self.files.remove(f"{LOG}/{name}")
        kept = Kept(sorted({*commits} - {*gone}), whole)
        over = {name for commit in gone for name in named[commit] or ()}
        staged: list[str] = []
        if whole or None in named.values() or self._is_due(kept):
            over.update(self._perhaps_unnamed(kept, commits[-1]))
            staged = self._perhaps_left(kept.oldest)
            self._unlisted = 0
        unnamed = self._remove_unnamed(over, kept.asked)
        if staged:
            unnamed += self.remove_unnamed(staged)
        return [*removed, *map(manifest_name, gone), *unnamed]

    def _names_in(self, commit: int) -> Iterable[str] | None:
        """The files that an old manifest names; None where nobody can tell.

        What only that manifest named is then found by listing.
        """
        try:
            return self.read(commit).files
        except (FileNotFoundError, Damaged, NotOurs):
            return None

    def _is_due(self, kept: Kept) -> bool:
        """Whether to look for files that no manifest ever named.

        The more files there are to look at, the less often.
        """
        self._unlisted += LISTED
        return self._unlisted >= kept.count

    def _perhaps_unnamed(self, kept: Kept, newest: int) -> Iterator[str]:
        """Files that may be unnamed. The manifests that are asked tell whether one names them."""
        for folder in dict.fromkeys([DATA, *self.files.homes(DATA)]):
            for name in kept.told(self.files.list(folder)):
                if self._is_over(name, newest) and is_part_file(f"{folder}/{name}"):
                    yield f"{folder}/{name}"

    def _perhaps_left(self, oldest: int) -> list[str]:
        """Staged files that no task can be at work on.

        Any kept manifest may name one: nothing tells how long it waited.
        """
        names = filter(is_part_file, self.files.names_in(STAGED))
        return [name for name in names if self._is_old(name, oldest)]

    def _over(
        self,
        commits: list[int],
        keep: int,
        since: str | None,
        leased: set[int],
        held: int | None,
    ) -> list[int]:
        """The commits that need not be kept: those from before an erase, and old ones.

        Old are all but these: the newest `keep`, those written at `since` or later (in ISO format
        and UTC), the one before them, those that are on lease, and those from `held` on.
        """
        floor = (self.find(commits[-1]) or self.latest()).floor
        few = [each for each in commits[:-keep] if held is None or each < held]
        old = few
        if since is not None:
            following = itertools.takewhile(
                lambda commit: self._written_at(commit) <= since, commits[1 : len(few) + 1]
            )
            old = few[: sum(1 for _ in following)]
        unheld = {*old} - leased
        # Another writer, whom no lock kept out, may have erased since these were listed.
        return [commit for commit in commits[:-1] if commit in unheld or commit < floor]

    def _written_at(self, commit: int) -> str:
        found = self.find(commit)
        return "" if found is None else found.written_at  # Another vacuum was faster.

    def remove_unnamed(self, names: Iterable[str], since: int = 0) -> list[str]:
        """Remove the files among `names` that no kept manifest names, and return their names.

        REQUIRES: the writer's lock is held, or nobody else can come to name them. No commit before
        `since` names any.
        """
        return self._remove_unnamed(names, [each for each in self.commits() if each >= since])

    def _remove_unnamed(self, names: Iterable[str], commits: Collection[int]) -> list[str]:
        found = [*filter(None, map(self.find, sorted(commits)))]
        if not found or len(found) < len(commits):
            # Another vacuum is at work, which no lock kept out, and some manifests are gone.
            # The others must tell what those told.
            found = self._kept()
        named = {name for manifest in found for name in manifest.files}
        unnamed = [name for name in names if name not in named]
        for name in unnamed:
            self.files.remove(name)
        return unnamed

    def _kept(self) -> list[M]:
        """The manifests that are kept.

        Where there is no lock, another vacuum may remove some while they are read.
        ENSURES: the newest is among them. That is enough, since whatever comes after it names no
        other file that was there before.
        """
        while True:
            commits = self.commits()
            found = [*filter(None, map(self.find, commits))]
            if not commits or (found and found[-1].commit == commits[-1]):
                return found

    def find(self, commit: int) -> M | None:
        """The manifest of a commit; None where it is not kept."""
        try:
            return self.read(commit)
        except FileNotFoundError:
            return None

    def _is_old(self, name: str, oldest: int) -> bool:
        """Whether no task can be at work on a staged file: the oldest commit is much younger."""
        try:
            kept_s = self.files.age_s(manifest_name(oldest))
            return self.files.age_s(name) > kept_s + STAGED_HOURS_KEPT * 3600
        except FileNotFoundError:
            return False  # Its writer was faster.

    def _is_over(self, name: str, newest: int) -> bool:
        """Whether nobody can be at work on a file. Its name begins with the commit it is for.

        A lock keeps others out. Where there is none, a commit that is still to come may be another
        writer's. Files that were staged for the newest may also still come to be named: by the next
        commit, where a preparation took the newest number.
        """
        commit = commit_of(name)
        return self.files.is_local or commit is None or commit < newest
