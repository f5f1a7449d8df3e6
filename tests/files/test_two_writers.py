"""Writers in processes of their own, on one index on an object store.

What was acknowledged is in, once, and nothing else is. `WAVEDEX_ROUNDS=10` runs as many rounds of
thirty amendments for each writer; the suite has fewer of both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

import wavedex as wx
from kit.paths import KIT
from kit.remote_places import Place
from kit.remote_rows import answers, filled, rows_of

WRITER = KIT / "two_writers.py"
ROUNDS = int(os.environ.get("WAVEDEX_ROUNDS", 0))
FEW = [("s3", "packed-shadow"), ("moto", "runs")]
RACES = [*FEW, ("s3", "runs"), ("moto", "packed-shadow")] if ROUNDS else FEW


def race(address: str, writers: int, rows: int) -> list[tuple[str, str]]:
    """Let writers amend an index at the same time; all rows and what was said of each attempt."""
    running = [
        subprocess.Popen(
            [sys.executable, str(WRITER), address, str(writer), str(rows)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in range(writers)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * writers
    return [tuple(line.split()) for output in outputs for line in output.splitlines()]


@pytest.mark.parametrize(("server", "update"), RACES)
def test_what_two_writers_were_told_is_in_is_in_once_and_nothing_else(request, server, update):
    s3 = request.getfixturevalue(server)
    said: Counter[str] = Counter()
    for round_number in range(ROUNDS or 1):
        address = s3.uri(f"bucket/race-{update}-{round_number}.wx")
        filled(Place("s3", str), address, 1, update=update, shards=1)
        told = race(address, writers=2, rows=30 if ROUNDS else 6)
        said += Counter(what for _, what in told)
        index = wx.open(address)
        index.verify()
        expected = [row["v"] for row in rows_of(1)]
        expected += [row for row, what in told if what in ("in", "owed")]
        assert sorted(row["v"] for row in answers(index)) == sorted(expected)
        assert {what for _, what in told} <= {"in", "owed", "ConcurrentWrite"}
        index.vacuum()
        index.verify()
    sys.stderr.write(f"{server}, {update}: {dict(said)}\n")
