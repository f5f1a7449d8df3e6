"""XXH64 over whole columns: the hash that Spark's `xxhash64` computes, without a loop over rows.

A value's hash decides its shard and its place in a directory, so it must be the same in Python, one key at a time (the
package `xxhash`), in NumPy over arrays (here), and in Spark. Values are hashed as the bytes that Spark hashes: four or
eight little-endian bytes for numbers, the bytes themselves for strings and binary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

U64 = npt.NDArray[np.uint64]

SEED = 42
"""Spark's seed. Part of the file format: another one would send keys to other shards."""

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)

_BLOCK = 1 << 15
"""How many values are hashed at a time."""
_LONG = 512
"""From this length on a value is hashed by itself: its bytes outweigh the call."""


def hash_longs(values: npt.NDArray[np.int64], seed: U64 | int = SEED) -> U64:
    """The hash of each value as eight bytes."""
    return _in_blocks(_hash_eight, values.view(np.uint64), _start(seed))


def hash_ints(values: npt.NDArray[np.int32], seed: U64 | int = SEED) -> U64:
    """The hash of each value as four bytes."""
    return _in_blocks(_hash_four, values.view(np.uint32), _start(seed))


def _hash_eight(words: U64, seed: U64) -> U64:
    return _avalanche(_eight(seed + _P5 + np.uint64(8), words))


def _hash_four(words: npt.NDArray[np.uint32], seed: U64) -> U64:
    return _avalanche(_four(seed + _P5 + np.uint64(4), words.astype(np.uint64)))


def _in_blocks(hashed: Callable[..., U64], words: npt.NDArray[Any], seeds: U64) -> U64:
    """Hash block by block, so that what is in between stays in the processor's cache and takes no memory."""
    hashes = np.empty(len(words), np.uint64)
    with np.errstate(over="ignore"):
        for start in range(0, len(words), _BLOCK):
            block = slice(start, start + _BLOCK)
            hashes[block] = hashed(words[block], seeds[block] if seeds.ndim else seeds)
    return hashes


def hash_bytes(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    seed: U64 | int = SEED,
) -> U64:
    """The hash of each slice `data[start : start + length]`.

    COST: one pass a distinct length, so a column of few lengths is hashed at the speed of NumPy.
    """
    hashes = np.empty(len(starts), np.uint64)
    if not len(starts):
        return hashes
    seeds = np.broadcast_to(_start(seed), len(starts))
    by_length = np.argsort(lengths, kind="stable")
    distinct, firsts = np.unique(lengths[by_length], return_index=True)
    for length, rows in zip(distinct.tolist(), np.split(by_length, firsts[1:]), strict=True):
        if length >= _LONG:
            for row in rows.tolist():
                start = int(starts[row])
                hashes[row] = xxhash.xxh64_intdigest(
                    data[start : start + length].data, int(seeds[row])
                )
        else:
            for first in range(0, len(rows), _BLOCK):
                some = rows[first : first + _BLOCK]
                matrix = data[starts[some][:, None] + np.arange(length)]
                hashes[some] = _hash_matrix(matrix, seeds[some])
    return hashes


def _hash_matrix(matrix: npt.NDArray[np.uint8], seed: U64) -> U64:
    """The hash of each row of bytes, each with a seed of its own."""
    count, length = matrix.shape
    position = 0

    def words(width: int) -> U64:
        nonlocal position
        piece = np.ascontiguousarray(matrix[:, position : position + width])
        position += width
        return piece.view(f"<u{width}").reshape(count).astype(np.uint64)

    with np.errstate(over="ignore"):
        if length >= 32:
            lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
            while length - position >= 32:
                lanes = [_round(lane, words(8)) for lane in lanes]
            one, two, three, four = lanes
            state = _rotl(one, 1) + _rotl(two, 7) + _rotl(three, 12) + _rotl(four, 18)
            for lane in lanes:
                state = (state ^ _round(np.zeros(count, np.uint64), lane)) * _P1 + _P4
        else:
            state = seed + _P5
        state = state + np.uint64(length)
        while length - position >= 8:
            state = _eight(state, words(8))
        if length - position >= 4:
            state = _four(state, words(4))
        while position < length:
            state = _rotl(state ^ (words(1) * _P5), 11) * _P1
        return _avalanche(state)


def _start(seed: U64 | int) -> U64:
    return np.asarray(seed, np.uint64)


def _rotl(values: U64, bits: int) -> U64:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


def _round(lane: U64, words: U64) -> U64:
    return _rotl(lane + words * _P2, 31) * _P1


def _eight(state: U64, words: U64) -> U64:
    return _rotl(state ^ (_rotl(words * _P2, 31) * _P1), 27) * _P1 + _P4


def _four(state: U64, words: U64) -> U64:
    return _rotl(state ^ (words * _P1), 23) * _P2 + _P3


def _avalanche(state: U64) -> U64:
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))
