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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from wavedex.engine.draft import Draft
from wavedex.errors import TooLarge, UnknownScheme
from wavedex.slots import Slotting
from wavedex.store import open_shard
from wavedex.store.access import AnyFiles
from wavedex.store.entries import EntrySpec
from wavedex.store.formats import FORMATS
from wavedex.store.package import Format, Site, Updatable
from wavedex.store.part import Part, Slots
from wavedex.store.pieces import Piece, Pieces


@dataclass
class Bench:
    """What a technique works with in one shard.

    `present` are the parts that readers see now. Rows arrive as `staged` parts, which lie on disk already, or in memory:
    `rows_of` gives those of some slots. `arriving` are the slots of both. `stem` makes names for new files, in the folder
    `home`, one of `homes`; `format` writes and changes parts, at `site`. `is_draining` says that parts are from before a migration, of
    which readers may hold commits that nobody knows of: they are left as they are.
    """

    files: AnyFiles
    spec: EntrySpec
    slotting: Slotting
    present: tuple[Part, ...]
    staged: tuple[Part, ...]
    arriving: Slots
    rows_of: Callable[[Slots], pa.RecordBatch]
    home: str
    homes: frozenset[str]
    name: Callable[[], str]
    is_draining: bool
    format: Format
    site: Site
    written: dict[object, tuple[Part, ...]] = field(default_factory=dict)

    def stem(self) -> str:
        """How the names of the files of a new part begin."""
        return f"{self.home}/{self.name()}"

    def sources(self, draft: Draft) -> tuple[Part, ...]:
        """The parts from which a draft gains slots, showing only those: of the present snapshot, and staged ones."""
        shown = [part.show(draft.old) for part in self.present]
        shown += [part.show(draft.arriving) for part in self.staged]
        return tuple(part for part in shown if part.shown)

    @property
    def updates(self) -> Updatable:
        """What changes parts. REQUIRES: the format can be added to, which is checked when an index is created."""
        assert self.format.updates is not None
        return self.format.updates(self.site)

    def in_memory(self, draft: Draft) -> Slots:
        """The slots that a draft gains from memory."""
        return frozenset() if self.staged else draft.arriving

    def read(self, parts: Iterable[Part], arriving: Slots) -> Pieces | None:
        """The rows that parts show and those that arrive in memory, or None where there are none."""
        pieces = [
            open_shard(self.files, self.spec, part).piece(within)
            for part in sorted(parts, key=lambda part: min(part.shown))
            for within in part.ranges(part.shown, self.slotting)
        ]
        if arriving:
            pieces.append(Piece(self.rows_of(arriving)))
        pieces = [piece for piece in pieces if piece.num_rows]
        return Pieces(pieces) if pieces else None


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
        if not self.writes(draft, bench):
            return parts
        if self.defers_merges and not draft.merged:
            return (*parts, *self._write((), arriving, bench))
        try:
            return self._write(parts, arriving, bench)
        except TooLarge:
            # Runs that do not fit into one file are as good unmerged, only a little slower.
            if draft.merged and not arriving:
                return parts
            raise

    def writes(self, draft: Draft, bench: Bench) -> bool:
        if bench.in_memory(draft):
            return True
        if self.defers_merges and not draft.merged:
            return False
        return not bench.format.is_packed((*draft.own, *bench.sources(draft)))

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Bench) -> Part:
        return bench.format.build(bench.files, bench.spec, bench.stem(), Pieces.of(rows), held)

    def _write(self, parts: tuple[Part, ...], arriving: Slots, bench: Bench) -> tuple[Part, ...]:
        """Write one packed part; what two drafts share is written once."""
        shared = (tuple((part.files["rows"].name, part.shown) for part in parts), arriving)
        if shared not in bench.written:
            rows = bench.read(parts, arriving)
            held = frozenset(arriving).union(*(part.shown for part in parts))
            bench.written[shared] = (
                ()
                if rows is None
                else (bench.format.build(bench.files, bench.spec, bench.stem(), rows, held),)
            )
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
        doomed = frozenset() if part is None else part.held & draft.deleted
        is_fixed = bench.is_draining or not bench.format.is_updatable(draft.parts)
        if part is not None and (is_fixed or (doomed and not bench.format.deletes)):
            # What another technique left, or what cannot be deleted from, is written anew.
            sources = (*draft.own, *sources)
            added = added.union(*(left.shown for left in draft.own))
            part, doomed = None, frozenset()
        found = bench.read(sources, bench.in_memory(draft))
        rows = None if found is None else found.batch()
        if part is not None:
            is_changed = rows is not None or bool(doomed)
            is_shadowed = is_changed and not self.changes_files and part in bench.present
            if draft.copied or is_shadowed:
                part = updates.copy(part, bench.stem())
            for first, last in part.runs(doomed):
                dead = bench.slotting.start(first), bench.slotting.stop(last)
                slots = frozenset(range(first, last + 1))
                part = part and updates.delete(part, bench.stem(), dead, slots)
        if rows is not None:
            if part is None:
                part = self.write(rows, added, bench)
            else:
                part = updates.add(part, bench.stem(), rows, added)
        return () if part is None else (part,)

    def write(self, rows: pa.RecordBatch, held: Slots, bench: Bench) -> Part:
        return bench.updates.build(bench.stem(), rows, held)


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
