"""The command `run`: from a source to an index with Spark, as a pipeline file says.

The file is checked before anything of Spark is loaded, so that its mistakes are told at once, with or without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wavedex.cli.rows import printable
from wavedex.extras import check_installed

if TYPE_CHECKING:
    from wavedex.pipelines.pipeline import Pipeline
    from wavedex.spark.runner import Step


def run(
    pipeline: Annotated[
        Path, typer.Argument(metavar="PIPELINE.toml", help="The file that says what to do.")
    ],
    once: Annotated[
        bool, typer.Option("--once", help="End a stream when it has read what is there now.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file, without starting Spark.")
    ] = False,
) -> None:
    """Read a source with Spark and append it to an index, which is created if it is not there."""
    from wavedex.pipelines.pipeline import read_pipeline

    read = read_pipeline(pipeline)
    if check:
        typer.echo(printable(f"{pipeline} is fine: {_said_of(read)}"))
        return
    check_installed("pyspark")
    runner = import_module("wavedex.spark.runner")
    with _progress(_said_of(read)) as tell:
        runner.run(read, once=once, tell=tell)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[Step], None]]:
    """A bar on a terminal, and a line for each batch elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(printable(title), markup=False)
    if not console.is_terminal:
        yield lambda step: console.print(f"{_batches(step)}: {_figures(step)}", markup=False)
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("starting Spark", total=None)
        yield lambda step: progress.update(
            bar, completed=step.done, total=step.total, description=_figures(step)
        )


def _batches(step: Step) -> str:
    return f"batch {step.done}" + (f" of {step.total}" if step.total is not None else "")


def _figures(step: Step) -> str:
    slots = f", {step.slots[0]} to {step.slots[-1]}" if step.slots else ""
    return f"{step.rows:,} rows{slots}, {step.rate:,.0f} rows/s"


def _said_of(pipeline: Pipeline) -> str:
    """What a pipeline does, in words."""
    source = pipeline.source
    origin = f" from {source.path}" if source.path else ""
    return f"{source.format}{origin} ({source.mode}) into {pipeline.index.path}"


COMMANDS: dict[Callable[..., Any], str] = {run: "wavedex run flights.toml --once"}
