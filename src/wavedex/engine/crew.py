"""Work on several threads, of which none goes on unnoticed.

Whoever waits for threads that write holds the writer's lock, and may be interrupted meanwhile. A pool alone does not keep
the lock then: a thread whose start was interrupted is unknown to it and writes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_together(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """What the calls return, in their order. None of them is running when it returns or raises, whatever interrupts."""
    if threads == 1 or len(calls) < 2:
        return [call() for call in calls]
    crew = _Crew()
    try:
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(crew.work, call) for call in calls]
            return [future.result() for future in futures]
    finally:
        crew.dismiss()


class _Crew:
    """Keeps count of the calls that are running."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._dismissed = False

    def work(self, call: Callable[[], T]) -> T:
        """Do it. REQUIRES: not dismissed; one that comes too late is not begun."""
        with self._changed:
            if self._dismissed:
                raise CancelledError
            self._working += 1
        try:
            return call()
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    def dismiss(self) -> None:
        """Let no further call begin and wait for those that have; an interrupt is raised after that."""
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                with self._changed:
                    self._dismissed = True
                    self._changed.wait_for(lambda: not self._working)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
