"""Work on several threads, of which none goes on unnoticed, and which loses no interrupt.

Whoever waits for threads that write holds the writer's lock, and may be interrupted meanwhile. The pools that Python has are
not made for that. A thread whose start was interrupted is unknown to its pool and writes on. And an interrupt that comes
while a pool forgets a thread is raised in the callback of a weak reference, where Python drops it; or it comes in the middle
of a lock that is written in Python, and another error comes out. So these are bare threads, and who waits for one waits
for a bare lock: an interrupt comes before or after, and never in between.
"""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

INTERRUPTS = 8
"""How many interrupts that come one right after the other are waited through."""


def run_together(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """What the calls return, in their order. None of them is running when it returns or raises, whatever interrupts.

    Where one raises, those that have not begun are not begun.
    """
    if threads == 1 or len(calls) < 2:
        return [call() for call in calls]
    crew = Crew(threads)
    with crew, crew:  # The first is for what interrupts the second before it has begun.
        tasks = [crew.give(call) for call in calls]
        return [task.result() for task in tasks]


def let_go(held: list[Any]) -> None:
    """Empty a list, and return once what nobody else holds is gone.

    What is closed then is closed by another thread: an interrupt that came while Python closes something would be lost.
    """
    Crew(1).give(held.clear).result()


class Task(Generic[T]):
    """A call that a thread makes."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._returned: list[T] = []
        self._raised: BaseException | None = None
        self._is_over = _thread.allocate_lock()
        self._is_over.acquire()

    def run(self) -> None:
        """Make the call."""
        try:
            self._returned.append(self._call())
        except BaseException as error:  # It is for whoever asks for the result.
            self._raised = error
        finally:
            self._is_over.release()

    def wait(self) -> None:
        """Return once the call is over. REQUIRES: it has begun, or will."""
        with self._is_over:
            pass

    def result(self) -> T:
        """What the call returned, or raise what it raised."""
        self.wait()
        error, self._raised = self._raised, None
        if error is None:
            return self._returned[0]
        try:
            raise error
        finally:
            error = None  # It knows this frame, which would keep it, and all that it has seen.


class Crew:
    """Up to so many threads, which begin when there is something to do and end when there is nothing.

    When a crew is left, as a context, no call is running and none begins any more, whatever interrupts. That is whatever
    handlers of signals raise, several at the same time too: nothing may write once the lock is let go of.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._alive = 0
        self._waiting: deque[Task[Any]] = deque()
        self._begun: list[Task[Any]] = []
        self._guard = _thread.allocate_lock()

    def give(self, call: Callable[[], T]) -> Task[T]:
        """Let a thread make a call. Raises RuntimeError where the system has no thread left."""
        task = Task(call)
        with self._guard:
            self._waiting.append(task)
            if self._alive < self._most:
                self._alive += 1
                try:
                    _thread.start_new_thread(self._work, ())
                except RuntimeError:
                    self._alive -= 1
                    if not self._alive:
                        raise
        return task

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._settle(INTERRUPTS)

    def _settle(self, again: int) -> None:
        """Wait for the calls that have begun, once more for each time that something interrupts, and raise that then."""
        if not again:
            self._wait_for_all()
            return
        try:
            self._settle(again - 1)
        except BaseException:
            self._wait_for_all()  # What is raised here is caught by the call around this one.
            raise

    def _wait_for_all(self) -> None:
        with self._guard:
            self._waiting.clear()
        for task in self._begun:
            task.wait()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task.run()

    def _next(self) -> Task[Any] | None:
        with self._guard:
            if self._waiting:
                self._begun.append(self._waiting.popleft())
                return self._begun[-1]
            self._alive -= 1
            return None
