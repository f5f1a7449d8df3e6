"""Calls as people write them, with no setting: `python -m bench.plain [--shape 20x500000]`.

A grouped sum over a scan and over `to_duckdb`, a probe, an append as its caller sees it, and what
importing costs; beside ClickHouse, DuckDB's own file and LMDB with the same rows in the same run.
All take turns, and every answer is checked. The race has the tuned ones.
"""

from __future__ import annotations

import argparse
import datetime as dt
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import wavedex as wx
from bench.__main__ import shape
from bench.measure import GROUPED_SUM, expect, expect_sums, spread
from bench.race.clickhouse import ClickHouse
from bench.race.contestant import Contestant
from bench.race.duckdb import DuckDb
from bench.race.lmdb import LmdbBySlot, LmdbOneTree
from bench.report import circumstances, write_report
from bench.workload import SCHEMA, Workload, first_slot, make_workload

ROUNDS = 9
PROBES = 5_000
SLIDES = 5
DECLARED = SCHEMA.set(
    SCHEMA.get_field_index("label"), pa.field("label", pa.dictionary(pa.int16(), pa.string()))
)
"""The label declared as one of few values, as ClickHouse's table declares it."""
LOCAL_RESULTS = Path(__file__).parent / "results" / "local"

Results = dict[str, dict[str, float]]


def create(path: Path, window: int, schema: pa.Schema) -> wx.WaveIndex:
    return wx.WaveIndex.create(path, schema, key="key", time="at", window=window)


def in_turns(calls: dict[str, Callable[[], Any]]) -> Results:
    """The milliseconds of each call."""
    laps: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            laps[name].append((time.perf_counter() - begun) * 1e3)
    return {name: spread(values) for name, values in laps.items()}


def grouped(table: pa.Table) -> list[tuple[str, int, float]]:
    """A grouped sum over whatever table there is."""
    entries = table  # noqa: F841 - DuckDB finds it by its name
    return duckdb.sql(GROUPED_SUM).fetchall()


def measure_sums(
    plain: wx.WaveIndex, declared: wx.WaveIndex, rivals: dict[str, Contestant], work: Workload
) -> Results:
    """A grouped sum over the window."""
    connection = duckdb.connect()

    def over_a_view() -> list[tuple[str, int, float]]:
        plain.to_duckdb(connection, "entries")
        return connection.sql(GROUPED_SUM).fetchall()

    calls: dict[str, Callable[[], Any]] = {
        "scan().read_all() and DuckDB": lambda: grouped(plain.scan().read_all()),
        "the same, label declared a dictionary": lambda: grouped(declared.scan().read_all()),
        "to_duckdb": over_a_view,
        **{name: rivals[name].grouped_sum for name in ("clickhouse", "duckdb")},
    }
    sums = work.window(len(work.slots) - 1, len(work.slots)).sums
    for call in calls.values():
        expect_sums(call(), sums)
    return in_turns(calls)


def measure_probes(plain: wx.WaveIndex, rivals: dict[str, Contestant], work: Workload) -> Results:
    """Single probes, as Arrow tables, in microseconds."""
    calls = {"probe": plain.probe, "lmdb": rivals["lmdb"].probe}
    keys = work.probes[:PROBES]
    counts = work.window(len(work.slots) - 1, len(work.slots)).counts(keys)
    medians: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, probe in calls.items():
            laps, found = [], []
            for key in keys:
                begun = time.perf_counter_ns()
                table = probe(key)
                laps.append(time.perf_counter_ns() - begun)
                found.append(table.num_rows)
            expect(found == list(counts), f"probes of {name}")
            medians[name].append(median(laps) / 1e3)
    return {name: spread(values) for name, values in medians.items()}


def measure_appends(
    idx: wx.WaveIndex, rivals: dict[str, Contestant], more: Sequence[pa.Table]
) -> Results:
    """A slot more, until the call returns; the wave index prepares for the next one behind it."""
    laps: dict[str, list[float]] = {name: [] for name in ("append", *rivals)}
    for slide, table in enumerate(more):
        for name, rival in rivals.items():
            begun = time.perf_counter()
            rival.slide(table, first_slot() + slide)
            laps[name].append((time.perf_counter() - begun) * 1e3)
        begun = time.perf_counter()
        idx.append(table, prepare="background")
        laps["append"].append((time.perf_counter() - begun) * 1e3)
        idx.close()  # What others do meanwhile would be measured with it.
    newest = more[-1]
    found = idx.scan(since=first_slot() + idx.definition.window + len(more) - 1, columns=["units"])
    expect(found.read_all().num_rows == newest.num_rows, "append")
    for name, rival in rivals.items():
        expect(rival.count_rows() == len(idx), f"rows of {name} after its appends")
    return {name: spread(values) for name, values in laps.items()}


def measure_imports() -> Results:
    """Importing, each time in a new process."""

    def load(name: str) -> None:
        subprocess.run([sys.executable, "-c", f"import {name}"], check=True)

    return in_turns(
        {f"import {each}": lambda each=each: load(each) for each in ("wavedex", "pyarrow")}
    )


def run(window: int, rows: int, folder: Path) -> dict[str, Results]:
    work = make_workload("uniform", window + SLIDES, rows, PROBES * 2, 13)
    full = Workload(work.name, work.slots[:window], work.probes)
    plain = create(folder / "plain.wx", window, SCHEMA)
    declared = create(folder / "declared.wx", window, DECLARED)
    rivals: dict[str, Contestant] = {}
    for kind in (ClickHouse, DuckDb, LmdbOneTree, LmdbBySlot):
        rival: Contestant = kind()
        room = folder / rival.name
        room.mkdir()
        rival.create(room, window)
        rival.load(full.slots)
        rival.settle()
        rivals[rival.name] = rival
    for slot in full.slots:
        plain.append(slot, prepare="now")
        declared.append(slot, prepare="now")
    results = {
        "grouped sum, ms": measure_sums(plain, declared, rivals, full),
        "probe, µs": measure_probes(plain, rivals, full),
        "append, ms": measure_appends(plain, rivals, work.slots[window:]),
        "import, ms": measure_imports(),
    }
    for rival in rivals.values():
        rival.close()
    return results


def markdown(report: dict[str, Any]) -> str:
    """The results as a table."""
    settings, at = report["settings"], report["at"][:10]
    lines = [
        f"Measured on {at}: {settings['window']} slots of {settings['rows']:,} rows.",
        "",
        "| what | how | median | range |",
        "| --- | --- | --- | --- |",
    ]
    for what, found in report["results"].items():
        for how, each in found.items():
            span = f"{each['min']:,.1f} to {each['max']:,.1f}"
            lines.append(f"| {what} | {how} | {each['median']:,.1f} | {span} |")
    return "\n".join(lines)


def show(results: dict[str, Results], console: Console) -> None:
    table = Table("what", "how", "median", "least", "most", box=None, pad_edge=False)
    for what, found in results.items():
        for how, each in found.items():
            figures = (f"{each[name]:,.1f}" for name in ("median", "min", "max"))
            table.add_row(what, how, *figures)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m bench.plain", description=__doc__)
    parser.add_argument("--shape", type=shape, default=(20, 500_000), help="20x500000")
    parser.add_argument("--json", type=Path, help="where to write the results as JSON")
    parser.add_argument("--folder", type=Path, help="where to measure")
    chosen = parser.parse_args(arguments)
    window, rows = chosen.shape
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        results = run(window, rows, Path(folder))
    settings = {"window": window, "rows": rows}
    report = {**circumstances(settings), "results": results, "checked": True}
    now = dt.datetime.now(dt.UTC)
    path = chosen.json or LOCAL_RESULTS / f"plain-{now:%Y%m%d-%H%M%S}.json"
    write_report(report, path)
    console = Console(highlight=False, width=None if Console().is_terminal else 120)
    show(results, console)
    console.print(f"Written to {path}")
    return report


if __name__ == "__main__":
    main()
