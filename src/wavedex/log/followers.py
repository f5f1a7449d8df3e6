"""Followers: readers of changes that say by name how far they have come.

Whoever reads what commits changed needs every commit since it last looked. So it leaves an empty
file beside the manifests. The name of the file says who it is and up to which commit it has read.
A writer that clears up keeps that commit and all after it, up to a bound that the owner of the
index sets: a reader that is gone for good must not keep the past for ever.

A follower that has read nothing yet begins with all that is there as of some commit. It says so
before it reads, since that commit will be the one it goes on from.

A file is never changed: to move on is to leave another one and to remove the first. If both are
there, the later one counts.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wavedex.errors import BadName
from wavedex.files.contract import AnyFiles
from wavedex.files.names import LOG, follower_name, follower_of

_CALLED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


class Standing(NamedTuple):
    """How far a follower has come."""

    commit: int
    """The commit that must be kept for it, and all after it."""
    has_read: bool
    """Whether it has read up to there. Otherwise it is at its first look, as of that commit."""


@dataclass(frozen=True)
class Bound:
    """How far followers may fall behind before what they need goes: in commits, or in time."""

    commits: int | None = None
    seconds: float | None = None

    def __bool__(self) -> bool:
        return bool(self.commits or self.seconds)

    def __str__(self) -> str:
        """As people say it.

        >>> str(Bound(commits=20)), str(Bound(seconds=90_000.0))
        ('20 commits', '1 day, 1:00:00')
        """
        if self.commits is not None:
            return f"{self.commits} commits"
        return str(dt.timedelta(seconds=self.seconds or 0.0))


NO_BOUND = Bound(commits=0)
"""Nothing is kept for followers."""


@dataclass(frozen=True)
class Followed:
    """What is kept for followers at some instant."""

    bound: Bound
    now: dt.datetime

    def first(
        self, listed: Iterable[str], commits: Sequence[int], written_at: Callable[[int], str]
    ) -> int | None:
        """The first commit that is kept, and all after it; None if none is.

        `listed` are the names beside the manifests, and `written_at` says when a commit was made. A
        follower counts while the first commit that it has not read is within the bound.
        """
        bound, newest, kept = self.bound, commits[-1], {*commits}
        since = (self.now - dt.timedelta(seconds=bound.seconds or 0.0)).isoformat()

        def counts(commit: int) -> bool:
            if commit not in kept:
                return False
            if bound.commits is not None:
                return newest - commit <= bound.commits
            return commit == newest or written_at(commit + 1) >= since

        if not bound:
            return None
        told = {each.commit for each in standings(listed).values()}
        return min(filter(counts, told), default=None)


def check_name(name: object) -> str:
    """The name of a follower. Raises BadName where it cannot be one."""
    if not isinstance(name, str) or not _CALLED.fullmatch(name):
        raise BadName(
            f"{name!r} cannot be the name of a follower. Give up to 64 letters, digits, - and _, "
            "such as 'daily-totals'."
        )
    return name


def standings(listed: Iterable[str]) -> dict[str, Standing]:
    """How far each follower has come, by the names beside the manifests."""
    found: dict[str, Standing] = {}
    for told in filter(None, map(follower_of, listed)):
        name, commit, has_read = told
        found[name] = max(found.get(name, Standing(-1, False)), Standing(commit, has_read))
    return found


def note(files: AnyFiles, name: str, standing: Standing) -> None:
    """Say how far a follower has come. ENSURES: it lasts, and nothing else is said of it."""
    said = follower_name(name, *standing)
    others = [each for each in _files_of(files, name) if each != said]
    if len(others) == len(_files_of(files, name)):
        files.create(said, lambda sink: sink.write(b""))
        files.sync(said)
        files.sync_folder(LOG)
    for each in others:
        files.remove(each)


def forget(files: AnyFiles, name: str) -> None:
    """Keep nothing more for a follower. One that is not there does no harm."""
    for each in _files_of(files, name):
        files.remove(each)


def _files_of(files: AnyFiles, name: str) -> list[str]:
    told = ((each, follower_of(each)) for each in files.list(LOG))
    return [f"{LOG}/{each}" for each, found in told if found is not None and found[0] == name]
