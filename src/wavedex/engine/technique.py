"""The update techniques: how a draft becomes parts on disk (Section 2.1, and `runs`, which is ours).

- `packed-shadow` writes a changed sub-index anew, packed, next to the old one.
- `runs` writes only what arrives, as a packed part of its own next to the others; a merge makes one part of them later.
- `in-place` adds to the sub-index itself, where no reader looks.
- `simple-shadow` copies a sub-index that readers use and updates the copy in place.

The first two never change a part, so copies and slots taken over from another sub-index cost nothing but a mention, and any
package that can build an index will do. The other two need one that can be added to.
Knows formats and drafts, and no scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.errors import TooLarge, UnknownScheme
from wavedex.files.contract import AnyFiles
from wavedex.plan.slot_set import NO_SLOTS, first_of, slots_key, slots_of, union
from wavedex.rows.arrow import empty_batch
from wavedex.rows.entries import Columns, EntrySpec
from wavedex.rows.pieces import Piece, Pieces, concat
from wavedex.slots import Slotting, distinct
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import FORMATS, open_shard
from wavedex.store.package import Format, Site, Updatable
from wavedex.store.part import Part, Slots
from wavedex.store.positions import hidden_rows
from wavedex.store.shard import Shard
from wavedex.store.sifted import SiftedShard, above


@dataclass
class Bench:
    """What a technique works with in one shard.

    `present` are the parts that readers see now. Rows arrive as `staged` parts, which lie on disk already, or in memory:
    `rows_of` gives those of some slots and births. `arriving` are the slots of both, `memory` those of the latter. Rows that are
    not above all `floors` are over. `stem` makes names for new files, in the folder
    `home`, one of `homes`; `format` writes and changes parts, at `site`; `checked` opens those whose rows are copied. `is_draining` says that parts are from before a migration, of
    which readers may hold commits that nobody knows of: they are left as they are. `is_delta` says that they are the delta's.
    `forgets` says that rows which are over must leave the files.
    """

    files: AnyFiles
    spec: EntrySpec
    slotting: Slotting
    present: tuple[Part, ...]
    staged: tuple[Part, ...]
    arriving: Slots
    memory: Slots
    rows_of: Callable[[Slots, Slots], pa.RecordBatch]
    floors: Mapping[str, int]
    home: str
    homes: frozenset[str]
    name: Callable[[], str]
    is_draining: bool
    is_delta: bool
    forgets: bool
    format: Format
    site: Site
    checked: CheckedParts
    written: dict[object, tuple[Part, ...]] = field(default_factory=dict)

    def stem(self) -> str:
        """How the names of the files of a new part begin."""
        return f"{self.home}/{self.name()}"

    def sources(self, draft: Draft) -> tuple[Part, ...]:
        """The parts from which a draft gains slots, showing only those: of the present snapshot, and staged ones."""
        present = self.present if draft.old else ()
        old = (part for part in present if not draft.old.isdisjoint(part.shown))
        new = (part for part in self.staged if not draft.arriving.isdisjoint(part.shown))
        shown = [part.show(draft.old) for part in old]
        return (*shown, *(part.show(draft.arriving) for part in new))

    @property
    def updates(self) -> Updatable:
        """What changes parts. REQUIRES: the format can be added to, which is checked when an index is created."""
        assert self.format.updates is not None
        return self.format.updates(self.site)

    def remove(self, part: Part, doomed: pa.RecordBatch) -> Part | None:
        """A part without some of its rows, one by one; None if none is left."""
        left = self.updates.remove(part, self.stem(), doomed)
        return left and replace(left, born=part.born)

    def in_memory(self, draft: Draft) -> Slots:
        """The slots that a draft gains from memory."""
        return draft.arriving & self.memory

    def read(self, parts: Iterable[Part], arriving: Slots, births: Slots) -> Pieces | None:
        """The rows that parts show and those that arrive in memory, or None where there are none."""
        pieces = [
            self.open(part).piece(within)
            for part in sorted(parts, key=lambda part: first_of(part.shown))
            for within in part.ranges(part.shown, self.slotting)
        ]
        if arriving:
            pieces.append(Piece(self.rows_of(arriving, births)))
        pieces = [piece for piece in pieces if piece.num_rows]
        return Pieces(pieces) if pieces else None

    def source(self, part: Part) -> Shard:
        """A part whose rows are to be copied. Raises Damaged: what is copied gets a checksum that is good."""
        return self.checked.open(self.files, self.spec, part)

    def open(self, part: Part) -> Shard:
        """The same without the rows that are over."""
        return self._living(self.source(part))

    def _living(self, opened: Shard) -> Shard:
        return SiftedShard(opened, above(self.floors)) if self.floors else opened

    def over(self, part: Part, slots: Slots) -> pa.RecordBatch:
        """The rows of some slots of a part that are over."""
        keep = above(self.floors)
        opened = SiftedShard(open_shard(self.files, self.spec, part), lambda rows: ~keep(rows))
        found = [opened.scan(within) for within in part.ranges(slots, self.slotting)]
        return concat([empty_batch(self.spec.schema), *found])

    def born(self, rows: Columns) -> Slots:
        """The slots in which rows were inserted, where they are ordered by their ends."""
        return born_in(rows, self.spec, self.slotting)

    def alive(self, part: Part, slots: Slots) -> Slots:
        """Those of some slots of a part in which not all rows are over."""
        opened = self._living(open_shard(self.files, self.spec, part))
        within = part.ranges(slots, self.slotting)
        return union(self.slots_in(opened.scan(each)) for each in within)

    def slots_in(self, rows: Columns) -> Slots:
        """The slots of which there are rows."""
        return slots_of(distinct(self.slotting.slots_of(self.spec.ordinals(rows)))[0].tolist())


def born_in(rows: Columns, spec: EntrySpec, slotting: Slotting) -> Slots:
    """The slots in which rows were inserted; none where they are not ordered by their ends."""
    if spec.birth is None:
        return NO_SLOTS
    return slots_of(distinct(slotting.slots_of(spec.births(rows)))[0].tolist())


class Technique(Protocol):
    """How drafts become parts."""

    @property
    def name(self) -> str:
        """What it is called in a definition."""

    @property
    def writes_into_files(self) -> bool:
        """Whether it ever writes into a file that is there, seen by readers or not."""

    @property
    def changes_files(self) -> bool:
        """Whether files that readers use are written to, so that readers must say which commit they hold."""

    @property
    def defers_merges(self) -> bool:
        """Whether sub-indexes are left in several parts, to be merged in preparation."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that its parts may have."""

    def check(self, spec: EntrySpec, format: Format) -> None:  # noqa: A002 - what it is
        """Raise BadDefinition where entries like these cannot be kept so."""

    def writes(self, draft: Draft, bench: Bench) -> bool:
        """Whether anything has to be written to settle the draft."""

    def settle(self, draft: Draft, bench: Bench) -> tuple[Part, ...]:
        """Write what the draft needs and return its parts."""

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Bench) -> Part:
        """Write rows of some slots as one new part. REQUIRES: at least one row."""


@dataclass(frozen=True)
class Immutable:
    """Files that never change: `packed-shadow`, and `runs`, which leaves several parts until they are merged."""

    name: str
    defers_merges: bool
    changes_files: bool = False
    writes_into_files: bool = False

    @property
    def formats(self) -> tuple[str, ...]:
        """All of them: every format builds."""
        return tuple(FORMATS)

    def check(self, spec: EntrySpec, format: Format) -> None:  # noqa: A002 - what it is
        """What can be kept is for the format to say."""

    def settle(self, draft: Draft, bench: Bench) -> tuple[Part, ...]:
        parts = (*draft.own, *bench.sources(draft))
        arriving = bench.in_memory(draft)
        if not self.writes(draft, bench) or self._is_let_be(draft, bench):
            return parts
        if self._adds_a_part(draft, bench):
            return (*parts, *self._write((), arriving, draft.births, bench))
        try:
            return self._write(parts, arriving, draft.births, bench)
        except TooLarge:
            # Runs that do not fit into one file are as good unmerged, only a little slower.
            if draft.merged and not arriving:
                return parts
            raise

    def writes(self, draft: Draft, bench: Bench) -> bool:
        if bench.in_memory(draft):
            return True
        if self._adds_a_part(draft, bench):
            return False
        if draft.examined or (draft.is_touched and any(part.hidden for part in draft.own)):
            return True
        return not bench.format.is_packed((*draft.own, *bench.sources(draft)))

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Bench) -> Part:
        return self._build(Pieces.of(rows), held, bench)

    def _build(self, rows: Pieces, held: Slots, bench: Bench) -> Part:
        born = bench.born(rows)  # before the build, which lets go of the rows
        built = bench.format.build(bench.files, bench.spec, bench.stem(), rows, held)
        return replace(built, born=born)

    def _adds_a_part(self, draft: Draft, bench: Bench) -> bool:
        """Whether what is new stands beside what is there. So does what waits for its births: that is dealt out soon."""
        waits = bench.is_delta and bool(draft.births)
        return not draft.merged and (self.defers_merges or waits)

    def _is_let_be(self, draft: Draft, bench: Bench) -> bool:
        """Whether all that comes of it is a look for rows that are over, and there are none."""
        is_more = bench.in_memory(draft) or bench.sources(draft) or draft.merged
        if not draft.examined or draft.own != draft.parts or is_more:
            return False
        if any(part.hidden for part in draft.parts):
            return False
        doomed = (bench.over(part, part.shown & draft.examined) for part in draft.parts)
        return not any(rows.num_rows for rows in doomed)

    def _write(
        self, parts: tuple[Part, ...], arriving: Slots, births: Slots, bench: Bench
    ) -> tuple[Part, ...]:
        """Write one packed part; what two drafts share is written once."""
        shown = tuple(
            (part.files["rows"].name, part.hidden, slots_key(part.shown)) for part in parts
        )
        shared = (shown, slots_key(arriving), slots_key(births))
        if shared not in bench.written:
            rows = bench.read(parts, arriving, births)
            held = union([arriving, *(part.shown for part in parts)])
            if rows is not None and bench.floors:
                held = bench.slots_in(rows)
            bench.written[shared] = () if rows is None else (self._build(rows, held, bench),)
        return bench.written[shared]


@dataclass(frozen=True)
class InPlace:
    """Parts that are added to: `in-place`, and `simple-shadow`, which copies what readers use first.

    Slots leave a part by deletion where its format has one; where it has none, what is left is written anew.
    """

    name: str
    changes_files: bool
    defers_merges: bool = False
    writes_into_files: bool = True

    @property
    def formats(self) -> tuple[str, ...]:
        """Those that can be added to."""
        return tuple(name for name, format_ in FORMATS.items() if format_.updates is not None)

    def check(self, spec: EntrySpec, format: Format) -> None:  # noqa: A002 - what it is
        format.check_updates(spec)

    def writes(self, draft: Draft, bench: Bench) -> bool:
        return draft != Draft(draft.parts)

    def settle(self, draft: Draft, bench: Bench) -> tuple[Part, ...]:
        if not self.writes(draft, bench):
            return draft.parts
        updates = bench.updates
        sources = bench.sources(draft)
        added = draft.old | draft.arriving
        part: Part | None = draft.parts[0] if draft.parts else None
        doomed = NO_SLOTS if part is None else part.held & draft.deleted
        is_fixed = bench.is_draining or not bench.format.is_updatable(draft.parts)
        if part is not None and (part.hidden or draft.examined) and not bench.format.removes:
            is_fixed = True
        # A copy would take along what was deleted, in room that is free; what is left costs no more to write.
        # And what is sealed must not stay in the free room of the delta.
        is_forgotten = bench.forgets and (bench.is_delta or not self.changes_files)
        deletes = bench.format.deletes and not is_forgotten
        if part is not None and (is_fixed or (doomed and not deletes)):
            # What another technique left, or what cannot be deleted from, is written anew.
            sources = (*draft.own, *sources)
            added = union([added, *(left.shown for left in draft.own)])
            part, doomed = None, NO_SLOTS
        found = bench.read(sources, bench.in_memory(draft), draft.births)
        rows = None if found is None else found.batch()
        if part is not None:
            part = self._without_over(part, draft.examined, bench)
        if part is not None:
            doomed &= part.held
            is_changed = rows is not None or bool(doomed)
            is_shadowed = is_changed and not self.changes_files and part in bench.present
            if draft.copied or is_shadowed:
                part = updates.copy(part, bench.stem())
            part = self._without_slots(part, doomed, bench)
        if rows is not None:
            if part is None:
                part = self.write(rows, added, bench)
            else:
                born = part.born | bench.born(rows)
                part = replace(updates.add(part, bench.stem(), rows, added), born=born)
        return () if part is None else (part,)

    def _without_over(self, part: Part, examined: Slots, bench: Bench) -> Part | None:
        """A part without what is hidden of it, and without those of the examined rows that are over."""
        left: Part | None = part
        if part.hidden is not None:
            for hidden in hidden_rows(bench.source(part)):
                left = bench.remove(replace(part, hidden=None), hidden)
        if left is None or not left.held & examined:
            return left
        looked = left.held & examined
        emptied = looked - bench.alive(left, looked)
        doomed = bench.over(left, looked - emptied)
        if doomed.num_rows:
            left = bench.remove(left, doomed)
        return left and self._without_slots(left, emptied, bench)

    def _without_slots(self, part: Part, doomed: Slots, bench: Bench) -> Part | None:
        if doomed and doomed >= part.held:
            return None
        left: Part | None = part
        for first, last in part.runs(doomed):
            dead = bench.slotting.start(first), bench.slotting.stop(last)
            slots = slots_of(range(first, last + 1))
            cut = left and bench.updates.delete(left, bench.stem(), dead, slots)
            left = cut and replace(cut, born=part.born)
        return left

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Bench) -> Part:
        born = bench.born(rows)
        return replace(bench.updates.build(bench.stem(), rows, held), born=born)


TECHNIQUES: dict[str, Technique] = {
    technique.name: technique
    for technique in (
        InPlace("in-place", changes_files=True),
        InPlace("simple-shadow", changes_files=False),
        Immutable("packed-shadow", defers_merges=False),
        Immutable("runs", defers_merges=True),
    )
}


def technique(name: str) -> Technique:
    """The technique of that name. Raises UnknownScheme."""
    if not isinstance(name, str) or name not in TECHNIQUES:
        raise UnknownScheme(
            f"There is no update technique {name!r}. Choose one of {', '.join(TECHNIQUES)}."
        )
    return TECHNIQUES[name]
