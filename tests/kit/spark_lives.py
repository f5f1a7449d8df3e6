"""Small rows with lifetimes of their own for the tests of Spark.

A plain list says what must be found of them. Imports none of the code that it judges.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import wavedex as wx

SCHEMA = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.string())])
COUNTED = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])
LONGEST, REFRESH, COUNT = 16, 2, 12
"""The longest lifetime, the time between refreshes, and the rows of a counted window."""

Row = dict[str, Any]


def create(path: Path, **options: Any) -> wx.LifetimeIndex:
    """An index of rows that live for up to eight refreshes."""
    counted = str(options.get("method", "")).startswith("count")
    wanted: dict[str, Any] = {
        "key": "k",
        "inserted": "b",
        "max_lifetime": LONGEST,
        "refresh": REFRESH,
        "grid": (2, 2),
        **({"counts": {"n": COUNT}} if counted else {"expires": "e"}),
        **options,
    }
    return wx.LifetimeIndex.create(path, COUNTED if counted else SCHEMA, **wanted)


def table(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def lives(seed: int, since: int, now: int, count: int, keys: int = 5) -> list[Row]:
    """Rows that were inserted after one instant and up to another.

    The first of them was inserted at the second instant, and some may be from before the first.
    """
    rnd = random.Random(f"{seed} {since} {now}")
    found = []
    for number in range(count):
        born = rnd.randint(since + 1, now) - rnd.choice([0, 0, 0, 3, 9]) if number else now
        end = born + rnd.randint(0, LONGEST)
        found.append({"k": rnd.randrange(keys), "b": born, "e": end, "v": f"{now}-{number}"})
    return found


def positions(since: int, until: int, now: int, keys: int = 5) -> list[Row]:
    """The rows of a stream from one position to another."""
    return [{"k": place % keys, "b": now, "n": place} for place in range(since, until)]


class Lives:
    """What lives, as anyone would keep it by hand: a list of rows, and the instant."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def update(self, now: int, rows: list[Row]) -> None:
        """What is over is forgotten, and what ends later is there."""
        self.rows = [row for row in [*self.rows, *rows] if row["e"] > now]

    def count(self, come: int, rows: list[Row]) -> None:
        """Of a counted window the last so many rows are there."""
        self.rows = [row for row in [*self.rows, *rows] if row["n"] > come - COUNT]

    def probe(self, key: int) -> list[Row]:
        return [row for row in self.rows if row["k"] == key]

    def born(self, since: int, until: int) -> list[Row]:
        """The rows that were inserted between two instants, both included."""
        return [row for row in self.rows if since <= row["b"] <= until]
