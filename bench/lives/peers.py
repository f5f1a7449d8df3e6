"""The lifetime index beside ClickHouse.

Both get the same rows, refresh by refresh in turn, and their answers are compared. All take each
refresh one after the other, each after the disk has written what the one before left, so that what
else the machine does meets all alike. Probes are asked in turn as well. Afterwards refreshes come
without rows, until all are over, and what is then left on disk is what is not given back.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import wavedex as wx
from bench.lives.clickhouse import PARTITIONS, ClickHouse, Server
from bench.lives.course import SCHEMA, Course, make_course
from bench.lives.targets import target
from bench.measure import expect, spread

Result = dict[str, Any]
OURS = [
    ["rebuild", [2, 2]],
    ["rebuild", [7, 2]],
    ["rebuild", [7, 7]],
    ["rebuild", [14, 14]],
    ["no-rebuild", [2, 2]],
    ["no-rebuild", [7, 7]],
    ["no-rebuild", [14, 14]],
]
QUICK = [["rebuild", [7, 2]], ["no-rebuild", [2, 2]]]
FASTER = 100
LEFT = 0.01
"""The share of its bytes that may be left once all rows are over."""
CHECKED = 50
PROBED_AT_ONCE = 50


class Ours:
    """The lifetime index with one method and grid."""

    def __init__(self, folder: Path, course: Course, method: str, grid: list[int]) -> None:
        self.name = f"{method} {grid[0]}x{grid[1]}"
        self._path, self._course = folder / f"{self.name}.wx", course
        self._idx = wx.LifetimeIndex.create(
            self._path,
            SCHEMA,
            key="key",
            inserted="at",
            expires="until",
            max_lifetime=dt.timedelta(days=course.slots),
            refresh="1 day",
            grid=grid,
            method=method,
        )

    def load(self, slot: int) -> None:
        """The rows that live at the end of a slot, all at once."""
        self._idx.update(self._course.now(slot), self._course.live(slot))

    def refresh(self, slot: int, rows: pa.Table | None) -> None:
        self._idx.update(self._course.now(slot), rows)

    def settle(self) -> None:
        """Wait until a snapshot is kept.

        That is once the newest commit is older than a step of the clock.
        """
        time.sleep(0.03)

    def probe(self, key: int, slot: int) -> pa.Table:
        return self._idx.probe(key)

    @property
    def disk_bytes(self) -> int:
        """All files of its folder, those of the commit before the newest included."""
        return sum(file.stat().st_size for file in self._path.rglob("*") if file.is_file())


def measure_peers(folder: Path, settings: Result) -> Result:
    """Everybody over one course."""
    slots, refreshes = settings["slots"], settings["refreshes"]
    course = make_course(slots, settings["rows"], refreshes, settings["probes"], settings["seed"])
    server = Server(folder)
    try:
        peers = [ClickHouse(server, course, partition) for partition in PARTITIONS]
        peers += [Ours(folder, course, *each) for each in settings["ours"]]
        found = measure_refreshes(peers, course, refreshes)
        newest = slots + refreshes - 1
        measure_probes(peers, course, newest, found)
        measure_room(peers, course, newest, found)
        return {"settings": settings, "clickhouse": server.version(), "peers": found}
    finally:
        server.close()


def measure_refreshes(peers: list[Any], course: Course, refreshes: int) -> dict[str, Result]:
    """Load a window and refresh it, everybody in turn."""
    laps: dict[str, list[float]] = {peer.name: [] for peer in peers}
    sizes: dict[str, list[int]] = {peer.name: [] for peer in peers}
    for peer in peers:
        peer.load(course.slots - 1)
        sizes[peer.name].append(peer.disk_bytes)
    for slot in range(course.slots, course.slots + refreshes):
        for peer in peers:
            os.sync()
            begun = time.perf_counter()
            peer.refresh(slot, course.made[slot])
            laps[peer.name].append(time.perf_counter() - begun)
            sizes[peer.name].append(peer.disk_bytes)
    return {
        name: {"refresh_s": spread(taken), "disk_bytes": sizes[name]}
        for name, taken in laps.items()
    }


def measure_probes(peers: list[Any], course: Course, newest: int, found: dict[str, Result]) -> None:
    """Single probes in microseconds, some keys at a time by everybody in turn.

    Some answers are compared row by row, and all by the number of rows.
    """
    for peer in peers:
        peer.settle()
        for key in course.probes[:CHECKED]:
            course.check(newest, key, peer.probe(key, newest))
    laps: dict[str, list[float]] = {peer.name: [] for peer in peers}
    counts: dict[str, list[int]] = {peer.name: [] for peer in peers}
    for start in range(0, len(course.probes), PROBED_AT_ONCE):
        for peer in peers:
            for key in course.probes[start : start + PROBED_AT_ONCE]:
                begun = time.perf_counter()
                rows = peer.probe(key, newest)
                laps[peer.name].append((time.perf_counter() - begun) * 1e6)
                counts[peer.name].append(rows.num_rows)
    expect(len(set(map(tuple, counts.values()))) == 1, "probe")
    for name, taken in laps.items():
        found[name]["probe_us"] = spread(taken)


def measure_room(peers: list[Any], course: Course, newest: int, found: dict[str, Result]) -> None:
    """What is on disk once half the window has passed without rows, and all of it."""
    raw_bytes = course.live(newest).nbytes
    half = newest + course.slots // 2
    left_bytes = course.live(half).nbytes
    for peer in peers:
        for slot in range(newest + 1, half + 1):
            peer.refresh(slot, None)
        at_half = peer.disk_bytes
        key = course.probes[0]
        course.check(half, key, peer.probe(key, half))
        for slot in range(half + 1, newest + course.slots + 2):
            peer.refresh(slot, None)
        found[peer.name] |= {
            "disk_per_raw": found[peer.name]["disk_bytes"][-1] / raw_bytes,
            "half_disk_per_raw": at_half / left_bytes,
            "left_bytes": peer.disk_bytes,
        }


def judge(report: Result) -> list[Result]:
    """Each of ours against the better of ClickHouse's two, question by question."""
    peers = report["peers"]
    theirs = [each for name, each in peers.items() if name.startswith("clickhouse")]
    refresh_s = min(each["refresh_s"]["median"] for each in theirs)
    probe_us = min(each["probe_us"]["median"] for each in theirs)
    judged = []
    for name, each in peers.items():
        if name.startswith("clickhouse"):
            continue
        ratio = each["refresh_s"]["median"] / refresh_s
        judged.append(
            target(f"a refresh of `{name}` to ClickHouse's", ratio, "at most 1", ratio <= 1)
        )
        ratio = probe_us / each["probe_us"]["median"]
        said = f"at least {FASTER}"
        judged.append(
            target(f"a probe of ClickHouse to one of `{name}`", ratio, said, ratio >= FASTER)
        )
        ratio = each["left_bytes"] / each["disk_bytes"][-1]
        name = f"what `{name}` leaves on disk once all rows are over, to before"
        judged.append(target(name, ratio, f"at most {LEFT}", ratio <= LEFT))
    return judged
