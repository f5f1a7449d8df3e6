"""A lifetime index with something of everything in it.

Cells, a delta, hidden rows, and rows that got another end.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pyarrow as pa

import wavedex as wx
from wavedex import errors
from wavedex.testing.life_oracle import BIRTH, END, KEY, CountOracle, LifeOracle, Row

SCHEMA = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.string())])
COUNTED = pa.schema(
    [("k", pa.int64()), ("b", pa.int64()), ("left", pa.int64()), ("right", pa.int64())]
)
SIZES = {"left": 40, "right": 60}
LAST = 20
"""The instant of the last refresh; the delta has come one later."""


def table(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def rows_at(now: int, count: int = 4) -> list[Row]:
    return [
        {
            KEY: (now * number) % 5,
            BIRTH: now - number % 2,
            END: now + (now * number) % 16,
            "v": f"row {number}",
        }
        for number in range(1, count + 1)
    ]


def make(path: Path, method: str, grid: tuple[int, int] = (2, 2), **options) -> LifeOracle:
    """Refreshes at 2, 4, ... 20, then a delta.

    Then a row retracted from a cell and one from the delta, and one prolonged.
    """
    life = wx.LifetimeIndex.create(
        path, SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2,
        grid=grid, method=method, shards=1, **options,
    )  # fmt: skip
    oracle = LifeOracle()
    for now in [*range(2, LAST + 1, 2), LAST + 1]:
        life.update(now, table(rows_at(now)))
        oracle.update(now, rows_at(now))
    now = LAST + 1
    oldest = min(oracle.rows, key=lambda row: (row[BIRTH], row[END]))
    newest = max(oracle.rows, key=lambda row: (row[BIRTH], row[END]))
    for row in (dict(oldest), dict(newest)):
        life.retract(now, table([row]))
        oracle.retract(now, [row])
    held = [{**oracle.meant(oracle.rows[0]), END: now + 15}]
    life.prolong(now, table(held))
    oracle.prolong(now, held)
    return oracle


def counted_rows(now: int, arrived: dict[str, int]) -> list[Row]:
    return [
        {
            KEY: (now * number) % 5,
            BIRTH: now,
            "left": arrived["left"] - 3 * number,
            "right": arrived["right"] - number,
        }
        for number in range(4)
    ]


def make_counted(path: Path, method: str) -> CountOracle:
    """Refreshes at 2, 4, ... 20 of windows that fill at a rate which goes up and down."""
    life = wx.LifetimeIndex.create(
        path, COUNTED, key=KEY, inserted=BIRTH, counts=SIZES, max_lifetime=16, refresh=2,
        grid=(2, 2), method=method, shards=1,
    )  # fmt: skip
    oracle = CountOracle(SIZES)
    for now in range(2, LAST + 1, 2):
        arrived = {name: came + 4 + now % 3 * 3 for name, came in oracle.arrived.items()}
        rows = [row for row in counted_rows(now, arrived) if row["left"] > 0 and row["right"] > 0]
        life.update(now, table(rows, COUNTED), arrived=arrived)
        oracle.update(rows, arrived)
    return oracle


def retract_once(life: wx.LifetimeIndex, now: int, rows: list[Row]) -> None:
    """Retract rows that may have been retracted before."""
    with contextlib.suppress(errors.RowNotThere):
        life.retract(now, table(rows))
