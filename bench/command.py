"""What the measuring programs have in common: their options, and where their results go."""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path
from typing import Any

from bench.report import write_report

RESULTS = Path(__file__).parent / "results" / "local"


def options(name: str, about: str) -> argparse.ArgumentParser:
    """A parser with the options that all of them take."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=about)
    parser.add_argument("--quick", action="store_true", help="few rows: to try it out")
    parser.add_argument("--json", type=Path, help="where to write the results as JSON")
    parser.add_argument(
        "--folder", type=Path, help="where to measure (the folder for temporary files)"
    )
    return parser


def publish(report: dict[str, Any], name: str, path: Path | None, shown: str) -> None:
    """Write the results as JSON and print them."""
    path = path or RESULTS / f"{name}-{dt.datetime.now(dt.UTC):%Y%m%d-%H%M%S}.json"
    write_report(report, path)
    print(shown)
    print(f"Written to {path}")


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
