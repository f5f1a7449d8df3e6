"""Hashes are those of the package `xxhash` on Spark's bytes.

Orders are those of Python's `sorted`.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from wavedex.rows.codes import seems_varied
from wavedex.rows.content import add_content, content_of, hash_rows, subtract_content
from wavedex.rows.hashes import SEED, hash_bytes, hash_ints, hash_longs
from wavedex.rows.keys import hash_strings
from wavedex.rows.order import bucket_starts, sort_order, spread_ranges, stable_order

LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(LONG, max_size=20))
def test_numbers_of_eight_bytes_hash_as_the_package_does(values):
    found = hash_longs(np.array(values, np.int64)).tolist()
    assert found == [xxhash.xxh64_intdigest(struct.pack("<q", value), SEED) for value in values]


@given(st.lists(INT, max_size=20), st.integers(0, 2**64 - 1))
def test_numbers_of_four_bytes_hash_as_the_package_does_with_any_seed(values, seed):
    found = hash_ints(np.array(values, np.int32), seed).tolist()
    assert found == [xxhash.xxh64_intdigest(struct.pack("<i", value), seed) for value in values]


@given(st.lists(st.binary(max_size=90) | st.binary(min_size=500, max_size=530), max_size=12))
def test_byte_strings_of_all_lengths_hash_as_the_package_does(values):
    expected = [xxhash.xxh64_intdigest(value, SEED) for value in values]
    assert hash_strings(pa.array(values, pa.binary())).tolist() == expected
    assert hash_strings(pa.array(values, pa.large_binary())).tolist() == expected
    sliced = pa.array([b"before", *values, b"after"], pa.binary())[1:-1]
    assert hash_strings(sliced).tolist() == expected


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("length", [*range(70), 511, 512, 513])
def test_each_length_on_its_own_hashes_as_the_package_does(length, count):
    values = [bytes((number * 37 + n) % 256 for number in range(length)) for n in range(count)]
    data = np.frombuffer(b"xyz" + b"".join(values) + b"abc", np.uint8)
    found = hash_bytes(data, 3 + length * np.arange(count), np.full(count, length))
    assert found.tolist() == [xxhash.xxh64_intdigest(value, SEED) for value in values]


@pytest.mark.parametrize("seeds", ["one", "each its own"])
def test_many_byte_strings_of_mixed_lengths_hash_as_the_package_does(seeds):
    random = np.random.default_rng(7)
    lengths = random.integers(0, 130, 80_000)
    lengths[::1000] = 700
    lengths[-100:] = 0  # nothing lies behind these
    starts = np.cumsum(lengths) - lengths
    data = random.integers(0, 256, int(lengths.sum()), np.uint8)
    seed = random.integers(0, 2**63, len(lengths)).astype(np.uint64)
    if seeds == "one":
        seed[:] = SEED
    found = hash_bytes(data, starts, lengths, SEED if seeds == "one" else seed)
    content = data.tobytes()
    assert found.tolist() == [
        xxhash.xxh64_intdigest(content[start : start + length], each)
        for start, length, each in zip(
            starts.tolist(), lengths.tolist(), seed.tolist(), strict=True
        )
    ]


numbers = st.integers(-3, 3) | LONG


@given(st.lists(st.tuples(numbers, numbers), max_size=40))
def test_rows_are_sorted_by_key_then_time_then_as_they_came(rows):
    codes = np.array([code for code, _ in rows], np.int64)
    ordinals = np.array([ordinal for _, ordinal in rows], np.int64)
    assert sort_order(codes, ordinals).tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    assert stable_order(codes).tolist() == sorted(range(len(rows)), key=lambda row: rows[row][0])


def test_numbers_at_both_ends_of_64_bits_are_sorted_without_wrapping():
    values = np.array([2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63)], np.int64)
    assert stable_order(values).tolist() == [1, 4, 2, 0, 3]


@given(st.lists(st.integers(0, 4), max_size=30))
def test_buckets_start_where_the_code_changes(codes):
    codes.sort()
    starts = [row for row in range(len(codes)) if row == 0 or codes[row] != codes[row - 1]]
    assert bucket_starts(np.array(codes, np.int64)).tolist() == starts


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 5)), max_size=10))
def test_ranges_are_spread_one_after_the_other(ranges):
    starts = np.array([start for start, _ in ranges], np.int64)
    counts = np.array([count for _, count in ranges], np.int64)
    expected = [at for start, count in ranges for at in range(start, start + count)]
    assert spread_ranges(starts, counts).tolist() == expected


SCHEMA = pa.schema(
    [
        ("n", pa.int32()),
        ("s", pa.string()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ("l", pa.list_(pa.int64())),
        ("d", pa.decimal128(5, 2)),
        ("u", pa.struct([("x", pa.string()), ("y", pa.list_(pa.string()))])),
    ]
)
row = st.fixed_dictionaries(
    {
        "n": st.none() | INT,
        "s": st.none() | st.text(max_size=5),
        "f": st.none() | st.floats(),
        "b": st.none() | st.booleans(),
        "l": st.none() | st.lists(st.none() | st.integers(0, 5), max_size=3),
        "d": st.none() | st.decimals(-100, 100, places=2),
        "u": st.none()
        | st.fixed_dictionaries(
            {"x": st.none() | st.text(max_size=3), "y": st.lists(st.text(max_size=2), max_size=2)}
        ),
    }
)


def batch_of(rows: list[dict]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


@given(st.lists(row, max_size=8), st.randoms(use_true_random=False))
def test_the_content_of_rows_does_not_depend_on_their_order(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert content_of(hash_rows(batch_of(rows))) == content_of(hash_rows(batch_of(shuffled)))


@pytest.mark.slow
@given(st.lists(row, max_size=6), st.lists(row, max_size=6))
def test_contents_can_be_added_and_taken_away(some, others):
    one, two = (content_of(hash_rows(batch_of(rows))) for rows in (some, others))
    both = content_of(hash_rows(batch_of(some + others)))
    assert add_content(one, two) == both
    assert subtract_content(both, two) == one


@given(st.lists(row, min_size=2, max_size=6))
def test_a_slice_of_a_batch_hashes_as_the_same_rows_on_their_own(rows):
    batch = batch_of(rows)
    for start in range(len(rows)):
        alone = hash_rows(batch_of(rows[start : start + 1]))
        assert hash_rows(batch.slice(start, 1)).tolist() == alone.tolist()


@given(st.lists(row, min_size=2, max_size=6, unique_by=repr))
def test_different_rows_hash_differently(rows):
    assert len(set(hash_rows(batch_of(rows)).tolist())) == len(rows)


def test_lists_that_differ_in_order_or_grouping_hash_differently():
    kinds = pa.list_(pa.list_(pa.int64()))
    values = [
        [[1, 2]],
        [[2, 1]],
        [[1], [2]],
        [[], [1, 2]],
        [[1, 2], []],
        [],
        None,
        [None],
        [[None]],
    ]
    batch = pa.RecordBatch.from_arrays([pa.array(values, kinds)], names=["v"])
    assert len(set(hash_rows(batch).tolist())) == len(values)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_a_dictionary_column_hashes_as_its_values_do(kind):
    plain = pa.array(["a", "b", None, "a"]).cast(kind)
    coded = plain.dictionary_encode()
    hashes = [
        hash_rows(pa.RecordBatch.from_arrays([column], names=["v"])).tolist()
        for column in (plain, coded)
    ]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_text_that_varies_hashes_as_it_would_in_a_dictionary(kind):
    words = [None if n % 31 == 0 else f"word {n}" * (1 + n % 9) for n in range(5_000)]
    varied = pa.array(words).cast(kind).slice(3)
    assert seems_varied(varied)
    assert not seems_varied(pa.array(["a", "b"] * 2_500).cast(kind))
    plain, coded = (
        hash_rows(pa.RecordBatch.from_arrays([column], names=["v"]))
        for column in (varied, varied.dictionary_encode())
    )
    assert plain.tolist() == coded.tolist()
