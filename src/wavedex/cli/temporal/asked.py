"""Which set is asked, and of what: arguments that the commands share.

A set loads Numba, which the other commands have no need of, so it is imported when it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from wavedex.cli.output import working

if TYPE_CHECKING:
    from wavedex.temporal import TemporalSet

SetPath = Annotated[
    str, typer.Argument(metavar="SET", help="The folder of the set over time, or its URI.")
]
Oid = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="The id; a tuple as A,B or as a list in JSON; one that begins with a minus goes "
        "after --.",
    ),
]
TIME_HELP = "A whole number, a date or a datetime, as the times of the set are."


def find_set(path: str) -> TemporalSet:
    """The set at a path. Raises NotAnIndex and its kin."""
    from wavedex.temporal import TemporalSet

    with working(f"Opening {path}"):
        return TemporalSet.open(path)
