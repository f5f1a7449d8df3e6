"""How many bytes will a plan write? Foretold from the plan, the rows of each slot and earlier commits, before anything is written.

1. The plan says of how many rows the records are written. It goes by what a technique does with a draft as a whole: one that
   copies writes all of it, one that adds to files only what is new. Parts and shards do not matter.
2. What comes with a row besides is learnt: directories, buckets that move and room that is left in them depend on the keys.
   The last commits of the same kind say how many bytes each planned row came to, over as long as the plans take to come round.

Opens no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from wavedex.engine.draft import Draft, draft_plan
from wavedex.engine.technique import Technique
from wavedex.log.journal import Manifest, Work
from wavedex.plan import Operation
from wavedex.plan.slot_set import NO_SLOTS, slots_key, union
from wavedex.store.part import Part, Slots


def rows_to_write(
    technique: Technique,
    operations: Iterable[Operation],
    manifest: Manifest,
    count: Callable[[Slots], int],
    arriving: Slots,
) -> int:
    """The rows that the operations make a technique write, `count` says how many some slots have, arriving ones included."""
    subs = manifest.everything
    present = {name: _as_part(sub.slots) for name, sub in subs.items()}
    drafts = draft_plan(operations, present, arriving)
    shown = {present[name] for name in manifest.shown}
    written = [_written(technique, draft, shown) for draft in drafts.values()]
    once = {slots_key(slots): slots for slots in written}.values()
    return sum(count(slots) for slots in once)


def bytes_to_write(
    rows: int, operation: str, done: Sequence[Work], cycle: int, bytes_a_row: float
) -> int:
    """The bytes that so many planned rows come to, by the last commits of the same operation.

    `cycle` is after how many of them plans come round; `bytes_a_row` is what a row takes in files, for the first commit.
    """
    alike = [work for work in done if work.operation == operation][-cycle:]
    planned = sum(work.planned_rows for work in alike)
    if planned:
        return round(rows * sum(work.written_bytes for work in alike) / planned)
    return round(rows * bytes_a_row)


def _as_part(slots: Slots) -> tuple[Part, ...]:
    return (Part("", {}, slots, slots, 0),) if slots else ()


def _written(technique: Technique, draft: Draft, shown: set[tuple[Part, ...]]) -> Slots:
    """The slots whose rows are written to settle a draft; `shown` is what readers see of each sub-index."""
    own = union(part.shown for part in draft.own)
    new = draft.old | draft.arriving
    if draft == Draft(draft.parts):
        return NO_SLOTS
    if technique.writes_into_files:
        is_copied = draft.copied or (draft.parts in shown and not technique.changes_files)
        return own | new if is_copied else new
    if draft.merged:
        return own | new
    if technique.defers_merges:
        return draft.arriving
    is_only_named = not own and not draft.arriving and _as_part(new) in shown
    is_only_copied = draft == Draft(draft.parts, copied=True)
    return NO_SLOTS if is_only_named or is_only_copied else own | new
