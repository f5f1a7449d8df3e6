"""How do the costs grow?

With the rows of a slot, with the window, and with the sub-indexes, next to what the plans say. Each
point is an index of its own. What a plan predicts is a number of slots written, sub-indexes asked
or rows scanned; it is scaled by the first point of its curve, so that only the growth is compared.
A curve bends upwards where it grows faster than that. There are so many keys that one has four rows
in the window on average, whatever its size, so that answers do not grow.
`python -m bench.sweeps [--quick]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from bench.command import options, publish
from bench.growth import bends_of, growth_of
from bench.measure import expect, repeat
from bench.race.start import room_in
from bench.report import circumstances
from bench.sliding import (
    Feed,
    Lap,
    Watched,
    measure_grouped_sum,
    measure_opening,
    measure_probes,
)
from bench.sweep_pages import draw, markdown
from bench.workload import same_rows
from wavedex.cost.prediction import Prediction, SlotCost
from wavedex.plan import cycle_of

__all__ = ["draw", "main", "markdown", "run"]

Result = dict[str, Any]
ROWS_A_KEY = 4
SLIDE_LEAST, SLIDE_MOST = 6, 24
"""How many slots are appended one by one: whole cycles, or the beginning of a long one."""
ROWS_AT_ONCE_MOST = 10_000_000
"""A larger first window is appended slot by slot, so that it need not be in memory."""
KEYS_AT_ONCE = 1_000


@dataclass(frozen=True)
class Sweep:
    """What is varied, over which values, and what stays."""

    name: str
    varied: str
    values: tuple[int, ...]
    fixed: dict[str, int]
    kinds: tuple[tuple[str, str], ...]


RUNS = (("wata", "runs"), ("rata", "runs"))
PACKED = (("wata", "packed-shadow"), ("rata", "packed-shadow"))
SWEEPS = (
    Sweep(
        "rows",
        "rows",
        (100_000, 316_000, 1_000_000, 3_160_000, 10_000_000),
        {"window": 7, "indexes": 3},
        RUNS,
    ),
    Sweep("window", "window", (7, 14, 28, 50, 100), {"rows": 100_000, "indexes": 4}, RUNS),
    # Only del can do with a single sub-index.
    Sweep(
        "indexes",
        "indexes",
        (1, 2, 4, 7, 10, 20),
        {"rows": 100_000, "window": 20},
        (*RUNS, *PACKED, ("del", "runs")),
    ),
)
QUICK = (
    Sweep("rows", "rows", (500, 1_500), {"window": 7, "indexes": 3}, RUNS[:1]),
    Sweep("window", "window", (7, 12), {"rows": 500, "indexes": 4}, RUNS[1:]),
    Sweep(
        "indexes", "indexes", (1, 2, 5), {"rows": 500, "window": 6}, (PACKED[0], ("del", "runs"))
    ),
)


def measure_point(
    folder: Path, scheme: str, update: str, shape: dict[str, int], settings: Result
) -> Result:
    """Everything about one index: what was measured, and what the plans say it grows with."""
    rows, window, indexes = (shape[name] for name in ("rows", "window", "indexes"))
    feed = Feed(rows, max(1, rows * window // ROWS_A_KEY), settings["probes"], settings["seed"])
    watched = Watched(
        folder / "sweep.wx", window=window, indexes=indexes, scheme=scheme, update=update
    )
    laps, steps, newest = slide(watched, feed, rows, update)
    watched.settle()
    answers = feed.answers(newest, window)
    keys = list(dict.fromkeys(feed.probes))[:KEYS_AT_ONCE]
    measured = {
        "transition_ms": _mean(lap.transition_ms for lap in laps),
        "preparation_ms": _mean(lap.preparation_ms for lap in laps),
        "written_mb": _mean(lap.transition_bytes + lap.preparation_bytes for lap in laps) / 1e6,
        "probe_us": measure_probes(watched.idx.probe, feed.probes, answers)["median"],
    }
    spread, found = repeat(lambda: watched.idx.probe_many(keys))
    expect(same_rows(found, answers.of_keys(keys)), "probe_many")
    measured |= {
        "probe_many_ms": spread["median"],
        "scan_ms": measure_grouped_sum(watched.idx, answers)["median"],
        "open_and_probe_ms": measure_opening(
            watched.path, feed.probes[: settings["openings"]], answers
        )["median"],
        "disk_per_raw": watched.disk_bytes / (window * feed.raw_bytes),
    }
    return {
        "scheme": scheme,
        "update": update,
        **shape,
        "slots_slid": len(laps),
        "measured": measured,
        "predicted": predict(steps, rows, window, indexes),
    }


def slide(
    watched: Watched, feed: Feed, rows: int, update: str
) -> tuple[list[Lap], list[SlotCost], int]:
    """Fill the window, and append slot by slot; also the number of the last slot."""
    planner = watched.idx.definition.scheme
    window, forecast = planner.window, Prediction(planner, update)
    if rows * window > ROWS_AT_ONCE_MOST:
        forecast.begin(-1, ())
        for slot in range(window):
            watched.append(feed.slot(slot))
            forecast.arrive()
    else:
        forecast.begin(window - 1, range(window))
        watched.append(pa.concat_tables([feed.slot(slot) for slot in range(window)]))
    cycle = cycle_of(planner)
    stop = window + min(cycle * ceil(SLIDE_LEAST / cycle), SLIDE_MOST)
    laps = [watched.append(feed.slot(slot)) for slot in range(window, stop)]
    return laps, [forecast.arrive() for _ in laps], stop - 1


def predict(steps: list[SlotCost], rows: int, window: int, indexes: int) -> dict[str, float]:
    """What each measurement should grow with, in units of its own."""
    first = rows * _mean(step.transition.slots for step in steps)
    later = rows * _mean(step.preparation.slots for step in steps)
    return {
        "transition_ms": first,
        "preparation_ms": later,
        "written_mb": first + later,
        "probe_us": indexes,
        "probe_many_ms": indexes,
        "scan_ms": rows * steps[-1].slots_shown,
        "open_and_probe_ms": indexes,
        "disk_per_raw": steps[-1].slots_on_disk / window,
    }


def run(settings: Result, sweeps: Sequence[Sweep], folder: Path) -> Result:
    """Measure all sweeps and return the report."""
    results = []
    for sweep in sweeps:
        curves = []
        for scheme, update in sweep.kinds:
            points = []
            for value in sweep.values:
                if value == 1 and sweep.varied == "indexes" and scheme != "del":
                    continue
                with room_in(folder) as room:
                    shape = {**sweep.fixed, sweep.varied: value}
                    points.append(measure_point(room, scheme, update, shape, settings))
                    print(f"{sweep.name} {value:,}: {scheme} {update}", flush=True)
            curves.append({"points": points, "growth": growth_of(points)})
        bends = [bend for curve in curves for bend in bends_of(curve["points"], sweep.varied)]
        results.append(
            {"name": sweep.name, "varied": sweep.varied, "fixed": sweep.fixed}
            | {"curves": curves, "bends": bends}
        )
    return {**circumstances(settings), "sweeps": results, "checked": True}


def _mean(values: Any) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("sweeps", __doc__.splitlines()[0])
    names = [sweep.name for sweep in SWEEPS]
    parser.add_argument("--sweeps", nargs="+", choices=names, default=names)
    parser.add_argument("--rows-most", type=int, help="leave out slots of more rows")
    parser.add_argument("--seed", type=int, default=13)
    chosen = parser.parse_args(arguments)
    settings = {
        "sweeps": chosen.sweeps,
        "rows_most": chosen.rows_most,
        "rows_a_key": ROWS_A_KEY,
        "probes": 200 if chosen.quick else 2_000,
        "openings": 1 if chosen.quick else 5,
        "seed": chosen.seed,
    }
    wanted = [sweep for sweep in (QUICK if chosen.quick else SWEEPS) if sweep.name in chosen.sweeps]
    if chosen.rows_most:
        wanted = [_at_most(sweep, chosen.rows_most) for sweep in wanted]
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, wanted, Path(folder))
    publish(report, "sweeps", chosen.json, markdown(report))
    return report


def _at_most(sweep: Sweep, rows: int) -> Sweep:
    if sweep.varied != "rows":
        return sweep
    values = tuple(value for value in sweep.values if value <= rows)
    return replace(sweep, values=values)


if __name__ == "__main__":
    main()
