"""The command `inspect`: what an index is, what is in it, and its wave drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

import wavedex
from wavedex.cli.options import AsJson, Index
from wavedex.cli.rows import printable
from wavedex.cli.wave import BLOCKS, EMPTY, SHADES, Wave, runs_of_style
from wavedex.index.picture import human_bytes, lines_of, row_count

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS_MIN = 10
"""A wave is never drawn narrower, whatever the terminal."""


def inspect(index: Index, as_json: AsJson = False) -> None:
    """Show what an index is and which sub-index holds which slots."""
    from rich.console import Console

    idx = wavedex.open(index)
    about = idx.describe()
    if as_json:
        typer.echo(json.dumps(about, indent=2))
        return
    console = Console(highlight=False)
    console.print(printable(about["path"]), style="bold", markup=False, soft_wrap=True)
    console.print(_header(about))
    if about["preparation_owed"]:
        console.print("The work ahead for the next slot is not done; the next write does it first.")
    console.print()
    if not about["slots"]:
        console.print("Nothing was appended yet.")
        return
    for part in _pictures(about, idx.definition.slotting.label, console.width):
        console.print(part)


def _header(about: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    extra = about["extra_slots_max"]
    soft = f"soft: up to {extra} expired slots are still held" if extra else "soft"
    facts = {
        "key": about["key"] if isinstance(about["key"], str) else ", ".join(about["key"]),
        "time": about["time"] or "none: each append names its slot",
        "scheme": f"{about['scheme']} ({'hard: expired slots are gone' if about['hard'] else soft})",
        "update": about["update"],
        "format": about["format"],
        "window": f"{about['window']:,} slots in {about['indexes']:,} sub-indexes, "
        f"{about['shards']:,} shards each",
        "rows": f"{about['rows']:,}",
        "size": human_bytes(about["bytes"]),
        "commit": f"{about['commit']:,}, written at {about['written_at']}",
        "promise": _promise(about["promise"]),
        "written": _written(about["work"]),
        "disks": ", ".join(about["roots"]),
    }
    for name, stream in about["streams"].items():
        facts["fed by"] = f"{name}, up to batch {stream['batch']:,}"
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts.items():
        if not fact:
            continue
        grid.add_row(Text(name, style="dim"), Text(printable(fact)))
    return grid


def _promise(promise: dict[str, float]) -> str:
    """How much work a slot makes."""
    ahead = promise["preparation_slots"]
    return f"work for each slot that comes, in slots: {promise['transition_slots']:g}" + (
        f", and {ahead:g} ahead" if ahead else ""
    )


def _written(work: list[dict[str, Any]]) -> str:
    """What the last transition and the last preparation wrote, and what they should have."""
    last = {done["operation"]: done for done in work}
    return ", ".join(
        f"{human_bytes(last[name]['written_bytes'])} {said} "
        f"({human_bytes(last[name]['predicted_bytes'])} were expected)"
        for name, said in (
            ("append", "by the last append"),
            ("seal", "to seal the last slot"),
            ("prepare", "ahead"),
        )
        if name in last
    )


def _pictures(about: dict[str, Any], label: Callable[[int], str], width: int) -> list[Any]:
    """The wave, its temporaries, and what the signs mean."""
    from rich.table import Table
    from rich.text import Text

    subs = lines_of(about)
    texts = {
        name: (row_count(sub["rows"]), human_bytes(sub["bytes"])) for name, sub in subs.items()
    }
    taken = sum(max(map(len, column)) + 2 for column in (subs, *zip(*texts.values(), strict=True)))
    wave = Wave.of(about, max(COLUMNS_MIN, width - taken))
    covered = wave.covered
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right"):
        grid.add_column(justify=justify, no_wrap=True)
    for name, sub in subs.items():
        bar = wave.bar(sub["slots"])
        temporary = name in about["temporaries"]
        drawn = Text(bar) if temporary else Text.assemble(*runs_of_style(bar))
        grid.add_row(name, drawn, *texts[name], style="dim" if temporary else None)
    indent = " " * (max(map(len, subs)) + 2)
    axis = Text(indent + wave.axis(label(covered[0]), label(covered[-1])), overflow="fold")
    legend = [f"{BLOCKS[0]}{BLOCKS[4]}{BLOCKS[-1]} rows of a slot, {EMPTY} none, {SHADES} expired"]
    if wave.slots_per_column > 1:
        legend.append(f"{wave.slots_per_column} slots a column")
    return [axis, grid, *(Text(indent + line, style="dim") for line in legend)]


COMMANDS: dict[Callable[..., Any], str] = {inspect: "wavedex inspect sales.wx"}
