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
        "key": about["key"],
        "time": about["time"] or "none: each append names its slot",
        "scheme": f"{about['scheme']} ({'hard: expired slots are gone' if about['hard'] else soft})",
        "update": about["update"],
        "format": about["format"],
        "window": f"{about['window']:,} slots in {about['indexes']:,} sub-indexes, "
        f"{about['shards']:,} shards each",
        "rows": f"{about['rows']:,}",
        "size": human_bytes(about["bytes"]),
        "commit": f"{about['commit']:,}, written at {about['written_at']}",
    }
    for name, stream in about["streams"].items():
        facts["fed by"] = f"{name}, up to batch {stream['batch']:,}"
    grid = Table.grid(padding=(0, 2))
    for name, fact in facts.items():
        grid.add_row(Text(name, style="dim"), Text(printable(fact)))
    return grid


def _pictures(about: dict[str, Any], label: Callable[[int], str], width: int) -> list[Any]:
    """The wave, its temporaries, and what the signs mean."""
    from rich.table import Table
    from rich.text import Text

    delta = {} if about["open"] is None else {"open": about["open"]}
    subs = {**about["sub_indexes"], **delta, **about["temporaries"]}
    texts = {
        name: (f"{sub['rows']:,} row{'s' * (sub['rows'] != 1)}", human_bytes(sub["bytes"]))
        for name, sub in subs.items()
    }
    taken = sum(max(map(len, column)) + 2 for column in (subs, *zip(*texts.values(), strict=True)))
    rows = {entry["slot"]: entry["rows"] for entry in about["slots"]}
    live = [entry["slot"] for entry in about["slots"] if entry["live"]]
    window = range(min(live), max(live) + 1)
    held = {*live, *(slot for sub in subs.values() for slot in sub["slots"])}
    covered = range(min(held), max(held) + 1)
    wave = Wave(window, rows, covered, max(COLUMNS_MIN, width - taken))
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


def human_bytes(count: int) -> str:
    """A number of bytes for people.

    >>> human_bytes(1_234_567)
    '1.2 MB'
    """
    from rich.filesize import decimal

    return decimal(count)


COMMANDS: dict[Callable[..., Any], str] = {inspect: "wavedex inspect sales.wx"}
