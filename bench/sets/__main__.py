"""What do sets over time take, and how fast do they answer? `python -m bench.sets [--quick]`.

Page counts on the paper's workloads (004, Section 5), which are the same on every machine; speeds
beside what one would use instead; and what it adds to an append that an index keeps its history.
All in one run, and every answer is checked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from bench.command import options, publish
from bench.report import circumstances
from bench.sets import histories, pages, speed
from bench.sets.tables import markdown

Result = dict[str, Any]
PARTS = ("pages", "speed", "histories")


def run(settings: Result, parts: Sequence[str], folder: Path) -> Result:
    quick, seed = settings["quick"], settings["seed"]
    report: Result = {**circumstances(settings), "load": [os.getloadavg()]}
    if "pages" in parts:
        report["pages"] = pages.measure(quick, seed)
    if "speed" in parts:
        report["speed"] = speed.measure(quick, seed, folder)
    if "histories" in parts:
        report["histories"] = histories.measure(quick, seed, folder)
    report["load"].append(os.getloadavg())
    report["checked"] = True
    return report


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("sets", __doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    chosen = parser.parse_args(arguments)
    folder = chosen.folder or Path(gettempdir())
    report = run({"quick": chosen.quick, "seed": chosen.seed}, chosen.only, folder)
    publish(report, "sets", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
