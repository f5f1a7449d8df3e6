"""One shard's share of a plan: the function that every engine calls, on a thread or in a Spark task.

It reads the shard's present parts and the arriving rows that hash to it, writes new files under names of its own, and
returns what each sub-index is then made of. It commits nothing and removes nothing, so that running it twice, or killing
it half-way, does no harm.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from wavedex.engine.draft import Draft, draft_plan
from wavedex.engine.technique import Bench, Technique
from wavedex.log import DATA
from wavedex.plan import Operation
from wavedex.slots import Slotting, distinct
from wavedex.store.access import AnyFiles
from wavedex.store.arrow import to_arrow
from wavedex.store.entries import EntrySpec
from wavedex.store.formats import Build
from wavedex.store.inplace import Updater
from wavedex.store.part import Part, Slots
from wavedex.store.reading import Share
from wavedex.store.room import Sizes


@dataclass(frozen=True)
class Workshop:
    """What is the same for all shards and all plans of an index."""

    files: AnyFiles
    spec: EntrySpec
    slotting: Slotting
    technique: Technique
    sizes: Sizes
    build: Build


@dataclass(frozen=True)
class ShardTask:
    """One shard's share.

    `present` are its parts by the names of sub-indexes and temporaries, `constituents` the names that readers see.
    The rows that arrive for it are either `arriving`, in memory and perhaps none, or `staged`, parts that lie on disk.
    """

    shard: int
    operations: tuple[Operation, ...]
    present: Mapping[str, tuple[Part, ...]]
    constituents: frozenset[str]
    arriving: Share
    staged: tuple[Part, ...]
    commit: int
    oldest_kept: int
    token: str


def run_shard(workshop: Workshop, task: ShardTask) -> dict[str, tuple[Part, ...]]:
    """Carry out the operations for one shard and return the parts of every name there is then."""
    bench, drafts = _begin(workshop, task)
    return {name: workshop.technique.settle(draft, bench) for name, draft in drafts.items()}


def needs_writing(workshop: Workshop, task: ShardTask) -> bool:
    """Whether the operations write anything in this shard, or only name what is there. Opens no file."""
    if task.arriving.num_rows:
        return True
    bench, drafts = _begin(workshop, task)
    return any(workshop.technique.writes(draft, bench) for draft in drafts.values())


def _begin(workshop: Workshop, task: ShardTask) -> tuple[Bench, dict[str, Draft]]:
    counter = itertools.count()
    spec, slotting = workshop.spec, workshop.slotting
    batch = task.arriving.batch()
    row_slots = slotting.slots_of(spec.ordinals(batch))
    in_memory = frozenset(distinct(row_slots)[0].tolist())
    arriving = in_memory.union(*(part.shown for part in task.staged))

    def rows_of(slots: Slots) -> pa.RecordBatch:
        if slots >= in_memory:
            return batch
        return batch.filter(to_arrow(np.isin(row_slots, list(slots))))

    bench = Bench(
        files=workshop.files,
        spec=spec,
        slotting=slotting,
        present=tuple(part for name in task.constituents for part in task.present.get(name, ())),
        staged=task.staged,
        rows_of=rows_of,
        stem=lambda: f"{stem_prefix(task.commit, task.token)}-{task.shard:05d}-{next(counter)}",
        build=workshop.build,
        updater=Updater(workshop.files, spec, workshop.sizes, task.commit, task.oldest_kept),
    )
    return bench, draft_plan(task.operations, task.present, arriving)


def stem_prefix(commit: int, token: str) -> str:
    """How the names of all new files of one attempt at a commit begin."""
    return f"{DATA}/{commit:010d}-{token}"
