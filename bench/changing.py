"""What does a change of mind cost, and being forgotten?

Migrations and erasures of a full window, with checked answers. The bytes are those of files written
below `data/`, preparation included. `python -m bench.changing [--quick]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from bench.command import options, publish, table
from bench.measure import expect
from bench.report import circumstances
from bench.sliding import Watched, measure_grouped_sum
from bench.workload import Answers, make_workload, same_rows

Result = dict[str, Any]
CHANGES: dict[str, dict[str, Any]] = {
    "scheme, rebuilt": {"scheme": "rata"},
    "scheme, drained": {"scheme": "rata", "strategy": "drain"},
    "half the window": {"window": 7, "indexes": 4},
    "twice the shards": {"shards": 4},
    "to Parquet": {"format": "parquet"},
    "to updates in place": {"update": "in-place"},
}
ERASED = 100
CHECKED_KEYS = 500


def measure_change(
    folder: Path, slots: list[pa.Table], act: Callable[[Watched], object]
) -> tuple[Watched, Result]:
    """Fill a window, do something to it, and say how long that took and what it wrote."""
    watched = Watched(folder / "changing.wx", window=len(slots), indexes=4, scheme="wata")
    watched.append(pa.concat_tables(slots))
    watched.settle()
    before, window = watched.ledger.bytes_written, watched.idx.describe()["bytes"]
    begun = time.perf_counter()
    act(watched)
    taken_s = time.perf_counter() - begun
    written = watched.ledger.bytes_written - before
    return watched, {"s": taken_s, "bytes": written, "window_bytes": window}


def run(settings: Result, folder: Path) -> Result:
    """Measure every change, each on an index of its own."""
    work = make_workload("uniform", settings["slots"], settings["rows"], 1_000, settings["seed"])
    keys = list(dict.fromkeys(work.probes))[:CHECKED_KEYS]
    found: dict[str, Result] = {}
    for name, change in CHANGES.items():
        width = change.get("window", settings["slots"])
        answers = work.window(settings["slots"] - 1, width)
        with TemporaryDirectory(dir=folder) as own:
            watched, result = measure_change(
                Path(own), work.slots, lambda w, change=change: w.idx.migrate(**change)
            )
            expect(same_rows(watched.idx.probe_many(keys), answers.of_keys(keys)), name)
            measure_grouped_sum(watched.idx, answers)
            found[name] = result
    with TemporaryDirectory(dir=folder) as own:
        doomed, left = keys[:ERASED], keys[ERASED:]
        watched, result = measure_change(Path(own), work.slots, lambda w: w.idx.erase(doomed))
        whole: Answers = work.window(settings["slots"] - 1, settings["slots"])
        expect(watched.idx.probe_many(doomed, expired=True).num_rows == 0, "erase")
        expect(same_rows(watched.idx.probe_many(left), whole.of_keys(left)), "what is left")
        found[f"{ERASED} keys erased"] = result
    return {**circumstances(settings), "changes": found}


def markdown(report: Result) -> str:
    """The results as a table."""
    rows = [
        [
            name,
            f"{each['s']:.2f}",
            f"{each['bytes'] / 1e6:.0f}",
            f"{each['bytes'] / each['window_bytes']:.2f}",
        ]
        for name, each in report["changes"].items()
    ]
    return table(["change", "s", "MB written", "of the window"], rows)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("changing", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows a slot (300,000)")
    parser.add_argument("--slots", type=int, default=14, help="slots in the window")
    parser.add_argument("--seed", type=int, default=17)
    chosen = parser.parse_args(arguments)
    chosen.rows = chosen.rows or (2_000 if chosen.quick else 300_000)
    settings = {name: getattr(chosen, name) for name in ("rows", "slots", "seed")}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder))
    publish(report, "changing", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
