"""Work on several threads: none of them goes on unnoticed, and no interrupt is lost.

Whoever waits for threads that write holds the writer's lock, and may be interrupted meanwhile.
Python's own pools are not made for that:

- A thread whose start was interrupted is unknown to its pool and writes on.
- An interrupt may come while a pool forgets a thread. It is then raised in the callback of a weak
  reference, where Python drops it.
- An interrupt may come in the middle of a lock that is written in Python. Then another error comes
  out.

So these are bare threads, and who waits for one waits for a bare lock. An interrupt comes before or
after, and never in between.
"""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

INTERRUPTS = 8
"""Up to this many interrupts in a row are waited through."""


def run_together(calls: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """What the calls return, in their order.

    When this returns or raises, none of the calls is running, whatever interrupts. Where one
    raises, those that have not begun are not begun.
    """
    if threads == 1 or len(calls) < 2:
        return [call() for call in calls]
    crew = Crew(threads)
    with crew, crew:  # The first is for what interrupts the second before it has begun.
        tasks = [crew.give(call) for call in calls]
        return [task.result() for task in tasks]


def let_go(held: list[Any]) -> None:
    """Empty a list, and return once what nobody else holds is gone.

    Another thread does the closing: an interrupt that came while Python closes something would be
    lost.
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
    """Threads that begin when there is something to do and end when there is nothing.

    There are at most as many as it is made with.

    When a crew is left, as a context, no call is running and none begins any more, whatever
    interrupts. That is whatever handlers of signals raise, several at the same time too: nothing
    may write once the lock is let go of.
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
        """Wait for the calls that have begun.

        Each time something interrupts, wait once more; then raise it.
        """
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
