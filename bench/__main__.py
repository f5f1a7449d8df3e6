"""Run the race.

`python -m bench [--quick] [--shapes 14x300000 ...] [--contestants ...] [--json PATH]`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.measure import REPEATS
from bench.race.catalogue import CATALOGUE, missing
from bench.race.standings import print_standings
from bench.race.start import PASSABLE, race
from bench.report import write_report
from bench.workload import WORKLOADS

LOCAL_RESULTS = Path(__file__).parent / "results" / "local"
SHAPES = ((14, 300_000), (20, 500_000))
QUICK_SHAPES = ((7, 20_000),)
WINDOW_MIN, PROBES_MIN = 5, 10
"""A window needs more slots than the wave index has sub-indexes."""


def shape(text: str) -> tuple[int, int]:
    """The window and the rows of a slot from 14x300000."""
    window, _, rows = text.partition("x")
    if not (window.isdecimal() and rows.isdecimal()) or int(window) < WINDOW_MIN or int(rows) < 1:
        raise argparse.ArgumentTypeError(
            f"{text} is not SLOTSxROWS with at least {WINDOW_MIN} slots, such as 14x300000"
        )
    return int(window), int(rows)


def contestant(text: str) -> str:
    """A name of the catalogue, or the class of somebody else's contestant."""
    if text not in CATALOGUE and ":" not in text:
        raise argparse.ArgumentTypeError(
            f"{text} is neither module:Class nor one of {', '.join(CATALOGUE)}"
        )
    return text


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="7x20000, one workload, short rounds")
    parser.add_argument("--shapes", nargs="+", type=shape, help="14x300000 20x500000")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, help="all of them")
    parser.add_argument(
        "--contestants",
        nargs="+",
        type=contestant,
        default=list(CATALOGUE),
        help=f"all: {' '.join(CATALOGUE)}; or your own as module:Class",
        metavar="NAME",
    )
    parser.add_argument("--probes", type=int, help="keys to probe for in a round (10,000)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--json", type=Path, help="where to write the results as JSON")
    parser.add_argument(
        "--folder", type=Path, help="where to measure (the folder for temporary files)"
    )
    chosen = parser.parse_args(arguments)
    chosen.shapes = chosen.shapes or (QUICK_SHAPES if chosen.quick else SHAPES)
    chosen.workloads = chosen.workloads or (WORKLOADS[:1] if chosen.quick else WORKLOADS)
    chosen.probes = chosen.probes or (2_000 if chosen.quick else 10_000)
    if chosen.probes < PROBES_MIN:
        parser.error(f"at least {PROBES_MIN} probes are needed")
    return chosen


def settings_of(chosen: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, as plain JSON."""
    return {
        "shapes": [list(each) for each in chosen.shapes],
        "workloads": list(chosen.workloads),
        "contestants": list(chosen.contestants),
        "slides": REPEATS,
        "probes": chosen.probes,
        "round_s": 0.1 if chosen.quick else 5.0,
        "seed": chosen.seed,
    }


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the race.

    Exits with an error where a contestant lacks something, or gave a wrong answer.
    """
    chosen = parse(arguments)
    lacking = missing(chosen.contestants)
    if lacking:
        sys.exit("\n".join(lacking))
    console = Console(highlight=False, width=None if Console().is_terminal else 200)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        Path(folder).chmod(PASSABLE)
        report = race(settings_of(chosen), Path(folder), console)
    now = dt.datetime.now(dt.UTC)
    path = chosen.json or LOCAL_RESULTS / f"race-{now:%Y%m%d-%H%M%S}.json"
    write_report(report, path)
    print_standings(report, console)
    console.print(f"Written to {path}")
    if report["failed"]:
        failed = sorted({failure["contestant"] for failure in report["failed"]})
        sys.exit(f"Failed: {', '.join(failed)}")
    return report


if __name__ == "__main__":
    main()
