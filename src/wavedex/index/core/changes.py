"""What came and what went between two commits, in the order in which it happened.

What it was that a commit changed is for its kind of index to find (`Changes`). Here it is the same
for all of them: which commits are compared, the columns that say what happened to a row, and the
order. The columns are those of the schema and three more: `_change`, +1 or -1; `_at`, the instant;
`_commit`. Rows are ordered by `_at`, removal before addition at one instant. `_at` never goes
backwards from one commit to the next.
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, pairwise
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from wavedex.crew import run_together
from wavedex.errors import BadPosition, CommitGone
from wavedex.files.contract import AnyFiles
from wavedex.files.names import manifest_name
from wavedex.index.core.answers import check_names
from wavedex.index.core.definition import AT_COLUMN, CHANGE_COLUMN, COMMIT_COLUMN, Definition
from wavedex.log.manifest import Log, Manifest
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.order import stable_order
from wavedex.rows.pieces import Piece, taken
from wavedex.slots import Ordinals, from_ordinals
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import open_shard
from wavedex.store.package import Open
from wavedex.store.part import Part, to_ranges

Position = int | tuple[str, int]
"""A commit, or how far a stream had come: its name and the number of a batch."""

MANIFESTS_KNOWN = 4
"""So many manifests are kept in memory: each is compared with the one before and the one after."""
THREADS = os.cpu_count() or 1
ROWS_MANY = 16_384
"""More rows than this are put in order column by column on threads."""


@dataclass(frozen=True)
class Moved:
    """Rows that came or went in one commit."""

    rows: Piece
    """The rows, with the columns in which they are kept; texts may be there as codes."""
    sign: int
    """+1 where they came, -1 where they went."""
    at: Ordinals
    """When each of them did."""


D_contra = TypeVar("D_contra", bound=Definition, contravariant=True)
D = TypeVar("D", bound=Definition)


class Changes(Protocol[D_contra]):
    """How a kind of index finds what a commit changed."""

    def shards(self, definition: D_contra, before: Manifest | None, after: Manifest) -> list[int]:
        """The shards in which something may have changed. Opens no file."""

    def parts(
        self, definition: D_contra, before: Manifest | None, after: Manifest, shard: int
    ) -> Iterable[Part]:
        """The parts that are looked at in one shard. Opens no file."""

    def read(
        self,
        files: AnyFiles,
        definition: D_contra,
        before: Manifest | None,
        after: Manifest,
        shard: int,
        open_part: Open,
        columns: Sequence[str] | None = None,
    ) -> Iterable[Moved]:
        """What came and what went in one shard.

        `before` is None for an empty index. Rows may have no more than the `columns` that are asked
        for, in the order of the schema. Raises FileNotFoundError where files are gone, Damaged.
        """


@dataclass(frozen=True)
class Step:
    """What one commit changed, in some shards."""

    since: int | None
    """The commit before; None for an empty index."""
    commit: int
    """The commit that changed it."""
    shards: tuple[int, ...]
    """The shards in which something may have changed."""

    @property
    def apart(self) -> Iterator[Step]:
        """The same, shard by shard."""
        return (Step(self.since, self.commit, (shard,)) for shard in self.shards)


class ChangeFeed(Generic[D]):
    """The changes of one index, found by the manifests.

    They are then read from the files, perhaps in another process.
    """

    def __init__(
        self,
        files: AnyFiles,
        definition: D,
        changes: Changes[D],
        checked: CheckedParts | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        """`checked` opens files that must be what was written. Raises BadDefinition.

        With `columns`, rows have only these of the index's.
        """
        check_names(definition.schema)  # An old index may have a column that is called as ours.
        self._files = files
        self._definition = definition
        self._changes = changes
        self._schema, self._columns = change_schema(definition, columns), columns
        self._open = open_shard if checked is None else checked.open
        self._log = Log(files)
        self._read_commit = lru_cache(MANIFESTS_KNOWN)(self._log.read)

    @property
    def schema(self) -> pa.Schema:
        """The columns of an entry, and what happened to it, when and with which commit."""
        return self._schema

    def commit_of(self, position: Position) -> int:
        """The commit that is meant by a position. Raises CommitGone and BadPosition."""
        checked = _checked(position)
        assert checked is not None
        return self._commit_of(checked, self._log.commits())

    def check_kept(self, commit: int) -> None:
        """Raise CommitGone where a commit is not there."""
        _check_kept(commit, self._log.commits())

    def find(self, since: Position | None, until: Position | None) -> list[Step]:
        """What changed, commit by commit. Raises CommitGone and BadPosition."""
        since, until = _checked(since), _checked(until)
        kept = self._log.commits()
        last = kept[-1] if until is None else self._commit_of(until, kept)
        first = last if since is None else self._commit_of(since, kept)
        # Both ends, whichever is first: a commit that was never there is not one after which
        # nothing changed.
        for number in chain((first, last), range(first, last)):
            _check_kept(number, kept)
        if since is None:
            return self._steps([(None, last)])
        return self._steps(pairwise(range(first, last + 1)))

    def read_newest(self) -> Iterator[pa.RecordBatch]:
        """All that is there as having come: of a later commit, where one is removed meanwhile."""
        while True:
            newest = self._log.commits()[-1]
            try:
                found = [*self.read(self.find(None, newest))]
            except CommitGone:
                if self._log.commits()[-1] == newest:
                    raise
            else:
                yield from found
                return

    def read(self, steps: Iterable[Step]) -> Iterator[pa.RecordBatch]:
        """The rows that came and went, a batch for each step that has any. Raises CommitGone."""
        for step in steps:
            try:
                batch = self._read_step(step)
            except FileNotFoundError as error:
                raise CommitGone(
                    f"Commit {step.commit} or the one before it was removed while it was read "
                    f"({error.filename}). Read more often, or create the index with a larger "
                    "keep_commits."
                ) from error
            if batch.num_rows:
                yield batch

    def _commit_of(self, position: Position, kept: Sequence[int]) -> int:
        """The commit that is meant: by its number, or as that which took a batch of a stream."""
        if isinstance(position, int):
            return position
        stream, number = position
        found = None
        for commit in reversed(kept):
            batch = self._batch_of(commit, stream)
            if batch is not None and batch < number:
                break
            if batch == number:
                found = commit  # Others that follow have the same: they seal, amend, prepare.
            elif found is not None:
                break
        # Where the commit before it is not kept, it may be one of those that follow.
        if found is not None and (found - 1 in kept or self._manifest(found).operation == "feed"):
            return found
        newest = self._batch_of(kept[-1], stream)
        if newest is None and found is None:
            known = ", ".join(map(repr, self._manifest(kept[-1]).sources.streams)) or "none"
            raise BadPosition(
                f"No stream {stream!r} has fed the index; the streams that have are: {known}."
            )
        if newest is not None and number > newest:
            raise BadPosition(
                f"The stream {stream!r} has come to batch {newest}, and not yet to {number}. Ask "
                "for a batch that is in."
            )
        raise CommitGone(
            f"The commit that took batch {number} of the stream {stream!r} is not kept: the index "
            f"keeps {said_of(kept)}. Ask for a later batch, read more often, or create the index "
            "with a larger keep_commits."
        )

    def _batch_of(self, commit: int, stream: str) -> int | None:
        progress = self._manifest(commit).sources.streams.get(stream)
        return None if progress is None else progress.batch

    def _steps(self, pairs: Iterable[tuple[int | None, int]]) -> list[Step]:
        found = []
        for since, commit in pairs:
            before, after = self._both(since, commit)
            shards = self._changes.shards(self._definition, before, after)
            if shards:
                found.append(Step(since, commit, tuple(shards)))
        return found

    def _both(self, since: int | None, commit: int) -> tuple[Manifest | None, Manifest]:
        return None if since is None else self._manifest(since), self._manifest(commit)

    def _manifest(self, number: int) -> Manifest:
        try:
            return self._read_commit(number)
        except FileNotFoundError:
            raise CommitGone(f"Commit {number} was removed meanwhile. Ask again.") from None

    def _read_step(self, step: Step) -> pa.RecordBatch:
        before, after = self._both(step.since, step.commit)
        with contextlib.ExitStack() as pins:
            if self._changes_in_place(before, after, step.shards):
                # The commits are held, so that nobody writes into their room.
                for number in (step.commit, step.since):
                    if number is not None:
                        pins.enter_context(self._files.pin(manifest_name(number)))

            def read(shard: int) -> list[Moved]:
                found = self._changes.read(
                    self._files, self._definition, before, after, shard, self._open, self._columns
                )
                return [each for each in found if each.rows.num_rows]

            moved = run_together([partial(read, shard) for shard in step.shards], THREADS)
            return _in_order(
                self._definition, self._schema, step.commit, [*chain.from_iterable(moved)]
            )

    def _changes_in_place(
        self, before: Manifest | None, after: Manifest, shards: Iterable[int]
    ) -> bool:
        definition = self._definition
        looked_at = (self._changes.parts(definition, before, after, shard) for shard in shards)
        return any(part.content is not None for part in chain.from_iterable(looked_at))


def read_position(text: str) -> Position:
    """A commit, or a batch of a stream, as people write it. Raises BadPosition.

    >>> read_position("41"), read_position("orders:17")
    (41, ('orders', 17))
    """
    stream, colon, number = text.strip().rpartition(":")
    if not number.isdecimal() or (colon and not stream):
        raise BadPosition(
            f"{text!r} is no commit and no batch of a stream. Give the number of a commit, such as "
            "41, or a stream and the number of a batch, such as orders:17."
        )
    return (stream, int(number)) if colon else int(number)


def _checked(position: Any) -> Position | None:
    """A position as somebody gives it. Raises BadPosition."""
    if position is None:
        return None
    if _is_whole(position):
        return operator.index(position)
    if isinstance(position, tuple | list) and len(position) == 2:
        stream, number = position
        if isinstance(stream, str) and _is_whole(number):
            return stream, operator.index(number)
    raise BadPosition(
        f"{position!r} is no commit and no batch of a stream. Give the number of a commit, such as "
        'idx.commit, or a stream and the number of a batch, such as ("orders", 17).'
    )


def check_commit(value: Any) -> int:
    """The number of a commit, as somebody gives it. Raises BadPosition."""
    if not _is_whole(value):
        raise BadPosition(
            f"{value!r} is no number of a commit. Give a whole number, such as idx.commit."
        )
    return operator.index(value)


def _check_kept(number: int, kept: Sequence[int]) -> None:
    """Raise CommitGone where a commit is not among those that are kept."""
    if not 0 <= number <= kept[-1]:
        raise CommitGone(
            f"Commit {number} was never there: the newest is {kept[-1]}, and the index keeps "
            f"{said_of(kept)}. Ask for those."
        )
    if number not in kept:
        raise CommitGone(
            f"Commit {number} is not there: the index keeps {said_of(kept)}. Ask for those, read "
            "more often, or create the index with a larger keep_commits."
        )


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def change_schema(definition: Definition, columns: Sequence[str] | None = None) -> pa.Schema:
    """The columns of an entry, or some, and what happened to it, when and with which commit."""
    schema = definition.schema
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    return (
        schema.append(pa.field(CHANGE_COLUMN, pa.int32(), nullable=False))
        .append(pa.field(AT_COLUMN, time_type(definition), nullable=False))
        .append(pa.field(COMMIT_COLUMN, pa.int64(), nullable=False))
    )


def time_type(definition: Definition) -> pa.DataType:
    """The type of instants: that of the index's time, or a number where slots are numbers."""
    return pa.int64() if definition.time is None else definition.schema.field(definition.time).type


def said_of(commits: Sequence[int]) -> str:
    """Commits as people say them. An old one that a reader holds stands apart from the newest.

    >>> said_of([6, 18, 19, 20])
    '6, 18 to 20'
    """
    runs = (
        str(first) if first == last else f"{first} to {last}" for first, last in to_ranges(commits)
    )
    return ", ".join(runs)


def _in_order(
    definition: Definition, schema: pa.Schema, commit: int, moved: Sequence[Moved]
) -> pa.RecordBatch:
    """What came and what went in one commit, as one batch in the order in which it happened."""
    # Those that went first: so the usual commit, in which all happens at one instant, is in order.
    moved = sorted(moved, key=lambda each: each.sign)
    if not moved:
        return empty_batch(schema)
    pieces = [each.rows for each in moved]
    at = np.concatenate([each.at for each in moved])
    gone = sum(each.rows.num_rows for each in moved if each.sign < 0)
    signs = np.ones(len(at), np.int32)
    signs[:gone] = -1
    threads = THREADS if len(at) > ROWS_MANY else 1
    gather: list[Callable[[], Any]] = [
        partial(_gathered, pieces, field.name, field.type) for field in [*schema][:-3]
    ]
    order, *columns = run_together([lambda: _order_of(at), *gather], threads)
    happened = [to_arrow(signs), from_ordinals(at, time_type(definition))]
    ordered: list[Callable[[], pa.Array]] = [
        partial(_ordered, column, field.type, order)
        for column, field in zip([*columns, *happened], schema, strict=False)
    ]
    commits = to_arrow(np.full(len(at), commit, np.int64))
    rows = run_together(ordered, threads)
    return pa.RecordBatch.from_arrays([*rows, commits], schema=schema)


def _order_of(at: Ordinals) -> pa.Array | None:
    """The order of rows by their instants, then as they stand; None where they are in it."""
    if (at[1:] >= at[:-1]).all():
        return None
    return to_arrow(stable_order(at).astype(np.uint32))


def _gathered(pieces: Sequence[Piece], name: str, kind: pa.DataType) -> pa.Array:
    """A column of several pieces in one, from front to back."""
    chunks = [piece.column(piece.batch.schema.get_field_index(name)) for piece in pieces]
    if len({chunk.type for chunk in chunks}) > 1:
        chunks = [chunk if chunk.type == kind else chunk.cast(kind) for chunk in chunks]
    return pa.concat_arrays(pa.chunked_array(chunks).unify_dictionaries().chunks)


def _ordered(column: pa.Array, kind: pa.DataType, order: pa.Array | None) -> pa.Array:
    """A column in an order, if there is one, and in its own type."""
    found = column if order is None else taken(column, order)
    return found if found.type == kind else taken(found.dictionary, found.indices)
