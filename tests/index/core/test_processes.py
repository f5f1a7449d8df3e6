"""Real processes.

Readers beside a writer, a writer that is killed, and a snapshot that another process holds. Every
row carries its slot and every slot has rows that are known beforehand, so that each answer can be
judged by itself: it must be the window at some commit, whole.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.matrix import RUNS_ALL
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.log.manifest import Log

WINDOW, SLOTS, BURST = 5, 36 if RUNS_ALL else 18, 6
KILLS = 20 if RUNS_ALL else 3
SCHEMES = {"in-place": "del", "simple-shadow": "rata", "packed-shadow": "reindex++", "runs": "wata"}

SHARED = '''
import sys
import pyarrow as pa
import wavedex as wx

WINDOW = 5
SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])


def rows_of(slot):
    return [
        {"k": f"key {(slot * 7 + n * n) % 11}", "t": slot * 10 + n % 10,
         "v": f"{slot}/{n}" * (n % 4)}
        for n in range(6 + slot % 5)
    ]


def late_rows_of(slot):
    """What is amended when the next slot, one in three, has arrived."""
    keys = ["key 3", f"late {slot}"] if (slot + 1) % 3 == 0 else []
    return [{"k": key, "t": slot * 10, "v": "late"} for key in keys]


def window_of(newest, amended):
    """The rows after `newest` arrived, before or after the amendment that follows it."""
    rows = []
    for slot in range(max(1, newest - WINDOW + 1), newest + 1):
        rows += rows_of(slot)
        if slot < newest - 1 or (slot == newest - 1 and amended):
            rows += late_rows_of(slot)
    return sorted(map(repr, rows))


def state_of(table):
    """The newest slot of an answer that is a whole window. Raises AssertionError otherwise."""
    rows = table.to_pylist()
    if not rows:
        return 0
    newest = max(row["t"] for row in rows) // 10
    found = sorted(map(repr, rows))
    assert found in (window_of(newest, False), window_of(newest, True)), (newest, found)
    return newest
'''

shared: dict = {}
exec(SHARED, shared)  # the processes below run the same lines

WRITER = (
    SHARED
    + """
index = wx.open(sys.argv[1])
last = int(sys.argv[2])
for line in sys.stdin if last < 0 else ["go"] :
    first = index.slots[-1] + 1 if index.slots else 1
    for slot in range(first, first + int(line) if last < 0 else last + 1):
        index.append(pa.Table.from_pylist(rows_of(slot), SCHEMA))
        late = late_rows_of(slot - 1) if slot > 1 else []
        if late:
            index.amend(pa.Table.from_pylist(late, SCHEMA))
        if slot % 4 == 0:
            index.vacuum()
        print(slot, flush=True)
"""
)

READER = (
    SHARED
    + """
index = wx.open(sys.argv[1])
last = int(sys.argv[2])
newest = 0
while newest < last:
    snapshot = index.snapshot()
    seen = state_of(snapshot.scan().read_all())
    # The index itself answers from a commit that is as new or newer.
    later = state_of(index.scan().read_all())
    assert newest <= seen <= later, (newest, seen, later)
    keys = sorted({row["k"] for slot in range(1, last + 1) for row in rows_of(slot)})
    by_key = [snapshot.probe(key) for key in (*keys, *(f"late {s}" for s in range(last + 1)))]
    assert state_of(pa.concat_tables(by_key)) == seen
    many = snapshot.probe_many(keys, seen, seen) if seen else None
    if seen:
        assert sorted(map(repr, many.to_pylist())) == sorted(map(repr, rows_of(seen)))
        between = snapshot.probe_range("key 0", "late 9999")
        assert state_of(between) == seen
    for key in ("key 3", "key 4"):
        found = index.probe(key).to_pylist()
        slots = {row["t"] // 10 for row in found}
        assert not slots or max(slots) - min(slots) < WINDOW, slots
    newest = max(newest, seen)
    print(newest, flush=True)
"""
)

PINNED = (
    SHARED
    + """
import gc
index = wx.open(sys.argv[1])
snapshot = index.snapshot()
del index

def answers():
    keys = sorted({row["k"] for row in snapshot.scan().read_all().to_pylist()})
    return [
        sorted(map(repr, snapshot.scan().read_all().to_pylist())),
        [sorted(map(repr, snapshot.probe(key).to_pylist())) for key in keys],
        sorted(map(repr, snapshot.probe_many(keys).to_pylist())),
    ]

before = answers()
print(snapshot.commit, flush=True)
for line in sys.stdin:
    print("same" if answers() == before else "changed", flush=True)
"""
)


class Process:
    """A Python process whose lines are gathered as they come."""

    def __init__(self, script: str, *arguments: object) -> None:
        self.lines: list[str] = []
        self.errors = ""
        self._news = threading.Condition()
        self._ended = False
        self.child = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [threading.Thread(target=read) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        for line in self.child.stdout or ():
            with self._news:
                self.lines.append(line.strip())
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _read_errors(self) -> None:
        self.errors = self.child.stderr.read() if self.child.stderr else ""

    def tell(self, line: object) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()

    def wait_for_lines(self, count: int) -> None:
        """Wait until there are so many lines, or there will be no more."""
        with self._news:
            self._news.wait_for(lambda: len(self.lines) >= count or self._ended)

    def wait_for_slot(self, slot: int) -> None:
        """Wait until it has told of this slot, or there will be no more lines."""
        with self._news:
            self._news.wait_for(lambda: str(slot) in self.lines or self._ended)

    def end(self) -> int:
        """Wait for the end, and return how it ended."""
        if self.child.stdin is not None:
            self.child.stdin.close()
        for thread in self._threads:
            thread.join()
        code = self.child.wait()
        for stream in (self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()
        return code


@contextmanager
def process(script: str, *arguments: object) -> Iterator[Process]:
    started = Process(script, *arguments)
    try:
        yield started
    finally:
        if started.child.poll() is None:
            started.child.kill()
        started.end()


def create(path: Path, update: str, **how) -> wx.WaveIndex:
    options = {"scheme": SCHEMES[update], "indexes": 2, "shards": 2, "first_room": 1, **how}
    return wx.WaveIndex.create(
        path, shared["SCHEMA"], key="k", time="t", slot=10, window=WINDOW, update=update, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_readers_beside_a_writer_see_the_window_of_some_commit_whole(tmp_path, update):
    create(tmp_path / "x", update)
    path = tmp_path / "x"
    with (
        process(READER, path, SLOTS) as one,
        process(READER, path, SLOTS) as two,
        process(WRITER, path, -1) as writer,
    ):
        readers = [one, two]
        for burst in range(SLOTS // BURST):
            for reader in readers:
                reader.wait_for_slot(burst * BURST)
            writer.tell(BURST)
            writer.wait_for_lines((burst + 1) * BURST)
        codes = [reader.end() for reader in readers]
        assert codes == [0, 0], [reader.errors for reader in readers]
        assert writer.end() == 0, writer.errors
        for reader in readers:
            assert len(set(reader.lines)) > SLOTS // BURST, "the readers saw too little of it"
    index = wx.open(path)
    index.verify()
    assert shared["state_of"](index.scan().read_all()) == SLOTS


def kill_after(writer: Process, path: Path, changes: int) -> None:
    """Kill the writer once it has changed the names in its folders so many times."""
    seen, last = 0, None
    while seen < changes and writer.child.poll() is None:
        now = (sorted(os.listdir(path / "log")), sorted(os.listdir(path / "data")))
        seen += now != last
        last = now
    writer.child.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_writer_that_is_killed_at_any_moment_leaves_the_window_of_its_last_commit(
    tmp_path, update
):
    path = tmp_path / "x"
    create(path, update)
    rnd = random.Random(f"kill {update}")
    killed = 0
    newest = 0
    while killed < KILLS:
        with process(WRITER, path, 10_000) as writer:
            kill_after(writer, path, rnd.randrange(2, 60))
            assert writer.end() == -signal.SIGKILL, writer.errors
        killed += 1
        index = wx.open(path)
        index.verify()
        found = shared["state_of"](index.scan().read_all())
        done = max([newest, *map(int, writer.lines)])
        assert done <= found <= done + 1, "an append that had returned is lost"
        if found:
            # What a killed writer may have left out, as whoever starts it again must look.
            late = shared["late_rows_of"](found - 1)
            rows = index.scan().read_all().to_pylist()
            if late and not any(row in rows for row in late):
                index.amend(pa.Table.from_pylist(late, shared["SCHEMA"]))
            assert sorted(map(repr, index.scan().read_all().to_pylist())) == shared["window_of"](
                found, True
            )
        newest = found
    index.vacuum()
    index.verify()
    files = Files(path)
    named = set(Log(files).latest().files)
    assert {f"data/{name}" for name in files.list("data")} == named
    index.append(pa.Table.from_pylist(shared["rows_of"](newest + 1), shared["SCHEMA"]))
    index.verify()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["del", "wata", "reindex+"])
@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_snapshot_in_another_process_survives_writes_and_vacuums(tmp_path, update, scheme):
    path = tmp_path / "x"
    index = create(path, update, scheme=scheme, shards=1)

    def append(slot: int) -> None:
        index.append(pa.Table.from_pylist(shared["rows_of"](slot), shared["SCHEMA"]))

    for slot in range(1, 9):
        append(slot)
    with process(PINNED, path) as holder:
        holder.wait_for_lines(1)
        for slot in range(9, 29):
            append(slot)
            if slot % 3 == 0:
                index.vacuum()
            if slot % 6 == 0:
                count = len(holder.lines)
                holder.tell("look")
                holder.wait_for_lines(count + 1)
        commits = Log(Files(path)).commits()
        if update == "in-place":
            assert int(holder.lines[0]) in commits, "the vacuum took a commit that is held"
        assert holder.end() == 0, holder.errors
        assert holder.lines[1:] == ["same"] * 3
    index.vacuum()
    assert len(Log(Files(path)).commits()) == 1
    index.verify()
    report = json.loads(json.dumps(index.describe()))
    assert report["rows"] == sum(len(shared["rows_of"](slot)) for slot in range(24, 29))
