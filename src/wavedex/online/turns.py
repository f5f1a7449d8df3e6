"""Threads take turns at a window.

A stream is pushed by one thread, often Spark's, and another asks. Whoever does either waits until
nobody else does; whoever has waited comes before whoever comes again. Windows that are joined,
compared, or share an index read each other's rows, so they are *tied*: from then on they have one
turn together.

A reader that is told of an answer has the turn of the thread that pushed. It must not wait for
another thread that wants it too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock, RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

P = ParamSpec("P")
R = TypeVar("R")


class Held:
    """A lock that its owner may take again, and that is given to whoever has waited."""

    def __init__(self) -> None:
        self._lock, self._next = RLock(), Lock()
        self._is_owned: Callable[[], bool] = self._lock._is_owned  # type: ignore[attr-defined]
        self.release = self._lock.release
        """Let others have it."""

    def acquire(self) -> None:
        """Wait until nobody else has it. COST: where nobody waits, no more than two looks."""
        is_wanted = self._next.locked() and not self._is_owned()
        if is_wanted or not self._lock.acquire(blocking=False):
            with self._next:  # Whoever comes again waits for this one, and not for the lock.
                self._lock.acquire()


class Turn:
    """Whose turn it is to use a window and those that it is tied to.

    >>> turn = Turn()
    >>> held = turn.take()
    >>> held.release()
    """

    def __init__(self) -> None:
        self._lock = Held()
        self._tied: WeakSet[Turn] = WeakSet([self])
        """All that have the same lock."""

    def take(self) -> Held:
        """Wait for the turn. Whoever has it releases what is returned."""
        while True:
            lock = self._lock
            lock.acquire()
            if lock is self._lock:
                return lock
            lock.release()  # It was tied meanwhile.

    def tie(self, other: Turn) -> None:
        """Have one turn with another from now on."""
        if self._lock is other._lock:
            return
        with _TYING:
            ours, theirs = self.take(), other.take()
            try:
                for each in [*other._tied]:
                    each._lock = ours
                    self._tied.add(each)
                    each._tied = self._tied
            finally:
                theirs.release()
                ours.release()


_TYING = RLock()
"""So that two threads do not tie the same two, each waiting for the other."""


class Taken(Protocol):
    """What is used in turns."""

    turn: Turn


T = TypeVar("T", bound=Taken)


def in_turn(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method that waits for its turn."""

    @wraps(method)
    def waiting(self: T, /, *given: P.args, **named: P.kwargs) -> R:
        held = self.turn.take()
        try:
            return method(self, *given, **named)
        finally:
            held.release()

    return waiting
