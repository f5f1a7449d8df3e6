"""A small wave index of every scheme and way, the rows that go into it, and what it must answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import wavedex as wx
from kit.ways import CHAINED, SQLITE, WAYS, told
from wavedex.testing.oracle import Oracle

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])
WINDOW = 5


def rows_of(slot: int) -> list[dict]:
    return [
        {"k": (slot * number) % 7, "t": slot * 10 + number, "v": f"row {number}"}
        for number in range(1, 6)
    ]


def table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def make(path: Path, scheme: str, way: str, slots: range, spread: bool = True) -> Oracle:
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=WINDOW, indexes=2, scheme=scheme,
        shards=1, spread=spread, first_room=1, **(WAYS | CHAINED | SQLITE)[way], **told(scheme),
    )  # fmt: skip
    oracle = Oracle(WINDOW, "k", lambda row: row["t"] // 10)
    for slot in slots:
        index.append(table(rows_of(slot)))
        oracle.append(rows_of(slot), slot)
    return oracle


def answers(index: wx.WaveIndex) -> list[dict]:
    return index.scan().read_all().to_pylist()
