"""What does a slot cost on average?

Whole cycles of every scheme with every update technique, next to what the plans say. A cycle is the
smallest number of slots after which a scheme's state comes back, so that cheap and dear slots count
as often as they happen, and all that is prepared in it is used in it.
`python -m bench.cycles [--quick]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
import pyarrow as pa

from bench.command import options, publish, table
from bench.drawing import STYLE, legend, panels, save, stacked_bars
from bench.measure import expect
from bench.race.start import room_in
from bench.report import circumstances
from bench.sliding import Lap, Watched, mean_and_max, measure_grouped_sum
from bench.workload import Workload, make_workload, same_rows
from wavedex.cost.prediction import Prediction, SlotBytes, SlotCost
from wavedex.engine.techniques import TECHNIQUES, technique
from wavedex.plan import SCHEMES, cycle_of

Result = dict[str, Any]
MB = 1e6
BLIND = [name for name, kind in SCHEMES.items() if not kind.weighs]
"""The slots are of one size here, so schemes that weigh them have nothing to tell."""
PICTURES = {
    "performance-cycles.svg": "Milliseconds a slot of every scheme and update technique",
    "performance-cycles-bytes.svg": "Megabytes a slot of every scheme and update technique",
}
CHECKED_KEYS = 500


def measure_cycle(
    folder: Path, work: Workload, scheme: str, update: str, indexes: int, window: int
) -> tuple[list[Lap], list[SlotCost]]:
    """Slide an index over a whole cycle, its first window full.

    Gives beside each slot what was to be expected.
    """
    watched = Watched(
        folder / "cycle.wx", window=window, indexes=indexes, scheme=scheme, update=update
    )
    planner = watched.idx.definition.scheme
    cycle = cycle_of(planner)
    watched.append(pa.concat_tables(work.slots[:window]))
    forecast = Prediction(planner, update)
    forecast.begin(window - 1, range(window))
    laps = [watched.append(slot) for slot in work.slots[window : window + cycle]]
    check(watched, work, window + cycle - 1, window)
    return laps, [forecast.arrive() for _ in laps]


def check(watched: Watched, work: Workload, newest: int, window: int) -> None:
    """Compare some keys row by row and all rows by their sums."""
    answers = work.window(newest, window)
    keys = list(dict.fromkeys(work.probes))[:CHECKED_KEYS]
    expect(same_rows(watched.idx.probe_many(keys), answers.of_keys(keys)), "probe_many")
    measure_grouped_sum(watched.idx, answers)


def measure_sizes(folder: Path, work: Workload, update: str, counts: Sequence[int]) -> SlotBytes:
    """The bytes of the records and of the directory of so many slots: one build each."""
    records, directories = {}, {}
    for count in counts:
        watched = Watched(
            folder / f"build-{count}.wx", window=count, indexes=1, scheme="reindex", update=update
        )
        watched.append(pa.concat_tables(work.slots[:count]))
        files = list((watched.path / "data").iterdir())
        directories[count] = sum(file.stat().st_size for file in files if file.suffix == ".dir")
        records[count] = sum(file.stat().st_size for file in files) - directories[count]
    return SlotBytes(records, directories)


def describe(
    scheme: str, update: str, laps: list[Lap], steps: list[SlotCost], sizes: SlotBytes
) -> Result:
    """Means and maxima of a cycle, and the bytes that were predicted."""
    result: Result = {"scheme": scheme, "update": update, "slots_of_cycle": len(laps)}
    for half in ("transition", "preparation"):
        measured = [getattr(lap, f"{half}_bytes") / MB for lap in laps]
        written = [getattr(step, half) for step in steps]
        predicted = [sizes.bytes_of(what) / MB for what in written]
        result |= {
            f"{half}_ms": mean_and_max(getattr(lap, f"{half}_ms") for lap in laps),
            f"{half}_mb": mean_and_max(measured),
            f"{half}_mb_predicted": mean_and_max(predicted),
            f"{half}_slots_predicted": mean_and_max(what.slots for what in written),
        }
    total, foreseen = (
        sum(result[f"{half}_{what}"]["mean"] for half in ("transition", "preparation"))
        for what in ("mb", "mb_predicted")
    )
    return {**result, "measured_to_predicted": total / foreseen}


def run(settings: Result, folder: Path) -> Result:
    """Measure all schemes and techniques and return the report."""
    window, indexes = settings["slots"], settings["indexes"]
    slots = 2 * window  # A cycle is never longer than the window.
    work = make_workload("uniform", slots, settings["rows"], CHECKED_KEYS, settings["seed"])
    found = []
    for scheme in settings["schemes"]:
        for update in settings["updates"]:
            with room_in(folder) as room:
                laps, steps = measure_cycle(room, work, scheme, update, indexes, window)
            found.append((scheme, update, laps, steps))
    sizes = {}
    for in_files in {technique(update).writes_into_files for update in settings["updates"]}:
        group = [each for each in found if technique(each[1]).writes_into_files == in_files]
        counts = {
            count
            for *_, steps in group
            for step in steps
            for what in (step.transition, step.preparation)
            for count in chain(what.records, what.directories)
        }
        with room_in(folder) as room:
            sizes[in_files] = measure_sizes(room, work, group[0][1], sorted(counts))
    cycles = [describe(*each, sizes[technique(each[1]).writes_into_files]) for each in found]
    return {**circumstances(settings), "cycles": cycles, "checked": True}


def markdown(report: Result) -> str:
    """The table and the pictures."""
    heads = [
        "scheme",
        "update",
        "slots of a cycle",
        "transition ms (most)",
        "preparation ms (most)",
    ]
    heads += ["MB in the transition", "predicted", "MB in the preparation", "predicted"]
    heads += ["measured to predicted"]
    rows = []
    for cycle in report["cycles"]:
        cells = [f"`{cycle['scheme']}`", f"`{cycle['update']}`", str(cycle["slots_of_cycle"])]
        for half in ("transition", "preparation"):
            laps = cycle[f"{half}_ms"]
            cells.append(f"{laps['mean']:,.0f} ({laps['max']:,.0f})")
        for half in ("transition", "preparation"):
            cells += [f"{cycle[f'{half}_{what}']['mean']:.1f}" for what in ("mb", "mb_predicted")]
        rows.append([*cells, f"{cycle['measured_to_predicted']:.2f}"])
    links = [f"![{about}](../pictures/{name})" for name, about in PICTURES.items()]
    return "\n\n".join([table(heads, rows), *links])


def draw(report: Result, folder: Path) -> list[Path]:
    """Draw the times, and the bytes next to those that were predicted.

    There is a panel for each update technique.
    """
    paths = []
    for name in PICTURES:
        with mpl.rc_context(STYLE):
            updates = list(dict.fromkeys(cycle["update"] for cycle in report["cycles"]))
            figure, axes = panels(1, len(updates), 3.0, 3.0, same_height=True)
            for panel, update in zip(axes, updates, strict=True):
                cycles = [cycle for cycle in report["cycles"] if cycle["update"] == update]
                (_draw_bytes if "bytes" in name else _draw_times)(panel, cycles)
                panel.set_title(update)
                panel.tick_params(axis="x", rotation=60)
            axes[0].set_ylabel("MB a slot" if "bytes" in name else "ms a slot")
            legend(figure, axes[0])
        paths.append(save(figure, folder / name))
    return paths


def _draw_times(panel: Any, cycles: list[Result]) -> None:
    names = [cycle["scheme"] for cycle in cycles]
    halves = [
        (half, [cycle[f"{half}_ms"]["mean"] for cycle in cycles])
        for half in ("transition", "preparation")
    ]
    stacked_bars(panel, names, halves, 0.0)
    most = [cycle["transition_ms"]["max"] for cycle in cycles]
    panel.plot(range(len(names)), most, "_", color="black", label="longest transition")


def _draw_bytes(panel: Any, cycles: list[Result]) -> None:
    names = [cycle["scheme"] for cycle in cycles]
    for what, place in (("mb", -0.19), ("mb_predicted", 0.19)):
        predicted = ", predicted" if place > 0 else ""
        halves = [
            (half + predicted, [cycle[f"{half}_{what}"]["mean"] for cycle in cycles])
            for half in ("transition", "preparation")
        ]
        stacked_bars(panel, names, halves, place)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("cycles", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows a slot (300,000)")
    parser.add_argument("--slots", type=int, default=14, help="slots in the window")
    parser.add_argument("--indexes", type=int, default=4, help="sub-indexes")
    parser.add_argument("--schemes", nargs="+", choices=BLIND, default=BLIND)
    parser.add_argument("--updates", nargs="+", choices=TECHNIQUES, default=list(TECHNIQUES))
    parser.add_argument("--seed", type=int, default=13)
    chosen = parser.parse_args(arguments)
    chosen.rows = chosen.rows or (2_000 if chosen.quick else 300_000)
    names = ("rows", "slots", "indexes", "schemes", "updates", "seed")
    settings = {name: getattr(chosen, name) for name in names}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder))
    publish(report, "cycles", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
