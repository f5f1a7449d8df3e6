"""A probe of an index afar fetches the ranges that it looks at, and not whole files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.files.remote import RemoteFiles
from wavedex.store.sorted import parquet
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.float64()), ("s", pa.string())])
SLOTS, ROWS, KEYS, SUBS = 6, 20_000, 4_000, 3
BLOCKS_FIRST, BLOCKS_FURTHER = 80, 40
"""What a probe may fetch of a sub-index, in blocks of 4 kB.

Where columns lie, a place in tables, its rows.
"""


class Counted(RemoteFiles):
    """Counts what is fetched of data files, in ranges and in bytes."""

    ranges_fetched = bytes_fetched = 0

    def ranges(self, name, spans):
        self.ranges_fetched += len(spans)
        self.bytes_fetched += sum(stop - start for start, stop in spans)
        return super().ranges(name, spans)

    def map(self, ref):
        self.ranges_fetched += 1
        self.bytes_fetched += ref.bytes
        return super().map(ref)


@cache
def window() -> pa.Table:
    random = np.random.default_rng(7)
    keys = random.integers(0, KEYS, SLOTS * ROWS)
    times = np.repeat(np.arange(SLOTS), ROWS) * 100 + random.integers(0, 100, SLOTS * ROWS)
    texts = pa.array([f"text {key}" if key % 3 else None for key in keys.tolist()])
    return pa.table([keys, times, random.random(SLOTS * ROWS), texts], schema=SCHEMA)


def right(*keys: int) -> list[dict]:
    rows = window()
    return rows.filter(pa.array(np.isin(np.asarray(rows["k"]), keys))).to_pylist()


@pytest.fixture
def files(subtree):
    return Counted(subtree.files("x")._system, "counted.wx")


@pytest.fixture(params=["arrow", "parquet"])
def index(request, files, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 1_024)
    around = wx.Surroundings(files=lambda _: files)
    made = wx.WaveIndex.create(
        "counted.wx", SCHEMA, key="k", time="t", slot=100, window=SLOTS, indexes=SUBS, shards=1,
        update="packed-shadow", format=request.param, surroundings=around,
    )  # fmt: skip
    made.append(window())
    files.ranges_fetched = files.bytes_fetched = 0
    return wx.open("counted.wx", surroundings=around)


def fetched(files: Counted) -> int:
    """The bytes since the last time."""
    found, files.bytes_fetched = files.bytes_fetched, 0
    return found


def test_a_probe_fetches_a_few_blocks_of_each_sub_index(index, files):
    assert same_rows(index.probe(17).to_pylist(), right(17))
    assert 0 < fetched(files) <= BLOCKS_FIRST * SUBS * 4096
    assert files.ranges_fetched <= 30 * SUBS
    files.ranges_fetched = 0
    assert same_rows(index.probe(2_222).to_pylist(), right(2_222))
    assert 0 < fetched(files) <= BLOCKS_FURTHER * SUBS * 4096
    assert files.ranges_fetched <= 15 * SUBS
    assert same_rows(index.probe(17, since=1, until=3).to_pylist(), [
        row for row in right(17) if 100 <= row["t"] < 400
    ])  # fmt: skip
    assert index.probe(KEYS + 1).num_rows == 0
    index.probe(2_222)
    fetched(files)
    index.probe(2_222)
    assert fetched(files) == 0


def test_several_keys_are_fetched_together_and_many_with_whole_files(index, files):
    several = [5, 2_000, 3_999, KEYS + 5]
    assert same_rows(index.probe_many(several).to_pylist(), right(*several))
    assert 0 < fetched(files) <= BLOCKS_FIRST * len(several) * SUBS * 4096
    whole = sum(ref.bytes for ref in index.manifest.files.values())
    by = [(name, "ascending") for name in SCHEMA.names]
    assert index.probe_many(range(KEYS)).sort_by(by).equals(window().sort_by(by))
    assert index.scan().read_all().sort_by(by).equals(window().sort_by(by))
    assert fetched(files) <= whole
    assert same_rows(index.probe_range(17, 18).to_pylist(), right(17, 18))
    assert fetched(files) == 0


def test_a_snapshot_is_fetched_whole_and_needs_no_file_afterwards(index, files):
    snapshot = index.snapshot()
    for name in files.list("data"):
        files.remove(f"data/{name}")
    assert same_rows(snapshot.probe(17).to_pylist(), right(17))
    assert snapshot.scan().read_all().num_rows == SLOTS * ROWS


KEYS_OF_TYPES = {
    "text": (pa.string(), [f"key {number}" for number in range(50)]),
    "large binary": (pa.large_binary(), [b"%d" % number for number in range(50)]),
    "decimal": (pa.decimal128(20, 2), [Decimal(number) / 4 for number in range(50)]),
    "date": (pa.date32(), [dt.date(2026, 1, 1) + dt.timedelta(days=n) for n in range(50)]),
    "boolean": (pa.bool_(), [True, False]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KEYS_OF_TYPES)
@pytest.mark.parametrize("nested", [False, True])
def test_keys_and_columns_of_any_type_are_found_afar(subtree, name, nested):
    kind, keys = KEYS_OF_TYPES[name]
    value = pa.list_(pa.int64()) if nested else pa.bool_()
    schema = pa.schema([("k", kind), ("t", pa.int64()), ("v", value), ("d", pa.decimal128(9, 3))])
    rows = [
        {
            "k": keys[number % len(keys)],
            "t": number % 40,
            "v": [number] * (number % 4) if nested else [True, False, None][number % 3],
            "d": None if number % 5 == 0 else Decimal(number),
        }
        for number in range(2_000)
    ]
    made = wx.WaveIndex.create(
        subtree.new(), schema, key="k", time="t", slot=10, window=4, indexes=2, shards=2,
        update="packed-shadow", surroundings=subtree.around,
    )  # fmt: skip
    made.append(pa.Table.from_pylist(rows, schema))
    rows = pa.Table.from_pylist(rows, schema).to_pylist()
    for key in keys[:7]:
        index = subtree.open(made.path.partition("://")[2])
        wanted = [row for row in rows if row["k"] == key]
        assert same_rows(index.probe(key).to_pylist(), wanted)
        assert same_rows(index.probe_many([key]).to_pylist(), wanted)
        recent = [row for row in wanted if row["t"] >= 10]
        assert same_rows(index.probe(key, since=1).to_pylist(), recent)
