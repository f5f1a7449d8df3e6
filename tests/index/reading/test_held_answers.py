"""An answer that somebody holds never changes, whatever is done to the index afterwards.

And ends of time are no traps.
"""

from __future__ import annotations

import gc
import random

import pyarrow as pa
import pytest

import wavedex as wx
from kit.matrix import in_turn
from kit.ways import WAYS
from wavedex.engine.techniques import TECHNIQUES

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


def table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize(("update", "scheme"), in_turn(["del", "wata", "rata"], TECHNIQUES))
def test_tables_and_readers_that_are_held_say_what_they_said(tmp_path, update, scheme):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=4,
        indexes=1 if scheme == "del" else 2, scheme=scheme, update=update, first_room=1, shards=1,
    )  # fmt: skip
    rnd = random.Random(1)
    tables, readers = [], []
    for slot in range(1, 40):
        keys = rnd.sample(range(8), 2)
        index.append(table([{"k": key, "t": slot * 10, "v": f"{slot}"} for key in keys]))
        for key in range(8):
            # One row is the case in which an answer could be a view of the file itself.
            answers = (index.probe(key), index.probe_many([key]), index.probe_range(key, key))
            tables += [(answer, answer.to_pylist()) for answer in answers]
        readers.append((index.scan(), index.scan().read_all().to_pylist()))
        gc.collect()
    for answer, before in tables:
        assert answer.to_pylist() == before
    for reader, before in readers:
        assert reader.read_all().to_pylist() == before


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("time", [2**63 - 1, 2**63 - 11, -(2**63), -(2**63) + 11])
def test_rows_at_the_ends_of_time_are_refused_or_can_be_read(tmp_path, time, way):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=4, indexes=2, **WAYS[way]
    )
    try:
        index.append(table([{"k": 1, "t": time, "v": "a"}]))
    except wx.errors.BadTime:
        assert index.snapshot().commit == 0
        return
    index.verify()
    assert index.probe(1).to_pylist() == [{"k": 1, "t": time, "v": "a"}]
    assert index.scan(expired=True).read_all().num_rows == 1
    assert index.append(table([{"k": 1, "t": time, "v": "a"}])).slots == []
    index.amend(table([{"k": 2, "t": time, "v": "b"}]))
    assert index.probe_many([1, 2]).num_rows == 2


@pytest.mark.parametrize("slot", [2**63 - 2, -(2**63) + 1, -(2**63) + 2, 2**63 - 1, -(2**63)])
def test_slots_at_the_ends_of_the_numbers_are_refused_or_can_be_read(tmp_path, slot):
    schema = pa.schema([("k", pa.int64())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=4, indexes=2)
    try:
        index.append(pa.table({"k": [1]}), slot=slot)
    except wx.errors.BadTime:
        assert index.snapshot().commit == 0
        return
    assert index.slots[-1] == slot
    assert index.probe(1).num_rows == index.probe(1, slot, slot).num_rows == 1
