"""What a commit of a wave index changed, without looking at what stayed.

A commit is compared with the one before it, shard by shard and slot by slot, by the manifests
alone. A slot that only one of them shows has entered or left as a whole. A slot that both show has
changed only if its number of rows did, since rows are never replaced. Then the parts that both name
are passed over, and rows are compared only where files were rewritten.

A slot comes when it is over, and the slot W before it goes at the same instant: when the slot after
it begins. Rows that come late, or to a slot before one that is there already, come with the newest
slot that was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from wavedex.files.contract import AnyFiles
from wavedex.index.core.changes import Moved
from wavedex.index.wave.definition import WaveDefinition, width_at, window_of
from wavedex.log.manifest import Manifest
from wavedex.plan.slot_set import NO_SLOTS, last_of, slots_key, slots_of, union
from wavedex.rows.arrow import to_arrow
from wavedex.rows.entries import one_batch
from wavedex.rows.matching import match_rows
from wavedex.rows.pieces import Piece
from wavedex.slots import Ordinals, distinct, ordinals
from wavedex.slots.contract import ORDINAL_MAX
from wavedex.store.package import Open
from wavedex.store.part import Part, Slots


@dataclass(frozen=True)
class _Compared:
    """The parts of one shard that two commits do not share."""

    entered: list[Part]
    """Parts that show the rows that came in."""
    left: list[Part]
    """Parts that show the rows that went out. Rows that both show have stayed."""

    def __bool__(self) -> bool:
        return bool(self.entered or self.left)


class WaveChanges:
    """Finds what entered the window and what left it."""

    def shards(
        self, definition: WaveDefinition, before: Manifest | None, after: Manifest
    ) -> list[int]:
        # Where a commit has other shards than the one before, rows have moved, but only whole slots
        # can have left.
        count = max(map(_shards, (before or after, after)))
        return [n for n in range(count) if _compare(definition, before, after, n)]

    def parts(
        self, definition: WaveDefinition, before: Manifest | None, after: Manifest, shard: int
    ) -> Iterable[Part]:
        compared = _compare(definition, before, after, shard)
        return (*compared.entered, *compared.left)

    def read(
        self,
        files: AnyFiles,
        definition: WaveDefinition,
        before: Manifest | None,
        after: Manifest,
        shard: int,
        open_part: Open,
        columns: Sequence[str] | None = None,
    ) -> Iterator[Moved]:
        compared = _compare(definition, before, after, shard)
        slots = _slots(compared.left), _slots(compared.entered)
        # What stands in both can only be told by all columns.
        is_shared = bool(slots[0] & slots[1])
        times = [definition.spec.order] if max(map(len, slots)) > 1 else []
        wanted = None if columns is None or is_shared else [*columns, *times]
        left, entered = (
            _read(files, definition, parts, open_part, wanted)
            for parts in (compared.left, compared.entered)
        )
        if is_shared:
            entered, left = _without_common(entered, left)
        seen = NO_SLOTS if before is None else window_of(definition, before)
        width, stays = width_at(definition, after), window_of(definition, after)
        for rows, sign, shown, later in ((left, -1, slots[0], width), (entered, 1, slots[1], 0)):
            for batch in rows.to_batches():
                at = _instants(definition, batch, shown, seen, later, stays)
                yield Moved(Piece(batch), sign, at)


def _compare(
    definition: WaveDefinition, before: Manifest | None, after: Manifest, shard: int
) -> _Compared:
    """What a commit changed in a shard; `before` is None for an empty index. Reads no file."""
    old = NO_SLOTS if before is None else window_of(definition, before)
    new = window_of(definition, after)
    same = old & new
    if before is not None:
        same = same - after.ledger.differing(before.ledger)
    left = [] if before is None else _showing(before, shard, old - same)
    entered = _showing(after, shard, new - same)
    common = {_piece(part) for part in left} & {_piece(part) for part in entered}
    return _Compared(
        [part for part in entered if _piece(part) not in common],
        [part for part in left if _piece(part) not in common],
    )


def _instants(
    definition: WaveDefinition,
    rows: pa.RecordBatch,
    shown: Slots,
    seen: Slots,
    later: int,
    stays: Slots,
) -> Ordinals:
    """When rows of the slots `shown` came, or left so many slots `later`.

    That is not before the slots that were seen then. Rows that leave a slot that stays were erased,
    with the newest slot that was seen.
    """
    slotting = definition.slotting
    if not rows.num_rows:
        return np.zeros(0, np.int64)
    if len(shown) == 1:
        slots, places = np.array([*shown]), np.zeros(rows.num_rows, np.int64)
    else:
        slots, places = distinct(slotting.slots_of(ordinals(rows.column(definition.spec.order))))
    first = last_of(slots_of(seen)) if seen else None

    def turn(slot: int) -> int:
        if first is None:
            return slot + later
        return first if later and slot in stays else max(slot + later, first)

    ends = [min(slotting.stop(each), ORDINAL_MAX) for each in map(turn, slots.tolist())]
    return np.array(ends, np.int64)[places]


def _showing(manifest: Manifest, shard: int, slots: Slots | set[int]) -> list[Part]:
    """The parts of one shard that readers see, showing some slots only."""
    subs = manifest.shown.values()
    shown = (part.show(slots) for sub in subs for part in (*sub.shards, *((),) * shard)[shard])
    return [part for part in shown if part.shown]


def _shards(manifest: Manifest) -> int:
    return max((len(sub.shards) for sub in manifest.shown.values()), default=0)


def _piece(part: Part) -> tuple[tuple[str, ...], object]:
    """What tells whether two parts show the same rows of the same files."""
    return tuple(sorted(file.name for file in part.files.values())), slots_key(part.shown)


def _slots(parts: Iterable[Part]) -> Slots:
    return union(part.shown for part in parts)


def _read(
    files: AnyFiles,
    definition: WaveDefinition,
    parts: Iterable[Part],
    open_part: Open,
    columns: Sequence[str] | None,
) -> pa.Table:
    """The rows that parts show, with all columns or some."""
    schema = definition.spec.schema
    names = schema.names if columns is None else [name for name in schema.names if name in columns]
    batches: list[pa.RecordBatch] = []
    for part in parts:
        opened = open_part(files, definition.spec, part)
        for within in part.ranges(part.shown, definition.slotting):
            batches += [opened.scan(within)] if columns is None else opened.stream(within, names)
    fields = [schema.field(name) for name in names]
    return pa.Table.from_batches(batches, pa.schema(fields)).unify_dictionaries()


def _without_common(one: pa.Table, other: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both without the rows that stand in both, each as often as it stands in the other."""
    matched = match_rows(one_batch(one), one_batch(other))
    return one.filter(to_arrow(~matched[0])), other.filter(to_arrow(~matched[1]))
