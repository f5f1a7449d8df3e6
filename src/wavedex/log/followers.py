"""Followers: readers of changes that say by name how far they have come.

Whoever reads what commits changed needs every commit since it last looked. So it leaves an empty
file beside the manifests. The name of the file says who it is and up to which commit it has read.
A writer that clears up keeps that commit and all after it, up to a bound that the owner of the
index sets: a reader that is gone for good must not keep the past for ever.

A follower that has read nothing yet begins with all that is there as of some commit. It says so
before it reads, since that commit will be the one it goes on from.

A file is never changed: to move on is to leave another one and to remove the first. If both are
there, the later one counts. So a follower that moves back is where it was until the later file is
gone. That one is removed last, and what does not count is removed first.
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
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


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

        >>> str(Bound(commits=1)), str(Bound(seconds=604_800.0)), str(Bound(seconds=90_000.5))
        ('1 commit', '7 days', '1 day, 1 hour, 0.5 seconds')
        """
        if self.commits is not None:
            return _counted(self.commits, "commit")
        rest, said = self.seconds or 0.0, []
        for unit, seconds in _UNITS:
            count, rest = divmod(rest, seconds)
            if count:
                said.append(_counted(int(count), unit))
        if rest or not said:
            said.append(_counted(round(rest, 6), "second"))
        return ", ".join(said)


def _counted(count: float, unit: str) -> str:
    said = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{said} {unit}{'s' * (count != 1)}"


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
    """Say how far a follower has come, whether that is further or back.

    ENSURES: it lasts, and nothing else is said of it. A crash leaves what was said before, or this.
    """
    said, before = follower_name(name, *standing), _settled(files, name)
    if said == before:
        return
    files.create(said, lambda sink: sink.write(b""))
    files.sync(said)
    files.sync_folder(LOG)
    if before is not None:
        files.remove(before)
        if said < before:
            files.sync_folder(LOG)  # If it came back, it would count.


def forget(files: AnyFiles, name: str) -> None:
    """Keep nothing more for a follower. One that is not there does no harm."""
    last = _settled(files, name)
    if last is not None:
        files.remove(last)
        files.sync_folder(LOG)


def _settled(files: AnyFiles, name: str) -> str | None:
    """The file that counts. Those that do not, which a crash has left, are removed."""
    told = ((each, follower_of(each)) for each in files.list(LOG))
    # The later a file, the later its name.
    found = sorted(f"{LOG}/{each}" for each, said in told if said is not None and said[0] == name)
    for each in found[:-1]:
        files.remove(each)
    if len(found) > 1:
        files.sync_folder(LOG)
    return found[-1] if found else None
