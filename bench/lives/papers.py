"""The papers' experiment.

Fill a window, refresh it 36 times, probe after each refresh, and scan after some. All methods take
each refresh in turn.

Section 4 of the paper and Section 5 of the report, with rows of a thousand bytes and lifetimes
drawn evenly up to the window, of which about half of those born in a window live. A window has 36
refreshes, with a grid of 5x5 too, as in the report. What is compared with a grid has the same
number of sub-indexes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.lives.rows import Lives, read_all
from bench.lives.targets import target
from bench.lives.watched import CHRONOLOGICAL, Lap, WatchedLife, base_of, grid_of
from bench.measure import expect, spread
from wavedex.plan import find_method

Result = dict[str, Any]
METHODS = (
    "rebuild",
    CHRONOLOGICAL,
    "no-rebuild",
    "lazy-rebuild",
    "lazy-no-rebuild",
    "count-rebuild",
    "count-no-rebuild",
    "r-ins",
    "d-ins",
    "r-exp",
    "d-exp",
    "wata",
)
NUMBERS = (4, 9, 16, 25)
REFRESHES = 36
WINDOW_REFRESHES = 36
"""Into how many refreshes a window is cut."""
CLOSE = 0.05
"""How far the bytes of `rebuild` may be from what the touched sub-indexes let expect."""
JUDGED_BELOW = (
    "no-rebuild",
    "lazy-rebuild",
    "lazy-no-rebuild",
    "count-rebuild",
    "count-no-rebuild",
)
"""Those that should write less than that."""
BUILT_ROWS_MOST = 600_000
"""A larger first window comes in several updates, so that it need not be in memory."""
SCAN_EVERY = 6
PROBES = 20


@dataclass(frozen=True)
class Case:
    """One index, with its method and its sub-indexes.

    And how many keys there are, and how many rows are born in a window.
    """

    method: str
    n: int
    keys: int
    rows: int
    refreshes: int
    seed: int


def measure_cases(cases: Sequence[Case], folder: Path) -> list[Result]:
    """Everything about several indexes, with checked answers, which are refreshed in turn.

    What else the machine does meets all of them alike then, and they can be compared.

    REQUIRES: they differ in their methods only.
    """
    case = cases[0]
    slots = WINDOW_REFRESHES
    width = max(1, case.rows // slots)
    kinds = {counted_by(each.method) for each in cases}
    lives = {kind: Lives(case.keys, slots, width, case.seed, kind) for kind in kinds}
    runs = [
        Run(each, WatchedLife(folder / each.method, lives[kind], each.method, each.n))
        for each in cases
        for kind in (counted_by(each.method),)
    ]
    build(runs, lives)
    for number in range(1, case.refreshes + 1):
        slot = slots + number
        rows = {kind: made.slot(slot) for kind, made in lives.items()}
        for run in runs:
            os.sync()
            run.laps.append(run.watched.refresh(slot, rows[run.watched.lives.counted]))
        settle()
        for run in runs:
            run.probes += probe(run.watched, slot)
            if number % SCAN_EVERY == 0 or number == case.refreshes:
                run.scans.append(scan(run.watched, slot))
    return [run.result() for run in runs]


@dataclass
class Run:
    """One index and what was measured of it."""

    case: Case
    watched: WatchedLife
    build_s: float = 0.0
    laps: list[Lap] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    scans: list[float] = field(default_factory=list)

    def result(self) -> Result:
        """As the report has it."""
        lives, about = self.watched.lives, self.watched.idx.describe()
        live_rows = len(lives.live((lives.slots + self.case.refreshes) * lives.width)[0])
        raw_bytes = lives.bytes_a_row * live_rows
        return {
            **asdict(self.case),
            "grid": list(grid_of(self.case.method, self.case.n)),
            "slots": lives.slots,
            "live_rows": live_rows,
            "held_rows": about["rows_held"],
            "build_s": self.build_s,
            "written_bytes": _mean(lap.written_bytes for lap in self.laps),
            "touched": _mean(lap.touched for lap in self.laps),
            "files": _mean(lap.files for lap in self.laps),
            "syncs": _mean(lap.syncs for lap in self.laps),
            "update_s": spread([lap.update_s for lap in self.laps]),
            "probe_us": spread(self.probes),
            "scan_s": spread(self.scans),
            "commit_per_raw": about["bytes"] / raw_bytes,
            "disk_per_raw": self.watched.disk_bytes / raw_bytes,
            "checked": True,
        }


def counted_by(method: str) -> bool:
    """Whether a method is for windows that are counted in rows."""
    return find_method(base_of(method)).counts


def build(runs: Sequence[Run], lives: Mapping[bool, Lives]) -> None:
    """Fill the first window, in as few updates as fit into memory."""
    some = next(iter(lives.values()))
    at_once = max(1, min(some.slots, BUILT_ROWS_MOST // some.width))
    for first in range(1, some.slots + 1, at_once):
        slots = range(first, min(first + at_once, some.slots + 1))
        for kind, made in lives.items():
            rows = pa.concat_tables([made.slot(slot) for slot in slots])
            for run in runs:
                if run.watched.lives.counted == kind:
                    run.build_s += run.watched.refresh(slots[-1], rows).update_s


def settle() -> None:
    """Wait until a snapshot is kept.

    That is once the newest commit is older than a step of the clock.
    """
    time.sleep(0.03)


def probe(watched: WatchedLife, slot: int) -> list[float]:
    """Single probes for some keys, in microseconds.

    The first is compared row by row, all by the number of rows.
    """
    lives = watched.lives
    answers = lives.answers(slot * lives.width)
    keys = lives.draw(PROBES, slot)
    answers.check_key(keys[0], watched.idx.probe(keys[0]))
    laps = []
    for key, count in zip(keys, answers.counts(keys), strict=True):
        begun = time.perf_counter()
        found = watched.idx.probe(key)
        laps.append((time.perf_counter() - begun) * 1e6)
        expect(found.num_rows == count, "probe")
    return laps


def scan(watched: WatchedLife, slot: int) -> float:
    """A scan that reads every byte, in seconds."""
    begun = time.perf_counter()
    found = read_all(watched.idx.scan())
    taken_s = time.perf_counter() - begun
    expect(found == watched.lives.answers(slot * watched.lives.width).sums, "scan")
    return taken_s


def judge(results: Sequence[Result]) -> list[Result]:
    """The bytes a refresh writes, against `r-ins` with as many sub-indexes of the same rows."""
    judged = []
    for whole in (each for each in results if each["method"] == "r-ins"):
        rows, columns = grid_of("rebuild", whole["n"])
        share = (rows + columns - 1) / whole["n"]
        for each in results:
            if any(each[name] != whole[name] for name in ("n", "keys", "rows")):
                continue
            ratio = each["written_bytes"] / whole["written_bytes"]
            name = f"bytes of `{each['method']}` {rows}x{columns} to `r-ins`, {each['keys']:,} keys"
            if each["method"] == "rebuild":
                met = abs(ratio / share - 1) <= CLOSE
                judged.append(target(name, ratio, f"{share:.3f} within 5%", met))
            elif each["method"] in JUDGED_BELOW:
                judged.append(target(name, ratio, f"less than {share:.3f}", ratio < share))
    return judged


def _mean(values: Any) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
