"""The local engine: shards on threads of this process.

NumPy and Arrow let go of the interpreter while they sort, copy and write.
So two shards keep two cores busy.
"""

from __future__ import annotations

import os
from functools import partial

from wavedex.crew import run_together
from wavedex.engine.base import Engine
from wavedex.engine.execution import run_shard
from wavedex.engine.task import Settled, ShardTask
from wavedex.engine.workshop import Workshop


class LocalEngine(Engine):
    """Runs the shares on threads, as many as there are cores."""

    def __init__(self, workshop: Workshop, shards: int, threads: int | None = None) -> None:
        super().__init__(workshop, shards)
        self.threads = threads or min(shards, os.cpu_count() or 1)

    def _run_all(self, tasks: list[ShardTask]) -> list[Settled]:
        calls = [partial(run_shard, self.workshop, task) for task in tasks]
        return run_together(calls, self.threads)
