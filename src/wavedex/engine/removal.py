"""Rows that leave one by one.

They are erased by their keys, or hidden until their sub-index is written anew.
Both come before anything else that a change does to a sub-index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.engine.task import Incoming, ShardTask
from wavedex.engine.workbench import Workbench
from wavedex.files.contract import FileRef
from wavedex.files.names import folder_of
from wavedex.rows.arrow import to_arrow
from wavedex.rows.pieces import Pieces, concat
from wavedex.store.formats import open_shard
from wavedex.store.part import Part
from wavedex.store.positions import Positioned, hidden_rows, write_hidden
from wavedex.store.sorted.packed import build_packed


def erase_rows(
    drafts: Mapping[str, Draft], incoming: Incoming, bench: Workbench
) -> dict[str, Draft]:
    """The drafts, once rows were erased from the parts that they start from."""
    if incoming.keys is None:
        return dict(drafts)
    eraser = _Eraser(bench, incoming.keys)
    return {
        name: replace(draft, parts=eraser.left_of(draft.parts), erases=False)
        if draft.erases
        else draft
        for name, draft in drafts.items()
    }


def hide_rows(task: ShardTask, bench: Workbench) -> ShardTask:
    """The task, once rows are hidden in the parts where they lie, whoever then takes these over.

    What hides rows of a part that is written anew in the same change is read once and then named by
    nobody.
    """
    present = {_place(part): part for part in task.shown}
    hidden = {
        ref: replace(present[ref], hidden=_hide(bench, present[ref], rows))
        for ref, rows in task.incoming.hidden.items()
    }

    def left_of(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        seen = ((part, hidden.get(_place(part))) for part in parts)
        return tuple(part if new is None else replace(new, shown=part.shown) for part, new in seen)

    return replace(
        task,
        drafts={
            name: replace(draft, parts=left_of(draft.parts)) for name, draft in task.drafts.items()
        },
        shown=left_of(task.shown),
        incoming=replace(task.incoming, staged=left_of(task.incoming.staged)),
    )


def _place(part: Part) -> FileRef:
    """By what a part is known whose rows are hidden."""
    return part.files["directory"]


def _hide(bench: Workbench, part: Part, rows: pa.RecordBatch) -> Part:
    """What hides some rows of a part, together with those that were hidden already.

    It holds the positions of the rows. Where rows have no positions, it holds the rows themselves.
    """
    opened = open_shard(bench.files, bench.spec, part)
    held = bench.slots_in(rows)
    if isinstance(opened, Positioned):
        held = held if part.hidden is None else held | part.hidden.held
        positions = np.append(opened.gone, opened.find(rows))
        return write_hidden(bench.files, bench.stem(), positions, held)
    both = concat([rows, *hidden_rows(bench.source(part))])
    held = bench.slots_in(both)
    return build_packed(bench.files, bench.spec, bench.stem(), Pieces.of(both), held)


class _Eraser:
    """Takes the rows of some keys out of parts. Files that several names share are written once."""

    def __init__(self, bench: Workbench, keys: pa.Array) -> None:
        self._bench = bench
        self._keys = keys
        self._written: dict[tuple[FileRef, Part | None], Part | None] = {}

    def left_of(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """What is left of parts."""
        left = ((part, self._cleaned(part)) for part in parts)
        return tuple(replace(new, shown=old.shown) for old, new in left if new is not None)

    def _cleaned(self, part: Part) -> Part | None:
        ref = part.files["directory"], part.hidden
        if ref not in self._written:
            home = folder_of(part.files["rows"].name)
            own = home if home in self._bench.stems.homes else self._bench.home
            self._written[ref] = self._without_rows(replace(self._bench, home=own), part)
        return self._written[ref]

    def _without_rows(self, bench: Workbench, part: Part) -> Part | None:
        """A part without the rows of the keys.

        It is the part itself if it has none of these rows, and None if it has no others.
        Files that grow in place may have rows that no directory shows any more, so they are
        written anew in any case.
        """
        spec, keys = bench.spec, self._keys
        opened = bench.source(part)
        found = opened.probe_many(keys, spec.key_type.hash_array(keys), None)
        if not found.num_rows and part.content is None and part.hidden is None:
            return part
        rows = opened.scan(None)
        ranks = spec.key_type.ranks(pa.concat_arrays([spec.keys(rows), keys]))
        kept = np.flatnonzero(~np.isin(ranks[: rows.num_rows], ranks[rows.num_rows :]))
        if not len(kept):
            return None
        return bench.workshop.technique.write(rows.take(to_arrow(kept)), part.held, bench)
