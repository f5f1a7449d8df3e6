"""Whether Arrow can look at these rows without leaving its memory.

What is mapped may be damaged, and Arrow trusts what it maps. Text says by offsets where its bytes
lie. A dictionary says by numbers which of its words is meant. Arrow's functions follow both without
a look. A number that leads astray is a wrong answer at best, and the end of the process at worst.

Here these numbers are compared with the room that there is. That costs a look at the numbers and
none at the text. Whether the bytes are those that were written is another question, which checksums
answer.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.types as pt

from wavedex.rows.arrow import has_bytes, offsets_of, to_arrow, to_numpy
from wavedex.rows.order import I64


def check_columns(columns: Iterable[pa.Array], places: I64 | None = None) -> None:
    """Raise ValueError where values lie outside of their column's memory.

    Looks at all rows, or at those at some places.
    """
    for column in columns:
        check_column(column, places)


def check_column(column: pa.Array, places: I64 | None = None) -> None:
    """The same for one column. COST: a pass over offsets or codes.

    Nested columns are looked at by `check_once`.
    """
    kind = column.type
    if has_bytes(kind):
        _check_offsets(column, places)
    elif pt.is_dictionary(kind):
        codes = column.indices if places is None else column.indices.take(to_arrow(places))
        _check_codes(codes, len(column.dictionary))


def check_once(column: pa.Array) -> None:
    """Look at what `check_column` leaves out. Raises ArrowInvalid.

    That is all of a nested column, and the words of a dictionary.
    """
    if pt.is_dictionary(column.type):
        column.dictionary.validate(full=True)
    elif pt.is_nested(column.type):
        column.validate(full=True)


def check_codes(codes: pa.Array, words: int, rows: int) -> None:
    """Raise ValueError unless there are as many codes as rows, and each is that of a word."""
    if len(codes) != rows:
        raise ValueError(f"{len(codes)} codes for {rows} rows")
    _check_codes(codes, words)


def _check_codes(codes: pa.Array, words: int) -> None:
    numbers = to_numpy(codes)
    if not len(numbers) or codes.null_count == len(codes):
        return
    if int(numbers.min()) < 0 or int(numbers.max()) >= words:
        raise ValueError(f"codes that are none of {words}")


def _check_offsets(column: pa.Array, places: I64 | None) -> None:
    offsets = offsets_of(column)
    if places is None:
        starts, stops = offsets[:-1], offsets[1:]
    else:
        starts, stops = offsets[places], offsets[places + 1]
    if not len(starts):
        return
    data = column.buffers()[2]
    room = 0 if data is None else data.size
    if (stops < starts).any() or int(starts.min()) < 0 or int(stops.max()) > room:
        raise ValueError("text that lies outside of its file")
