"""The measurements as tables."""

from __future__ import annotations

from typing import Any

from bench.command import table
from bench.lives.targets import shown

Result = dict[str, Any]


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
