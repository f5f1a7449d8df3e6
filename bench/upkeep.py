"""What does an append cost once many commits are kept, or once the window has many slots?

With checked answers. Slots are seconds of a few rows, so that hardly anything but the upkeep of the
log is measured. The indexes of one kind take turns, so that whatever else the machine does falls on
all of them. What a process pays the first time, its imports not counted, is measured in processes
of their own. `python -m bench.upkeep [--quick]`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import wavedex as wx
from bench.command import options, publish, table
from bench.measure import expect, spread
from bench.report import circumstances
from wavedex.files.names import LOG

Result = dict[str, Any]
SCHEMA = pa.schema([("key", pa.int64()), ("t", pa.int64()), ("value", pa.int64())])
ROWS = 4
KEYS = 997
START = 1_700_000_000
_FRESH = """
import json, sys
from bench.upkeep import append_once, probe_once
path, what = sys.argv[1:]
print(json.dumps({"append": append_once, "probe": probe_once}[what](path)))
"""


def rows_of(first: int, last: int) -> pa.Table:
    """Some rows for each second, of keys that look random."""
    times = np.repeat(np.arange(first, last), ROWS)
    return pa.table({"key": keys_of(times), "t": times, "value": times}, schema=SCHEMA)


def keys_of(times: np.ndarray) -> np.ndarray:
    return (times * ROWS + np.arange(len(times)) % ROWS) * 2_654_435_761 % KEYS


def fill(path: Path, window: int, kept: int) -> wx.WaveIndex:
    """A full window, and as many commits as are to be kept."""
    index = wx.WaveIndex.create(
        path, SCHEMA, key="key", time="t", slot=1, window=window, keep_commits=kept
    )
    index.append(rows_of(START, START + window))
    while len(index.commits) < kept:
        append_next(index)
    return index


class Lap(NamedTuple):
    """What an append took, and the first probe after it, in milliseconds.

    By the clock, and of processors.
    """

    append: float
    probe: float
    append_cpu: float
    probe_cpu: float


def append_next(index: wx.WaveIndex) -> Lap:
    """Append the next second."""
    state = index.manifest.state
    assert state is not None
    slot = state["newest"] + 1
    rows = rows_of(slot, slot + 1)
    begun = _now()
    index.append(rows)
    between = _now()
    index.probe(1)
    append, probe = between - begun, _now() - between
    return Lap(append[0], probe[0], append[1], probe[1])


def _now() -> np.ndarray:
    """The clock, and the time of processors that this process has used, in milliseconds."""
    return np.array([time.perf_counter(), time.process_time()]) * 1e3


def append_once(path: str) -> float:
    return append_next(wx.open(path)).append


def probe_once(path: str) -> float:
    index = wx.open(path)
    begun = time.perf_counter()
    index.probe(1)
    return (time.perf_counter() - begun) * 1e3


def in_a_process(path: Path, what: str) -> float:
    """What a call takes that is the first of a process."""
    command = [sys.executable, "-c", _FRESH, str(path), what]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def check(index: wx.WaveIndex, window: int) -> None:
    """Compare answers with those that follow from the times alone."""
    state = index.manifest.state
    assert state is not None
    times = np.repeat(np.arange(state["newest"] - window + 1, state["newest"] + 1), ROWS)
    keys = keys_of(times)
    for key in (1, 500, 996):
        found = sorted(index.probe(key).column("t").to_pylist())
        expect(found == sorted(times[keys == key].tolist()), f"probe {key}")


def measure(folder: Path, shapes: list[tuple[int, int]], repeats: int) -> list[Result]:
    """Appends and first probes of indexes of these windows and numbers of commits.

    The indexes take turns.
    """
    indexes = [fill(folder / f"{window}-{kept}", window, kept) for window, kept in shapes]
    laps: list[list[Lap]] = [[] for _ in shapes]
    for _ in range(repeats):
        for index, own in zip(indexes, laps, strict=True):
            own.append(append_next(index))
    results = []
    for (window, kept), index, own in zip(shapes, indexes, laps, strict=True):
        path = Path(index.path)
        first = [
            (in_a_process(path, "append"), in_a_process(path, "probe"))
            for _ in range(min(3, repeats))
        ]
        check(index, window)
        results.append(
            {
                "window": window,
                "kept": kept,
                "append_ms": spread([lap.append for lap in own]),
                "probe_ms": spread([lap.probe for lap in own]),
                "append_cpu_ms": spread([lap.append_cpu for lap in own]),
                "probe_cpu_ms": spread([lap.probe_cpu for lap in own]),
                "first_append_ms": spread([append for append, _ in first]),
                "first_probe_ms": spread([probe for _, probe in first]),
                "manifest_bytes": max(each.stat().st_size for each in (path / LOG).glob("*.json")),
            }
        )
    return results


def markdown(report: Result) -> str:
    """The results as a table."""
    times = ("append_ms", "append_cpu_ms", "probe_ms", "probe_cpu_ms")
    times += ("first_append_ms", "first_probe_ms")
    rows = [
        [
            f"{each['window']:,}",
            f"{each['kept']:,}",
            *(f"{each[name]['median']:.1f}" for name in times),
            f"{each['manifest_bytes'] / 1e3:.1f}",
        ]
        for each in (*report["kept"], *report["windows"])
    ]
    heads = [
        "slots",
        "commits",
        "append, ms",
        "of processors",
        "probe after it, ms",
        "of processors",
    ]
    heads += ["first append of a process, ms", "first probe of one, ms", "kB of a manifest"]
    return table(heads, rows)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("upkeep", __doc__.splitlines()[0])
    parser.add_argument("--kept", type=int, nargs="+", default=[2, 26, 200, 1_000])
    parser.add_argument("--windows", type=int, nargs="+", default=[100, 10_000, 86_400])
    parser.add_argument("--repeats", type=int, default=40)
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.kept, chosen.windows, chosen.repeats = [2, 30], [10, 2_000], 3
    repeats = chosen.repeats
    settings = {"kept": chosen.kept, "windows": chosen.windows, "repeats": repeats}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        kept = measure(Path(folder), [(10, each) for each in chosen.kept], repeats)
    with TemporaryDirectory(dir=chosen.folder) as folder:
        windows = measure(Path(folder), [(each, 2) for each in chosen.windows], repeats)
    base = kept[0]["append_cpu_ms"]["median"]
    ratios = {str(each["kept"]): each["append_cpu_ms"]["median"] / base for each in kept}
    report = {**circumstances(settings), "kept": kept, "windows": windows, "ratios": ratios}
    publish(report, "upkeep", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
