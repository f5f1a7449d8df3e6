"""Fill the pages below docs/measured from the kept results, and draw their pictures.

`python -m bench.page` does it. Each block of a page between `<!-- NAME -->` and `<!-- end -->` is
made from bench/results. The blocks of the race are made here; those of other measurements by their
own modules, where there are results of theirs.
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
PAGES = ROOT / "docs" / "measured"
PICTURES = ROOT / "docs" / "pictures"
RESULTS = ROOT / "bench" / "results"
OTHERS = ("cycles", "sweeps", "promises", "lifetimes", "cold", "plain", "windows", "sets")
"""Modules of this package that have a function `markdown(report)`.

It makes the block of their name. Some have `draw` as well.
"""
END = "<!-- end -->"

Report = dict[str, Any]


def fill(pages: dict[str, str], name: str, content: str) -> None:
    """Replace the content of one block, on whichever of the pages it is."""
    begin = f"<!-- {name} -->"
    for page, text in pages.items():
        head, found, rest = text.partition(begin)
        _, ended, tail = rest.partition(END)
        if found and ended:
            pages[page] = f"{head}{begin}\n\n{content.strip()}\n\n{END}{tail}"
            return
    raise ValueError(f"no page has a block between {begin} and {END}")


def read_pages(folder: Path) -> dict[str, str]:
    """The pages by their names."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def race_blocks(report: Report, pictures: Sequence[Path]) -> dict[str, str]:
    """What the race has to say, by the names of blocks."""
    shown = "\n\n".join(
        f"![{path.stem.removeprefix('performance-').replace('-', ' ')}](../pictures/{path.name})"
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


def make_pages(pages: dict[str, str], results: Path, pictures: Path) -> None:
    """Fill every block that there are results for, and draw the pictures."""
    race = results / "race.json"
    if race.exists():
        report = json.loads(race.read_text())
        for name, content in race_blocks(report, draw(report, pictures)).items():
            fill(pages, name, content)
    for name in OTHERS:
        kept = results / f"{name}.json"
        if kept.exists():
            module, report = import_module(f"bench.{name}"), json.loads(kept.read_text())
            fill(pages, name, module.markdown(report))
            if hasattr(module, "draw"):
                module.draw(report, pictures)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of results")
    parser.add_argument("--pages", type=Path, default=PAGES, help="the folder of pages")
    parser.add_argument("--pictures", type=Path, default=PICTURES)
    chosen = parser.parse_args(arguments)
    pages = read_pages(chosen.pages)
    make_pages(pages, chosen.results, chosen.pictures)
    for name, text in pages.items():
        (chosen.pages / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
