"""The local engine: shards on threads of this process.

Splits the arriving rows by shard, runs each shard's share of the plan, and gathers what the next manifest will name.
NumPy and Arrow let go of the interpreter while they sort, copy and write, so two shards keep two cores busy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

import pyarrow as pa

from wavedex.engine.shard import ShardTask, Workshop, run_shard, stem_prefix
from wavedex.errors import Damaged, WriteFailed
from wavedex.log import DATA, Manifest, SubIndex
from wavedex.plan import Operation, apply
from wavedex.store.arrow import to_arrow
from wavedex.store.order import stable_order
from wavedex.store.part import Part
from wavedex.store.reading import shard_of

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


class Rows(Protocol):
    """Rows that arrive: in memory, or staged as parts, shard by shard."""

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows in memory, perhaps none."""

    @property
    def staged(self) -> tuple[tuple[Part, ...], ...]:
        """The parts of each shard, or nothing at all."""


class LocalEngine:
    """Runs plans over all shards of an index."""

    def __init__(self, workshop: Workshop, shards: int, threads: int | None = None) -> None:
        self.workshop = workshop
        self.shards = shards
        self.threads = threads or min(shards, os.cpu_count() or 1)

    def run(
        self,
        operations: Sequence[Operation],
        manifest: Manifest,
        rows: Rows,
        oldest_kept: int,
        token: str,
    ) -> dict[str, SubIndex]:
        """The sub-indexes and temporaries after the operations, their new files written and lasting.

        Where it raises, the files that it had begun are removed again.
        """
        subs = {**manifest.indexes, **manifest.temps}
        commit = manifest.commit + 1
        batches = self._split(rows.batch)
        tasks = [
            ShardTask(
                shard=shard,
                operations=tuple(operations),
                present={name: sub.shards[shard] for name, sub in subs.items()},
                constituents=frozenset(manifest.indexes),
                batch=batches[shard],
                staged=rows.staged[shard] if rows.staged else (),
                commit=commit,
                oldest_kept=oldest_kept,
                token=token,
            )
            for shard in range(self.shards)
        ]
        try:
            results = self._run_all(tasks)
        except (pa.ArrowException, MemoryError) as error:
            self.discard(commit, token)
            raise WriteFailed(
                f"The write failed half-way ({error or type(error).__name__}); nothing was changed. "
                "Append fewer rows at a time, or create the index with more shards."
            ) from error
        except FileNotFoundError as error:
            self.discard(commit, token)
            raise Damaged(f"{error.filename} is missing") from error
        except BaseException:
            self.discard(commit, token)
            raise
        layout = apply({name: sub.slots for name, sub in subs.items()}, operations)
        return {
            name: SubIndex(slots, tuple(result[name] for result in results))
            for name, slots in layout.items()
        }

    def discard(self, commit: int, token: str) -> None:
        """Remove the files of an attempt that will not be committed."""
        files = self.workshop.files
        prefix = stem_prefix(commit, token)
        for name in files.list(DATA):
            if f"{DATA}/{name}".startswith(prefix):
                files.remove(f"{DATA}/{name}")

    def _run_all(self, tasks: list[ShardTask]) -> list[dict[str, tuple[Part, ...]]]:
        if self.threads == 1:
            return [run_shard(self.workshop, task) for task in tasks]
        crew = _Crew()
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                calls = (partial(run_shard, self.workshop, task) for task in tasks)
                futures = [pool.submit(crew.work, call) for call in calls]
                return [future.result() for future in futures]
        finally:
            crew.dismiss()

    def _split(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """The rows of each shard."""
        if self.shards == 1:
            return [batch]
        spec = self.workshop.spec
        shards = shard_of(spec.key_type.hash_array(spec.keys(batch)), self.shards)
        order = stable_order(shards)
        sorted_rows = batch.take(to_arrow(order))
        bounds = shards[order].searchsorted(range(self.shards + 1))
        return [
            sorted_rows.slice(start, stop - start)
            for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ]
