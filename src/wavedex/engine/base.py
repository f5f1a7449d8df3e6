"""What every engine does: share a change out among the shards, and gather the results.

1. `draft` works out what the change asks of each shard, before anything is written.
   The forecast looks at the same drafts.
2. `run` carries them out, and gathers what the next manifest will name.

An engine says only how the shards' shares are run (`_run_all`): on threads of this process, or on
a cluster. The share itself is the same function everywhere (`wavedex.engine.execution`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pyarrow as pa

from wavedex.engine.change import Attempt, Change
from wavedex.engine.draft import draft_plan
from wavedex.engine.execution import needs_writing, run_shard
from wavedex.engine.homes import place
from wavedex.engine.task import Incoming, Settled, ShardTask
from wavedex.engine.workshop import Workshop
from wavedex.errors import Damaged, WriteFailed
from wavedex.files.names import DATA, base_of, stem_prefix
from wavedex.log.manifest import Manifest, SubIndex
from wavedex.plan import Insert, Layout, apply
from wavedex.plan.slot_set import union
from wavedex.store.part import Slots
from wavedex.store.shard import split_by_shard, split_keys


@dataclass(frozen=True)
class Drafted:
    """A change, drafted for every shard."""

    layout: Layout
    """The slots of every sub-index and temporary afterwards."""
    tasks: tuple[ShardTask, ...]
    attempt: Attempt


class Engine(ABC):
    """Carries out changes over all shards of an index."""

    def __init__(self, workshop: Workshop, shards: int) -> None:
        self.workshop = workshop
        self.shards = shards

    def draft(self, change: Change, manifest: Manifest, attempt: Attempt) -> Drafted:
        """What a change asks of each shard. Opens no file."""
        subs = manifest.everything
        layout = apply({name: sub.slots for name, sub in subs.items()}, change.operations)
        homes = place(self.workshop.files.homes(DATA), subs, layout)
        tasks = []
        for shard, incoming in enumerate(self._incoming(change)):
            present = {name: sub.shards[shard] for name, sub in subs.items()}
            task = ShardTask(
                shard=shard,
                shards=self.shards,
                attempt=attempt,
                drafts=draft_plan(change.operations, present, _slots_of(incoming)),
                shown=tuple(part for name in manifest.shown for part in present[name]),
                incoming=incoming,
                homes=homes,
                draining=frozenset(manifest.draining),
            )
            tasks.append(task)
        return Drafted(layout, tuple(tasks), attempt)

    def run(self, drafted: Drafted) -> tuple[dict[str, SubIndex], dict[str, int]]:
        """The sub-indexes and temporaries after a change, their new files written and lasting.

        With them comes how many bytes were written to each file. Where it raises, it first removes
        the files that it had begun.
        """
        try:
            results = self._results(drafted.tasks)
        except (pa.ArrowException, MemoryError) as error:
            self.discard(drafted.attempt)
            raise WriteFailed(
                f"The write failed half-way ({error or type(error).__name__}); "
                "nothing was changed. "
                "Append fewer rows at a time, or create the index with more shards."
            ) from error
        except FileNotFoundError as error:
            self.discard(drafted.attempt)
            raise Damaged(f"{error.filename} is missing") from error
        except BaseException:
            self.discard(drafted.attempt)
            raise
        settled = {
            name: SubIndex(slots, tuple(result.parts[name] for result in results))
            for name, slots in drafted.layout.items()
        }
        return settled, {name: size for each in results for name, size in each.written.items()}

    def discard(self, attempt: Attempt) -> None:
        """Remove the files of an attempt that will not be committed."""
        files = self.workshop.files
        prefix = stem_prefix(attempt.commit, attempt.token)
        for name in files.names_in(DATA):
            if base_of(name).startswith(prefix):
                files.remove(name)

    def _incoming(self, change: Change) -> list[Incoming]:
        """What a change brings for each shard."""
        spec, rows, keys = self.workshop.spec, change.rows, change.keys
        shares = split_by_shard(rows.batch, spec, self.shards, rows.slots)
        doomed = {} if keys is None else split_keys(spec.key_type, keys, self.shards)
        told_apart = [each.births for each in change.operations if isinstance(each, Insert)]
        births = [slots for at, slots in enumerate(told_apart) if slots not in told_apart[:at]]
        return [
            Incoming(
                rows=share,
                staged=rows.staged[shard] if rows.staged else (),
                mixed=rows.mixed,
                births=tuple(births),
                keys=doomed[shard][0] if shard in doomed else None,
                hidden=change.hidden.get(shard, {}),
            )
            for shard, share in enumerate(shares)
        ]

    def _results(self, tasks: tuple[ShardTask, ...]) -> list[Settled]:
        """The results of all shares.

        A share that writes nothing is worth neither a thread nor a task of Spark's.
        """
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


def _slots_of(incoming: Incoming) -> Slots:
    """The slots for which a shard gets rows, or may get some.

    Which rows of staged parts it gets is sometimes known only once they are read.
    """
    return union([incoming.rows.slot_set, *(part.shown for part in incoming.staged)])
