"""One shard's share of a plan: the function that every engine calls, on a thread or in a Spark task.

It reads the shard's present parts and the arriving rows that hash to it, writes new files under names of its own, and
returns what each sub-index is then made of. It commits nothing and removes nothing, so that running it twice, or killing
it half-way, does no harm.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from wavedex.crew import run_together
from wavedex.engine.draft import Draft, draft_plan
from wavedex.engine.homes import settled_homes
from wavedex.engine.technique import Bench, Technique
from wavedex.engine.write_behind import synced_behind
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import data_stem, folder_of
from wavedex.log.journal import DATA, OPEN
from wavedex.plan import Insert, Operation
from wavedex.plan.slot_set import slots_of, union
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.entries import EntrySpec
from wavedex.rows.order import I64, bucket_starts, stable_order
from wavedex.rows.pieces import Pieces, concat
from wavedex.slots import Slotting, distinct
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import open_shard
from wavedex.store.package import Format, Site
from wavedex.store.part import Part, Slots
from wavedex.store.positions import Positioned, hidden_rows, write_hidden
from wavedex.store.room import Sizes
from wavedex.store.shard import Share, shard_of
from wavedex.store.sifted import SiftedShard, above
from wavedex.store.sorted.packed import build_packed


@dataclass(frozen=True)
class Workshop:
    """What is the same for all shards and all plans of an index.

    `longest` is how many slots after its birth a row may end. `forgets` says that no file may keep rows that are over.
    """

    files: AnyFiles
    spec: EntrySpec
    slotting: Slotting
    technique: Technique
    sizes: Sizes
    format: Format
    longest: int = 0
    forgets: bool = False


@dataclass(frozen=True)
class ShardTask:
    """One shard's share.

    `present` are its parts by the names of sub-indexes and temporaries, `constituents` the names that readers see, and
    `homes` are the folders for new files of each name; `draining` are the names of those from before a migration.
    The rows that arrive for it are either `arriving`, in memory and perhaps none, or `staged`, parts that lie on disk; of
    parts that are `mixed` only the rows count that belong to this of all the `shards`. Rows of the keys `erased` are taken
    out of everything first, and rows in `hides`, by name and number of the part that has them, are hidden. Rows that are not
    above all `floors` are over.
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
    hides: Mapping[tuple[str, int], pa.RecordBatch] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    draining: frozenset[str] = frozenset()


class Settled(NamedTuple):
    """What came of one shard's share: the parts of every name there is then, and the bytes written to each file."""

    parts: dict[str, tuple[Part, ...]]
    written: dict[str, int]


def run_shard(workshop: Workshop, task: ShardTask) -> Settled:
    """Carry out the operations for one shard, in files that last then."""
    written: dict[str, int] = {}
    with synced_behind(workshop.files, written) as files:
        parts = _run(replace(workshop, files=files), task)
    return Settled(parts, written)


def _run(workshop: Workshop, task: ShardTask) -> dict[str, tuple[Part, ...]]:
    bench = _set_up(workshop, task)
    present = task.present
    if task.erased is not None:
        present = _without_keys(workshop, bench, present, task.erased)
    if task.hides:
        present = _with_hidden(bench, present, task.hides)
    drafts = draft_plan(task.operations, present, bench.arriving)
    return _settle(workshop.technique, drafts, task, bench)


def _settle(
    technique: Technique, drafts: Mapping[str, Draft], task: ShardTask, bench: Bench
) -> dict[str, tuple[Part, ...]]:
    """The parts of every draft: disk by disk at the same time, where there are several."""
    by_home = settled_homes(task.homes, {name: draft.parts for name, draft in drafts.items()})

    def settle(home: str) -> dict[str, tuple[Part, ...]]:
        here = replace(bench, home=home, written={})
        return {
            name: technique.settle(drafts[name], _beside(here, name, task))
            for name in by_home[home]
        }

    settled = run_together([partial(settle, home) for home in by_home], len(by_home))
    return {name: parts for each in settled for name, parts in each.items()}


def _beside(bench: Bench, name: str, task: ShardTask) -> Bench:
    """The bench for one name: what is written there serves all."""
    return replace(bench, is_draining=name in task.draining, is_delta=name == OPEN)


def needs_writing(workshop: Workshop, task: ShardTask) -> bool:
    """Whether the operations write anything in this shard, or only name what is there. Opens no file."""
    if task.arriving.num_rows or task.erased is not None or task.hides or _is_read(task):
        return True
    bench = _set_up(workshop, task)
    drafts = draft_plan(task.operations, task.present, bench.arriving)
    return any(
        workshop.technique.writes(draft, _beside(bench, name, task))
        for name, draft in drafts.items()
    )


def _set_up(workshop: Workshop, task: ShardTask) -> Bench:
    counter = itertools.count()
    spec, slotting = workshop.spec, workshop.slotting
    checked = CheckedParts()
    staged = () if _is_read(task) else task.staged
    batch = _sorted_out(workshop, task, checked) if _is_read(task) else task.arriving.batch()
    rows = _Slotted(slotting.slots_of(spec.ordinals(batch)))
    all_births = union(_births(task))

    def rows_of(slots: Slots, births: Slots) -> pa.RecordBatch:
        if slots >= rows.distinct and births == all_births:
            return batch
        places = rows.places(slots)
        if births != all_births:
            # A row belongs to births from which its end can be reached, whenever it was born; those from before the first
            # of these births, or after the last, came with it.
            born = slotting.slots_of(spec.births(batch)[places])
            born = np.maximum(born, rows.slots[places] - workshop.longest)
            born = born.clip(min(all_births), max(all_births))
            places = places[np.isin(born, list(births))]
        return batch.take(to_arrow(places))

    return Bench(
        files=workshop.files,
        spec=spec,
        slotting=slotting,
        present=tuple(part for name in task.constituents for part in task.present.get(name, ())),
        staged=staged,
        arriving=union([rows.distinct, *(part.shown for part in staged)]),
        memory=rows.distinct,
        rows_of=rows_of,
        floors=task.floors,
        home=next(iter(task.homes.values()), DATA),
        homes=frozenset(task.homes.values()),
        name=lambda: data_stem(task.commit, task.token, task.shard, next(counter)),
        is_draining=False,
        is_delta=False,
        forgets=workshop.forgets,
        format=workshop.format,
        site=Site(workshop.files, spec, workshop.sizes, task.commit, task.oldest_kept),
        checked=checked,
    )


class _Slotted:
    """Rows with their slots. Those of a few slots are found without a look at the others, once all have been sorted."""

    def __init__(self, slots: I64) -> None:
        self.slots = slots
        self.distinct = slots_of(distinct(slots)[0].tolist())

    def places(self, slots: Slots) -> I64:
        """The rows of some slots, in the order in which they came."""
        order, bounds = self._sorted
        found = [order[slice(*bounds[slot])] for slot in slots & self.distinct]
        return np.sort(np.concatenate([order[:0], *found]))

    @cached_property
    def _sorted(self) -> tuple[I64, dict[int, tuple[int, int]]]:
        """All rows by slot, and where in them each slot begins and ends."""
        order = stable_order(self.slots)
        starts = bucket_starts(self.slots[order])
        stops = np.append(starts[1:], len(order))
        bounds = zip(starts.tolist(), stops.tolist(), strict=True)
        return order, dict(zip(self.slots[order[starts]].tolist(), bounds, strict=True))


def _births(task: ShardTask) -> list[Slots]:
    """The births that operations tell apart."""
    births = [each.births for each in task.operations if isinstance(each, Insert)]
    return [slots for at, slots in enumerate(births) if slots not in births[:at]]


def _is_read(task: ShardTask) -> bool:
    """Whether staged parts must be read, because not all of their rows go the same way."""
    return bool(task.staged) and (task.mixed or len(_births(task)) > 1)


def _sorted_out(workshop: Workshop, task: ShardTask, checked: CheckedParts) -> pa.RecordBatch:
    """The rows of this shard: those in memory, and those of parts that may have others too. Raises Damaged."""
    spec = workshop.spec
    batches = [empty_batch(spec.schema), task.arriving.batch()]
    for part in task.staged:
        opened = checked.open(workshop.files, spec, part)
        if task.floors:
            opened = SiftedShard(opened, above(task.floors))
        for within in part.ranges(part.shown, workshop.slotting):
            rows = opened.scan(within)
            owners = shard_of(spec.key_type.hash_array(spec.keys(rows)), task.shards)
            batches.append(rows.take(to_arrow(np.flatnonzero(owners == task.shard))))
    return concat(batches)


def _with_hidden(
    bench: Bench,
    present: Mapping[str, tuple[Part, ...]],
    hides: Mapping[tuple[str, int], pa.RecordBatch],
) -> dict[str, tuple[Part, ...]]:
    """The parts of every name, some of which hide more rows than before."""
    found = {name: [*parts] for name, parts in present.items()}
    for (name, place), rows in hides.items():
        part = found[name][place]
        found[name][place] = replace(part, hidden=_hide(bench, part, rows))
    return {name: tuple(parts) for name, parts in found.items()}


def _hide(bench: Bench, part: Part, rows: pa.RecordBatch) -> Part:
    """What hides rows of a part, and what is hidden of it already: their positions, or they themselves where there are none."""
    opened = open_shard(bench.files, bench.spec, part)
    held = bench.slots_in(rows)
    if isinstance(opened, Positioned):
        held = held if part.hidden is None else held | part.hidden.held
        positions = np.append(opened.gone, opened.find(rows))
        return write_hidden(bench.files, bench.stem(), positions, held)
    both = concat([rows, *hidden_rows(bench.source(part))])
    held = bench.slots_in(both)
    return build_packed(bench.files, bench.spec, bench.stem(), Pieces.of(both), held)


def _without_keys(
    workshop: Workshop, bench: Bench, present: Mapping[str, tuple[Part, ...]], erased: pa.Array
) -> dict[str, tuple[Part, ...]]:
    """The parts of every name without the rows of some keys; files that several names share are written once."""
    written: dict[tuple[FileRef, Part | None], Part | None] = {}

    def clean(part: Part) -> Part | None:
        ref = part.files["directory"], part.hidden
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
    opened = bench.source(part)
    found = opened.probe_many(erased, spec.key_type.hash_array(erased), None)
    if not found.num_rows and part.content is None and part.hidden is None:
        return part
    rows = opened.scan(None)
    ranks = spec.key_type.ranks(pa.concat_arrays([spec.keys(rows), erased]))
    kept = np.flatnonzero(~np.isin(ranks[: rows.num_rows], ranks[rows.num_rows :]))
    if not len(kept):
        return None
    return workshop.technique.write(rows.take(to_arrow(kept)), part.held, bench)
