"""What entered the window and what left it between two commits, without looking at what stayed.

A commit is compared with the one before it, shard by shard and slot by slot, by the manifests
alone. A slot that only one of them shows has entered or left as a whole. A slot that both show has
changed only if its number of rows did, since rows are never replaced. Then the parts that both name
are passed over, and rows are compared only where files were rewritten.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa

from wavedex.errors import CommitGone
from wavedex.files.contract import AnyFiles
from wavedex.files.names import manifest_name
from wavedex.index.core.definition import CHANGE_COLUMN, COMMIT_COLUMN
from wavedex.index.wave.definition import WaveDefinition, window_of
from wavedex.log.manifest import Log, Manifest
from wavedex.plan.slot_set import NO_SLOTS, slots_key, union
from wavedex.rows.arrow import to_arrow
from wavedex.rows.entries import one_batch
from wavedex.rows.matching import match_rows
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import open_shard
from wavedex.store.package import Open
from wavedex.store.part import Part, Slots, to_ranges


@dataclass(frozen=True)
class ShardChange:
    """What one commit changed in one shard.

    All rows that `entered` shows came in and all that `left` shows went out. Rows that both show
    have stayed.
    """

    since: int | None
    """The commit before; None for an empty index."""
    commit: int
    """The commit that changed it."""
    shard: int
    """The number of the shard."""
    entered: tuple[Part, ...]
    """Parts that show the rows that came in."""
    left: tuple[Part, ...]
    """Parts that show the rows that went out."""


class ChangeFeed:
    """The changes of one index, found by the manifests.

    They are then read from the files, perhaps in another process.
    """

    def __init__(
        self, files: AnyFiles, definition: WaveDefinition, checked: CheckedParts | None = None
    ) -> None:
        """`checked` opens files that must be what was written."""
        self._files = files
        self._definition = definition
        self._open = open_shard if checked is None else checked.open
        self._log = Log(files)

    def find(self, since_commit: int | None, until_commit: int | None) -> list[ShardChange]:
        """The shards that changed between two commits. Raises CommitGone."""
        kept = self._log.commits()
        until = kept[-1] if until_commit is None else until_commit
        since = until if since_commit is None else since_commit
        # Both ends, whichever is first: a commit that was never there is not one after which
        # nothing changed.
        for number in chain((since, until), range(since, until)):
            if number not in kept:
                raise CommitGone(
                    f"Commit {number} is not there: the index keeps {_said_of(kept)}. Ask for "
                    "those, read more often, or create the index with a larger keep_commits."
                )
        manifests = [self._read_commit(number) for number in range(since, until + 1)]
        if since_commit is None:
            return [*find_changes(self._definition, None, manifests[0])]
        return [
            change
            for before, after in pairwise(manifests)
            for change in find_changes(self._definition, before, after)
        ]

    def read(self, changes: Iterable[ShardChange]) -> Iterator[pa.RecordBatch]:
        """The rows of changes, one batch each. Raises CommitGone."""
        for change in changes:
            try:
                # Where files are updated in place, the commits are held so that nobody writes into
                # their room.
                with contextlib.ExitStack() as pins:
                    if any(part.content is not None for part in (*change.entered, *change.left)):
                        for number in (change.commit, change.since):
                            if number is not None:
                                pins.enter_context(self._files.pin(manifest_name(number)))
                    yield read_change(self._files, self._definition, change, self._open)
            except FileNotFoundError as error:
                raise CommitGone(
                    f"Commit {change.commit} or the one before it was removed while it was read "
                    f"({error.filename}). Read more often, or create the index with a larger "
                    "keep_commits."
                ) from error

    def _read_commit(self, number: int) -> Manifest:
        try:
            return self._log.read(number)
        except FileNotFoundError:
            raise CommitGone(f"Commit {number} was removed meanwhile. Ask again.") from None


def _said_of(commits: list[int]) -> str:
    """Commits as people say them. An old one that a reader holds stands apart from the newest.

    >>> _said_of([6, 18, 19, 20])
    '6, 18 to 20'
    """
    runs = (
        str(first) if first == last else f"{first} to {last}" for first, last in to_ranges(commits)
    )
    return ", ".join(runs)


def change_schema(definition: WaveDefinition) -> pa.Schema:
    """The columns of an entry, and which change it was."""
    return definition.schema.append(pa.field(CHANGE_COLUMN, pa.int32(), nullable=False)).append(
        pa.field(COMMIT_COLUMN, pa.int64(), nullable=False)
    )


def find_changes(
    definition: WaveDefinition, before: Manifest | None, after: Manifest
) -> Iterator[ShardChange]:
    """The shards that a commit changed; `before` is None for an empty index. Reads no file."""
    old = NO_SLOTS if before is None else window_of(definition, before)
    new = window_of(definition, after)
    same = old & new
    if before is not None:
        same = same - after.ledger.differing(before.ledger)
    # Where a commit has other shards than the one before, rows have moved, but only whole slots can
    # have left.
    for shard in range(max(map(_shards, (before or after, after)))):
        left = [] if before is None else _showing(before, shard, old - same)
        entered = _showing(after, shard, new - same)
        common = {_piece(part) for part in left} & {_piece(part) for part in entered}
        left = [part for part in left if _piece(part) not in common]
        entered = [part for part in entered if _piece(part) not in common]
        if left or entered:
            since = None if before is None else before.commit
            yield ShardChange(since, after.commit, shard, tuple(entered), tuple(left))


def read_change(
    files: AnyFiles, definition: WaveDefinition, change: ShardChange, open_part: Open = open_shard
) -> pa.RecordBatch:
    """The rows of a change, with the two columns that say which.

    Raises FileNotFoundError where its files are gone.
    """
    entered = _read(files, definition, change.entered, open_part)
    left = _read(files, definition, change.left, open_part)
    shared = _slots(change.entered) & _slots(change.left)
    if shared:
        entered, left = _without_common(entered, left)
    rows = pa.concat_tables([entered, left]).combine_chunks()
    signs = np.repeat(np.array([1, -1], np.int32), [entered.num_rows, left.num_rows])
    commits = np.full(rows.num_rows, change.commit, np.int64)
    columns = [rows.column(name) for name in definition.schema.names]
    table = pa.table([*columns, to_arrow(signs), to_arrow(commits)], change_schema(definition))
    return one_batch(table)


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
    files: AnyFiles, definition: WaveDefinition, parts: Iterable[Part], open_part: Open
) -> pa.Table:
    batches = []
    for part in parts:
        opened = open_part(files, definition.spec, part)
        batches += [opened.scan(w) for w in part.ranges(part.shown, definition.slotting)]
    return pa.Table.from_batches(batches, definition.spec.schema).unify_dictionaries()


def _without_common(one: pa.Table, other: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both without the rows that stand in both, each as often as it stands in the other."""
    matched = match_rows(one_batch(one), one_batch(other))
    return one.filter(to_arrow(~matched[0])), other.filter(to_arrow(~matched[1]))
