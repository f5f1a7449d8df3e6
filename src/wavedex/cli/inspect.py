"""The command `inspect`: what an index is, what is in it, and its wave or its grid drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wavedex.cli.options import Index
from wavedex.cli.output import Answer, facts_grid
from wavedex.index.opening import open_index
from wavedex.show.words import human_bytes, printable

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
    facts = {**facts, "disks": ", ".join(about["roots"]), "history": _history(about)}
    streams = (f"{name}, up to batch {at['batch']:,}" for name, at in about["streams"].items())
    facts["fed by"] = "; ".join(streams)
    followers = (
        f"{name}, {_behind(about['commit'], at)}" for name, at in about["followers"].items()
    )
    facts["followed by"] = "; ".join(followers)
    return facts_grid(facts)


def _behind(newest: int, commit: int | None) -> str:
    """How far a follower has come, in words.

    >>> _behind(7, 7), _behind(7, 6), _behind(7, None)
    ('up to the newest commit', '1 commit behind', 'at its first look')
    """
    if commit is None:
        return "at its first look"
    behind = newest - commit
    return f"{behind:,} commit{'s' * (behind != 1)} behind" if behind else "up to the newest commit"


def _history(about: dict[str, Any]) -> str:
    """By what it is kept which keys were there when, and what that takes."""
    kept = about["history"]
    if kept is None:
        return ""
    return f"by {kept['method']}, {human_bytes(kept['bytes'])} beside the rows"


COMMANDS: dict[Callable[..., Any], str] = {inspect: "wavedex inspect sales.wx"}
