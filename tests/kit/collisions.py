"""Rows that share a hash and are not the same."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_C, _ODD = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


def scrambled(word: int) -> int:
    """How the hash of a row takes in a number (docs/format.md, row hashes)."""
    word = (word + _C) & _MASK
    word = (word ^ (word >> 32)) * _ODD & _MASK
    return (word ^ (word >> 29)) * _C & _MASK


def unscrambled(word: int) -> int:
    word = word * pow(_C, -1, 1 << 64) & _MASK
    word ^= (word >> 29) ^ (word >> 58)
    word = word * pow(_ODD, -1, 1 << 64) & _MASK
    word ^= word >> 32
    return (word - _C) & _MASK


def colliding(a: int, b: int, other_a: int, begin: int = 0) -> tuple[int, int]:
    """The row with another first number that has the same hash as (a, b).

    Behind columns of the hash `begin`.
    """

    def begun(first: int) -> int:
        word = (begin * _ODD & _MASK) ^ scrambled(first & _MASK)
        return (word ^ (word >> 32)) * _ODD & _MASK

    wanted = begun(a) ^ scrambled(b & _MASK) ^ begun(other_a)
    return other_a, struct.unpack("<q", struct.pack("<Q", unscrambled(wanted)))[0]
