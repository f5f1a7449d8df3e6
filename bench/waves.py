"""Measure one wave index: transitions, probes, a scan, opening it, and the room it takes.

A transition is over when its manifest appears in the log; what the same call does after that is preparation.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import wavedex as wx
from bench.ledger import CountingFiles, Ledger
from bench.measure import (
    expect,
    measure_grouped_sum,
    measure_probes,
    repeat,
    spread,
)
from bench.workload import SCHEMA, Answers, Workload, first_slot, same_rows

KEYS_AT_ONCE = 1_000
OPEN = """
import json, sys, time
import wavedex
begun = time.perf_counter()
idx = wavedex.open(sys.argv[1])
opened = time.perf_counter()
rows = idx.probe(int(sys.argv[2])).num_rows
print(json.dumps([(opened - begun) * 1e3, (time.perf_counter() - begun) * 1e3, rows]))
"""


def measure_index(
    path: Path, work: Workload, scheme: str, update: str, settings: dict[str, Any]
) -> dict[str, Any]:
    """All measurements of one scheme and update technique, the index made anew at the path."""
    ledger, window = Ledger(), settings["slots"]
    idx = wx.WaveIndex.create(
        path,
        SCHEMA,
        key="key",
        time="at",
        window=window,
        indexes=settings["indexes"],
        scheme=scheme,
        update=update,
        surroundings=wx.Surroundings(files=lambda root: CountingFiles(root, ledger)),
    )
    begun = time.perf_counter()
    idx.append(pa.concat_tables(work.slots[:window]))
    results: dict[str, Any] = {
        "workload": work.name,
        "scheme": scheme,
        "update": update,
        "fill_s": time.perf_counter() - begun,
        **measure_transitions(idx, ledger, work.slots[window:]),
    }
    time.sleep(0.05)  # A snapshot is kept once the newest commit is older than a clock step.
    newest = len(work.slots) - 1
    whole, recent = work.window(newest, window), work.window(newest, 3)
    since = first_slot() + newest - 2
    results["probe_us"] = measure_probes(idx.probe, work.probes, whole)
    results["probe_last_three_us"] = measure_probes(
        lambda key: idx.probe(key, since), work.probes, recent
    )
    results["probe_many_ms"] = measure_probe_many(idx, work.probes, whole)
    results["scan_ms"] = measure_grouped_sum(
        lambda: idx.scan(columns=["label", "units", "amount"]), whole
    )
    results["open_ms"], results["open_and_probe_ms"] = measure_opening(
        path, work.probes[: settings["openings"]], whole
    )
    disk_bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return {**results, "disk_per_raw": disk_bytes / whole.rows.nbytes, "checked": True}


def measure_transitions(
    idx: wx.WaveIndex, ledger: Ledger, slots: list[pa.Table]
) -> dict[str, dict[str, float]]:
    """Append slot by slot: the time and bytes until a slot can be queried, and those of preparing for the next."""
    laps: dict[str, list[float]] = {
        name: []
        for name in ("transition_ms", "preparation_ms", "append_ms", "transition_mb", "prepare_mb")
    }
    for table in slots:
        ledger.commits.clear()
        before = ledger.bytes_written
        begun = time.perf_counter()
        appended = idx.append(table)
        ended = time.perf_counter()
        expect(appended.rows == table.num_rows, "append")
        first, last = ledger.commits[0], ledger.commits[-1]
        laps["transition_ms"].append((first[0] - begun) * 1e3)
        laps["preparation_ms"].append((last[0] - first[0]) * 1e3)
        laps["append_ms"].append((ended - begun) * 1e3)
        laps["transition_mb"].append((first[1] - before) / 1e6)
        laps["prepare_mb"].append((ledger.bytes_written - first[1]) / 1e6)
    return {name: spread(values) for name, values in laps.items()}


def measure_probe_many(idx: wx.WaveIndex, probes: list[int], answers: Answers) -> dict[str, float]:
    """Many keys in one call."""
    keys = list(dict.fromkeys(probes))[:KEYS_AT_ONCE]
    laps, found = repeat(lambda: idx.probe_many(keys))
    expect(same_rows(found, answers.of_keys(keys)), "probe_many")
    return laps


def measure_opening(
    path: Path, keys: list[int], answers: Answers
) -> tuple[dict[str, float], dict[str, float]]:
    """Opening, and opening and the first probe, in fresh processes that have imported what they need."""
    opened, probed = [], []
    for key, count in zip(keys, answers.counts(keys), strict=True):
        command = [sys.executable, "-c", OPEN, str(path), str(key)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        open_ms, probe_ms, rows = json.loads(output)
        expect(rows == count, "first probe")
        opened.append(open_ms)
        probed.append(probe_ms)
    return spread(opened), spread(probed)
