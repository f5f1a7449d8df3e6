"""A stream of the changes of a lifetime index whose driver is killed again and again.

The index goes on meanwhile, and clears up as it always does: what the stream has not read is kept
since it follows under a name. What it has written in the end adds up to what lives.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

import wavedex as wx
from kit.folding import bag_of
from kit.matrix import RUNS_ALL
from kit.spark_lives import create, lives, table
from kit.spark_processes import Process, processes, python, wait_until
from kit.spark_rows import scanned

KILLS = 20 if RUNS_ALL else 2
SEED = 20260207

DRIVER = """
import os
import sys

report_to = os.dup(1)  # which Java does not inherit
os.dup2(2, 1)

from wavedex import spark as wxs

base, = sys.argv[1:]
spark = wxs.session("local[2]", conf={"spark.driver.memory": "1g"})
changes = spark.readStream.format("wavedex").option("changes", "true").option("follower", "spark")
query = (
    changes.load(f"{base}/i.wx")
    .writeStream.format("parquet")
    .option("checkpointLocation", f"{base}/checkpoint")
    .option("path", f"{base}/seen")
    .trigger(processingTime="0 seconds")
    .start()
)
os.write(report_to, b"ready\\n")
query.awaitTermination()
"""


def batches(base: Path) -> list[str]:
    """The batches that Spark has noted as done."""
    done = base / "checkpoint" / "commits"
    return sorted(path.name for path in done.glob("[0-9]*")) if done.exists() else []


def refresh(life: wx.LifetimeIndex, now: int, draw: random.Random) -> None:
    """Rows that come, some of them late; rows that go before their end, or later than it said."""
    living = [row for row in scanned(life) if row["e"] > now]
    draw.shuffle(living)
    gone, held = living[:1], living[1:2]
    later = [{**row, "e": now + draw.randrange(1, 16)} for row in held]
    same = {tuple(row[name] for name in ("k", "b", "v")) for row in later}
    gone = [row for row in gone if tuple(row[name] for name in ("k", "b", "v")) not in same]
    life.apply(
        now,
        insert=table(lives(draw.randrange(99), now - 2, now, 6)),
        retract=table(gone) if gone else None,
        prolong=table(later) if later else None,
    )


def test_a_stream_of_changes_that_is_killed_again_and_again_adds_up(tmp_path):
    base = tmp_path
    life, draw, now = create(base / "i.wx"), random.Random(SEED), 0
    refresh(life, now, draw)
    with processes(base) as start:

        def driver() -> Process:
            found = start(python(DRIVER, base))
            found.wait_for(lambda lines: "ready" in lines)
            return found

        for _ in range(KILLS):
            running = driver()
            # It is killed with its Java machine, after so many batches or in the midst of one.
            for _ in range(draw.randrange(3)):
                before = batches(base)
                for _ in range(draw.randrange(1, 9)):
                    now += draw.randrange(1, 3)
                    refresh(life, now, draw)
                wait_until(lambda before=before: batches(base) != before, "a batch", running)
            time.sleep(draw.random() / 2)
            running.kill()
            running.clear()
            for _ in range(draw.randrange(6)):  # More than is kept for those that have no name.
                now += draw.randrange(1, 3)
                refresh(life, now, draw)
        running = driver()
        now += 40  # All of it is over, but for one row.
        life.update(now, table([{"k": 1, "b": now, "e": now + 9, "v": "last"}]))
        wait_until(lambda: read_up_to(base) == life.commit, "the last commit", running)
        running.kill()
        running.clear()
    life.verify()
    assert found_in(base) == bag_of(scanned(life))
    assert sum(found_in(base).values()) == 1
    # The first commits that it has not said to be done with are still there, and no others.
    assert life.followers["spark"] in life.commits
    life.follow("spark").forget()
    life.vacuum()
    assert life.commits == [life.commit]


def written(base: Path) -> list[str]:
    """The files that Spark's own log names: others are of attempts that were killed."""
    log = base / "seen" / "_spark_metadata"
    entries = [
        json.loads(line)
        for path in sorted(log.glob("[0-9]*"), key=lambda path: int(path.name.split(".")[0]))
        for line in path.read_text().splitlines()[1:]
    ]
    return sorted({entry["path"].removeprefix("file://") for entry in entries})


def read_up_to(base: Path) -> int:
    if not batches(base):
        return -1
    files = written(base) if (base / "seen" / "_spark_metadata").exists() else []
    commits = [commit for file in files for commit in pq.read_table(file)["_commit"].to_pylist()]
    return max(commits, default=-1)


def found_in(base: Path) -> Counter[tuple[object, ...]]:
    """What is there if one counts rows in and out. No row goes before it has come."""
    rows = [row for file in written(base) for row in pq.read_table(file).to_pylist()]
    rows.sort(key=lambda row: (row["_commit"], row["_at"], row["_change"]))
    found: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        plain = tuple(row[name] for name in ("k", "b", "e", "v"))
        found[plain] += row["_change"]
    assert min(found.values()) >= 0
    return +found
