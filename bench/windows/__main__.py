"""What do windows in memory take, and what do they answer? `python -m bench.windows [--quick]`.

The paper's setting (003, Section 7.1) with every index, storage and ring; then speeds beside what
one would use instead. All in one run, and every answer is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.command import options, publish, table
from bench.lives.targets import shown
from bench.report import circumstances
from bench.windows import answers, orders, starts
from bench.windows.paper import BASICS, LAWS, VALUES, Setting

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


def markdown(report: Result) -> str:
    indexes = [
        [
            f"{each['values']:,}", f"{each['basics']}", each["law"], each["storage"], each["index"],
            f"{each['seconds'] * 1e4:,.1f}",
            ", ".join(f"{name} {steps:,.1f}" for name, steps in each["steps"].items() if steps),
        ]
        for each in report["indexes"]
    ]  # fmt: skip
    rings = [
        [
            f"{each['values']:,}", f"{each['basics']}", each["law"], each["ring"],
            *(f"{each[name] * 1e4:,.2f}" for name in ("inserting", "deleting")),
        ]
        for each in report["rings"]
    ]  # fmt: skip
    ways = ("counts", "tree", "hash", "bincount", "unique", "pandas", "polars", "duckdb")
    histograms = [
        [
            f"{each['values']:,}", f"{each['basics']}", each["law"],
            *(f"{each[way] * 1e6:,.0f}" for way in ways),
        ]
        for each in report["histograms"]
    ]  # fmt: skip
    rolling = [
        [each["what"], f"{each['rate'] / 1e6:,.1f}", f"{each['polars'] / 1e6:,.1f}"]
        for each in report["rolling"]
    ]
    joins = [[name, f"{took * 1e3:,.2f}"] for name, took in report["joins"].items()]
    setting = ["values", "basic windows", "law"]
    return "\n\n".join(
        [
            table([*setting, "storage", "index", "ns a row", "steps a row"], indexes),
            table([*setting, "ring", "insert, ns a row", "delete, ns a row"], rings),
            table([*setting, *(f"{way}, µs" for way in ways)], histograms),
            table(["sliding", "M rows/s", "Polars, M rows/s"], rolling),
            table(["join", "ms"], joins),
            shown(report["targets"]),
        ]
    )


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
