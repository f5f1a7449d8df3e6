"""What do windows in memory take, and what do they answer? `python -m bench.windows [--quick]`.

The paper's setting (003, Section 7.1) with every index, storage and ring; then speeds beside what
one would use instead. All in one run, and every answer is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.command import options, publish
from bench.report import circumstances
from bench.windows import answers, orders, starts
from bench.windows.paper import BASICS, LAWS, VALUES, Setting
from bench.windows.tables import markdown

Result = dict[str, Any]
REPEATS = 10


def run(settings: Result) -> Result:
    quick, seed, repeats = settings["quick"], settings["seed"], settings["repeats"]
    basics = (50,) if quick else BASICS
    laws = LAWS[:1] if quick else LAWS
    values = VALUES[:1] if quick else VALUES
    every = [Setting(value, basic, law) for law in laws for value in values for basic in basics]
    rows = 200_000 if quick else 2_000_000
    report: Result = {
        **circumstances(settings),
        "indexes": [one for each in every for one in orders.measure_indexes(each, repeats, seed)],
        "rings": [one for each in every for one in orders.measure_rings(each, repeats, seed)],
        "bulk": [answers.measure_bulk(Setting(value, 100), rows, seed) for value in VALUES],
        "histograms": [answers.measure_histograms(each, rows, seed) for each in every],
        "quantiles": answers.measure_quantiles(
            50_000 if quick else 500_000, 50_000 if quick else 300_000, seed
        ),
        "rolling": answers.measure_rolling(20_000 if quick else 100_000, seed),
        "joins": answers.measure_joins(seed, 6 if quick else 60),
        "bytes": [starts.measure_bytes(Setting(value, 100), seed) for value in VALUES],
        "first": starts.measure_first_use(1 if quick else 5),
        "checked": True,
    }
    report["targets"] = [
        *answers.judge(report),
        *starts.judge(report),
        *orders.judge_rings(report["rings"]),
        *orders.judge_indexes(report["indexes"]),
    ]
    return report


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
