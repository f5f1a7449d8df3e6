"""Where in a file the values of some rows of a column lie.

Numbers lie side by side, and so do the bits that say which rows are null. Texts lie where their
offsets say. So the offsets have to be read before it is known where the texts are.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.types as pt

from wavedex.files.opened import Need, Opened, Span
from wavedex.rows.arrow import has_bytes, offset_dtype, offsets_of


def is_flat(kind: pa.DataType) -> bool:
    """Whether values of a type lie as is described here: numbers of any kind, and texts."""
    if has_bytes(kind):
        return True
    try:
        return kind.bit_width > 0 and not pt.is_dictionary(kind)
    except ValueError:
        return False


class Extent:
    """Where the values of a column lie, as read from `sparse` of an open file.

    REQUIRES: its type is flat.
    """

    def __init__(self, opened: Opened, column: pa.Array) -> None:
        self._opened = opened
        self._is_text = has_bytes(column.type)
        width_bits = (
            8 * offset_dtype(column.type).itemsize if self._is_text else column.type.bit_width
        )
        buffers = column.buffers()
        self._numbers = [
            (opened.place_of(buffer)[0], bits)
            for buffer, bits in zip(buffers, (1, width_bits), strict=False)
            if buffer is not None
        ]
        if self._is_text:
            self._offsets = offsets_of(column).data
            self._texts = 0 if buffers[2] is None else opened.place_of(buffers[2])[0]

    def numbers(self, start: int, stop: int) -> Iterator[Need]:
        """What has a fixed width in the rows from `start` up to `stop`: numbers, nulls, offsets."""
        stop += self._is_text
        for first, bits in self._numbers:
            yield self._opened, (first + start * bits // 8, first + (stop * bits + 7) // 8)

    def texts(self, start: int, stop: int) -> Iterator[Need]:
        """The texts of these rows. REQUIRES: their numbers are there."""
        if self._is_text and stop > start:
            span: Span = self._texts + self._offsets[start], self._texts + self._offsets[stop]
            yield self._opened, span
