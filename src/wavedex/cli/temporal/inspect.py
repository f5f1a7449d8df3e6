"""The command `temporal inspect`: what a set over time is, and what is in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wavedex.cli.output import Answer, facts_grid
from wavedex.cli.temporal.asked import SetPath, find_set
from wavedex.show import set_text
from wavedex.show.words import printable

if TYPE_CHECKING:
    from rich.console import Console


def inspect(path: SetPath) -> Answer:
    """Show what a set over time is, and what is in it."""
    found = find_set(path)
    about = found.describe()

    def draw(console: Console) -> None:
        console.print(printable(about["path"]), style="bold", markup=False, soft_wrap=True)
        console.print(facts_grid(set_text.facts(about)))

    return Answer(about, draw, is_deep=True)


COMMANDS: dict[Callable[..., Any], str] = {inspect: "wavedex temporal inspect members.wxt"}
