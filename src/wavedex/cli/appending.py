"""The command `append`: files into an index, one after the other."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

import wavedex
from wavedex.cli.files import read_file
from wavedex.cli.options import AsJson, Index
from wavedex.cli.rows import printable


def append(
    index: Index,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Parquet, CSV or JSON lines, in the order of time."),
    ],
    slot: Annotated[
        str | None,
        typer.Option(metavar="N", help="The slot that the rows are of, where they have no time."),
    ] = None,
    null: Annotated[
        str,
        typer.Option(metavar="TEXT", help="What stands for no value in a CSV file, unquoted."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Append the rows of files as the next slots, and let what is older than the window go.

    Each file is appended as a whole or not at all; a file that was appended before is passed over.
    """
    idx = wavedex.open(index)
    for number, path in enumerate(files, start=1):
        with _progress(f"Appending {path} ({number} of {len(files)})"):
            table = read_rows(idx, path, null)
            done = idx.append(table, slot)
        already = not done.slots and table.num_rows > done.null_keys + done.late
        if as_json:
            typer.echo(json.dumps({"file": str(path), **asdict(done), "already_there": already}))
        else:
            labels = [idx.definition.slotting.label(slot) for slot in done.slots]
            typer.echo(f"{printable(str(path))}: {_said_of(done, labels, already)}")


def read_rows(idx: wavedex.WaveIndex, path: Path, null: str) -> pa.Table:
    """The rows of a file, with pointers to them where the index keeps those."""
    if idx.definition.pointer is not None:
        return idx.read_records(path)
    return read_file(path, idx.definition.offered, null)


def _said_of(done: wavedex.Appended, labels: list[str], already: bool) -> str:
    """What an append did, in words."""
    if already:
        parts = ["already there"]
    elif not labels:
        parts = ["no rows to append"]
    else:
        named = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
        slots = f"{len(labels):,} slot{'s' * (len(labels) != 1)} ({named})"
        parts = [slots, f"{done.rows:,} row{'s' * (done.rows != 1)}"]
    for count, why in (
        (done.null_keys, "skipped without a key"),
        (done.late, "late and dropped"),
        (done.expired, "already expired"),
    ):
        if count:
            parts.append(f"{count:,} {why}")
    return ", ".join(parts)


def _progress(text: str) -> contextlib.AbstractContextManager[Any]:
    """A line on standard error for as long as the work goes on, where somebody looks at it."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    return (
        console.status(Text(printable(text))) if console.is_terminal else contextlib.nullcontext()
    )


COMMANDS: dict[Callable[..., Any], str] = {
    append: "wavedex append sales.wx monday.parquet tuesday.csv"
}
