"""The results side by side.

The columns of the tables, the best wave index of each, and who is better than it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.race.catalogue import WAVES

Result = dict[str, Any]
Course = tuple[str, int, int]


@dataclass(frozen=True)
class Column:
    """One thing that was measured; less is better of all of them."""

    name: str
    head: str
    what: str
    """In words, for sentences."""

    def value(self, result: Result) -> float:
        measured = result[self.name]
        return measured["median"] if isinstance(measured, dict) else measured

    def text(self, result: Result) -> str:
        """The median, and the 99th percentile where there is one."""
        measured = result[self.name]
        p99 = measured.get("p99") if isinstance(measured, dict) else None
        return figure(self.value(result)) + (f" ({figure(p99)})" if p99 is not None else "")

    def ratio(self, result: Result, best: Result | None) -> str:
        """How many times as much it is as the best wave index's."""
        return "" if best is None else f"{figure(self.value(result) / self.value(best))}x"

    def best(self, results: list[Result]) -> Result | None:
        """The best of the wave indexes."""
        waves = [result for result in results if result["contestant"] in WAVES]
        return min(waves, key=self.value, default=None)


COLUMNS = (
    Column("probe_us", "probe µs (p99)", "a probe"),
    Column("recent_us", "last three slots µs (p99)", "a probe of the last three slots"),
    Column("transition_s", "transition s", "a transition"),
    Column("settle_s", "then settle s", "settling after a transition"),
    Column("written_mb", "MB written", "bytes written for a transition, settling included"),
    Column("scan_s", "scan and group s", "a grouped sum over the window"),
    Column("many_ms", "1,000 keys ms", "1,000 keys at once"),
    Column("disk_per_raw", "disk/raw", "disk space"),
)
SETTLE = COLUMNS[3]
JUDGED = tuple(column for column in COLUMNS if column is not SETTLE)
"""Who settles for nothing has not won anything: it counts together with what it is for."""


def figure(value: float) -> str:
    """Three digits, without an exponent."""
    if value == 0 or value >= 100:
        return f"{value:,.0f}"
    if value < 0.001:
        return "0.000"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def courses(report: Result) -> Iterator[tuple[Course, list[Result]]]:
    """The results of each course, in the order in which they were run."""
    found: dict[Course, list[Result]] = {}
    for result in report["results"]:
        course = result["workload"], result["window"], result["rows"]
        found.setdefault(course, []).append(result)
    yield from found.items()


def title(course: Course) -> str:
    workload, window, rows = course
    return f"{workload} keys, {window} slots of {rows:,} rows"


def losses(results: list[Result]) -> dict[str, list[tuple[str, float]]]:
    """For each column the rivals that beat the best wave index, and by which factor.

    The best one comes first.
    """
    found = {}
    for column in JUDGED:
        best = column.best(results)
        if best is None:
            continue
        ahead = [
            (result["contestant"], column.value(best) / column.value(result))
            for result in results
            if result["contestant"] not in WAVES and column.value(result) < column.value(best)
        ]
        found[column.name] = sorted(ahead, key=lambda pair: -pair[1])
    return found


def print_standings(report: Result, console: Console) -> None:
    """A table for each course: medians, and beside each its ratio to the best wave index."""
    machine = report["machine"]
    console.print(
        f"{machine['cores']} cores of {machine['processor']}; medians, every answer checked; "
        "ratios are to the best wave index of the column"
    )
    for course, results in courses(report):
        table = Table(title=title(course), title_justify="left", box=None, pad_edge=False)
        table.add_column("", no_wrap=True)
        for column in COLUMNS:
            table.add_column(column.head, justify="right")
            table.add_column("", justify="right", style="dim", no_wrap=True)
        bests = {column: column.best(results) for column in COLUMNS}
        for result in results:
            cells = (
                cell
                for column in COLUMNS
                for cell in (
                    column.text(result),
                    "" if column is SETTLE else column.ratio(result, bests[column]),
                )
            )
            table.add_row(result["contestant"], *cells)
        console.print(table)
    for result in report["results"]:
        if result["bytes_measure"] != "write_bytes":
            console.print(
                f"Bytes are {result['bytes_measure']}: this file system counts no others."
            )
            break
    if report["left_out"]:
        console.print(f"Left out: {', '.join(report['left_out'])}")
    for failure in report["failed"]:
        last = failure["failed"].splitlines()[-1]
        console.print(
            f"FAILED: {failure['contestant']} ({failure['course']}): {last}", markup=False
        )
