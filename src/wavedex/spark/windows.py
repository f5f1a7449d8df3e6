"""The window in memory of a pipeline: filled again from the index, with its queries.

The file was checked before. Here the columns are known, and what does not fit them is told with its
line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from wavedex.errors import (
    BadDefinition,
    BadPipeline,
    BadTime,
    Mistake,
    SchemaMismatch,
    WavedexError,
)
from wavedex.index.opening import AnyIndex
from wavedex.online import Window
from wavedex.online.answers import Answered, AnswerFiles
from wavedex.pipelines.pipeline import Pipeline
from wavedex.pipelines.toml_tables import line_of
from wavedex.pipelines.window_options import key_of, settings_of
from wavedex.spark.stream import columns_for

if TYPE_CHECKING:
    from wavedex.online.subscriptions import Answer

TellAnswer = Callable[[Answered], object]


def window_of(
    pipeline: Pipeline, index: AnyIndex, frame: DataFrame, tell: TellAnswer
) -> Window | None:
    """The window that a pipeline has, if it has one. Raises BadPipeline.

    Answers go into the folder that the file names, or are told.
    """
    part = pipeline.window
    if part is None:
        return None
    delay = None if pipeline.stream is None else pipeline.stream.delay
    settings = {
        "zone": index.definition.zone,
        **settings_of(part.settings, index.definition.time, delay),
    }
    try:
        window = Window.restore(index, **settings)
        columns_for(window, frame)
    except (BadDefinition, BadTime, SchemaMismatch) as error:
        raise _told(pipeline, [(key_of(part.settings, str(error)), str(error))]) from error
    if part.answers is not None:
        tell = AnswerFiles(part.answers)
    mistakes: list[tuple[tuple[str, ...], str]] = []
    for name, each in part.queries.items():
        try:
            window.subscribe(each.query, every=each.every, to=_teller(window, name, tell))
        except WavedexError as error:
            mistakes.append((("queries", name), str(error)))
    if mistakes:
        raise _told(pipeline, mistakes)
    return window


def _teller(window: Window, name: str, tell: TellAnswer) -> Callable[[Answer], Any]:
    return lambda answer: tell(Answered.of(name, window, answer))


def _told(pipeline: Pipeline, found: list[tuple[tuple[str, ...], str]]) -> BadPipeline:
    mistakes = [Mistake(line_of(pipeline.lines, ("window", *key)), said) for key, said in found]
    return BadPipeline(pipeline.file, sorted(mistakes))
