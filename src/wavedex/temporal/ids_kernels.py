"""The loops that give numbers to ids that are bytes: a table of open addressing over their hashes.

Numbers are given in the order in which ids come. So whoever takes the last ones back can simply
empty their places, the last first: nothing that is left was put behind them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]


@kernel
def _same(data: U8, start: int, other: U8, first: int, size: int) -> bool:
    """Whether a run of bytes is another of the same size."""
    at = 0
    while at < size and data[start + at] == other[first + at]:
        at += 1
    return at == size


@kernel
def _place(  # type: ignore[no-untyped-def]
    table, hashes, offsets, data, hashed: int, other, start: int, size: int
) -> int:
    """Where in the table an id is, or would be."""
    mask = len(table) - 1
    at = hashed & mask
    while table[at] >= 0:
        known = table[at]
        begin = offsets[known]
        is_as_long = hashes[known] == hashed and offsets[known + 1] - begin == size
        if is_as_long and _same(data, begin, other, start, size):
            break
        at = (at + 1) & mask
    return at


@kernel
def find_one(table, hashes, offsets, data, hashed: int, asked) -> int:  # type: ignore[no-untyped-def]
    """The number of an id; -1 where it has none."""
    return table[_place(table, hashes, offsets, data, hashed, asked, 0, len(asked))]


@kernel
def find(  # type: ignore[no-untyped-def]
    table, hashes, offsets, data, asked_hashes, asked_offsets, asked_data, numbers
) -> None:
    """The number of each id that is asked for; -1 where it has none."""
    for i in range(len(asked_hashes)):
        start = asked_offsets[i]
        size = asked_offsets[i + 1] - start
        at = _place(table, hashes, offsets, data, asked_hashes[i], asked_data, start, size)
        numbers[i] = table[at]


@kernel
def number(  # type: ignore[no-untyped-def]
    table, hashes, offsets, data, count, asked_hashes, asked_offsets, asked_data, numbers
) -> int:
    """The number of each id, a new one where it has none. How many there are then.

    REQUIRES: there is room for all, and the table stays half empty.
    """
    for i in range(len(asked_hashes)):
        start = asked_offsets[i]
        size = asked_offsets[i + 1] - start
        at = _place(table, hashes, offsets, data, asked_hashes[i], asked_data, start, size)
        if table[at] < 0:
            table[at] = count
            hashes[count] = asked_hashes[i]
            begin = offsets[count]
            for j in range(size):
                data[begin + j] = asked_data[start + j]
            offsets[count + 1] = begin + size
            count += 1
        numbers[i] = table[at]
    return count


@kernel
def take_back(table: I32, hashes: I64, first: int, count: int) -> None:
    """Empty the places of the numbers from `first` on."""
    mask = len(table) - 1
    for number in range(count - 1, first - 1, -1):
        at = hashes[number] & mask
        while table[at] != number:
            at = (at + 1) & mask
        table[at] = -1


@kernel
def fill(table: I32, hashes: I64, count: int) -> None:
    """Put all numbers into an empty table."""
    mask = len(table) - 1
    for number in range(count):
        at = hashes[number] & mask
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = number
