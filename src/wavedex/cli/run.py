"""The command `run`: from a source to an index with Spark, as a pipeline file says.

The file is checked before anything of Spark is loaded. So its mistakes are told at once, with or
without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wavedex.cli.output import Answer, batch_by_batch
from wavedex.extras import check_installed
from wavedex.show.values import json_text
from wavedex.show.words import printable

if TYPE_CHECKING:
    from wavedex.online.answers import Answered
    from wavedex.pipelines.pipeline import Pipeline


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
) -> Iterator[Answer]:
    """Read a source with Spark and append it to an index, which is created if it is not there."""
    from wavedex.pipelines.pipeline import read_pipeline

    read = read_pipeline(pipeline)
    if check:
        text = printable(f"{pipeline} is fine: {_said_of(read)}")
        yield Answer({"file": str(pipeline), "ok": True}, text)
        return
    run_pipeline(read, once)


def run_pipeline(pipeline: Pipeline, once: bool) -> None:
    """Run a pipeline, and show how far it has come. Raises PackageMissing and what it raises."""
    check_installed("pyspark")
    from wavedex.spark import runner

    with batch_by_batch(_said_of(pipeline)) as tell:
        runner.run(pipeline, once=once, tell=tell, answered=_write)


def _write(answered: Answered) -> None:
    """Write an answer of a window, a line of JSON."""
    said = answered.to_dict()
    Answer(said, json_text(said)).write(as_json=False)


def _said_of(pipeline: Pipeline) -> str:
    """What a pipeline does, in words."""
    source = pipeline.source
    origin = f" from {source.path}" if source.path else ""
    return f"{source.format}{origin} ({source.mode}) into {pipeline.index.path}"


COMMANDS: dict[Callable[..., Any], str] = {run: "wavedex run flights.toml --once"}
