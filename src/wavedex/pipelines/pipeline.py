"""What a pipeline file says: from which source, through which query, into which index.

The file is TOML; docs/pipelines.md describes it. It is read and checked before Spark starts: its
text, its tables and keys, and what they mean together. All mistakes are collected and raised at
once, each with its line. What only Spark can know is not checked here: formats, schemas, SQL, and
the types of the columns. Imports no pyspark and changes nothing on disk.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, get_type_hints

from wavedex.errors import BadPipeline, Mistake
from wavedex.index.core.definition import Definition
from wavedex.index.kinds import DEFAULT, KINDS, all_hints, kinds_of
from wavedex.pipelines import index_options, window_options
from wavedex.pipelines.checks import AVAILABLE_NOW, check
from wavedex.pipelines.toml_lines import KeyPath, lines_of
from wavedex.pipelines.toml_tables import (
    TomlNotes,
    did_you_mean,
    kind_of,
    line_of,
    nearest,
    read_table,
)
from wavedex.pipelines.window_options import WindowPart, window_part
from wavedex.temporal.methods.catalogue import DEFAULT as HISTORY

__all__ = [
    "AVAILABLE_NOW",
    "HistoryPart",
    "IndexPart",
    "Pipeline",
    "Shape",
    "Source",
    "SparkPart",
    "StreamPart",
    "WindowPart",
    "check_against",
    "read_pipeline",
]


@dataclass(frozen=True)
class Source:
    """What Spark reads."""

    format: str
    path: str | None = None
    mode: str = "batch"
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """All text, as Spark wants them."""
    at_once: int = 1
    """How many folders make a batch."""


@dataclass(frozen=True)
class Shape:
    """A query over the view `source`, whose result is indexed."""

    sql: str


@dataclass(frozen=True)
class IndexPart:
    """The index that is written to."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options that the file gives, as `create` takes them."""
    kind: str | None = None
    """The kind of index, if the file says it."""
    apply_by: str | None = None
    """The column that says what is to be done with each row, if there is one."""


@dataclass(frozen=True)
class StreamPart:
    """How a stream runs."""

    checkpoint: str
    trigger: str | None = None
    """A duration or AVAILABLE_NOW; None for batch after batch without a pause."""
    delay: str | None = None
    dead_letters: str | None = None
    takeover: bool = False


@dataclass(frozen=True)
class HistoryPart:
    """The history of the index: which keys were in its window when."""

    method: str = HISTORY
    """The method by which it is kept."""


@dataclass(frozen=True)
class SparkPart:
    """The session."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file that has no mistakes.

    Paths are absolute. Durations are written as Spark reads them.
    """

    file: str
    source: Source
    shape: Shape | None
    index: IndexPart
    stream: StreamPart | None
    spark: SparkPart
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False, compare=False)
    """On which line of the file each key stands."""
    window: WindowPart | None = None
    history: HistoryPart | None = None


PARTS = {
    "source": Source,
    "shape": Shape,
    "index": IndexPart,
    "stream": StreamPart,
    "window": WindowPart,
    "history": HistoryPart,
    "spark": SparkPart,
}
_OWN: dict[str, Any] = {"path": str, "kind": str, "apply_by": str}
"""What [index] says besides the options of a kind."""
_TOLD: dict[str, dict[str, Any]] = {
    "index": {**_OWN, **all_hints()},
    "window": window_options.HINTS,
}
HINTS: dict[str, dict[str, Any]] = {
    name: _TOLD.get(name) or get_type_hints(part) for name, part in PARTS.items()
}
"""The keys of each table and the types of their values."""
_NEEDED = ("source", "index")
_WHERE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


def read_pipeline(path: str | os.PathLike[str]) -> Pipeline:
    """Read and check a pipeline file. Raises BadPipeline with all mistakes."""
    file = os.fspath(path)
    text, data = _parse(file)
    lines = lines_of(text)
    notes = TomlNotes(lines)
    given = _read_tables(notes, data)
    check(notes, given, os.path.dirname(os.path.abspath(file)))
    if notes.mistakes:
        raise BadPipeline(file, notes.mistakes)
    options = given["index"]
    own = {name: options.pop(name, None) for name in _OWN}
    return Pipeline(
        file=file,
        source=Source(**given["source"]),
        shape=Shape(**given["shape"]) if "shape" in given else None,
        index=IndexPart(**own, options=options),
        stream=StreamPart(**given["stream"]) if "stream" in given else None,
        spark=SparkPart(**given.get("spark", {})),
        window=window_part(given["window"]) if "window" in given else None,
        history=HistoryPart(**given["history"]) if "history" in given else None,
        lines=lines,
    )


def check_against(definition: Definition, pipeline: Pipeline) -> tuple[Mistake, ...]:
    """The mistakes of a pipeline whose index is there: options that are not those of the index."""
    index = pipeline.index
    found = [*index_options.find_differences(definition, index.kind, index.options)]
    if index.apply_by is not None:
        clash = index_options.find_clash(definition, index.options, index.apply_by)
        found += [] if clash is None else [("apply_by", clash)]
    mistakes = [Mistake(line_of(pipeline.lines, ("index", key)), text) for key, text in found]
    if pipeline.history is not None and definition.history not in ("", pipeline.history.method):
        text = f"The history of the index is kept by {definition.history!r}. Give that method."
        mistakes.append(Mistake(line_of(pipeline.lines, ("history", "method")), text))
    return tuple(sorted(mistakes))


def _parse(file: str) -> tuple[str, dict[str, Any]]:
    """The text of a file and what TOML makes of it. Raises BadPipeline."""
    try:
        with open(file, "rb") as opened:
            content = opened.read()
    except OSError as error:
        raise BadPipeline(file, [Mistake(0, f"It cannot be read: {error.strerror}.")]) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadPipeline(file, [Mistake(line, "This is no UTF-8. Save it as that.")]) from None
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise BadPipeline(file, [Mistake(0, "Its values are nested too deeply.")]) from None
    except ValueError as error:
        # Only the message says where: "Invalid value (at line 3, column 8)".
        found = _WHERE.search(str(error))
        at, column = found.groups() if found else ("0", None)
        line = text.rstrip().count("\n") + 1 if at is None else int(at)
        what = _WHERE.sub("", str(error)) + (f", at column {column}" if column else "")
        raise BadPipeline(file, [Mistake(line, f"This is no TOML: {what}.")]) from None


def _read_tables(notes: TomlNotes, data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what can be used of each table, and note what else there is and what is missing."""
    given = {}
    for name, content in data.items():
        # window = 7, say, or history = "pph-s"
        is_key = name in HINTS["index"] and not isinstance(content, dict)
        if name not in HINTS or is_key:
            _note_stranger(notes, name, content, data)
        elif not isinstance(content, dict):
            notes.add((name,), f"{name} is {kind_of(content)}. Write a table, once: [{name}].")
        else:
            known, hints = content, HINTS[name]
            if name == "index":
                known, hints = _of_its_kind(notes, content)
            given[name] = read_table(notes, name, known, hints)
    for name in _NEEDED:
        if name not in data and not notes.doubts((name,)):
            notes.add((name,), f"There is no [{name}], and every pipeline needs one.")
    for name, values in given.items():
        for key in fields(PARTS[name]):
            required = key.default is MISSING and key.default_factory is MISSING
            if required and key.name not in values and not notes.doubts((name, key.name)):
                notes.add((name, key.name), f"[{name}] lacks {key.name!r}.")
    return given


def _of_its_kind(
    notes: TomlNotes, content: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the table of an index says, and the keys of its kind with their types.

    What only other kinds have is left out.
    """
    kind = content.get("kind", DEFAULT)
    if not isinstance(kind, str) or kind not in KINDS:
        return {**content}, HINTS["index"]
    hints = {**_OWN, **KINDS[kind].hints}
    known = {}
    for key, value in content.items():
        others = [] if key in hints else kinds_of(key)
        if others:
            text = f"{key} goes with kind = {others[0]!r}, and kind is {kind!r}."
            notes.add(("index", key), f"{text} Leave it out, or change the kind.")
        else:
            known[key] = value
    return known, hints


def _note_stranger(notes: TomlNotes, name: str, content: Any, data: Mapping[str, Any]) -> None:
    """Note a table that nobody knows, or a key that is in no table."""
    if isinstance(content, dict):
        near = nearest(name, [table for table in HINTS if table not in data])
        text = f"There is no table {name!r}.{did_you_mean(near)}"
        notes.add((name,), text, (near,) if near else None)
        return
    homes = [f"[{table}]" for table, hints in HINTS.items() if name in hints]
    advice = f"Move it below {' or '.join(homes)}" if homes else "Move it below one, or take it out"
    notes.add((name,), f"The key {name!r} is in no table. {advice}.")
