"""One shard's share of a plan: the function that every engine calls, on a thread or in a Spark task.

It reads the shard's present parts and the arriving rows that hash to it, writes new files under names of its own, and
returns what each sub-index is then made of. It commits nothing and removes nothing, so that running it twice, or killing
it half-way, does no harm.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from wavedex.engine.crew import run_together
from wavedex.engine.draft import Draft, draft_plan
from wavedex.engine.homes import settled_homes
from wavedex.engine.technique import Bench, Technique
from wavedex.log import DATA, folder_of
from wavedex.plan import Operation
from wavedex.slots import Slotting, distinct
from wavedex.store import open_shard
from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.arrow import empty_batch, to_arrow
from wavedex.store.entries import EntrySpec
from wavedex.store.package import Format, Site
from wavedex.store.part import Part, Slots
from wavedex.store.pieces import concat
from wavedex.store.reading import Share, shard_of
from wavedex.store.room import Sizes


@dataclass(frozen=True)
class Workshop:
    """What is the same for all shards and all plans of an index."""

    files: AnyFiles
    spec: EntrySpec
    slotting: Slotting
    technique: Technique
    sizes: Sizes
    format: Format


@dataclass(frozen=True)
class ShardTask:
    """One shard's share.

    `present` are its parts by the names of sub-indexes and temporaries, `constituents` the names that readers see, and
    `homes` are the folders for new files of each name; `draining` are the names of those from before a migration.
    The rows that arrive for it are either `arriving`, in memory and perhaps none, or `staged`, parts that lie on disk; of
    parts that are `mixed` only the rows count that belong to this of all the `shards`. Rows of the keys `erased` are taken
    out of everything first.
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
    shards: int
    mixed: bool = False
    erased: pa.Array | None = None
    homes: Mapping[str, str] = field(default_factory=dict)
    draining: frozenset[str] = frozenset()


def run_shard(workshop: Workshop, task: ShardTask) -> dict[str, tuple[Part, ...]]:
    """Carry out the operations for one shard and return the parts of every name there is then."""
    bench = _set_up(workshop, task)
    present = task.present
    if task.erased is not None:
        present = _without_keys(workshop, bench, present, task.erased)
    drafts = draft_plan(task.operations, present, bench.arriving)
    return _settle(workshop.technique, drafts, task, bench)


def _settle(
    technique: Technique, drafts: Mapping[str, Draft], task: ShardTask, bench: Bench
) -> dict[str, tuple[Part, ...]]:
    """The parts of every draft: disk by disk at the same time, where there are several."""
    by_home = settled_homes(task.homes, {name: draft.parts for name, draft in drafts.items()})

    def settle(home: str) -> dict[str, tuple[Part, ...]]:
        own = replace(bench, home=home, written={})
        old = replace(own, is_draining=True)
        return {
            name: technique.settle(drafts[name], old if name in task.draining else own)
            for name in by_home[home]
        }

    settled = run_together([partial(settle, home) for home in by_home], len(by_home))
    return {name: parts for each in settled for name, parts in each.items()}


def needs_writing(workshop: Workshop, task: ShardTask) -> bool:
    """Whether the operations write anything in this shard, or only name what is there. Opens no file."""
    if task.arriving.num_rows or task.erased is not None or (task.mixed and task.staged):
        return True
    bench = _set_up(workshop, task)
    drafts = draft_plan(task.operations, task.present, bench.arriving)
    return any(workshop.technique.writes(draft, bench) for draft in drafts.values())


def _set_up(workshop: Workshop, task: ShardTask) -> Bench:
    counter = itertools.count()
    spec, slotting = workshop.spec, workshop.slotting
    staged = () if task.mixed else task.staged
    batch = _sorted_out(workshop, task) if task.mixed else task.arriving.batch()
    row_slots = slotting.slots_of(spec.ordinals(batch))
    in_memory = frozenset(distinct(row_slots)[0].tolist())

    def rows_of(slots: Slots) -> pa.RecordBatch:
        if slots >= in_memory:
            return batch
        return batch.filter(to_arrow(np.isin(row_slots, list(slots))))

    return Bench(
        files=workshop.files,
        spec=spec,
        slotting=slotting,
        present=tuple(part for name in task.constituents for part in task.present.get(name, ())),
        staged=staged,
        arriving=in_memory.union(*(part.shown for part in staged)),
        rows_of=rows_of,
        home=next(iter(task.homes.values()), DATA),
        homes=frozenset(task.homes.values()),
        name=lambda: f"{stem_prefix(task.commit, task.token)}-{task.shard:05d}-{next(counter)}",
        is_draining=False,
        format=workshop.format,
        site=Site(workshop.files, spec, workshop.sizes, task.commit, task.oldest_kept),
    )


def _sorted_out(workshop: Workshop, task: ShardTask) -> pa.RecordBatch:
    """The rows of this shard from parts that have others too."""
    spec = workshop.spec
    batches = [empty_batch(spec.schema)]
    for part in task.staged:
        opened = open_shard(workshop.files, spec, part)
        for within in part.ranges(part.shown, workshop.slotting):
            rows = opened.scan(within)
            owners = shard_of(spec.key_type.hash_array(spec.keys(rows)), task.shards)
            batches.append(rows.take(to_arrow(np.flatnonzero(owners == task.shard))))
    return concat(batches)


def _without_keys(
    workshop: Workshop, bench: Bench, present: Mapping[str, tuple[Part, ...]], erased: pa.Array
) -> dict[str, tuple[Part, ...]]:
    """The parts of every name without the rows of some keys; files that several names share are written once."""
    written: dict[FileRef, Part | None] = {}

    def clean(part: Part) -> Part | None:
        ref = part.files["directory"]
        if ref not in written:
            home = folder_of(part.files["rows"].name)
            own = replace(bench, home=home if home in bench.homes else bench.home)
            written[ref] = _without_rows(workshop, own, part, erased)
        left = written[ref]
        return None if left is None else replace(left, shown=part.shown)

    return {
        name: tuple(left for left in map(clean, parts) if left is not None)
        for name, parts in present.items()
    }


def _without_rows(workshop: Workshop, bench: Bench, part: Part, erased: pa.Array) -> Part | None:
    """A part without the rows of some keys: itself where it has none of them, None where it has no others.

    Files that grow in place may have rows that no directory shows any more, so they are written anew in any case.
    """
    spec = workshop.spec
    opened = open_shard(workshop.files, spec, part)
    found = opened.probe_many(erased, spec.key_type.hash_array(erased), None)
    if not found.num_rows and part.content is None:
        return part
    rows = opened.scan(None)
    ranks = spec.key_type.ranks(pa.concat_arrays([spec.keys(rows), erased]))
    kept = np.flatnonzero(~np.isin(ranks[: rows.num_rows], ranks[rows.num_rows :]))
    if not len(kept):
        return None
    return workshop.technique.write(rows.take(to_arrow(kept)), part.held, bench)


def stem_prefix(commit: int, token: str) -> str:
    """How the names of all new files of one attempt at a commit begin."""
    return f"{commit:010d}-{token}"
