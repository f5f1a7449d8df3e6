"""What the entries of an index look like: columns, key, and the number that orders them in time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.errors import TooLarge
from wavedex.rows.arrow import (
    empty_batch,
    has_bytes,
    number_view,
    offset_dtype,
)
from wavedex.rows.composite import CompositeKey
from wavedex.rows.keys import KeyType, key_type

SLOT_COLUMN = "__slot"
"""The column that holds an entry's slot where the index has no time column."""

END_COLUMN = "__end"
"""The column that holds an entry's end where none of its own columns does."""

TEXT_BYTES_MAX = 2**31 - 1
"""Arrow counts the bytes of a string or binary column in 32 bits."""


class Columns(Protocol):
    """Rows whose columns can each be had in one piece: a record batch, or several pieces."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""

    def column(self, place: int) -> pa.Array:
        """One column."""


@dataclass(frozen=True)
class EntrySpec:
    """The columns of an entry as they are stored."""

    schema: pa.Schema
    """All columns."""
    key: str | tuple[str, ...]
    """The name of the key column, or the names if the key has several."""
    order: str
    """The name of the column by which entries are ordered in time."""
    birth: str | None = None
    """The column that says when an entry was inserted, if entries are ordered by their end."""

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.key,) if isinstance(self.key, str) else self.key

    @cached_property
    def key_type(self) -> KeyType:
        """How keys hash and compare."""
        if isinstance(self.key, str):
            return key_type(self.schema.field(self.key).type)
        return CompositeKey([self.schema.field(name) for name in self.key])

    @cached_property
    def key_places(self) -> list[int]:
        """The places of the key's columns."""
        return [int(self.schema.get_field_index(name)) for name in self.key_names]

    @cached_property
    def order_place(self) -> int:
        """The place of the order column."""
        return int(self.schema.get_field_index(self.order))

    @cached_property
    def text(self) -> frozenset[str]:
        """The columns of strings or binary."""
        return frozenset(field.name for field in self.schema if has_bytes(field.type))

    def keys(self, rows: Columns) -> pa.Array:
        """The key column, or a struct of the key's columns."""
        return self.key_of([rows.column(place) for place in self.key_places])

    def key_of(self, columns: list[pa.Array]) -> pa.Array:
        """The keys that these columns make. COST: no copy."""
        if isinstance(self.key, str):
            return columns[0]
        return pa.StructArray.from_arrays(columns, fields=list(self.key_type.arrow_type))

    def ordinals(self, rows: Columns) -> npt.NDArray[np.int64]:
        """The order column as 64-bit numbers."""
        return number_view(rows.column(self.order_place)).astype(np.int64, copy=False)

    def births(self, rows: Columns) -> npt.NDArray[np.int64]:
        """The column of births as 64-bit numbers. REQUIRES: there is one."""
        place = int(self.schema.get_field_index(self.birth))
        return number_view(rows.column(place)).astype(np.int64, copy=False)


def check_text_bytes(kind: pa.DataType, count: int, name: str) -> None:
    """Raise TooLarge if a column would have more bytes of text than Arrow counts in 32 bits."""
    if count > TEXT_BYTES_MAX and offset_dtype(kind).itemsize == 4:
        raise TooLarge(
            f"A shard of one sub-index would hold {count:,} bytes of {name!r}, and "
            f"{TEXT_BYTES_MAX:,} is the most. Create the index with more shards or more "
            "sub-indexes, or with a large_string or large_binary column."
        )


def one_batch(table: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """A table's rows in one record batch."""
    if isinstance(table, pa.RecordBatch):
        return table
    batches = table.to_batches()
    if len(batches) > 1:
        batches = table.combine_chunks().to_batches()
    if not batches:
        return empty_batch(table.schema)
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
