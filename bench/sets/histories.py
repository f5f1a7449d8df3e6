"""What does it add to an append that an index keeps its history?

Two wave indexes take the same slots in turns. One of them keeps its history. Both prepare for the
next slot before an append returns. What is measured is a window that is full already. Ratios are of
all that its appends take together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import wavedex as wx
from bench.joints import SCHEMA, WIDTH, WINDOW, rows_of
from bench.lives.targets import target
from bench.measure import expect, spread
from bench.race.disk import bytes_kept, bytes_written
from bench.race.start import room_in

Result = dict[str, Any]
METHOD = "pph-s"
ROUNDS = 26
"""Two cycles of the window: some slots cost three times what others do."""
MEASURES = ("ms", "cpu_ms", "mb")
"""What is measured of an append: its time, that of all cores, and the megabytes written."""
ADDED_MOST = 1.2
ROWS, KEYS = 300_000, 100_000
QUICK_ROWS, QUICK_KEYS = 3_000, 1_000


def measure(quick: bool, seed: int, folder: Path) -> Result:
    """Appends with a history and without, in turns."""
    rows, keys = (QUICK_ROWS, QUICK_KEYS) if quick else (ROWS, KEYS)
    settings = {"rows": rows, "keys": keys, "seed": seed}
    rounds = 2 if quick else ROUNDS
    with room_in(folder) as room:
        both = {"without": wave(room / "plain.wx"), "with": wave(room / "kept.wx", METHOD)}
        laps: dict[str, list[Result]] = {name: [] for name in both}
        for slot in range(1, WINDOW + rounds + 1):
            table = rows_of(slot, settings)
            for name, idx in _in_turns(both, slot):
                os.sync()
                before = _now()
                idx.append(table, prepare="now")
                took = {what: after - before[what] for what, after in _now().items()}
                if slot > WINDOW:
                    laps[name].append(took)
        check(both["with"], WINDOW + rounds, settings)
        size = {"plain": bytes_kept(room / "plain.wx"),
                "history": bytes_kept(room / "kept.wx" / "history")}  # fmt: skip
        lifespans = both["with"].history.lifespans().num_rows
    found: Result = {
        name: {what: spread([lap[what] for lap in laps[name]]) for what in MEASURES}
        for name in laps
    }
    sums = {
        name: {what: sum(lap[what] for lap in laps[name]) for what in MEASURES} for name in laps
    }
    found |= {
        "rows": rows,
        "keys": keys,
        "bytes": size,
        "lifespans": lifespans,
        "ratios": {what: sums["with"][what] / sums["without"][what] for what in MEASURES},
    }
    return {**found, "targets": judge(found)}


def _now() -> Result:
    written = bytes_written("wchar", list)
    return {"ms": time.perf_counter() * 1e3, "cpu_ms": time.process_time() * 1e3,
            "mb": written / 1e6}  # fmt: skip


def wave(path: Path, history: str | None = None) -> wx.WaveIndex:
    return wx.WaveIndex.create(
        path, SCHEMA, key="key", time="born", slot=WIDTH, window=WINDOW, origin=1, keep_commits=4,
        history=history,
    )  # fmt: skip


def _in_turns(both: Mapping[str, wx.WaveIndex], slot: int) -> list[tuple[str, wx.WaveIndex]]:
    """Each goes first every other time."""
    return [*both.items()][:: 1 if slot % 2 else -1]


def check(idx: wx.WaveIndex, newest: int, settings: Result) -> None:
    """See that the history knows who was in the window now, and some slots ago."""
    for slot in (newest, newest - 1, WINDOW // 2):
        first = max(1, slot - WINDOW + 1)
        keys = [rows_of(each, settings)["key"].to_numpy() for each in range(first, slot + 1)]
        right = np.unique(np.concatenate(keys))
        found = np.sort(idx.history.snapshot(slot * WIDTH)["oid"].to_numpy())
        expect(np.array_equal(found, right), f"the history of slot {slot}")


def judge(found: Result) -> list[Result]:
    ratio = found["ratios"]["ms"]
    name = "an append that keeps the history to one that does not"
    return [target(name, ratio, f"at most {ADDED_MOST:g}", ratio <= ADDED_MOST)]
