"""What a plan asks of one shard, worked out before anything is written.

Operations are carried out on drafts. A draft says which parts a sub-index starts from, what is
deleted from them, and which slots are added, from the present snapshot or from the arriving batch.
Only the last draft of each name is then written. So a sub-index that a plan copies, deletes from
and adds to is written once. How it is written is the update technique's business
(`wavedex.engine.technique`).

Pure: opens no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from wavedex.plan import (
    Add,
    Amend,
    Build,
    Copy,
    Delete,
    Drop,
    Erase,
    Examine,
    Hide,
    Insert,
    Merge,
    Operation,
    Rename,
    Sift,
)
from wavedex.plan.slot_set import NO_SLOTS
from wavedex.store.part import Part, Slots

_NONE: Slots = NO_SLOTS


@dataclass(frozen=True)
class Draft:
    """A sub-index in the making."""

    parts: tuple[Part, ...] = ()
    """What it starts from."""
    deleted: Slots = _NONE
    """The slots that it loses from these."""
    old: Slots = _NONE
    """The slots that it gains from the present snapshot."""
    arriving: Slots = _NONE
    """The slots whose arriving rows it gains."""
    births: Slots = _NONE
    """Among arriving rows, only those born in these slots count; empty for all."""
    examined: Slots = _NONE
    """The slots in which each row is examined. It leaves if its own values say that it is over."""
    copied: bool = False
    """Whether another name keeps the parts."""
    merged: bool = False
    """Whether it must end up as one packed part."""
    erases: bool = False
    """Whether the rows of some keys are to be written out of its parts first."""
    floors: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """Rows that are not above all of these are over.

    By itself that is no reason to write anything.
    """

    def add(self, slots: Slots, arriving: Slots) -> Draft:
        """With more slots: those that arrive from the batch, the others from the snapshot."""
        return replace(
            self, old=self.old | (slots - arriving), arriving=self.arriving | (slots & arriving)
        )

    def delete(self, slots: Slots) -> Draft:
        """Without some slots, whether they are in its parts or were to be added."""
        return replace(
            self,
            old=self.old - slots,
            arriving=self.arriving - slots,
            deleted=self.deleted | (slots - self.old - self.arriving),
        )

    def insert(self, births: Slots, slots: Slots) -> Draft:
        """With arriving rows of some births."""
        return replace(self, arriving=self.arriving | slots, births=self.births | births)

    @property
    def is_touched(self) -> bool:
        """Whether anything is asked of it."""
        return self != Draft(self.parts)

    def narrowed(self, arriving: Slots) -> Draft:
        """The draft once it is known which slots really have arriving rows."""
        return replace(self, arriving=self.arriving & arriving)

    @property
    def own(self) -> tuple[Part, ...]:
        """Its parts, showing what is left of them."""
        shown = (part.show(part.shown - self.deleted) for part in self.parts)
        return tuple(part for part in shown if part.shown)


def draft_plan(
    operations: Iterable[Operation], present: Mapping[str, tuple[Part, ...]], arriving: Slots
) -> dict[str, Draft]:
    """The draft of every sub-index and temporary that there is after the operations.

    `arriving` are the slots for which the batch has rows. All others come from the snapshot, if it
    has any.
    """
    drafts = {name: Draft(parts) for name, parts in present.items()}
    for operation in operations:
        match operation:
            case Build(slots, target):
                drafts[target] = Draft().add(slots, arriving)
            case Add(slots, target):
                drafts[target] = drafts[target].add(slots, arriving)
            case Delete(slots, target):
                drafts[target] = drafts[target].delete(slots)
            case Copy(source, target):
                drafts[target] = replace(drafts[source], copied=True)
            case Rename(source, target):
                drafts[target] = drafts.pop(source)
            case Drop(target):
                del drafts[target]
            case Merge(target):
                drafts[target] = replace(drafts[target], merged=True)
            case Insert(births, slots, target):
                drafts[target] = drafts[target].insert(births, slots & arriving)
            case Examine(slots, target):
                draft = drafts[target]
                drafts[target] = replace(draft, examined=draft.examined | slots)
            case Erase(target):
                drafts[target] = replace(drafts[target], erases=True)
            case Hide():
                pass  # A row is hidden where it lies, whatever becomes of the sub-index.
            case Sift(floors, target):
                drafts[target] = replace(drafts[target], floors=floors)
            case Amend(slots, target):
                draft = drafts[target]
                drafts[target] = replace(draft, arriving=draft.arriving | (slots & arriving))
    return drafts
