"""Rows in several pieces, put together one column at a time. Of some pieces only a part counts.

A merge reads what arrives and the parts of a sub-index, mapped into memory. Copying all of that
into one batch before it is sorted would double the memory that a merge needs. So would copying what
is left of a part before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from wavedex.rows import compute as pc
from wavedex.rows.arrow import has_bytes, offsets_of
from wavedex.rows.entries import check_text_bytes


@dataclass(frozen=True)
class Piece:
    """Rows of a batch: all of them, or some."""

    batch: pa.RecordBatch
    """The batch."""
    kept: pa.Array | None = None
    """The places of the rows that count; None for all."""

    @property
    def num_rows(self) -> int:
        """How many rows count."""
        return self.batch.num_rows if self.kept is None else len(self.kept)

    def rows(self) -> pa.RecordBatch:
        """The rows that count. COST: a copy where not all do."""
        if self.kept is None:
            return self.batch
        columns = [taken(column, self.kept) for column in self.batch.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.batch.schema)

    def column(self, place: int) -> pa.Array:
        """A column of the rows that count. COST: a copy where not all do."""
        column = self.batch.column(place)
        return column if self.kept is None else taken(column, self.kept)


@dataclass(frozen=True)
class Pieces:
    """The rows of several pieces with the same schema. Their dictionaries may differ.

    REQUIRES: at least one piece.
    """

    pieces: list[Piece]
    """The pieces, in the order of their rows."""

    @classmethod
    def of(cls, *batches: pa.RecordBatch) -> Pieces:
        """All rows of some batches."""
        return cls([*map(Piece, batches)])

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.pieces[0].batch.schema

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return sum(piece.num_rows for piece in self.pieces)

    def column(self, place: int) -> pa.Array:
        """A column in one piece. Raises TooLarge where it has more text than fits into one."""
        chunks = [piece.column(place) for piece in self.pieces]
        if len(chunks) == 1:
            return chunks[0]
        field = self.schema.field(place)
        if has_bytes(field.type):
            check_text_bytes(field.type, sum(map(_text_bytes, chunks)), field.name)
        return pa.concat_arrays(pa.chunked_array(chunks).unify_dictionaries().chunks)

    def let_go(self) -> None:
        """Unmap what nobody else uses. There are no rows any more after that."""
        self.pieces.clear()

    def batch(self) -> pa.RecordBatch:
        """All of it."""
        columns: list[Any] = [self.column(place) for place in range(len(self.schema))]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def taken(column: Any, places: pa.Array) -> Any:
    """The values at some places. REQUIRES: the column has these places: nobody looks again."""
    return pc.take(column, places, boundscheck=False)


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several batches in one. REQUIRES: at least one batch."""
    return batches[0] if len(batches) == 1 else Pieces.of(*batches).batch()


def _text_bytes(column: pa.Array) -> int:
    offsets = offsets_of(column)
    return int(offsets[-1]) - int(offsets[0])
