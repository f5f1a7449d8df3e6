"""Foretells how many bytes a plan will write, before anything is written.

It goes by the plan, the rows of each slot, and earlier commits.

1. The plan says of how many rows the records are written. It goes by what a technique does with a
   draft as a whole: one that copies writes all of it, one that adds to files only what is new.
   Parts and shards do not matter.
2. What comes with a row besides is learnt. Directories, buckets that move, and room that is left in
   them depend on the keys. The last commits of the same kind say how many bytes each planned row
   came to, over as long as the plans take to come round.

Opens no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wavedex.engine.draft import Draft
from wavedex.engine.task import ShardTask
from wavedex.engine.workbench import Workbench
from wavedex.engine.workshop import Workshop
from wavedex.log.manifest import Work
from wavedex.plan.slot_set import NO_SLOTS, slots_key, union
from wavedex.store.part import Slots


class Forecast(NamedTuple):
    """What a change should write."""

    rows: int
    bytes: int


def rows_to_write(
    workshop: Workshop, tasks: Iterable[ShardTask], count: Callable[[Slots], int]
) -> int:
    """The rows that drafts make a technique write.

    `count` says how many rows some slots have, arriving ones included.
    """
    written: dict[str, Slots] = {}
    for task in tasks:
        bench = Workbench.of(workshop, task)
        for name, draft in task.drafts.items():
            written[name] = written.get(name, NO_SLOTS) | _written(draft, bench)
    once = {slots_key(slots): slots for slots in written.values()}.values()
    return sum(count(slots) for slots in once)


def bytes_to_write(
    rows: int, operation: str, done: Sequence[Work], cycle: int, bytes_a_row: float
) -> int:
    """The bytes that planned rows come to, by the last commits of the same operation.

    `cycle` is the number of such commits after which plans come round.
    `bytes_a_row` is what a row takes in files. It is used for the first commit.
    """
    alike = [work for work in done if work.operation == operation][-cycle:]
    planned = sum(work.planned_rows for work in alike)
    if planned:
        return round(rows * sum(work.written_bytes for work in alike) / planned)
    return round(rows * bytes_a_row)


def _written(draft: Draft, bench: Workbench) -> Slots:
    """The slots whose rows are written to settle a draft."""
    technique = bench.workshop.technique
    if not draft.is_touched:
        return NO_SLOTS
    new = draft.old | draft.arriving
    own = union(part.shown for part in draft.own)
    if technique.writes_into_files:
        is_shown = any(part in bench.present for part in draft.parts)
        is_copied = draft.copied or (is_shown and not technique.changes_files)
        return own | new if is_copied else new
    if draft.merged:
        return own | new
    if technique.defers_merges:
        return draft.arriving
    return own | new if technique.writes(draft, bench) else NO_SLOTS
