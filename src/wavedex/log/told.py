"""Rows that came or went with a commit and of which its parts do not tell: a file of its own.

Where rows lie by their times, most of what a commit changed can be found by a span of times. The
rest cannot: rows that come late, rows that are taken out before their end, rows that get another
end. These are written once more, in an Arrow file that the commit's manifest names, and they go
with it. It has the columns in which rows are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import xxhash

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.rows.arrays import read_batch, write_batch
from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.pieces import concat

_SIGN = "_change"


@dataclass(frozen=True)
class Told:
    """Rows that came and rows that went, at the instant of their commit."""

    came: pa.RecordBatch
    went: pa.RecordBatch

    def __bool__(self) -> bool:
        return bool(self.came.num_rows or self.went.num_rows)

    def write(self, files: AnyFiles, name: str) -> FileRef:
        """Write them to a new file. ENSURES: it lasts."""
        rows = concat([self.went, self.came])
        counts = [self.went.num_rows, self.came.num_rows]
        signs = np.repeat(np.array([-1, 1], np.int8), counts)
        batch = rows.append_column(_SIGN, to_arrow(signs))
        ref = files.create(name, lambda sink: write_batch(sink, batch))
        files.sync(name)
        return ref

    @classmethod
    def read(cls, files: AnyFiles, ref: FileRef) -> Told:
        """What was written. Raises FileNotFoundError, Damaged."""
        buffer = files.map(ref)
        if xxhash.xxh64_hexdigest(buffer) != ref.checksum:
            raise Damaged(f"{ref.name} has another checksum than its manifest says")
        batch = read_batch(buffer, ref.name)
        went = int((number_view(batch.column(_SIGN)) < 0).sum())
        rows = batch.drop_columns([_SIGN])
        return cls(rows.slice(went), rows.slice(0, went))
