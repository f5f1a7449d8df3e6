"""The Spark engine: shards as tasks of one Spark job.

A task runs the very function that the local engine runs, on the executor where it is. It sends back
what its shard is made of then. It comes to Python the way rows do, so that the workers that have
staged rows, and have the library in memory, carry out the plan as well. Shards in which nothing is
to be written are settled on the driver.
Old data is never shuffled: a task opens its own shard's files.
An attempt writes under names of its own. So failed, repeated and speculative ones leave only files
that nobody names.
What is wrong with files, disk or memory comes back as an answer and is raised on the driver by its
name: another attempt would meet it again.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wavedex.engine.base import Engine
from wavedex.engine.execution import run_shard
from wavedex.engine.task import Settled, ShardTask
from wavedex.engine.workshop import Workshop
from wavedex.errors import SparkFailed, WavedexError
from wavedex.store.databases.server_address import Trust

_TOLD = (WavedexError, pa.ArrowException, MemoryError, FileNotFoundError)
"""What `Engine.run` has names for."""
_REASON_CHARS_MAX = 2_000
_TRACE = re.compile(r"\s|Traceback|Caused by:|An error occurred while calling")
_JAVA_CLASS = re.compile(r"^: [\w.$]+: ")


class SparkEngine(Engine):
    """Runs the shares as tasks.

    `open_workshop` says on an executor what to work with, if not with the same.
    """

    def __init__(
        self,
        workshop: Workshop,
        shards: int,
        spark: SparkSession,
        open_workshop: Callable[[], Workshop] | None = None,
    ) -> None:
        super().__init__(workshop, shards)
        self._spark = spark
        self._open_workshop = open_workshop or (lambda: workshop)

    def _run_all(self, tasks: list[ShardTask]) -> list[Settled]:
        open_workshop = self._open_workshop
        trust = Trust.mine()
        # Packed one by one, so that a worker unpacks its own only.
        packed = [*map(pickle.dumps, tasks)]

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            trust.extend()
            for place in (place for batch in batches for place in batch.column(0).to_pylist()):
                task = pickle.loads(packed[place])
                answer = pickle.dumps((task.shard, _answer(open_workshop, task)))
                yield pa.record_batch([pa.array([answer], pa.binary())], names=["answer"])

        with spark_errors(f"writing the shards of {self.workshop.files.root}"):
            places = self._spark.range(0, len(tasks), 1, len(tasks))
            answers = places.mapInArrow(run, "answer binary").collect()
        results = {}
        for shard, answer in (pickle.loads(row.answer) for row in answers):
            if isinstance(answer, Exception):
                raise answer
            results[shard] = answer
        return [results[task.shard] for task in tasks]


def _answer(open_workshop: Callable[[], Workshop], task: ShardTask) -> Settled | Exception:
    """What a task sends back: the parts of its shard, or what is wrong."""
    context = TaskContext.get()
    assert context is not None
    token = f"{task.attempt.token}-{context.taskAttemptId():x}"
    own = replace(task, attempt=replace(task.attempt, token=token))
    try:
        return run_shard(open_workshop(), own)
    except _TOLD as error:
        return error


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Give what Spark raises a name, and the reason that lies below its traces."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(
            f"Spark gave up on {what}; nothing of it was kept. It says: {reason(str(error))}"
        ) from error


def reason(text: str) -> str:
    """What Spark and Python say themselves, in one line.

    The frames of their traces are left out, and what led to them.
    """
    said = text.split("JVM stacktrace:")[0].splitlines()
    lines = [line for line in said if line.strip() and not _TRACE.match(line)]
    own = dict.fromkeys(_JAVA_CLASS.sub("", line) for line in lines)
    return " ".join(own)[:_REASON_CHARS_MAX]
