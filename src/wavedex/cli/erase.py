"""The command `erase`: all rows of some keys, from every file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from wavedex.cli.options import Index, Wait
from wavedex.cli.output import Answer, working
from wavedex.index.opening import open_index


def erase(
    index: Index,
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEY", help="The keys; one that begins with a minus goes after --."),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait: Wait = None,
) -> Answer:
    """Erase all rows of some keys, from every file. Earlier commits go with them."""
    idx = open_index(index)
    parse = idx.definition.spec.key_type.parse
    wanted = [parse(key) for key in keys]
    if not yes:
        rows = idx.probe_many(wanted, expired=True).num_rows
        typer.confirm(f"Erase {rows:,} row{'s' * (rows != 1)} for good?", abort=True, err=True)
    with working(f"Erasing from {index}"):
        done = idx.erase(wanted, wait=wait)
    said = f"{done.rows:,} row{'s' * (done.rows != 1)} erased, commit {done.commit:,}"
    return Answer({"commit": done.commit, "rows": done.rows}, said)


COMMANDS: dict[Callable[..., Any], str] = {erase: "wavedex erase sales.wx S1 --yes"}
