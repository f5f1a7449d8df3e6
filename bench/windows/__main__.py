"""What do windows in memory take, and what do they answer? `python -m bench.windows [--quick]`.

The paper's setting (003, Section 7.1) with every index, storage and ring; then speeds beside what
one would use instead. All in one run, and every answer is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.command import options, publish
from bench.report import circumstances
from bench.windows import answers, histograms, indexes, joins, rings, starts
from bench.windows.paper import BASICS, LAWS, VALUES, Setting
from bench.windows.tables import markdown

Result = dict[str, Any]
REPEATS = 5


def run(settings: Result) -> Result:
    quick, seed, repeats = settings["quick"], settings["seed"], settings["repeats"]
    basics = (50,) if quick else BASICS
    laws = LAWS[:1] if quick else LAWS
    values = VALUES[:1] if quick else VALUES
    every = [Setting(value, basic, law) for law in laws for value in values for basic in basics]
    rows, rounds = (200_000, 5) if quick else (2_000_000, 20)
    few = [Setting(value, 100) for value in VALUES]
    report: Result = {
        **circumstances(settings),
        "indexes": _each(every, lambda each: indexes.measure_indexes(each, repeats, seed)),
        "intersections": _each(
            every, lambda each: indexes.measure_intersections(each, repeats, seed)
        ),
        "rings": _each(every, lambda each: rings.measure_rings(each, repeats, seed)),
        "ordered": _each(every, lambda each: rings.measure_ordered(each, rounds, seed)),
        "bulk": [answers.measure_bulk(each, rows, seed) for each in few],
        "histograms": [histograms.measure_histograms(each, rows, seed) for each in every],
        "quantiles": answers.measure_quantiles(
            50_000 if quick else 500_000, 50_000 if quick else 300_000, seed
        ),
        "rolling": answers.measure_rolling(20_000 if quick else 100_000, seed),
        "joins": joins.measure_joins(seed, 6 if quick else 60),
        "bytes": [starts.measure_bytes(each, seed) for each in few],
        "first": starts.measure_first_use(1 if quick else 5),
        "checked": True,
    }
    report["targets"] = [
        *indexes.judge(report["indexes"], report["intersections"]),
        *histograms.judge(report["histograms"], report["indexes"]),
        *rings.judge(report["rings"], report["ordered"]),
        *answers.judge(report),
        *joins.judge(report["joins"]),
        *starts.judge(report),
    ]
    return report


def _each(every: list[Setting], measure: Callable[[Setting], list[Result]]) -> list[Result]:
    return [one for each in every for one in measure(each)]


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("windows", __doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--repeats", type=int, help=f"how often each is measured ({REPEATS})")
    chosen = parser.parse_args(arguments)
    repeats = chosen.repeats or (1 if chosen.quick else REPEATS)
    report = run({"quick": chosen.quick, "seed": chosen.seed, "repeats": repeats})
    publish(report, "windows", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
