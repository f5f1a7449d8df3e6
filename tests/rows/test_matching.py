"""Rows find their equals on the other side, each once, as a counter of rows has it.

A shared hash is not enough.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.collisions import colliding
from kit.matrix import examples
from wavedex.rows import matching
from wavedex.rows.content import hash_rows
from wavedex.rows.matching import match_rows

D = decimal.Decimal
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int8(), [None, 0, 1]),
    "f": (pa.float64(), [None, 0.0, -0.0, float("nan")]),
    "b": (pa.bool_(), [None, True, False]),
    "s": (pa.string(), [None, "", "a", "aa"]),
    "y": (pa.large_binary(), [None, b"", b"\0"]),
    "fsb": (pa.binary(3), [None, b"abc", b"abd"]),
    "d": (pa.decimal256(50, 2), [None, D("0.00"), D("-1.25")]),
    "at": (pa.timestamp("us"), [None, dt.datetime(2026, 1, 1)]),
    "c": (pa.dictionary(pa.int8(), pa.string()), [None, "x", "y"]),
    "l": (pa.list_(pa.string()), [None, [], ["a"], ["a", None], [None, "a"]]),
    "ll": (pa.large_list(pa.int8()), [None, [], [1], [1, 1]]),
    "f2": (pa.list_(pa.int8(), 2), [None, [1, 2], [1, None]]),
    "st": (
        pa.struct([("a", pa.int8()), ("b", pa.string())]),
        [None, {"a": 1, "b": None}, {"a": None, "b": "x"}],
    ),
    "m": (pa.map_(pa.string(), pa.int8()), [None, [], [("a", 1)], [("a", 2)]]),
    "n": (pa.null(), [None]),
}


def batch_of(rows: list[dict[str, Any]], names: list[str]) -> pa.RecordBatch:
    schema = pa.schema([(name, COLUMNS[name][0]) for name in names])
    return pa.RecordBatch.from_pylist(rows, schema)


def known_by(rows: list[dict[str, Any]]) -> list[str]:
    """By their text, so that -0.0 is not 0.0, and a NaN is itself."""
    return [repr(sorted(row.items())) for row in rows]


def check(one: pa.RecordBatch, other: pa.RecordBatch, sides: list[list[str]]) -> None:
    matched = match_rows(one, other)
    common = Counter(sides[0]) & Counter(sides[1])
    for side, found in zip(sides, matched, strict=True):
        seen: Counter[str] = Counter()
        for row, is_matched in zip(side, found.tolist(), strict=True):
            assert is_matched == (seen[row] < common[row])
            seen[row] += 1


@pytest.mark.slow
@examples(40)
@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_rows_of_every_type_are_matched_as_counters_have_it(name, data):
    row = {each: st.sampled_from(COLUMNS[each][1]) for each in (name, "i")}
    drawn = st.lists(st.fixed_dictionaries(row), max_size=9)
    sides = [data.draw(drawn), data.draw(drawn)]
    names = list(dict.fromkeys([name, "i"]))
    batches = [batch_of(rows, names) for rows in sides]
    check(*batches, [known_by(rows) for rows in sides])
    # The same rows as a slice of others.
    outer = batch_of([dict.fromkeys(names), *sides[0], dict.fromkeys(names)], names)
    check(outer.slice(1, len(sides[0])), batches[1], [known_by(rows) for rows in sides])


def test_a_null_among_the_words_of_a_dictionary_is_a_null_like_any_other():
    words = pa.array(["a", None])
    one = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), words)
    other = pa.DictionaryArray.from_arrays(pa.array([None, 0], pa.int8()), pa.array(["a"]))
    assert matching._equal(one, other).tolist() == [True, True]


def test_many_rows_are_compared_block_by_block(monkeypatch):
    monkeypatch.setattr(matching, "_BLOCK_ROWS", 7)
    rnd = np.random.default_rng(3)
    sides = [
        [{"i": int(a), "s": str(b)} for a, b in rnd.integers(0, 9, (n, 2))] for n in (200, 150)
    ]
    check(*(batch_of(rows, ["i", "s"]) for rows in sides), [known_by(rows) for rows in sides])


# -- rows that share a hash ------------------------------------------------------------------------

PAIRS = pa.schema([("a", pa.int64()), ("b", pa.int64())])


def pairs(rows: list[tuple[int, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"a": a, "b": b} for a, b in rows], PAIRS)


SAME_HASH = [(1, 2), *(colliding(1, 2, number) for number in (5, 6, 7))]


def test_the_rows_of_these_tests_do_share_a_hash():
    assert len(set(SAME_HASH)) == 4
    assert len(set(hash_rows(pairs(SAME_HASH)).tolist())) == 1


@given(st.data())
def test_rows_that_share_a_hash_are_not_mixed_up(data):
    drawn = st.lists(st.sampled_from([*SAME_HASH, (8, 8)]), max_size=12)
    sides = [data.draw(drawn), data.draw(drawn)]
    check(*map(pairs, sides), [[repr(row) for row in rows] for rows in sides])
