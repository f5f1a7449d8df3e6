"""What a commit of a lifetime index changed, without looking at what stayed.

Rows go at their own end and come at their insertion. So what a commit changed between the instant
of the commit before it and its own is found by spans of time:

- Rows that ended in between are looked for in the parts of the commit before, by their ends. Parts
  that hold none of the slots in between are passed over. With counted windows they are those that
  lay above the floors then and do not lie above them now.
- Rows that were inserted in between are looked for in the parts of the commit itself, by their
  births. Parts that were there before are passed over.
- All others are told by the commit (`wavedex.log.told`), at its instant: rows that came late, rows
  that were retracted, and rows that got another end, as -1 and +1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from wavedex.errors import CommitGone
from wavedex.files.contract import AnyFiles
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.changes import Moved
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.log.manifest import PREPARE, Manifest
from wavedex.log.told import Told
from wavedex.rows.arrow import empty_batch, number_view, to_arrow
from wavedex.rows.pieces import Piece, concat
from wavedex.slots import Ordinals
from wavedex.store.checks import CheckedParts
from wavedex.store.package import Open
from wavedex.store.part import Part
from wavedex.store.shard import Range, Shard
from wavedex.store.sieve import Sieve, above


class LifeChanges:
    """Finds the rows that came and those that went."""

    def shards(
        self, definition: LifeDefinition, before: Manifest | None, after: Manifest
    ) -> list[int]:
        if before is not None and not after.tells and after.operation != PREPARE:
            raise CommitGone(
                f"Commit {after.commit} was made by an earlier Wavedex, which did not note what "
                "came late and what was taken out. Begin anew, from None, or from a later commit."
            )
        found = {
            shard
            for shard in range(max(map(_shards, (before or after, after))))
            if any(True for _ in self.parts(definition, before, after, shard))
        }
        if _told(before, after):
            found.add(0)
        return sorted(found)

    def parts(
        self, definition: LifeDefinition, before: Manifest | None, after: Manifest, shard: int
    ) -> Iterator[Part]:
        for _, part in _with_ended(definition, before, after, shard):
            yield part
        for _, part in _with_born(definition, before, after, shard):
            yield part

    def read(
        self,
        files: AnyFiles,
        definition: LifeDefinition,
        before: Manifest | None,
        after: Manifest,
        shard: int,
        open_part: Open,
        columns: Sequence[str] | None = None,
    ) -> Iterator[Moved]:
        def opened(part: Part | None) -> Shard | None:
            return None if part is None else open_part(files, definition.spec, part)

        if before is not None:
            versions, slots = _growing(after, shard), _slots_over(definition, before, after)
            for _, part in _with_ended(definition, before, after, shard):
                later = versions.get(_rows_of(part))
                if later is not None and (slots is None or _holds(later, slots)):
                    later = None  # What is over may still be in it.
                shard_before = open_part(files, definition.spec, part)
                rows = _ended(definition, before, after, shard_before, opened(later))
                yield Moved(rows, -1, _ends(definition, rows, after))
        view, span = definition.view(after), _span(before, after)
        since = None if span is None else span[0]
        versions = {} if before is None else _growing(before, shard)
        for name, part in _with_born(definition, before, after, shard):
            shard_after = open_part(files, definition.spec, part)
            earlier = opened(versions.get(_rows_of(part)))
            # None of them was inserted later than the instant of the commit.
            for asked, within in view.targets(name, shard_after, part, since, None, expired=False):
                rows = _piece_of(asked, within, other=earlier)
                yield Moved(rows, 1, _numbers(rows, definition.time))
        if shard == 0 and _told(before, after):
            assert after.told is not None
            told, now = Told.read(files, after.told), LifeClock.of(after).now
            for batch, sign in ((told.went, -1), (told.came, 1)):
                yield Moved(Piece(batch), sign, np.full(batch.num_rows, now, np.int64))


def tell(
    definition: LifeDefinition,
    manifest: Manifest,
    clock: LifeClock,
    files: AnyFiles,
    came: Arriving,
    went: Iterable[pa.RecordBatch] = (),
) -> Told | None:
    """What a commit on top of a manifest must tell: late rows of those that come, all that go.

    `clock` is that of the new commit. None where there is nothing to tell.
    """
    spec, last = definition.spec, LifeClock.of(manifest).now
    none = empty_batch(spec.schema)
    late = [none] if last is None else [none, *_late(definition, files, came, last)]
    told = Told(_living(definition, concat(late), clock), concat([none, *went]))
    return told or None


def _late(
    definition: LifeDefinition, files: AnyFiles, came: Arriving, last: int
) -> Iterator[pa.RecordBatch]:
    """The rows that were inserted up to the last instant, in memory and in parts on disk."""
    spec, slotting = definition.spec, definition.slotting

    def late(rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.filter(to_arrow(spec.births(rows) <= last))

    yield late(came.batch)
    slot, checked = int(slotting.slots_of(np.array([last]))[0]), CheckedParts()
    for part in (part for parts in came.staged for part in parts):
        if part.born and min(part.born) <= slot:
            opened = checked.open(files, spec, part)
            for within in part.ranges(part.shown, slotting):
                yield late(opened.scan(within))


def _living(definition: LifeDefinition, rows: pa.RecordBatch, clock: LifeClock) -> pa.RecordBatch:
    """The rows that are not over once the clock shows this."""
    if definition.counts:
        kept = above(definition.floors_at(clock))(rows)
    else:
        kept = definition.spec.ordinals(rows) > (clock.now or 0)
    return rows.filter(to_arrow(kept))


def _told(before: Manifest | None, after: Manifest) -> bool:
    return before is not None and after.told is not None


def _span(before: Manifest | None, after: Manifest) -> tuple[int | None, int] | None:
    """The instants after that of the commit before, up to that of a commit: first, and past last.

    None where there are none. The first is None where there was no instant before.
    """
    now = LifeClock.of(after).now
    last = None if before is None else LifeClock.of(before).now
    if now is None or now == last:
        return None
    return None if last is None else last + 1, now + 1


def _slots_over(
    definition: LifeDefinition, before: Manifest, after: Manifest
) -> tuple[int, int] | None:
    """The first and the last slot in which rows ended that lived at the commit before.

    None where there are none, or where ends are guessed.
    """
    span = _span(before, after)
    if definition.counts or span is None or span[0] is None:
        return None
    first, last = definition.slotting.slots_of(np.array([span[0], span[1] - 1])).tolist()
    return first, last


def _holds(part: Part, slots: tuple[int, int]) -> bool:
    """Whether a part has rows of some of the slots from one to another."""
    return any(slots[0] <= slot <= slots[1] for slot in part.held)


def _with_ended(
    definition: LifeDefinition, before: Manifest | None, after: Manifest, shard: int
) -> Iterator[tuple[str, Part]]:
    """The parts that may have rows that ended, with the names of their sub-indexes."""
    if before is None:
        return
    if definition.counts:
        if definition.floors(before) != definition.floors(after):
            yield from _parts(before, shard)
        return
    slots = _slots_over(definition, before, after)
    if slots is None:
        return
    for name, part in _parts(before, shard):
        if _holds(part, slots):
            yield name, part


def _with_born(
    definition: LifeDefinition, before: Manifest | None, after: Manifest, shard: int
) -> Iterator[tuple[str, Part]]:
    """The parts that may have rows that were inserted, with the names of their sub-indexes."""
    if _span(before, after) is None:
        return
    known = set() if before is None else {_piece(part) for _, part in _parts(before, shard)}
    for name, part in _parts(after, shard):
        if _piece(part) not in known:
            yield name, part


def _ended(
    definition: LifeDefinition,
    before: Manifest,
    after: Manifest,
    opened: Shard,
    later: Shard | None,
) -> Piece:
    """The rows of a part that lived at the commit before and do not at this one.

    `later` is the same part afterwards, if none of them is there any more.
    """
    if definition.counts:
        lived, live = above(definition.floors(before)), above(definition.floors(after))
        return _piece_of(opened, None, lived, ~live)
    span = _span(before, after)
    assert span is not None  # since the part may have rows that ended
    assert span[0] is not None
    return _piece_of(opened, (span[0], span[1]), other=later)


def _piece_of(
    opened: Shard, within: Range | None, *sieves: Sieve, other: Shard | None = None
) -> Piece:
    """Rows to be put in order, with codes in place of texts where the part has them.

    Those that another version of the part shows too may be left out.

    COST: a code is moved in a tenth of the time of a text.
    """
    words = {name: opened.words_of(name) for name in opened.stored_codes}
    return opened.piece(within, sieves, words, other)


def _ends(definition: LifeDefinition, rows: Piece, after: Manifest) -> Ordinals:
    if definition.counts:
        return np.full(rows.num_rows, LifeClock.of(after).now, np.int64)
    return _numbers(rows, definition.spec.order)


def _numbers(rows: Piece, name: str) -> Ordinals:
    """A column of numbers or times."""
    return number_view(rows.column(rows.batch.schema.get_field_index(name))).astype(
        np.int64, copy=False
    )


def _parts(manifest: Manifest, shard: int) -> Iterator[tuple[str, Part]]:
    for name, sub in manifest.shown.items():
        for part in sub.shards[shard] if shard < len(sub.shards) else ():
            yield name, part


def _shards(manifest: Manifest) -> int:
    return max((len(sub.shards) for sub in manifest.shown.values()), default=0)


def _growing(manifest: Manifest, shard: int) -> dict[str, Part]:
    """The parts that are updated in place, by the files of their rows."""
    parts = (part for _, part in _parts(manifest, shard) if part.content is not None)
    return {_rows_of(part): part for part in parts}


def _rows_of(part: Part) -> str:
    """The file that has the rows, in all versions of a part that is updated in place."""
    return part.files["rows"].name if "rows" in part.files else ""


def _piece(part: Part) -> tuple[str, ...]:
    """What tells whether two parts have the same rows, whatever is hidden of them."""
    return tuple(sorted(file.name for file in part.files.values()))
