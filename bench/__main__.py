"""Run the measurements: `python -m bench [--quick] [--rows N] [--slots W] [--json PATH]`."""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.peers import measure_duckdb, measure_sqlite
from bench.report import make_report, print_report, write_report
from bench.waves import measure_index
from bench.workload import WORKLOADS, make_workload

SCHEMES = ("wata", "rata")
UPDATES = ("packed-shadow", "runs", "in-place", "simple-shadow")
INDEXES = 4
LOCAL_RESULTS = Path(__file__).parent / "results" / "local"


def run(settings: dict[str, Any], folder: Path, console: Console) -> dict[str, Any]:
    """Measure everything in a folder and return the report."""
    waves, peers = [], []
    window = settings["slots"]
    for name in settings["workloads"]:
        work = make_workload(
            name,
            window + settings["transitions"],
            settings["rows"],
            settings["probes"],
            settings["seed"],
        )
        for measure in (measure_sqlite, measure_duckdb):
            console.print(f"{name}: {measure.__name__.removeprefix('measure_')}")
            with _room(folder) as room:
                peers.append(measure(room / "peer.db", work, window))
        for scheme in settings["schemes"]:
            for update in settings["updates"]:
                console.print(f"{name}: {scheme} {update}")
                with _room(folder) as room:
                    path = room / "bench.wx"
                    waves.append(measure_index(path, work, scheme, update, settings))
    return make_report(settings, waves, peers)


@contextmanager
def _room(folder: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, so that no measurement meets the files of another."""
    room = Path(tempfile.mkdtemp(dir=folder))
    try:
        yield room
    finally:
        shutil.rmtree(room)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and check.")
    parser.add_argument("--quick", action="store_true", help="20,000 rows a slot, 7 slots")
    parser.add_argument("--rows", type=int, help="rows a slot (300,000)")
    parser.add_argument("--slots", type=int, help="slots in the window (14)")
    parser.add_argument("--transitions", type=int, default=5, help="slots appended one by one")
    parser.add_argument("--probes", type=int, help="single probes (10,000)")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES))
    parser.add_argument("--updates", nargs="+", choices=UPDATES, default=list(UPDATES))
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--json", type=Path, help="where to write the results as JSON")
    parser.add_argument(
        "--folder", type=Path, help="where to measure (the folder for temporary files)"
    )
    chosen = parser.parse_args(arguments)
    chosen.rows = chosen.rows or (20_000 if chosen.quick else 300_000)
    chosen.slots = chosen.slots or (7 if chosen.quick else 14)
    chosen.probes = chosen.probes or (2_000 if chosen.quick else 10_000)
    if min(chosen.rows, chosen.transitions) < 1 or chosen.slots < INDEXES or chosen.probes < 10:
        parser.error(f"at least 1 row and transition, {INDEXES} slots and 10 probes are needed")
    return chosen


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    chosen = parse(arguments)
    console = Console(highlight=False, width=None if Console().is_terminal else 160)
    names = ("rows", "slots", "transitions", "probes", "workloads", "schemes", "updates", "seed")
    settings = {name: getattr(chosen, name) for name in names}
    settings |= {"indexes": INDEXES, "openings": 1 if chosen.quick else 3}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder), console)
    now = dt.datetime.now(dt.UTC)
    path = chosen.json or LOCAL_RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
    write_report(report, path)
    print_report(report, console)
    console.print(f"Written to {path}")
    return report


if __name__ == "__main__":
    main()
