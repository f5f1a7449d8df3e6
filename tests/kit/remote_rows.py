"""What the tests of remote stores do with an index, and which rows they put into it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pyarrow as pa

import wavedex as wx
from wavedex.files.contract import AnyFiles
from wavedex.files.names import DATA
from wavedex.log.manifest import Log
from wavedex.testing.oracle import Oracle

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])
WINDOW = 5
UPDATES = ["packed-shadow", "runs"]


def rows_of(*slots: int) -> list[dict]:
    return [
        {"k": f"key {slot * n % 7}", "t": slot * 10 + n, "v": f"{slot}/{n}"}
        for slot in slots
        for n in range(1, 6)
    ]


def table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def make(place, address: str, **options) -> wx.WaveIndex:
    options = {"indexes": 2, "shards": 2, "surroundings": place.around, **options}
    return wx.WaveIndex.create(
        address, SCHEMA, key="k", time="t", slot=10, window=WINDOW, **options
    )


def filled(place, address: str, *slots: int, **options) -> wx.WaveIndex:
    index = make(place, address, **options)
    for slot in slots:
        index.append(table(rows_of(slot)))
    return index


def answers(index: wx.WaveIndex | wx.Snapshot) -> list[dict]:
    return index.scan().read_all().to_pylist()


def oracle_of(*slots: int) -> Oracle:
    oracle = Oracle(WINDOW, "k", lambda row: row["t"] // 10)
    oracle.append(rows_of(*slots), max(slots))
    return oracle


def unnamed_files(place, address: str) -> set[str]:
    files = place.files(address)
    log = Log(files)
    named = {name for commit in log.commits() for name in log.read(commit).files}
    return {f"{DATA}/{name}" for name in files.list(DATA)} - named


def interrupting(
    place, name: str, act: Callable[[], object], call: int = 1
) -> Callable[[str], AnyFiles]:
    """Files that let something else happen before the first call of a method, or a later one."""

    def files(path: str) -> AnyFiles:
        found = place.files(path)
        method = getattr(found, name)
        calls = itertools.count(1)

        def interrupted(*args):
            if next(calls) == call:
                act()
            return method(*args)

        setattr(found, name, interrupted)
        return found

    return files


def interrupted(place, address: str, name: str, act: Callable[[], object]) -> wx.WaveIndex:
    """An index with such files."""
    return wx.open(address, surroundings=wx.Surroundings(files=interrupting(place, name, act)))
