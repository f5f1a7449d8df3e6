"""All that commands print: what they found, as text or as JSON, and how far they have come.

A command returns an `Answer`, or yields several: what it found, and how that is drawn for people.
Whether it is drawn or printed as JSON is decided here, and here alone anything is written.
`shown` makes a command of such a function, and gives it the option `--json`.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

import typer

from wavedex.cli.options import AsJson
from wavedex.progress import Progress, watch
from wavedex.show.words import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from wavedex.spark.runner import Step

WIDE = 10_000
"""The width of a table that is not for a terminal, wide enough for rows never to be cut."""


class Shown(Protocol):
    """Whatever a command may return."""

    def write(self, as_json: bool) -> None:
        """Write it to standard output."""


@dataclass(frozen=True)
class Answer:
    """What a command found."""

    data: Any
    """As plain JSON. A list is printed an element a line."""
    text: str | Callable[[Console], None]
    """For people: a line, or what draws it."""
    is_table: bool = False
    """Whether it is drawn as a table, which is not cut where there is no terminal."""
    is_deep: bool = False
    """Whether its JSON is indented, because it is deep."""

    def write(self, as_json: bool) -> None:
        """Write it to standard output."""
        if as_json:
            typer.echo(_json(self.data, self.is_deep))
        elif isinstance(self.text, str):
            typer.echo(self.text)
        else:
            self.text(console_for(self.is_table))


def shown(command: Callable[..., Any]) -> Callable[..., None]:
    """A command that writes what the function returns or yields.

    It gets the option `--json` if it has none.
    """
    signature = inspect.signature(command, eval_str=True)
    own = signature.parameters
    is_added = "as_json" not in own

    @wraps(command)
    def run(**given: Any) -> None:
        as_json = given.pop("as_json") if is_added else False
        found = command(**given)
        for each in found if isinstance(found, Iterator) else (found,):
            each.write(as_json)

    if is_added:
        option = inspect.Parameter(
            "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson
        )
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own.values(), option], return_annotation=None
        )
        run.__annotations__ = {**command.__annotations__, "as_json": AsJson}
    return run


def _json(data: Any, is_deep: bool) -> str:
    if isinstance(data, list):
        return "[\n" + ",\n".join(json.dumps(each) for each in data) + "\n]"
    return json.dumps(data, indent=2 if is_deep else None)


def console_for(is_table: bool) -> Console:
    """Where something is drawn: a terminal as wide as it is.

    Elsewhere, tables are so wide that no row is cut.
    """
    from rich.console import Console

    console = Console(highlight=False)
    if is_table and not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=WIDE)
    return console


def facts_grid(facts: Mapping[str, str]) -> Table:
    """What is said of something by name, each on a line. What is empty is left out."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, fact in facts.items():
        if fact:
            grid.add_row(Text(name, style="dim"), Text(printable(fact)))
    return grid


class _Notes:
    """Lines beside the answer, on standard error."""

    def __call__(self, text: str) -> None:
        """Write a line, or several."""
        typer.echo(text, err=True)

    def ask(self, question: str) -> None:
        """Ask whether to go on, where somebody can answer. Raises Abort where the answer is no."""
        if sys.stdin.isatty() and sys.stderr.isatty():
            typer.confirm(question, default=True, abort=True, err=True)


note = _Notes()
"""What people are told before a command goes on."""


@contextmanager
def working(text: str) -> Iterator[None]:
    """A line on standard error for as long as the work goes on, where somebody looks at it.

    It has a bar, rows and their rate once the work says how much it is.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        SpinnerColumn(),
        # A long path gives way to the figures.
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True)),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True, expand=True) as bars:
        bar = bars.add_task(escape(printable(text)), total=None, figures="")
        stop = watch(
            lambda progress: bars.update(
                bar, total=1, completed=progress.share, figures=far_along(progress)
            )
        )
        try:
            yield
        finally:
            stop()


def far_along(progress: Progress) -> str:
    """How far work has come, in words."""
    said = f"{progress.doing} {progress.share:.0%}"
    if not progress.rows:
        return said
    return f"{said}, {progress.rows_done:,} of {progress.rows:,} rows, {progress.rate:,.0f} rows/s"


@contextmanager
def batch_by_batch(title: str) -> Iterator[Callable[[Step], None]]:
    """A bar on a terminal, and a line for each batch elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(printable(title), markup=False)
    if not console.is_terminal:
        yield lambda step: console.print(f"{_batches(step)}: {figures(step)}", markup=False)
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("starting Spark", total=None)
        yield lambda step: progress.update(
            bar, completed=step.done, total=step.total, description=figures(step)
        )


def _batches(step: Step) -> str:
    return f"batch {step.done}" + (f" of {step.total}" if step.total is not None else "")


def figures(step: Step) -> str:
    """What the last batch brought and what it left out, and how many rows that makes in all."""
    said = f"{step.last_read:,} rows read, {step.last_rows:,} kept"
    said += "".join(f", {count:,} {what}" for what, count in step.last_done.items())
    left = ", ".join(f"{count:,} {why}" for why, count in step.last_left.items())
    slots = f", {step.slots[0]} to {step.slots[-1]}" if step.slots else ""
    whole = f"; {step.rows:,} kept in all" if step.done > 1 else ""
    return f"{said}{f' ({left})' if left else ''}{slots}{whole}, {step.rate:,.0f} rows/s"
