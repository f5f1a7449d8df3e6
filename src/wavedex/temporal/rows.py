"""The rows that ids carry, one for each addition, by the number of the addition.

Batches are put together as they come: each is at least twice as long as the one behind it, so that
there are few of them, and each row is copied a few times at most.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.pieces import concat
from wavedex.temporal.changes import I32
from wavedex.temporal.soundness import demand

_PREFIX = "row:"


class CarriedRows:
    """Rows of a schema, which may have no columns: then there are none."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._batches: list[pa.RecordBatch] = []
        self.count = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Take rows in behind the others."""
        if not batch.num_rows:
            return
        self.count += batch.num_rows
        several = [batch]
        while self._batches and self._batches[-1].num_rows < 2 * sum(b.num_rows for b in several):
            several.insert(0, self._batches.pop())
        self._batches.append(concat(several) if len(several) > 1 else batch)

    def take(self, places: I32) -> pa.RecordBatch:
        """Rows by their numbers; nulls for numbers that are no row's."""
        if not self.schema.names:
            return empty_batch(self.schema)
        whole = pa.Table.from_batches(self._batches, self.schema)
        wanted = to_arrow(places.astype(np.int64))
        if (places < 0).any():
            wanted = pa.Array.from_buffers(
                pa.int64(),
                len(places),
                [pa.py_buffer(np.packbits(places >= 0, bitorder="little")), wanted.buffers()[1]],
            )
        columns = [column.combine_chunks() for column in whole.take(wanted).columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def arrays(self) -> Mapping[str, pa.Array]:
        """All rows, by column."""
        if self._batches:
            self._batches = [concat(self._batches)]
        batch = self._batches[0] if self._batches else empty_batch(self.schema)
        return {f"{_PREFIX}{name}": batch.column(name) for name in self.schema.names}

    def restore(self, arrays: Mapping[str, pa.Array]) -> None:
        """Be as another was."""
        columns = [arrays[f"{_PREFIX}{name}"] for name in self.schema.names]
        types = [column.type for column in columns]
        demand(types == self.schema.types, "the rows that ids carry are of other types")
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        self._batches, self.count = ([batch] if batch.num_rows else []), batch.num_rows

    def check(self) -> None:
        """Raise Damaged where values lie nowhere."""
        for batch in self._batches:
            try:
                batch.validate(full=True)
            except pa.ArrowException as error:
                demand(False, f"the rows that ids carry cannot be read ({error})")
