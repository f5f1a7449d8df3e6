"""The command `inspect`: what an index is, what is in it, and its wave or its grid drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import typer

from wavedex.cli import life_inspecting
from wavedex.cli.options import AsJson, Index
from wavedex.cli.rows import printable, table_console
from wavedex.index.opening import open_index
from wavedex.show.signs import BLOCKS, EMPTY, SHADES, Wave, runs_of_style
from wavedex.show.wave import human_bytes, lines_of, row_count

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS_MIN = 10
"""A wave is never drawn narrower, whatever the terminal."""


def inspect(index: Index, as_json: AsJson = False) -> None:
    """Show what an index is and which sub-index holds which slots, or what the cells of its grid hold."""
    from rich.console import Console

    idx = open_index(index)
    about = idx.describe()
    if as_json:
        typer.echo(json.dumps(about, indent=2))
        return
    is_grid = about["kind"] == "lifetime"
    console = table_console() if is_grid else Console(highlight=False)
    console.print(printable(about["path"]), style="bold", markup=False, soft_wrap=True)
    console.print(_header(about, life_inspecting.facts(about) if is_grid else _facts(about)))
    if about["preparation_owed"]:
        console.print("The work ahead for the next slot is not done; the next write does it first.")
    console.print()
    draw = life_inspecting.pictures if is_grid else _pictures
    for part in draw(about, idx.definition.slotting.label, console.width):
        console.print(part)


def _facts(about: dict[str, Any]) -> dict[str, str]:
    extra = about["extra_slots_max"]
    soft = f"soft: up to {extra} expired slots are still held" if extra else "soft"
    return {
        "key": about["key"] if isinstance(about["key"], str) else ", ".join(about["key"]),
        "time": about["time"] or "none: each append names its slot",
        "zone": about["zone"],
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
    }


def _header(about: dict[str, Any], facts: dict[str, str]) -> Table:
    """The facts, each on a line, and those that all kinds of index have."""
    from rich.table import Table
    from rich.text import Text

    facts = {**facts, "disks": ", ".join(about["roots"])}
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


def _pictures(about: dict[str, Any], label: Callable[[int], str], width: int) -> Iterable[Any]:
    """The wave, its temporaries, and what the signs mean."""
    from rich.table import Table
    from rich.text import Text

    if not about["slots"]:
        return ["Nothing was appended yet."]
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
