"""How many bytes will a plan write? Foretold from the plan and the rows of each slot, before anything is written.

It goes by what a technique does with a draft as a whole: one that copies writes all of it, one that adds to files only what
is new. Parts and shards do not matter. Opens no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wavedex.engine.draft import Draft, draft_plan
from wavedex.engine.technique import Technique
from wavedex.log import Manifest
from wavedex.plan import Operation
from wavedex.store.part import Part, Slots


def rows_to_write(
    technique: Technique,
    operations: Iterable[Operation],
    manifest: Manifest,
    rows: Mapping[int, int],
    arriving: Slots,
) -> int:
    """The rows that the operations make a technique write, `rows` being those of each slot, arriving ones included."""
    subs = manifest.everything
    present = {name: _as_part(sub.slots) for name, sub in subs.items()}
    drafts = draft_plan(operations, present, arriving)
    shown = {present[name] for name in manifest.shown}
    written = {_written(technique, draft, shown) for draft in drafts.values()}
    return sum(rows.get(slot, 0) for slots in written for slot in slots)


def _as_part(slots: Slots) -> tuple[Part, ...]:
    return (Part("", {}, slots, slots, 0),) if slots else ()


def _written(technique: Technique, draft: Draft, shown: set[tuple[Part, ...]]) -> Slots:
    """The slots whose rows are written to settle a draft; `shown` is what readers see of each sub-index."""
    own = frozenset().union(*(part.shown for part in draft.own))
    new = draft.old | draft.arriving
    if draft == Draft(draft.parts):
        return frozenset()
    if technique.writes_into_files:
        is_copied = draft.copied or (draft.parts in shown and not technique.changes_files)
        return own | new if is_copied else new
    if draft.merged:
        return own | new
    if technique.defers_merges:
        return draft.arriving
    is_only_named = not own and not draft.arriving and _as_part(new) in shown
    is_only_copied = draft == Draft(draft.parts, copied=True)
    return frozenset() if is_only_named or is_only_copied else own | new
