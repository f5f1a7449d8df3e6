"""What is looked at to open an Arrow IPC file. No more than that need be read of it.

The file begins with its schema and with what says where the columns of its batch lie. It ends with
a footer, the length of the footer, and a mark. A check of the batch then looks at the first and
last of the numbers that say where texts and lists begin.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from wavedex.files.opened import Opened, Seek, Span

HEAD_BYTES = 4096
"""What is read of the front at first, and of the end. With some twenty columns that is all."""
EDGE_BYTES = 64
"""What is read of each end of a column: more than one number of any width."""
_MARK = b"ARROW1"
_LENGTH_BYTES = 4


def seek_batch(opened: Opened) -> Seek[None]:
    """What `read_batch` looks at.

    A damaged file is asked for as far as it can be told. Reading it says the rest.
    """
    size = opened.sparse.size
    yield [
        (opened, span) for span in ((0, min(size, HEAD_BYTES)), (max(0, size - HEAD_BYTES), size))
    ]
    lacking = [*_beyond_the_ends(opened.sparse)]
    if lacking:
        yield [(opened, span) for span in lacking]
    try:
        batch = pa.ipc.open_file(pa.BufferReader(opened.sparse)).get_batch(0)
    except (pa.ArrowException, OSError, LookupError, ValueError):
        return
    yield [
        (opened, span)
        for column in batch.columns
        for buffer in column.buffers()
        if buffer is not None
        for span in _edges(opened.place_of(buffer))
    ]


def _edges(span: Span) -> list[Span]:
    start, stop = span
    return [(start, min(stop, start + EDGE_BYTES)), (max(start, stop - EDGE_BYTES), stop)]


def _beyond_the_ends(content: pa.Buffer) -> Iterator[Span]:
    """What a file says of itself beyond what was read of its front and of its end."""
    size, ended = content.size, content.size - len(_MARK) - _LENGTH_BYTES
    if size <= 2 * HEAD_BYTES:
        return
    footer = max(0, ended - _number(content, ended))
    if footer < size - HEAD_BYTES:
        yield footer, size - HEAD_BYTES
    # Two messages follow the mark and its padding. Each is a mark of four bytes, a length, and as
    # many bytes as that says.
    start = 8
    for _ in range(2):
        if start + 8 > HEAD_BYTES:
            # The schema alone is longer. As much again is enough for what says where columns lie.
            yield start, min(size, 3 * start)
            return
        start += 8 + _number(content, start + 4)
    if start > HEAD_BYTES:
        yield HEAD_BYTES, min(size, start)


def _number(content: pa.Buffer, at: int) -> int:
    return int.from_bytes(memoryview(content)[at : at + _LENGTH_BYTES], "little")
