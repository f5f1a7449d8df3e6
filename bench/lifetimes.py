"""What does it cost to keep rows that live differently long?

The lifetime index by the papers' own experiment, and beside ClickHouse. Every answer is checked.
Bytes, files and sub-indexes are counted; times are for comparing within a run. Targets are told
whether they are met, and never raise.
`python -m bench.lifetimes [--quick] [--full] [--large] [--only papers sizes peers probes]`.

The papers' experiment takes an hour or so at its full size (`--full`); what has been measured is
written after every grid, and with `--resume` only what the file lacks is measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.command import options, publish
from bench.lives import papers, peers, probing, sizes
from bench.lives.papers import METHODS, NUMBERS, REFRESHES, Case, measure_cases
from bench.lives.tables import markdown
from bench.race.start import room_in
from bench.report import circumstances, write_report

__all__ = ["main", "markdown", "run"]

Result = dict[str, Any]
PARTS = ("papers", "sizes", "peers", "probes")
FULL_ROWS = 500_000
LARGE = {"methods": ("rebuild", "no-rebuild"), "n": (9, 25), "rows": 5_000_000, "refreshes": 6}


def run(chosen: argparse.Namespace, folder: Path, kept: Result) -> Result:
    """Measure what was chosen and return the report.

    `kept` has results that need not be measured again.
    """
    report: Result = {
        **circumstances(_settings(chosen)),
        **{name: kept.get(name, []) for name in ("papers", "large", "sizes", "pairs")},
        "retractions": kept.get("retractions", []),
        "peers": kept.get("peers", {}),
    }

    def save() -> None:
        report["targets"] = _judge(report)
        if chosen.json:
            write_report(report, chosen.json)

    measures: dict[str, Callable[[], None]] = {
        "papers": lambda: _measure_papers(report, "papers", _cases(chosen), folder, save),
        "sizes": lambda: _measure_sizes(report, chosen.quick, folder),
        "peers": lambda: _measure_peers(report, chosen, folder),
        "probes": lambda: _measure_probes(report, chosen, folder),
    }
    for name in PARTS:
        if name in chosen.only:
            measures[name]()
            save()
    if chosen.large:
        _measure_papers(report, "large", _large_cases(chosen), folder, save)
    save()
    return {**report, "checked": True}


def _measure_papers(
    report: Result, name: str, cases: Sequence[Case], folder: Path, save: Callable[[], None]
) -> None:
    """Measure what the report lacks, indexes that differ in their methods only together."""
    known = report[name]
    left = [
        case for case in cases if not any(asdict(case).items() <= each.items() for each in known)
    ]
    groups = groupby(left, key=lambda case: replace(case, method=""))
    for shape, group in groups:
        with room_in(folder) as room:
            found = measure_cases([*group], room)
        report[name] += found
        save()
        for each in found:
            print(
                f"n={shape.n}, {shape.keys:,} keys, {each['method']}: "
                f"{each['written_bytes'] / 1e6:.1f} MB, {each['update_s']['median']:.3f} s",
                flush=True,
            )


def _measure_sizes(report: Result, quick: bool, folder: Path) -> None:
    if not report["sizes"]:
        report["sizes"] = sizes.measure_sizes(folder, quick)
        print("sizes of the sub-indexes", flush=True)


def _measure_peers(report: Result, chosen: argparse.Namespace, folder: Path) -> None:
    if report["peers"]:
        return
    settings = {
        "slots": 14,
        "rows": 1_000 if chosen.quick else 300_000,
        "refreshes": 2 if chosen.quick else 8,
        "probes": 20 if chosen.quick else 200,
        "seed": chosen.seed,
        "ours": peers.QUICK if chosen.quick else peers.OURS,
    }
    with room_in(folder) as room:
        report["peers"] = peers.measure_peers(room, settings)
    print("beside ClickHouse", flush=True)


def _measure_probes(report: Result, chosen: argparse.Namespace, folder: Path) -> None:
    if report["pairs"]:
        return
    rows = 2_000 if chosen.quick else FULL_ROWS // 10
    for keys in (100,) if chosen.quick else (100, 100_000):
        settings = {"keys": keys, "rows": rows, "seed": chosen.seed}
        for n in NUMBERS[:1] if chosen.quick else NUMBERS:
            for pair in probing.PAIRS:
                several = pair[0] == probing.JUDGED and not chosen.quick
                sizes_of_it = probing.SIZES if several else probing.SIZES[:1]
                found = probing.measure_pair(folder, pair, n, settings, sizes_of_it)
                report["pairs"].append(found)
                print(f"probes of {pair[0]}, n={n}, {keys:,} keys", flush=True)
        with room_in(folder) as room:
            n = NUMBERS[0] if chosen.quick else NUMBERS[1]
            report["retractions"].append(probing.measure_retractions(room, n, settings))


def _judge(report: Result) -> list[Result]:
    judged = papers.judge(report["papers"]) + sizes.judge(report["sizes"])
    if report["peers"]:
        judged += peers.judge(report["peers"])
    return judged + probing.judge(report["pairs"], report["retractions"])


def _cases(chosen: argparse.Namespace) -> list[Case]:
    return [
        Case(method, n, keys, chosen.rows, chosen.refreshes, chosen.seed)
        for keys in chosen.keys
        for n in chosen.n
        for method in chosen.methods
    ]


def _large_cases(chosen: argparse.Namespace) -> list[Case]:
    rows = 5_000 if chosen.quick else LARGE["rows"]
    return [
        Case(method, n, 100, rows, LARGE["refreshes"], chosen.seed)
        for n in LARGE["n"]
        for method in LARGE["methods"]
    ]


def _settings(chosen: argparse.Namespace) -> Result:
    names = ("rows", "refreshes", "methods", "n", "keys", "only", "large", "seed")
    return {name: getattr(chosen, name) for name in names}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = options("lifetimes", __doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the papers' experiment at its size")
    parser.add_argument("--large", action="store_true", help="and at ten times that size")
    parser.add_argument("--only", nargs="*", choices=PARTS, help="all")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--n", nargs="+", type=int, choices=NUMBERS, help="sub-indexes")
    parser.add_argument("--keys", nargs="+", type=int, help="how many keys there are")
    parser.add_argument("--rows", type=int, help="rows born in a window of the papers' experiment")
    parser.add_argument("--refreshes", type=int, help=f"after the first window ({REFRESHES})")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--resume", action="store_true", help="keep what the file of --json has")
    chosen = parser.parse_args(arguments)
    if chosen.resume and not chosen.json:
        parser.error("--resume goes on with a file: give it with --json")
    quick, full = chosen.quick, chosen.full
    chosen.only = list(PARTS) if chosen.only is None else chosen.only
    chosen.rows = chosen.rows or (2_000 if quick else FULL_ROWS if full else FULL_ROWS // 10)
    chosen.refreshes = chosen.refreshes or (2 if quick else REFRESHES)
    chosen.n = chosen.n or list(NUMBERS[:1] if quick else NUMBERS if full else NUMBERS[1::2])
    chosen.keys = chosen.keys or ([100, 100_000] if full else [100])
    return chosen


def main(arguments: Sequence[str] | None = None) -> Result:
    chosen = parse(arguments)
    kept = json.loads(chosen.json.read_text()) if chosen.resume and chosen.json.exists() else {}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(chosen, Path(folder), kept)
    publish(report, "lifetimes", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
