"""XXH64 over whole columns: the hash that Spark's `xxhash64` computes, without a loop over rows.

A value's hash decides its shard and its place in a directory. So it must be the same in Python, one
key at a time (the package `xxhash`), in NumPy over arrays (here), and in Spark. Values are hashed
as the bytes that Spark hashes: four or eight little-endian bytes for numbers, the bytes themselves
for strings and binary.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from wavedex.crew import run_together

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
_STRIPE = 32
"""How many bytes XXH64 takes in at a time, in four lanes."""
_LONG = 16
"""A value of this many stripes or more is hashed by itself: its bytes outweigh the call."""
_FEW = 64
"""Fewer values than this are hashed one by one too: the calls cost less than the passes would."""


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
    """Hash block by block: what lies between stays in the processor's cache and takes no memory."""
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

    COST: block by block, on all processors. Short slices take some 120 passes over a word of each.
    """
    hashes = np.empty(len(starts), np.uint64)
    seeds = _start(seed)

    def hash_block(first: int) -> None:
        block = slice(first, first + _BLOCK)
        own = seeds[block] if seeds.ndim else seeds
        hashes[block] = _hash_slices(data, starts[block], lengths[block], own)

    blocks = [partial(hash_block, first) for first in range(0, len(starts), _BLOCK)]
    run_together(blocks, len(os.sched_getaffinity(0)))
    return hashes


def _hash_slices(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    seeds: U64,
) -> U64:
    """The hash of each slice: short ones are hashed together, long ones one by one."""
    if len(starts) < _FEW:
        return np.array(_hash_singly(data, starts, lengths, seeds), np.uint64)
    hashes = np.empty(len(starts), np.uint64)
    is_long = lengths >= _LONG * _STRIPE
    for mine, hashed in ((is_long, _hash_singly), (~is_long, _hash_together)):
        rows = np.flatnonzero(mine)
        if len(rows):
            own = seeds[rows] if seeds.ndim else seeds
            hashes[rows] = hashed(data, starts[rows], lengths[rows], own)
    return hashes


def _hash_singly(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    seeds: U64,
) -> list[int]:
    bytes_ = data.data
    each = zip(
        starts.tolist(), lengths.tolist(), np.broadcast_to(seeds, len(starts)).tolist(), strict=True
    )
    return [
        xxhash.xxh64_intdigest(bytes_[start : start + length], seed) for start, length, seed in each
    ]


def _hash_together(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    seeds: U64,
) -> U64:
    """The hash of each slice, all of them step by step.

    Before each kind of step, the slices are sorted by how many such steps they need. So the slices
    that go on are the last ones. They are changed in place, and none is asked whether it goes on.
    """
    stripes, rest = lengths // _STRIPE, lengths & (_STRIPE - 1)
    # The last stripe of a slice is read whole, whatever lies behind the slice.
    ends = starts + stripes * _STRIPE
    if (end := int(ends.max()) + _STRIPE) > len(data):
        first = int(starts.min())
        data = np.concatenate([data[first:], np.zeros(end - len(data), np.uint8)])
        starts, ends = starts - first, ends - first
    any_stripe = np.ndarray((len(data) - _STRIPE + 1,), f"V{_STRIPE}", data, strides=(1,))
    hashes = np.empty(len(starts), np.uint64)
    with np.errstate(over="ignore"):
        rows, froms = _by_steps(stripes, int(stripes.max()))
        own = seeds[rows] if seeds.ndim else seeds
        state = _take_stripes(any_stripe, starts[rows], froms, own)
        state += lengths[rows].astype(np.uint64)

        order, froms = _by_steps(rest[rows] >> 3, 3)
        rows, state = rows[order], state[order]
        words = np.ascontiguousarray(any_stripe[ends[rows]].view("<u8").reshape(-1, 4).T)
        last = words[0]
        for number, first in enumerate(froms):
            state[first:] = _eight(state[first:], words[number, first:])
            last[first:] = words[number + 1, first:]

        order, froms = _by_steps(rest[rows] & 7, 7)
        rows, state, last = rows[order], state[order], last[order]
        _take_tails(state, last, [*froms, len(rows)])
        hashes[rows] = _avalanche(state)
    return hashes


def _by_steps(steps: npt.NDArray[np.int64], most: int) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Sort by how many steps each needs.

    Returns the order, and from where on they need 1, 2 and so on up to `most` steps.
    """
    counts = steps.astype(np.uint8)
    order = np.argsort(counts, kind="stable")
    return order, np.searchsorted(counts[order], np.arange(1, most + 1, dtype=np.uint8)).tolist()


def _take_stripes(
    any_stripe: npt.NDArray[Any], starts: npt.NDArray[np.int64], froms: list[int], seeds: U64
) -> U64:
    """Take in whole stripes: one each from the first of `froms` on, a second from the second on."""
    state = np.empty(len(starts), np.uint64)
    state[:] = seeds + _P5
    if not froms:
        return state
    begun = froms[0]
    own = seeds[begun:] if seeds.ndim else seeds
    lanes = np.empty((len(starts) - begun, 4), np.uint64)
    for lane, first in enumerate((own + _P1 + _P2, own + _P2, own, own - _P1)):
        lanes[:, lane] = first
    for number, start in enumerate(froms):
        words = any_stripe[starts[start:] + number * _STRIPE].view("<u8")
        words *= _P2
        flat = lanes[start - begun :].reshape(-1)
        flat += words
        _turn(flat, 31)
        flat *= _P1
    state[begun:] = _merge(np.ascontiguousarray(lanes.T))
    return state


def _merge(lanes: U64) -> U64:
    """What four lanes come to."""
    state = _rotl(lanes[0], 1)
    for lane, bits in zip(lanes[1:], (7, 12, 18), strict=True):
        state += _rotl(lane, bits)
    lanes *= _P2
    _turn(lanes, 31)
    lanes *= _P1
    for lane in lanes:
        state ^= lane
        state *= _P1
        state += _P4
    return state


def _take_tails(state: U64, last: U64, froms: list[int]) -> None:
    """Take in, in place, up to seven bytes of a last word each.

    That is one byte from the first of `froms` on, two from the second on.
    """
    four = froms[3]
    state[four:] = _four(state[four:], last[four:] & np.uint64(0xFFFFFFFF))
    last[four:] >>= np.uint64(32)
    for number in range(3):
        # Those of one to three bytes, and those of as many after a word of four.
        for some in (slice(froms[number], four), slice(froms[number + 4], froms[7])):
            state[some] = _one(state[some], last[some] & np.uint64(0xFF))
            last[some] >>= np.uint64(8)


def _start(seed: U64 | int) -> U64:
    return np.asarray(seed, np.uint64)


def _rotl(values: U64, bits: int) -> U64:
    return _turn(values.copy(), bits)


def _turn(values: U64, bits: int) -> U64:
    """Rotate in place, and return it."""
    high = values >> np.uint64(64 - bits)
    values <<= np.uint64(bits)
    values |= high
    return values


def _eight(state: U64, words: U64) -> U64:
    later = _turn(words * _P2, 31)
    later *= _P1
    later ^= state
    _turn(later, 27)
    later *= _P1
    later += _P4
    return later


def _four(state: U64, words: U64) -> U64:
    later = words * _P1
    later ^= state
    _turn(later, 23)
    later *= _P2
    later += _P3
    return later


def _one(state: U64, words: U64) -> U64:
    later = words * _P5
    later ^= state
    _turn(later, 11)
    later *= _P1
    return later


def _avalanche(state: U64) -> U64:
    state ^= state >> np.uint64(33)
    state *= _P2
    state ^= state >> np.uint64(29)
    state *= _P3
    state ^= state >> np.uint64(32)
    return state
