"""What a technique works with in one shard.

The parts that are there, the rows that come, and names for new files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property

import numpy as np
import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.engine.task import ShardTask
from wavedex.engine.workshop import Workshop
from wavedex.files.contract import AnyFiles
from wavedex.files.names import DATA, data_stem
from wavedex.plan.slot_set import NO_SLOTS, first_of, slots_of, union
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.entries import Columns, EntrySpec
from wavedex.rows.order import I64, bucket_starts, stable_order
from wavedex.rows.pieces import Piece, Pieces, concat
from wavedex.slots import Slotting, distinct
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import open_shard
from wavedex.store.package import Format, Site, Updatable
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Shard, shard_of
from wavedex.store.sieve import above
from wavedex.store.sifted import SiftedShard

Floors = tuple[tuple[str, int], ...]
"""A floor for each of some columns, by name. Rows that are not above all of them are over."""


class Role(Enum):
    """What kind of sub-index a draft is for."""

    CONSTITUENT = auto()
    DELTA = auto()
    DRAINING = auto()
    """From before a migration.

    Readers may hold commits of it that nobody knows of, so its parts are left as they are.
    """


class Stems:
    """Names for the new files of one attempt in one shard."""

    def __init__(self, task: ShardTask) -> None:
        self.homes = frozenset(task.homes.values())
        self.first_home = next(iter(task.homes.values()), DATA)
        self._task = task
        self._counter = itertools.count()

    def next_in(self, home: str) -> str:
        """How the names of the files of a new part in a folder begin."""
        attempt = self._task.attempt
        name = data_stem(attempt.commit, attempt.token, self._task.shard, next(self._counter))
        return f"{home}/{name}"


class ArrivingRows:
    """The rows of a shard that arrive in memory.

    Those of a few slots are found without a look at the others.
    """

    def __init__(self, workshop: Workshop, task: ShardTask, checked: CheckedParts) -> None:
        self._workshop = workshop
        self._incoming = task.incoming
        self._task = task
        self._checked = checked

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """All of them. COST: a copy; where staged parts are read, their rows. Raises Damaged."""
        incoming = self._incoming
        return self._sorted_out() if incoming.is_read else incoming.rows.batch()

    @cached_property
    def _slots(self) -> I64:
        """The slot of each row."""
        if not self._incoming.is_read:
            return self._incoming.rows.slots
        workshop = self._workshop
        return workshop.slotting.slots_of(workshop.spec.ordinals(self.batch))

    @cached_property
    def slots(self) -> Slots:
        """The slots that have rows."""
        if not self._incoming.is_read:
            return self._incoming.rows.slot_set
        return slots_of(distinct(self._slots)[0].tolist())

    def of(self, slots: Slots, births: Slots) -> pa.RecordBatch:
        """The rows of some slots that were born in some births."""
        workshop, all_births = self._workshop, self._incoming.all_births
        if slots >= self.slots and births == all_births:
            return self.batch
        places = self._places(slots)
        if births != all_births:
            # A row belongs to births from which its end can be reached, whenever it was born.
            # A row from before the first of these births came with the first, and a row from after
            # the last came with the last.
            born = workshop.slotting.slots_of(workshop.spec.births(self.batch)[places])
            born = np.maximum(born, self._slots[places] - workshop.longest)
            born = born.clip(min(all_births), max(all_births))
            places = places[np.isin(born, list(births))]
        return self.batch.take(to_arrow(places))

    def _places(self, slots: Slots) -> I64:
        """The rows of some slots, in the order in which they came."""
        order, bounds = self._sorted
        found = [order[slice(*bounds[slot])] for slot in slots & self.slots]
        return np.sort(np.concatenate([order[:0], *found]))

    @cached_property
    def _sorted(self) -> tuple[I64, dict[int, tuple[int, int]]]:
        """All rows by slot, and where in them each slot begins and ends."""
        order = stable_order(self._slots)
        starts = bucket_starts(self._slots[order])
        stops = np.append(starts[1:], len(order))
        bounds = zip(starts.tolist(), stops.tolist(), strict=True)
        return order, dict(zip(self._slots[order[starts]].tolist(), bounds, strict=True))

    def _sorted_out(self) -> pa.RecordBatch:
        """The rows of this shard: those in memory, and its own among those of staged parts.

        Raises Damaged.
        """
        workshop, task = self._workshop, self._task
        spec = workshop.spec
        floors = next((draft.floors for draft in task.drafts.values() if draft.floors), ())
        batches = [empty_batch(spec.schema), self._incoming.rows.batch()]
        for part in self._incoming.staged:
            opened = living(self._checked.open(workshop.files, spec, part), floors)
            for within in part.ranges(part.shown, workshop.slotting):
                rows = opened.scan(within)
                owners = shard_of(spec.key_type.hash_array(spec.keys(rows)), task.shards)
                batches.append(rows.take(to_arrow(np.flatnonzero(owners == task.shard))))
        return concat(batches)


@dataclass
class Workbench:
    """What a technique works with in one shard."""

    workshop: Workshop
    present: tuple[Part, ...]
    """The parts that readers see now."""
    staged: tuple[Part, ...]
    """Arriving rows that lie on disk already, as parts."""
    rows: ArrivingRows
    """Arriving rows in memory."""
    site: Site
    """Where parts are changed in place."""
    checked: CheckedParts
    """Opens parts whose rows are copied."""
    stems: Stems
    home: str
    """The folder for new files."""
    role: Role = Role.CONSTITUENT
    written: dict[object, tuple[Part, ...]] = field(default_factory=dict)
    """What was written already, by what it was made of. Drafts that share it share the part."""

    @classmethod
    def of(cls, workshop: Workshop, task: ShardTask) -> Workbench:
        """The bench for one shard's share. Opens no file."""
        checked, stems, attempt = CheckedParts(), Stems(task), task.attempt
        return cls(
            workshop=workshop,
            present=task.shown,
            staged=() if task.incoming.is_read else task.incoming.staged,
            rows=ArrivingRows(workshop, task, checked),
            site=Site(
                workshop.files,
                workshop.spec,
                workshop.sizes,
                attempt.commit,
                attempt.oldest_kept,
            ),
            checked=checked,
            stems=stems,
            home=stems.first_home,
        )

    @property
    def files(self) -> AnyFiles:
        """Where parts lie."""
        return self.workshop.files

    @property
    def spec(self) -> EntrySpec:
        """What entries look like."""
        return self.workshop.spec

    @property
    def slotting(self) -> Slotting:
        """Which slot a row belongs to."""
        return self.workshop.slotting

    @property
    def format(self) -> Format:
        """What writes and changes parts."""
        return self.workshop.format

    @property
    def arriving(self) -> Slots:
        """The slots for which rows arrive, in memory or staged."""
        return union([self.rows.slots, *(part.shown for part in self.staged)])

    def stem(self) -> str:
        """How the names of the files of a new part begin."""
        return self.stems.next_in(self.home)

    def sources(self, draft: Draft) -> tuple[Part, ...]:
        """The parts from which a draft gains slots, present or staged, showing only those slots."""
        present = self.present if draft.old else ()
        old = (part for part in present if not draft.old.isdisjoint(part.shown))
        new = (part for part in self.staged if not draft.arriving.isdisjoint(part.shown))
        shown = [part.show(draft.old) for part in old]
        return (*shown, *(part.show(draft.arriving) for part in new))

    @property
    def updates(self) -> Updatable:
        """What changes parts.

        REQUIRES: the format can be added to, which is checked when an index is created.
        """
        assert self.format.updates is not None
        return self.format.updates(self.site)

    def remove(self, part: Part, doomed: pa.RecordBatch) -> Part | None:
        """A part without some of its rows, one by one; None if none is left."""
        left = self.updates.remove(part, self.stem(), doomed)
        return left and replace(left, born=part.born)

    def in_memory(self, draft: Draft) -> Slots:
        """The slots that a draft gains from memory."""
        return draft.arriving & self.rows.slots

    def read(self, parts: Iterable[Part], draft: Draft) -> Pieces | None:
        """The rows that parts show and those that a draft gains from memory; None for no rows."""
        pieces = [
            living(self.source(part), draft.floors).piece(within)
            for part in sorted(parts, key=lambda part: first_of(part.shown))
            for within in part.ranges(part.shown, self.slotting)
        ]
        if arriving := self.in_memory(draft):
            pieces.append(Piece(self.rows.of(arriving, draft.births)))
        pieces = [piece for piece in pieces if piece.num_rows]
        return Pieces(pieces) if pieces else None

    def source(self, part: Part) -> Shard:
        """A part whose rows are to be copied.

        Raises Damaged: the copy gets a checksum that is good, so its source must be sound.
        """
        return self.checked.open(self.files, self.spec, part)

    def over(self, part: Part, slots: Slots, floors: Floors) -> pa.RecordBatch:
        """The rows of some slots of a part that are over."""
        opened = SiftedShard(open_shard(self.files, self.spec, part), ~above(dict(floors)))
        found = [opened.scan(within) for within in part.ranges(slots, self.slotting)]
        return concat([empty_batch(self.spec.schema), *found])

    def born(self, rows: Columns) -> Slots:
        """The slots in which rows were inserted, where they are ordered by their ends."""
        return born_in(rows, self.spec, self.slotting)

    def alive(self, part: Part, slots: Slots, floors: Floors) -> Slots:
        """Which of some slots of a part have rows that are not over."""
        opened = living(open_shard(self.files, self.spec, part), floors)
        within = part.ranges(slots, self.slotting)
        return union(self.slots_in(opened.scan(each)) for each in within)

    def slots_in(self, rows: Columns) -> Slots:
        """The slots that have rows."""
        return slots_of(distinct(self.slotting.slots_of(self.spec.ordinals(rows)))[0].tolist())


def born_in(rows: Columns, spec: EntrySpec, slotting: Slotting) -> Slots:
    """The slots in which rows were inserted; none where they are not ordered by their ends."""
    if spec.birth is None:
        return NO_SLOTS
    return slots_of(distinct(slotting.slots_of(spec.births(rows)))[0].tolist())


def living(opened: Shard, floors: Floors) -> Shard:
    """A shard without the rows that are over."""
    return SiftedShard(opened, above(dict(floors))) if floors else opened
