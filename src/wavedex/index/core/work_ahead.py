"""What a write owes when its rows are in: done before it returns, in a thread, or later.

The thread is one of this process. The next write waits for it, and so does the process before it
ends. A call of one thread is not done in the manner of another's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from wavedex.index.core.manner import BACKGROUND, NOW, Manner

T = TypeVar("T")


class _Call(threading.local):
    """What a thread said when it began to write."""

    defers = False
    """Whether what is owed afterwards may be done later."""
    owes = False
    """Whether anything is owed."""


class WorkAhead:
    """Sees to what the writes of one writer owe."""

    def __init__(self, finish: Callable[[], None]) -> None:
        """`finish` does what is owed, by itself, and raises nothing that must be heard."""
        self._finish = finish
        self._call = _Call()
        self._thread: threading.Thread | None = None

    def carry_out(self, call: Callable[[], T], manner: Manner) -> T:
        """Make a call that writes: wait for who is in its way, and see to what it then owes.

        REQUIRES: where it raises ConcurrentWrite, it has changed nothing.
        """
        self.settle()
        self._call.defers, self._call.owes = manner.prepare != NOW, False
        try:
            found = manner.patiently(call)
        finally:
            self._call.defers = False
        if self._call.owes and manner.prepare == BACKGROUND:
            self._begin()
        return found

    def put_off(self) -> bool:
        """Whether the call under way leaves for later what it owes. If so, that is noted."""
        self._call.owes = self._call.owes or self._call.defers
        return self._call.defers

    def settle(self) -> None:
        """Wait until no thread is working ahead."""
        if (thread := self._thread) is not None:
            thread.join()

    def _begin(self) -> None:
        """Work on a thread of its own. Where there is none to be had, it is done here."""
        thread = threading.Thread(target=self._finish, name="wavedex preparation")
        try:
            thread.start()
        except RuntimeError:
            self._finish()
        else:
            self._thread = thread
