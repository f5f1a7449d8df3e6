"""The command `inspect`: what an index is, what is in it, and its wave or its grid drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wavedex.cli.options import Index
from wavedex.cli.output import Answer
from wavedex.index.opening import open_index
from wavedex.show.words import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def inspect(index: Index) -> Answer:
    """Show what an index is, which sub-index holds which slots, or what its grid's cells hold."""
    idx = open_index(index)
    about, definition = idx.describe(), idx.definition
    drawing = definition.drawing

    def draw(console: Console) -> None:
        console.print(printable(about["path"]), style="bold", markup=False, soft_wrap=True)
        console.print(_header(about, drawing.facts(about)))
        if about["preparation_owed"]:
            console.print(
                "The work ahead for the next slot is not done; the next write does it first."
            )
        console.print()
        for part in drawing.text(about, definition.slotting.label, console.width):
            console.print(part)

    return Answer(about, draw, is_table=drawing.is_table, is_deep=True)


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


COMMANDS: dict[Callable[..., Any], str] = {inspect: "wavedex inspect sales.wx"}
