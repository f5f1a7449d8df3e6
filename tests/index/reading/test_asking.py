"""Ways to ask that differ only in how they are carried out have the same answers."""

from __future__ import annotations

import datetime as dt
import threading
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.index.reading import readable
from wavedex.store.sorted.packed import PackedShard

ROWS = pa.schema([("k", pa.int64()), ("t", pa.int64())])


@pytest.fixture
def index(tmp_path):
    index = wx.WaveIndex.create(
        tmp_path / "x", ROWS, key="k", time="t", slot=1, window=6, indexes=3, shards=3
    )
    random = np.random.default_rng(3)
    for slot in range(8):
        keys = random.integers(0, 20_000, 5_000)
        index.append(pa.table({"k": keys, "t": np.full(5_000, slot)}, ROWS))
    return index


def test_many_keys_are_looked_up_on_threads_and_found_as_by_one(index, monkeypatch):
    used = set()
    probe_many = PackedShard.probe_many

    def noting(self, *how):
        used.add(threading.get_ident())
        return probe_many(self, *how)

    monkeypatch.setattr(PackedShard, "probe_many", noting)
    keys = pa.array(np.arange(-500, 20_500))
    assert len(keys) >= readable.KEYS_MANY
    for how in ({}, {"since": 4}, {"since": 3, "until": 5, "columns": ["t", "k"]}):
        used.clear()
        many = index.probe_many(keys, **how)
        assert threading.get_ident() not in used
        with monkeypatch.context() as patched:
            patched.setattr(readable, "KEYS_MANY", len(keys) + 1)
            used.clear()
            one_by_one = index.probe_many(keys, **how)
            assert used == {threading.get_ident()}
        assert many.num_rows > 5_000
        assert many.equals(one_by_one)


def test_a_list_of_whole_numbers_is_taken_as_it_would_be_one_by_one(index):
    some = index.scan(columns=["k"]).read_all()["k"].to_pylist()[:50]
    assert index.probe_many(some).equals(index.probe_many(iter(some)))
    for wrong in (2**63, True, 1.5):
        with pytest.raises(errors.BadKey, match=str(wrong)):
            index.probe_many([*some, wrong])


def test_times_that_are_equal_and_mean_different_instants_are_told_apart(tmp_path):
    berlin = ZoneInfo("Europe/Berlin")
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", zone="Europe/Berlin", window=3
    )
    # On 25 October 2026 the hour from two to three comes twice, first at 0:00 UTC.
    at = [dt.datetime(2026, 10, 25, hour, 30, tzinfo=dt.UTC) for hour in (0, 1)]
    index.append(pa.table({"k": [1, 1], "t": at}, schema))
    snapshot = index.snapshot()
    first = dt.datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    again = first.replace(fold=1)
    assert first == again
    for _ in range(2):
        assert snapshot.probe(1, since=first).num_rows == 2
        assert snapshot.probe(1, since=again).num_rows == 1
    # A day as a date, as text and as its number are the same span; a truth value is none.
    day = dt.date(2026, 10, 25)
    assert snapshot.probe(1, day).equals(snapshot.probe(1, "2026-10-25"))
    number = max(index.slots)
    assert snapshot.probe(1, number, number).num_rows == 2
    with pytest.raises(errors.BadTime):
        snapshot.probe(1, bool(number), number)
