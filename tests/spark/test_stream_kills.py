"""Streams whose driver is killed again and again, at random moments.

Most often it is killed with its Java machine. One driver feeds three indexes from the same files,
with a query each. It is killed with SIGKILL, started again from its checkpoints, killed again, and
at last left to finish. What must be in the indexes after each kill and in the end is worked out
here from the files alone. Their rows are such that it does not depend on how the files fall into
batches: a restart may put two of them into one.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import wavedex as wx
from kit.matrix import RUNS_ALL
from kit.spark_processes import Process, processes, python, wait_until
from wavedex.files.local import Files
from wavedex.log.manifest import Log

SEED = 20260103
KILLS = 20 if RUNS_ALL else 2
DELAY_MS_MAX = 600
"""Longer than most batches take, so that a kill falls into any part of one."""
CHANGES_MAX = 14
"""More than a batch makes to the names in the folder of an index."""
BATCHES_MAX = 4
FILES_AHEAD = 12
"""More than a driver takes before it is killed."""

SLOT, DELAY, STEP = 10, 15, 4
"""The length of a slot, and how far the watermark lags.

And how much later each file is than the one before.
"""
MARGIN = 3
"""Rows that come too late would do so even if this many files made one batch."""
KEYS = [f"key {number}" for number in range(9)]
SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("file", pa.int64()), ("n", pa.int64())])

INDEXES = {
    # Nothing leaves this window, so that all rows can be compared at the end.
    "runs": {"scheme": "wata", "indexes": 4, "window": 400},
    "packed-shadow": {"scheme": "reindex++", "indexes": 2, "window": 4},
    "in-place": {"scheme": "del", "indexes": 2, "window": 4},
}

DRIVER = """
import os
import sys

report_to = os.dup(1)  # which Java does not inherit
os.dup2(2, 1)

from wavedex import spark as wxs

base, delay, *updates = sys.argv[1:]
spark = wxs.session(
    "local[2]",
    conf={"spark.driver.memory": "1g"},
)


def report(*words):
    os.write(report_to, (" ".join(map(str, words)) + "\\n").encode())


def start(update):
    take = wxs.sink(
        f"{base}/{update}.wx",
        delay=int(delay),
        dead_letters=f"{base}/{update}.late",
        say=lambda number, fed: report(update, "again" if fed.repeated else "took", number),
    )

    def begin(frame, number):
        report(update, "began", number)
        take(frame, number)

    files = spark.readStream.schema("k string, t long, file long, n long")
    rows = files.option("maxFilesPerTrigger", 1).json(f"{base}/source")
    query = rows.writeStream.foreachBatch(begin).trigger(availableNow=True)
    return query.option("checkpointLocation", f"{base}/{update}.checkpoint").start()


report("ready")
sys.stdin.readline()
for query in [start(update) for update in updates]:
    query.awaitTermination()
report("finished")
"""

Row = tuple[str, int, int, int]


@cache
def rows_of(file: int) -> tuple[list[Row], list[Row]]:
    """The rows of a file that are in time, and those that come too late, whatever the batches."""
    rnd = random.Random(f"rows {file}")
    now = 100 + STEP * file
    times = [now + 3, *(now - rnd.randrange(-3, DELAY + 1) for _ in range(rnd.randrange(4, 12)))]
    # Of the files just before those that may share a batch, two may have moved no watermark.
    passed = now - STEP * (MARGIN + 2) - DELAY - SLOT
    too_late = [passed - rnd.randrange(60) for _ in range(rnd.choice([0, 0, 1, 3]))]
    if file <= MARGIN + 2:
        too_late = []
    elif file % 7 == 0:
        times = []
    elif file % 11 == 0:
        times, too_late = [], []
    rows = [(rnd.choice(KEYS), t, file, n) for n, t in enumerate(times + too_late)]
    return rows[: len(times)], rows[len(times) :]


@dataclass(frozen=True)
class Expected:
    """What an index has after so many files."""

    files: int

    @property
    def taken(self) -> list[Row]:
        return [row for file in range(self.files) for row in rows_of(file)[0]]

    @property
    def late(self) -> list[Row]:
        return [row for file in range(self.files) for row in rows_of(file)[1]]

    @property
    def totals(self) -> tuple[int, int]:
        return len(self.taken), len(self.late)

    @property
    def newest_sealed(self) -> int:
        return (max(t for _, t, _, _ in self.taken) - DELAY) // SLOT - 1

    def window(self, newest: int | None, length: int) -> Counter[Row]:
        """The rows where `newest` is the newest slot that is sealed."""
        oldest = 0 if newest is None else newest - length + 1
        return Counter(row for row in self.taken if row[1] // SLOT >= oldest)


def count(table: pa.Table) -> Counter[Row]:
    return Counter(tuple(row[name] for name in SCHEMA.names) for row in table.to_pylist())


class Fed:
    """An index that is fed, what feeds it, and how far it has come."""

    def __init__(self, base: Path, update: str) -> None:
        self.base = base
        self.update = update
        self.path = base / f"{update}.wx"
        self.window = INDEXES[update]["window"]
        self.files_least = 0
        wx.WaveIndex.create(
            self.path,
            SCHEMA,
            key="k",
            time="t",
            slot=SLOT,
            update=update,
            shards=2,
            first_room=1,
            **INDEXES[update],
        )

    def check(self, driver: Process | None = None) -> None:
        """It is whole, and has what the first files brought, as many as before or more.

        A driver that was killed tells which batches must be in it, and which may be.
        """
        index = wx.open(self.path)
        index.verify()
        with index.snapshot() as snapshot:
            manifest = snapshot.manifest
            totals = manifest.totals.get("rows", 0), manifest.totals.get("late", 0)
            there = range(self.files_least, source_files(self.base) + 1)
            fitting = [files for files in there if Expected(files).totals == totals]
            assert fitting, f"{self.update}: {totals} rows were taken and late, of files {there}"
            newest = None if manifest.state is None else manifest.state["newest"]
            expected = Expected(fitting[-1])
            assert count(snapshot.scan().read_all()) == expected.window(newest, self.window)
            if newest is not None:
                before = Expected(max(fitting[0] - MARGIN, 1)).newest_sealed
                assert before <= newest <= expected.newest_sealed
            if driver is not None:
                last = max((its.batch for its in manifest.sources.streams.values()), default=-1)
                taken = self.batches(driver, "took") + self.batches(driver, "again")
                assert max(taken, default=-1) <= last
                assert last <= max(self.batches(driver, "began"), default=last)
        self.files_least = fitting[0]

    def batches(self, driver: Process, did: str) -> list[int]:
        """The batches of which the driver has told this."""
        told = (line.split() for line in driver.lines if line.startswith(f"{self.update} {did} "))
        return [int(number) for _, _, number in told]

    @property
    def names(self) -> list[list[str]]:
        return [sorted(os.listdir(self.path / folder)) for folder in ("log", "data")]

    @property
    def half_done(self) -> str:
        """What the last kill has cut in two, in a few words; empty where nothing."""
        log = Log(Files(self.path))
        named = {name for commit in log.commits() for name in log.read(commit).files}
        manifests, data = self.names
        found = {
            "unnamed files": len({f"data/{name}" for name in data} - named),
            "drafts": sum(name.endswith(".tmp") for name in manifests),
            "owed": len(log.latest().owed),
        }
        return ", ".join(f"{number} {what}" for what, number in found.items() if number)

    def check_end(self) -> None:
        """Every row is in it once, or was set aside once; no file lies there that nobody names."""
        self.check()
        expected = Expected(source_files(self.base))
        assert Expected(self.files_least).totals == expected.totals
        index = wx.open(self.path)
        index.vacuum()
        index.verify()
        manifests, data = self.names
        manifest = Log(Files(self.path)).latest()
        assert {f"data/{name}" for name in data} == set(manifest.files)
        assert manifests == [f"{manifest.commit:020d}.json"]
        rows = expected.window(expected.newest_sealed, self.window)
        assert count(index.scan().read_all()) == rows
        assert sum((count(index.probe(key)) for key in KEYS), Counter()) == rows
        set_aside = (self.base / f"{self.update}.late").iterdir()
        assert sum((count(pq.read_table(file)) for file in set_aside), Counter()) == Counter(
            expected.late
        )


def source_files(base: Path) -> int:
    return len(os.listdir(base / "source"))


def write_source(base: Path, files: int) -> None:
    """See that there are so many files.

    Each appears all at once, with a time of its own, by which Spark orders them.
    """
    for file in range(source_files(base), files):
        taken, late = rows_of(file)
        rows = [dict(zip(SCHEMA.names, row, strict=True)) for row in taken + late]
        draft = base / "draft.json"
        draft.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        os.utime(draft, (1_700_000_000 + 10 * file,) * 2)
        draft.rename(base / "source" / f"{file:05d}.json")


def kill_somewhere(driver: Process, indexes: list[Fed], rnd: random.Random) -> str:
    """Kill the driver in one of its first batches.

    After some time or after some changes in the folder of an index.
    """
    fed = rnd.choice(indexes)
    batches = rnd.randint(1, BATCHES_MAX)
    delay_ms, changes = rnd.randrange(DELAY_MS_MAX), rnd.randint(1, CHANGES_MAX)
    by_time, with_java = rnd.random() < 0.5, rnd.random() < 0.75
    driver.wait_for(lambda _: len(fed.batches(driver, "began")) >= batches)
    if by_time:
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.child.wait(delay_ms / 1000)
    else:
        seen, last = 0, fed.names
        while seen < changes and driver.child.poll() is None:
            time.sleep(0.001)
            now = fed.names
            seen, last = seen + (now != last), now
    assert driver.child.poll() is None, f"it ended before it was killed: {driver.story()}"
    driver.kill(whole_group=with_java)
    when = f"{delay_ms} ms" if by_time else f"{changes} changes"
    what = "driver and Java" if with_java else "driver"
    return f"{what}, {when} after batch {batches} of {fed.update} began"


def tell(line: str) -> None:
    """Shown where the test fails."""
    sys.stdout.write(f"{line}\n")


def test_streams_that_are_killed_at_any_moment_bring_each_row_once(tmp_path):
    tell(f"seed {SEED}")
    rnd = random.Random(SEED)
    (tmp_path / "source").mkdir()
    indexes = [Fed(tmp_path, update) for update in INDEXES]
    command = python(DRIVER, tmp_path, DELAY, *INDEXES)
    cut, repeated = 0, 0
    with processes(tmp_path) as start:
        drivers = [start(command)]
        for _ in range(KILLS):
            driver = drivers[-1]
            write_source(tmp_path, max(fed.files_least for fed in indexes) + FILES_AHEAD)
            driver.wait_for(lambda lines: "ready" in lines)
            driver.tell("go")
            drivers.append(start(command))  # which is ready when this one is dead
            for fed in indexes:
                fed.check()
            tell(f"killed: {kill_somewhere(driver, indexes, rnd)}")
            for fed in indexes:
                fed.check(driver)
                tell(f"  {fed.update}: {fed.files_least} files, {fed.half_done}")
                cut += bool(fed.half_done)
                repeated += len(fed.batches(driver, "again"))
        drivers[-1].tell("go")
        drivers[-1].end()
        assert "finished" in drivers[-1].lines
        wait_until(lambda: not any(it.members() for it in drivers), "all workers have ended")
    tell(f"{cut} times something was half done; {repeated} batches came again")
    assert cut or not RUNS_ALL, "no kill was in the middle of anything"  # A few may all miss.
    for fed in indexes:
        fed.check_end()
