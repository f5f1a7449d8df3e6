"""The commit that a job of Spark reads.

It is chosen once, on the driver, and held until the tasks have opened their files.
All tasks must read one commit, even those that Spark runs again hours later because an executor was
lost. So a frame stays at its commit, and the commit has to stay too. Whoever loads a frame takes a
lease on it, and tasks that start late renew it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wavedex.errors import CommitGone, WavedexError
from wavedex.index.opening import AnyIndex
from wavedex.log.journal import Journal, M
from wavedex.log.leases import LEASE_S
from wavedex.log.manifest import Log, Manifest

_ADVICE = (
    "unless the index has keep_commits=1 or rows were erased; for frames that must last longer, "
    "create the index with keep_for, such as '1 day'. A view made with wavedex.spark.view moves on "
    "by itself."
)
_ADVICE_ON_SETS = "unless ids were erased or history was forgotten."
"""Of a set over time."""


@dataclass(frozen=True)
class HeldCommit:
    """A commit, and what is known of the lease on it. Goes to the tasks."""

    commit: int
    until_s: float
    """When the lease ends, by the clock of whoever took it."""
    refusal: str | None
    """Why there is no lease. Whoever may only read the folder cannot take one."""

    @contextmanager
    def reading(self, index: AnyIndex) -> Iterator[None]:
        """Hold the commit while its files are opened.

        Raises CommitGone where they are not there any more.
        """
        with self._reading(Log(index.storage), _ADVICE):
            yield

    @contextmanager
    def reading_set(self, journal: Journal[Any]) -> Iterator[None]:
        """The same for a commit of a set over time."""
        with self._reading(journal, _ADVICE_ON_SETS):
            yield

    @contextmanager
    def _reading(self, journal: Journal[Any], advice: str) -> Iterator[None]:
        if self.refusal is None and time.time() > self.until_s - LEASE_S / 2:
            _lease(journal, self.commit)
        try:
            yield
        except (FileNotFoundError, CommitGone) as error:
            raise CommitGone(self._gone(str(journal.files.root), advice)) from error

    def manifest(self, index: AnyIndex) -> Manifest:
        """Its manifest, for another query of the same frame. Raises CommitGone."""
        with self.reading(index):
            return Log(index.storage).read(self.commit)

    def _gone(self, path: str, advice: str) -> str:
        lease = (
            f"A frame holds its commit for {LEASE_S // 120} minutes "
            "after it was loaded or last asked"
        )
        if self.refusal is not None:
            lease = f"No lease could be taken on it ({self.refusal})"
        return (
            f"Commit {self.commit} of {path}, at which this frame stays, is not kept any more. "
            f"Load the frame again. {lease}, {advice}"
        )


def hold_newest(index: AnyIndex) -> tuple[Manifest, HeldCommit]:
    """The newest commit, which is held from now on."""
    return _hold(Log(index.storage), lambda: index.manifest)


def hold_newest_in(journal: Journal[M]) -> tuple[M, HeldCommit]:
    """The newest commit of a journal, which is held from now on."""
    return _hold(journal, journal.latest)


def _hold(journal: Journal[M], latest: Callable[[], M]) -> tuple[M, HeldCommit]:
    while True:
        newest = latest()
        until_s, refusal = _lease(journal, newest.commit)
        if until_s is not None:
            return newest, HeldCommit(newest.commit, until_s, refusal)


def _lease(journal: Journal[Any], commit: int) -> tuple[float | None, str | None]:
    """Until when there is a lease on a commit, and why there is none, if so.

    Instead of the first, None where the commit is gone.
    """
    try:
        return journal.lease(commit, time.time(), secrets.token_hex(4)), None
    except (WavedexError, OSError) as error:
        # Who may only read goes on as before. Should the commit go away, that is what is said.
        return 0.0, str(error)
