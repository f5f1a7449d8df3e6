"""The local engine: shards on threads of this process.

NumPy and Arrow let go of the interpreter while they sort, copy and write, so two shards keep two cores busy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from wavedex.engine.base import Engine, Parts
from wavedex.engine.shard import ShardTask, Workshop, run_shard

T = TypeVar("T")


class _Crew:
    """Keeps count of the tasks that write, so that the writer's lock is held until none does, whatever interrupts.

    A pool alone does not do that: a thread whose start was interrupted is unknown to it and writes on.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._dismissed = False

    def work(self, task: Callable[[], T]) -> T:
        """Do a task. REQUIRES: not dismissed; one that comes too late is not begun."""
        with self._changed:
            if self._dismissed:
                raise CancelledError
            self._working += 1
        try:
            return task()
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    def dismiss(self) -> None:
        """Let no further task begin and wait for those that have; an interrupt is raised after that."""
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


class LocalEngine(Engine):
    """Runs the shares on threads, as many as there are cores."""

    def __init__(self, workshop: Workshop, shards: int, threads: int | None = None) -> None:
        super().__init__(workshop, shards)
        self.threads = threads or min(shards, os.cpu_count() or 1)

    def _run_all(self, tasks: list[ShardTask]) -> list[Parts]:
        if self.threads == 1 or len(tasks) == 1:
            return [run_shard(self.workshop, task) for task in tasks]
        crew = _Crew()
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                calls = (partial(run_shard, self.workshop, task) for task in tasks)
                futures = [pool.submit(crew.work, call) for call in calls]
                return [future.result() for future in futures]
        finally:
            crew.dismiss()
