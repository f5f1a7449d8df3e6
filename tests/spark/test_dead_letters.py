"""Rows that are set aside last before the batch that brought them is taken for done."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq

import wavedex as wx
from wavedex.index.core.turns import Turn
from wavedex.spark.stream import dead_letters

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64())])


def test_dead_letters_and_their_names_last_before_the_batch_is_committed(tmp_path, monkeypatch):
    index = wx.WaveIndex.create(
        tmp_path / "x.wx", SCHEMA, key="k", time="t", slot=10, window=3, indexes=2
    )
    now, late = ({"k": "a", "t": 95}, {"k": "b", "t": 5})
    index.feed(pa.Table.from_pylist([now], SCHEMA), stream="s", number=0, delay=0)
    synced = []

    def fsync(descriptor: int, real=os.fsync) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    folder = tmp_path / "late"
    rows = pa.Table.from_pylist([late, now], SCHEMA)
    aside = dead_letters(folder, Turn("s", 1))
    fed = index.feed(rows, stream="s", number=1, delay=0, set_aside=aside)
    assert (fed.rows, fed.late) == (1, 1)
    [letters] = folder.iterdir()
    assert pq.read_table(letters).to_pylist() == [late]
    committed = synced.index(str(tmp_path / "x.wx" / "log"))
    assert {str(letters), str(folder), str(tmp_path)} <= {*synced[:committed]}
