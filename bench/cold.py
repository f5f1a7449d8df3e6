"""What does a probe cost of which nothing is in memory, and what if the window never fits?

Beside other stores. A process loads a window and ends. The system is told to forget its files.
Another process opens them, probes for a first key and for some more, each time with the bytes that
the disk has read; then once more in a group of processes that may have a third of the window in
memory, where the system allows such groups. Answers are checked. `python -m bench.cold [--quick]`.
The folder must be on a disk: what lies in memory cannot be forgotten.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from bench.command import options, publish, table
from bench.measure import expect, expect_sums
from bench.race.catalogue import WAVES, find
from bench.race.contestant import Contestant
from bench.race.disk import bytes_kept, bytes_read
from bench.report import circumstances
from bench.workload import make_workload

Result = dict[str, Any]
CONTESTANTS = (
    "wata-packed-shadow",
    "rata-packed-shadow",
    "wata-runs-parquet",
    "sqlite",
    "sqlite-by-slot",
    "lmdb",
    "bench.race.lmdb:LmdbWithoutReadAhead",
    "lmdb-by-slot",
    "rocksdb",
    "duckdb",
    "clickhouse",
    "postgresql",
    "lance",
    "delta",
)
"""All of the race; of the waves one layout each, since those that are settled do not differ."""
KEYS, LIMITED_KEYS = 20, 200
GROUPS = Path("/sys/fs/cgroup")
SHARE = 3
"""The window is so many times as large as the memory that the second part is allowed."""
LIMIT_MIN = 100_000_000
"""With less than this a process cannot even run."""


def forget(folder: Path) -> None:
    """Have the system forget the files below a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


@contextlib.contextmanager
def limited(bytes_max: int) -> Iterator[bool]:
    """Be in a group of processes that may have so much in memory; whether there can be one."""
    old = (GROUPS / "memory").is_dir()
    group = GROUPS / ("memory" if old else "") / f"wavedex-cold-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(bytes_max))
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def read_bytes(contestant: Contestant) -> int:
    """What the disk has read for this process and for those of a server since they began."""
    return bytes_read(contestant.server_processes)


def materialized(found: pa.Table) -> pa.Table:
    """The same, once all of it was copied elsewhere, so that every page of it was touched."""
    with pa.ipc.new_stream(pa.BufferOutputStream(), found.schema) as copy:
        copy.write_table(found)
    return found


def probe_each(contestant: Contestant, keys: Sequence[int], counts: Sequence[int]) -> list[Result]:
    """What each probe took, and read."""
    laps = []
    for key, count in zip(keys, counts, strict=True):
        before, begun = read_bytes(contestant), time.perf_counter()
        found = materialized(contestant.probe(key))
        taken_ms = (time.perf_counter() - begun) * 1e3
        expect(found.num_rows == count, f"probe of {key}")
        laps.append({"ms": taken_ms, "kb": (read_bytes(contestant) - before) / 1e3})
    return laps


def summary(laps: list[Result]) -> Result:
    """Median and mean over several probes."""
    return {
        "ms": median(lap["ms"] for lap in laps),
        "ms_mean": mean(lap["ms"] for lap in laps),
        "kb_mean": mean(lap["kb"] for lap in laps),
    }


def measure_scan(contestant: Contestant, sums: dict[str, tuple[int, float]]) -> Result:
    """A sum over all rows, by a column of text."""
    before, begun = read_bytes(contestant), time.perf_counter()
    found = contestant.grouped_sum()
    taken_s = time.perf_counter() - begun
    expect_sums(found, {label: (units, amount) for label, (units, amount) in sums.items()})
    return {"s": taken_s, "mb": (read_bytes(contestant) - before) / 1e6}


def measure(contestant: Contestant, folder: Path, course: Result, all_fits: bool) -> Result:
    """Open, probe and scan. REQUIRES: nothing of the folder is in memory."""
    materialized(pa.table({"a": [1]}))
    begun = time.perf_counter()
    contestant.reopen(folder, course["slots"])
    opened = {"ms": (time.perf_counter() - begun) * 1e3}
    first, *further = probe_each(contestant, course["keys"], course["counts"])
    # Some others sum by having all rows in memory, for which there may be no room.
    scan = measure_scan(contestant, course["sums"]) if contestant.name in WAVES or all_fits else {}
    contestant.close()
    return {"open": opened, "first": first, "further": summary(further), "scan": scan}


def child(task: Result) -> Result:
    """What one process does: load a window, or measure it."""
    folder, course = Path(task["folder"]), json.loads(Path(task["course"]).read_text())
    contestant = find(task["contestant"])()
    if task["load"]:
        work = make_workload("uniform", course["slots"], course["slot_rows"], 1_000, course["seed"])
        contestant.create(folder, course["slots"])
        contestant.load(work.slots)
        contestant.settle()
        contestant.close()
        return {}
    if not task["limit"]:
        return measure(contestant, folder, course, True)
    with limited(task["limit"]) as is_limited:
        return measure(contestant, folder, course, False) if is_limited else {}


def run_apart(**task: Any) -> Result:
    """What a process of its own returns, or that it was killed.

    It is killed for want of the memory that it may have.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.cold", "--child", json.dumps(task)],
        cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if task["limit"] and done.returncode == -signal.SIGKILL:
        return {"killed": True}
    done.check_returncode()
    return json.loads(done.stdout.splitlines()[-1])


def run(settings: Result, folder: Path) -> Result:
    """Every contestant, each in processes and a folder of its own."""
    results = {}
    slots, rows = settings["slots"], settings["rows"]
    work = make_workload("uniform", slots, rows, 1_000, settings["seed"])
    keys = [*dict.fromkeys(work.probes)][: LIMITED_KEYS + 1]
    window = work.window(slots - 1, slots)
    counts, sums = window.counts(keys), window.sums
    del work, window
    for name in settings["contestants"]:
        with TemporaryDirectory(dir=folder) as own:
            place = Path(own) / "work"
            place.mkdir()
            Path(own).chmod(0o755)  # A server may run as another user.
            about = {
                "slots": slots,
                "slot_rows": rows,
                "sums": sums,
                "seed": settings["seed"],
            }

            def task(some: int, limit: int, load: bool, own=own, name=name, about=about) -> Result:
                chosen = {**about, "keys": keys[:some], "counts": counts[:some]}
                course = Path(own) / "course.json"
                course.write_text(json.dumps(chosen))
                forget(Path(own) / "work")
                where = {"folder": str(Path(own) / "work"), "course": str(course)}
                return run_apart(contestant=name, limit=limit, load=load, **where)

            task(0, 0, True)
            kept = bytes_kept(place)
            results[name.rpartition(":")[2]] = {
                "mb": kept / 1e6,
                "cold": task(KEYS + 1, 0, False),
                "limited": {}
                if kept // SHARE < LIMIT_MIN
                else task(LIMITED_KEYS + 1, kept // SHARE, False),
            }
    return {**circumstances(settings), "results": results}


HEADS = [
    "", "MB", "open ms", "first probe ms", "kB read", "further, median ms", "mean ms",
    "kB read each", "grouped sum s (MB read)",
]  # fmt: skip


def markdown(report: Result) -> str:
    """Two tables: a cold window, and a window of three times the memory."""
    parts = []
    for which, title in (
        ("cold", "Nothing in memory"),
        ("limited", f"Memory for a third of the window, {LIMITED_KEYS} keys"),
    ):
        rows = [
            [
                name, f"{kept['mb']:,.0f}",
                f"{found['open']['ms']:.1f}", f"{found['first']['ms']:.1f}",
                f"{found['first']['kb']:,.0f}", f"{found['further']['ms']:.2f}",
                f"{found['further']['ms_mean']:.2f}", f"{found['further']['kb_mean']:,.0f}",
                f"{found['scan']['s']:.2f} ({found['scan']['mb']:,.0f})" if found["scan"] else "-",
            ]
            for name, kept in report["results"].items()
            if "open" in (found := kept[which])
        ]  # fmt: skip
        killed = [name for name, kept in report["results"].items() if "killed" in kept[which]]
        shown = (
            table(HEADS, rows)
            if rows
            else "Not measured: no group of processes could be limited, or the window is too small."
        )
        if killed:
            shown += f"\n\nKilled for want of memory: {', '.join(killed)}."
        parts.append(f"## {title}\n\n{shown}")
    settings = report["settings"]
    size = f"{settings['slots']} slots of {settings['rows']:,} rows, uniform keys"
    return f"Measured on {report['at'][:10]}: {size}.\n\n" + "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("cold", __doc__.splitlines()[0])
    parser.add_argument("--slots", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--contestants", nargs="+", default=list(CONTESTANTS))
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--child", type=json.loads, help="used by itself")
    chosen = parser.parse_args(arguments)
    if chosen.child:
        print(json.dumps(child(chosen.child)))
        return {}
    settings = {
        "slots": chosen.slots or (6 if chosen.quick else 20),
        "rows": chosen.rows or (5_000 if chosen.quick else 500_000),
        "contestants": chosen.contestants,
        "seed": chosen.seed,
    }
    with TemporaryDirectory(dir=chosen.folder or "/var/tmp") as folder:
        Path(folder).chmod(0o755)
        report = run(settings, Path(folder))
    publish(report, "cold", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
