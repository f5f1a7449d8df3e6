"""What should a slot cost? Counted in slots, from the plans and the rules of the techniques alone.

1. The planner says what is asked of each sub-index and temporary (`wavedex.plan`). A draft sums it
   up for each name (`wavedex.engine.draft`). Both are pure.
2. The rules of docs/schemes.md say what a draft makes an update technique write. They are written
   down here once more, so that an engine that writes more than they allow is noticed.
3. `SlotBytes` gives the bytes. How much a file of one slot, of two, and so on takes was measured
   from one build of each.

Opens no file and reads no clock. All slots that arrive are taken to have rows, and all as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wavedex.engine.draft import Draft, draft_plan
from wavedex.engine.techniques import technique
from wavedex.files.contract import FileRef
from wavedex.plan import Merge, Operation, Scheme, WaveState
from wavedex.plan.slot_set import union
from wavedex.store.part import Part, Slots

NOTHING: Slots = frozenset()


@dataclass(frozen=True)
class Written:
    """What one commit writes.

    A packed file has records and a directory. In place, new records may be few, and the directory
    is always that of the whole sub-index.
    """

    records: tuple[int, ...] = ()
    """For each write, how many slots its records are of."""
    directories: tuple[int, ...] = ()
    """For each new directory, how many slots it is of."""

    @property
    def slots(self) -> int:
        """How many slots' worth of records is written."""
        return sum(self.records)

    def __add__(self, other: Written) -> Written:
        return Written(self.records + other.records, self.directories + other.directories)


@dataclass(frozen=True)
class SlotBytes:
    """The bytes of one, two, ... slots, each measured from one build: records and directories."""

    records: Mapping[int, int]
    directories: Mapping[int, int]

    def bytes_of(self, written: Written) -> int:
        """How many bytes these writes have."""
        records = sum(self.records[slots] for slots in written.records)
        return records + sum(self.directories[slots] for slots in written.directories)


@dataclass(frozen=True)
class SlotCost:
    """What one slot costs, and what is there after it."""

    slot: int
    transition: Written
    preparation: Written
    slots_shown: int
    """The slots that readers may meet."""
    slots_on_disk: int
    """Those of all files."""


class Prediction:
    """Follows an index of a scheme and an update technique slot by slot, without one."""

    def __init__(self, planner: Scheme, update: str) -> None:
        self.planner = planner
        self.technique = technique(update)
        self._state = WaveState(0, {}, {})
        self._parts: dict[str, tuple[Part, ...]] = {}
        self._files = 0

    def begin(self, newest: int, arriving: Iterable[int]) -> SlotCost:
        """The first append: a window up to `newest` of which `arriving` have rows."""
        plan, self._state = self.planner.start(newest)
        return self._step(plan.transition, plan.preparation, frozenset(arriving))

    def arrive(self) -> SlotCost:
        """The next slot."""
        plan, self._state = self.planner.transition(self._state, self._state.newest + 1)
        return self._step(plan.transition, plan.preparation, frozenset({self._state.newest}))

    def _step(
        self, transition: Sequence[Operation], preparation: Sequence[Operation], arriving: Slots
    ) -> SlotCost:
        before = self._named()
        first = self._carry_out(transition, arriving)
        between = self._named()
        owed = [*preparation, *self._merges()]
        later = self._carry_out(owed, NOTHING)
        # Two commits are kept: the newest, and the one before it.
        kept = (between if owed else before) | self._named()
        return SlotCost(
            self._state.newest,
            first,
            later,
            sum(len(part.held) for part in self._shown()),
            sum(len(held) for _, held in kept),
        )

    def _named(self) -> set[tuple[str, Slots]]:
        every = (part for parts in self._parts.values() for part in parts)
        return {(part.files["rows"].name, part.held) for part in every}

    def _shown(self) -> tuple[Part, ...]:
        """The parts that readers see."""
        return tuple(part for name in self._state.indexes for part in self._parts.get(name, ()))

    def _merges(self) -> list[Operation]:
        """With `runs`, sub-indexes of several parts or with hidden rows are merged afterwards."""
        if not self.technique.defers_merges:
            return []
        parts = {name: self._parts[name] for name in self._state.indexes}
        return [Merge(name) for name, own in parts.items() if not _is_packed(own)]

    def _carry_out(self, operations: Sequence[Operation], arriving: Slots) -> Written:
        drafts = draft_plan(operations, self._parts, arriving)
        desk = _Desk(self._shown(), self._files)
        self._parts = {name: self._settle(draft, desk) for name, draft in drafts.items()}
        self._files = desk.files
        return desk.written

    def _settle(self, draft: Draft, desk: _Desk) -> tuple[Part, ...]:
        if self.technique.writes_into_files:
            return _update(draft, desk, in_place=self.technique.changes_files)
        return _pack(draft, desk, as_runs=self.technique.defers_merges)


@dataclass
class _Desk:
    """Where the drafts of one commit are settled.

    It knows what readers see meanwhile, and what was written so far.
    """

    present: tuple[Part, ...]
    files: int
    written: Written = Written()
    packed: dict[object, Part] = field(default_factory=dict)

    def sources(self, slots: Slots) -> tuple[Part, ...]:
        shown = (part.show(slots) for part in self.present)
        return tuple(part for part in shown if part.shown)

    def write(self, records: int, directory: int) -> None:
        self.written += Written((records,) if records else (), (directory,))

    def new_part(self, held: Slots) -> Part:
        self.files += 1
        return Part("predicted", {"rows": FileRef(str(self.files), 0, "")}, held, held, 0)


def _is_packed(parts: Sequence[Part]) -> bool:
    return len(parts) <= 1 and all(part.is_whole for part in parts)


def _pack(draft: Draft, desk: _Desk, as_runs: bool) -> tuple[Part, ...]:
    """Files that never change: what is there is named, what must be packed is written once."""
    parts = (*draft.own, *desk.sources(draft.old))
    if not draft.arriving and (_is_packed(parts) or (as_runs and not draft.merged)):
        return parts
    kept = parts if as_runs and not draft.merged else ()
    packed = () if kept else parts
    content = frozenset((part.files["rows"].name, part.shown) for part in packed)
    held = union([draft.arriving, *(part.shown for part in packed)])
    if (content, draft.arriving) not in desk.packed:
        desk.packed[content, draft.arriving] = desk.new_part(held)
        desk.write(len(held), len(held))
    return (*kept, desk.packed[content, draft.arriving])


def _update(draft: Draft, desk: _Desk, in_place: bool) -> tuple[Part, ...]:
    """Files that are written into: what is new, and the directory anew.

    Where somebody else keeps them, a copy comes first.
    """
    gained = frozenset().union(*(part.shown for part in desk.sources(draft.old)), draft.arriving)
    part = draft.parts[0] if draft.parts else None
    if part is not None:
        doomed = part.held & draft.deleted
        shadowed = not in_place and part in desk.present and bool(gained or doomed)
        if draft.copied or shadowed:
            part = desk.new_part(part.held)
            desk.write(len(part.held), len(part.held))
        if doomed:
            left = part.held - doomed
            part = _with_slots(part, left) if left else None
            if left:
                desk.write(0, len(left))
    if gained:
        held = gained if part is None else part.held | gained
        part = desk.new_part(held) if part is None else _with_slots(part, held)
        desk.write(len(gained), len(held))
    return () if part is None else (part,)


def _with_slots(part: Part, held: Slots) -> Part:
    return Part(part.store, part.files, held, held, part.rows)
