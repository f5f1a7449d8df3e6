"""The command `temporal inspect`: what a set over time is, what is in it, and its picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wavedex.cli.output import Answer, facts_grid
from wavedex.cli.temporal.asked import SetPath, find_set
from wavedex.show import set_text
from wavedex.show.picture import check_svg
from wavedex.show.values import plain
from wavedex.show.words import printable

if TYPE_CHECKING:
    from rich.console import Console


def inspect(
    path: SetPath,
    bucket: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="The pages of this bucket instead of the sizes."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it to an .svg file.")
    ] = None,
) -> Answer:
    """Show what a set over time is, how large it was, or what is in one of its buckets."""
    if picture is not None:
        check_svg(picture)
    found = find_set(path)
    about = found.describe()
    drawn = found.draw(bucket)
    if picture is not None:
        drawn.save(picture)
    if bucket is not None:
        about["pages_of_bucket"] = [plain(page) for page in found.bucket(bucket).to_pylist()]

    def draw(console: Console) -> None:
        console.print(printable(about["path"]), style="bold", markup=False, soft_wrap=True)
        console.print(facts_grid(set_text.facts(about)))
        console.print()
        for line in drawn.lines(console.width):
            console.print(line, markup=False, no_wrap=True)

    return Answer(about, draw, is_deep=True)


COMMANDS: dict[Callable[..., Any], str] = {
    inspect: "wavedex temporal inspect members.wxt --picture sizes.svg, "
    "or wavedex temporal inspect members.wxt --bucket 3"
}
