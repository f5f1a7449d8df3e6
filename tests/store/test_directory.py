"""A directory finds every key that it was built from and none that it was not.

That holds however the hashes collide.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavedex.store.directory import LOAD_MAX, HashTable, build_table

TOP = 2**64 - 1


def table_of(hashes):
    return HashTable(*build_table(np.array(hashes, np.uint64)), len(hashes))


# Hashes that crowd into few places, at the beginning and at the very end of the table.
crowded = st.sampled_from([0, 1, 2**62, 2**63, 2**63 + 1, TOP - 1, TOP])
hashes = st.lists(crowded | st.integers(0, TOP), max_size=60)


@given(hashes, hashes)
def test_every_key_is_found_and_no_other(known, asked):
    # A key is the pair of its hash and its number, so that several keys share a hash.
    table = table_of(known)
    keys = list(enumerate(known))
    for bucket, hashed in keys:
        assert table.find(hashed, lambda found, bucket=bucket: found == bucket) == bucket
        assert table.find(hashed, lambda found: False) == -1
    for hashed in asked:
        found = table.find(hashed, lambda found, hashed=hashed: known[found] == hashed)
        assert found == -1 if hashed not in known else known[found] == hashed


@given(hashes.filter(bool), hashes)
def test_many_keys_at_once_are_found_as_one_by_one(known, asked):
    table = table_of(known)
    wanted = [*range(len(known)), *(-1 for _ in asked)]
    both = np.array([*known, *asked], np.uint64)

    def matches(rows, buckets):
        return np.array(
            [wanted[row] == found for row, found in zip(rows, buckets, strict=True)], bool
        )

    assert table.find_many(both, matches).tolist() == wanted


def test_a_directory_of_nothing_finds_nothing():
    table = table_of([])
    assert table.find(0, lambda found: True) == -1
    assert table.find(TOP, lambda found: True) == -1
    nothing = table.find_many(np.array([0, TOP], np.uint64), lambda rows, found: rows == rows)
    assert nothing.tolist() == [-1, -1]


def test_a_table_is_never_fuller_than_it_may_be():
    for count in range(1, 300):
        _, bits = build_table(np.linspace(0, 2**63, count).astype(np.uint64))
        assert count <= (1 << bits) * LOAD_MAX


def test_the_buckets_of_other_keys_are_passed_over_without_a_look_at_their_keys():
    random = np.random.default_rng(5)
    known, absent = random.integers(0, TOP, (2, 3_000), np.uint64, endpoint=True)
    table, looks = table_of(known), []

    def matches(bucket):
        looks.append(bucket)
        return False

    for hashed in absent.tolist():
        assert table.find(hashed, matches) == -1
    assert (
        len(looks) < 10
    )  # Of some 20 bits of tag hardly ever all agree; without tags it is thousands.
    many = table.find_many(absent, lambda rows, buckets: looks.extend(rows) or rows < 0)
    assert (many == -1).all()
    assert len(looks) < 20
