"""Fill docs/performance.md from the kept results, and draw its pictures: `python -m bench.page`.

Each block of the page between `<!-- NAME -->` and `<!-- end -->` is made from bench/results. The
blocks of the race are made here; those of other measurements by their own modules, where there are
results of theirs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.plots import draw
from bench.race.catalogue import WAVES
from bench.race.standings import COLUMNS, JUDGED, SETTLE, courses, losses, title

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"
RESULTS = ROOT / "bench" / "results"
OTHERS = ("cycles", "sweeps", "promises", "lifetimes", "cold")
"""Modules of this package that have a function `markdown(report)`.

It makes the block of their name. Some have `draw` as well.
"""
END = "<!-- end -->"

Report = dict[str, Any]


def fill(text: str, name: str, content: str) -> str:
    """The page with the content of one block replaced."""
    begin = f"<!-- {name} -->"
    head, found, rest = text.partition(begin)
    _, ended, tail = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"the page has no block between {begin} and {END}")
    return f"{head}{begin}\n\n{content.strip()}\n\n{END}{tail}"


def race_blocks(report: Report, pictures: Sequence[Path]) -> dict[str, str]:
    """What the race has to say, by the names of blocks."""
    shown = "\n\n".join(
        f"![{path.stem.removeprefix('performance-').replace('-', ' ')}](pictures/{path.name})"
        for path in pictures
    )
    return {
        "circumstances": circumstances_text(report),
        "race": f"{shown}\n\n{tables(report)}",
        "losses": losses_text(report),
    }


def circumstances_text(report: Report) -> str:
    """Machine, versions and settings."""
    machine, settings = report["machine"], report["settings"]
    own = ("python", "wavedex", "pyarrow", "numpy")
    versions = {name: report["versions"][name] for name in own}
    for result in report["results"]:
        if result["contestant"] not in WAVES:
            versions[result["contestant"].removesuffix("-by-slot")] = result["version"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    measures = ", ".join(sorted({result["bytes_measure"] for result in report["results"]}))
    where = (
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gb']} GB of memory"
    )
    what = f"{settings['slides']} transitions; {settings['probes']:,} keys to probe for"
    lines = [
        f"- Measured on {report['at'][:10]}: {where}, {machine['system']}.",
        f"- Seed {settings['seed']}; {what}; bytes by {measures}.",
        f"- Versions: {named}.",
    ]
    if report["left_out"]:
        lines.append(f"- Left out: {', '.join(report['left_out'])}.")
    for failure in report["failed"]:
        lines.append(f"- Failed: {failure['contestant']} ({failure['course']}).")
    return "\n".join(lines)


def tables(report: Report) -> str:
    """A table for each course.

    It has medians, and in brackets the ratio to the best wave index of the column.
    """
    parts = []
    for course, results in courses(report):
        bests = {column: column.best(results) for column in COLUMNS}
        lines = [
            f"### {title(course).capitalize()}",
            "",
            f"| | {' | '.join(column.head for column in COLUMNS)} | memory MB |",
            "| --- |" + " --- |" * (len(COLUMNS) + 1),
        ]
        for result in results:
            cells = [
                column.text(result)
                if column is SETTLE
                else f"{column.text(result)} [{column.ratio(result, bests[column])}]"
                for column in COLUMNS
            ]
            memory = f"{result['memory_mb']:,.0f}"
            lines.append(f"| {result['contestant']} | {' | '.join(cells)} | {memory} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def losses_text(report: Report) -> str:
    """Every column in which a rival beats the best wave index, with the factor."""
    found = {title(course): losses(results) for course, results in courses(report)}
    lines = [
        f"| | {' | '.join(found)} |",
        "| --- |" + " --- |" * len(found),
    ]
    for column in JUDGED:
        cells = [
            ", ".join(f"{name} {factor:.2f}" for name, factor in each.get(column.name, [])) or "-"
            for each in found.values()
        ]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {column.what} | {' | '.join(cells)} |")
    if len(lines) == 2:
        return "In no column of this run."
    return "\n".join(lines)


def make_page(text: str, results: Path, pictures: Path) -> str:
    """The page with every block filled that there are results for; the pictures are drawn."""
    race = results / "race.json"
    if race.exists():
        report = json.loads(race.read_text())
        for name, content in race_blocks(report, draw(report, pictures)).items():
            text = fill(text, name, content)
    for name in OTHERS:
        kept = results / f"{name}.json"
        if kept.exists():
            module, report = import_module(f"bench.{name}"), json.loads(kept.read_text())
            text = fill(text, name, module.markdown(report))
            if hasattr(module, "draw"):
                module.draw(report, pictures)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of results")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--pictures", type=Path, default=PICTURES)
    chosen = parser.parse_args(arguments)
    text = make_page(chosen.page.read_text(encoding="utf-8"), chosen.results, chosen.pictures)
    chosen.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
