"""What every engine does: share a plan out among the shards, and gather what the next manifest will name.

An engine says only how the shards' shares are run (`_run_all`): on threads of this process, or on a cluster. The share
itself is the same function everywhere (`wavedex.engine.task`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from wavedex.engine.homes import place
from wavedex.engine.task import Settled, ShardTask, Workshop, needs_writing, run_shard
from wavedex.errors import Damaged, WriteFailed
from wavedex.files.names import base_of, stem_prefix
from wavedex.log.journal import DATA, Manifest, SubIndex
from wavedex.plan import Operation, apply
from wavedex.store.part import Part
from wavedex.store.shard import split_by_shard, split_keys


class Rows(Protocol):
    """Rows that arrive: in memory, or staged as parts, shard by shard."""

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows in memory, perhaps none."""

    @property
    def staged(self) -> tuple[tuple[Part, ...], ...]:
        """The parts of each shard, or nothing at all."""

    @property
    def mixed(self) -> bool:
        """Whether those parts have rows of other shards too."""


class Engine(ABC):
    """Runs plans over all shards of an index."""

    def __init__(self, workshop: Workshop, shards: int) -> None:
        self.workshop = workshop
        self.shards = shards

    def run(
        self,
        operations: Sequence[Operation],
        manifest: Manifest,
        rows: Rows,
        oldest_kept: int,
        token: str,
        erased: pa.Array | None = None,
        hides: Mapping[int, Mapping[tuple[str, int], pa.RecordBatch]] | None = None,
        floors: Mapping[str, int] | None = None,
    ) -> tuple[dict[str, SubIndex], dict[str, int]]:
        """The sub-indexes and temporaries after the operations, their new files written and lasting.

        With them comes how many bytes were written to each file.

        Rows of the keys `erased` are in none of them then; `hides` has rows to hide, shard by shard and part by part, and
        `floors` says which rows are over. Where it raises, the files that it had begun are removed again.
        """
        subs = manifest.everything
        layout = apply({name: sub.slots for name, sub in subs.items()}, operations)
        homes = place(self.workshop.files.homes(DATA), subs, layout)
        commit = manifest.commit + 1
        spec = self.workshop.spec
        shares = split_by_shard(rows.batch, spec, self.shards)
        doomed = split_keys(spec.key_type, erased, self.shards) if erased is not None else {}
        tasks = [
            ShardTask(
                shard=shard,
                operations=tuple(operations),
                present={name: sub.shards[shard] for name, sub in subs.items()},
                constituents=frozenset(manifest.shown),
                arriving=shares[shard],
                staged=rows.staged[shard] if rows.staged else (),
                shards=self.shards,
                mixed=rows.mixed,
                erased=doomed[shard][0] if shard in doomed else None,
                hides=(hides or {}).get(shard, {}),
                floors=floors or {},
                homes=homes,
                draining=frozenset(manifest.draining),
                commit=commit,
                oldest_kept=oldest_kept,
                token=token,
            )
            for shard in range(self.shards)
        ]
        try:
            results = self._results(tasks)
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
        settled = {
            name: SubIndex(slots, tuple(result.parts[name] for result in results))
            for name, slots in layout.items()
        }
        return settled, {name: size for each in results for name, size in each.written.items()}

    def discard(self, commit: int, token: str) -> None:
        """Remove the files of an attempt that will not be committed."""
        files = self.workshop.files
        prefix = stem_prefix(commit, token)
        for name in files.names_in(DATA):
            if base_of(name).startswith(prefix):
                files.remove(name)

    def _results(self, tasks: list[ShardTask]) -> list[Settled]:
        """The results of all shares. Those that write nothing are worth neither a thread nor a task of Spark's."""
        writing = [task for task in tasks if needs_writing(self.workshop, task)]
        written = self._run_all(writing) if writing else []
        results = dict(zip((task.shard for task in writing), written, strict=True))
        for task in tasks:
            if task.shard not in results:
                results[task.shard] = run_shard(self.workshop, task)
        return [results[task.shard] for task in tasks]

    @abstractmethod
    def _run_all(self, tasks: list[ShardTask]) -> list[Settled]:
        """The results of some shards' shares, in their order. REQUIRES: at least one."""
