"""The Spark engine: shards as tasks of one Spark job.

A task runs the very function that the local engine runs, on the executor where it is, and sends back what its shard is
made of then. Shards in which nothing is to be written are settled on the driver. Old data is never shuffled: a task opens
its own shard's files. An attempt writes under names of its own, so that failed, repeated and speculative ones leave only
files that nobody names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pyspark import SparkContext, TaskContext

from wavedex.engine.base import Engine, Parts
from wavedex.engine.shard import ShardTask, Workshop, needs_writing, run_shard


class SparkEngine(Engine):
    """Runs the shares as tasks. `open_workshop` opens the index again on an executor."""

    def __init__(
        self,
        workshop: Workshop,
        shards: int,
        context: SparkContext,
        open_workshop: Callable[[], Workshop],
    ) -> None:
        super().__init__(workshop, shards)
        self._context = context
        self._open_workshop = open_workshop

    def _run_all(self, tasks: list[ShardTask]) -> list[Parts]:
        sent = [task for task in tasks if needs_writing(self.workshop, task)]
        results = dict(self._send(sent)) if sent else {}
        for task in tasks:
            if task.shard not in results:
                results[task.shard] = run_shard(self.workshop, task)
        return [results[task.shard] for task in tasks]

    def _send(self, tasks: list[ShardTask]) -> list[tuple[int, Parts]]:
        open_workshop = self._open_workshop

        def run(mine: Iterable[ShardTask]) -> Iterator[tuple[int, Parts]]:
            context = TaskContext.get()
            assert context is not None
            workshop = open_workshop()
            for task in mine:
                own = replace(task, token=f"{task.token}-{context.taskAttemptId():x}")
                yield task.shard, run_shard(workshop, own)

        return self._context.parallelize(tasks, len(tasks)).mapPartitions(run).collect()
