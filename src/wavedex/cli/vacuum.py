"""The command `vacuum`: old commits, and the files that only they need, go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from wavedex.cli.options import Index, Wait
from wavedex.cli.output import Answer
from wavedex.index.opening import open_index


def vacuum(
    index: Index,
    keep: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many commits to keep, the newest first.")
    ] = 1,
    wait: Wait = None,
) -> Answer:
    """Remove old commits, and the files that no kept one needs."""
    removed = open_index(index).vacuum(keep, wait=wait)
    count = len(removed)
    return Answer({"removed": removed}, f"{count:,} file{'s' * (count != 1)} removed")


COMMANDS: dict[Callable[..., Any], str] = {vacuum: "wavedex vacuum sales.wx --keep 3"}
