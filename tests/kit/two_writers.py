"""One of several writers.

It amends an index row by row, each until it is in, and prints what it was told of each.

    python two_writers.py ADDRESS WRITER ROWS

A line for each attempt: the row, and `in`, `owed` or the name of the error. What `owed` says is
that the row is in.
"""

from __future__ import annotations

import sys

import pyarrow as pa

import wavedex as wx

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])


def amend(index: wx.WaveIndex, row: dict) -> str:
    try:
        index.amend(pa.Table.from_pylist([row], SCHEMA))
    except wx.errors.PreparationOwed:
        return "owed"
    except wx.WavedexError as error:
        return type(error).__name__
    return "in"


def main(address: str, writer: str, count: str) -> None:
    index = wx.open(address)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for number in range(int(count)):
        said = ""
        while said not in ("in", "owed"):
            said = amend(index, {"k": f"key {number % 5}", "t": 10, "v": f"{writer}/{number}"})
            sys.stdout.write(f"{writer}/{number} {said}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
