"""Whether what a pipeline file says goes together.

Looks at modes, durations, folders, and the index that is meant. Works on the tables after their
keys and types were checked. On the way it makes paths absolute, and writes durations as Spark reads
them. A value that was found wrong before is passed over: one mistake is said once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from wavedex.errors import BadDefinition, WavedexError
from wavedex.index.core.answers import check_history
from wavedex.index.core.definition import Definition
from wavedex.index.kind import Kind
from wavedex.index.kinds import DEFAULT, KINDS
from wavedex.pipelines import index_options, window_options
from wavedex.pipelines.places import is_missing, is_uri, lies_in, place_of
from wavedex.pipelines.toml_tables import TomlNotes, did_you_mean, nearest
from wavedex.slots import Calendar, Durations, slotting

MODES = ("batch", "folders", "stream")
AVAILABLE_NOW = "available-now"
"""The trigger of a stream that ends when it has read what is there."""
Given = dict[str, dict[str, Any]]
"""The values of each table."""

_SOURCE, _INDEX = ("source", "path"), ("index", "path")
_CHECKPOINT, _DEAD_LETTERS = ("stream", "checkpoint"), ("stream", "dead_letters")
_ANSWERS = ("window", "answers")
_APART = [
    (_SOURCE, _INDEX),
    (_CHECKPOINT, _INDEX),
    (_DEAD_LETTERS, _INDEX),
    (_DEAD_LETTERS, _CHECKPOINT),
    (_CHECKPOINT, _DEAD_LETTERS),
    (_DEAD_LETTERS, _SOURCE),
    (_ANSWERS, _INDEX),
    (_ANSWERS, _CHECKPOINT),
    (_ANSWERS, _SOURCE),
]
"""The first must not lie in the second: each folder has a keeper who expects nothing else in it."""


def check(notes: TomlNotes, given: Given, folder: str) -> None:
    """Note what does not go together. `folder` is where relative paths begin."""
    for table, key in (_SOURCE, _INDEX, _CHECKPOINT, _DEAD_LETTERS, _ANSWERS):
        if key in given.get(table, {}):
            given[table][key] = place_of(given[table][key], folder)
    _check_mode(notes, given)
    for table, check_table in (("source", _check_source), ("stream", _check_stream)):
        if table in given:
            check_table(notes, given[table])
    if "index" in given:
        kind = _check_index(notes, given["index"])
        _check_kind_of_stream(notes, given.get("stream", {}), kind)
    if "window" in given:
        _check_window(notes, given)
    if "history" in given:
        _check_history(notes, given)
    _check_apart(notes, given)


def _check_mode(notes: TomlNotes, given: Given) -> None:
    mode = given.get("source", {}).get("mode", "batch")
    if mode not in MODES:
        text = f"mode is {mode!r}. Give one of {', '.join(map(repr, MODES))}."
        notes.add(("source", "mode"), text + did_you_mean(nearest(mode, MODES)))
    if any(map(notes.doubts, [("source",), ("source", "mode"), ("stream",)])):
        return
    if mode != "stream" and "window" in given:
        text = f"[window] goes with mode = 'stream', and mode is {mode!r}. Leave out one of them."
        notes.add(("window",), text)
    if mode == "stream" and "stream" not in given:
        text = "mode is 'stream', but there is no [stream]. Add one, with a checkpoint."
        notes.add(("source", "mode"), text)
    if mode != "stream" and "stream" in given:
        text = f"[stream] goes with mode = 'stream', and mode is {mode!r}. Leave out one of them."
        notes.add(("stream",), text)


def _check_source(notes: TomlNotes, source: dict[str, Any]) -> None:
    mode, path = source.get("mode", "batch"), source.get("path")
    if source.get("at_once", 1) < 1:
        notes.add(("source", "at_once"), "at_once is a whole number of at least 1.")
    if "at_once" in source and mode != "folders" and not notes.doubts(("source", "mode")):
        notes.add(("source", "at_once"), "at_once goes with mode = 'folders'. Leave it out.")
    if path is not None and "path" in source.get("options", {}):
        notes.add(("source", "options", "path"), "The source has two paths. Leave out one of them.")
    if mode == "folders" and path is None and not notes.doubts(_SOURCE):
        notes.add(
            _SOURCE, "mode is 'folders', and [source] has no path. Say where the folders are."
        )
    if path is None or mode == "stream" or notes.doubts(("source", "mode")):
        return
    if is_missing(path):
        notes.add(_SOURCE, f"There is nothing at {path!r}. Relative paths begin beside this file.")
    elif mode == "folders" and is_missing(path, folder=True):
        notes.add(_SOURCE, f"mode is 'folders', and {path!r} is a file. Give the folder above.")


def _check_stream(notes: TomlNotes, stream: dict[str, Any]) -> None:
    for key in ("trigger", "delay"):
        text = stream.get(key)
        if text is None or (key == "trigger" and text == AVAILABLE_NOW):
            continue
        duration = _duration(text)
        if duration is None:
            choice = f", or {AVAILABLE_NOW!r}" if key == "trigger" else ""
            notes.add(
                ("stream", key),
                f"{key} is {text!r}. Give a whole number above 0 of seconds, minutes, hours, "
                f"days or weeks, such as '10 minutes'{choice}.",
            )
        stream[key] = duration


def _duration(text: str) -> str | None:
    """A duration as Spark reads it; None where it cannot be read. Months are refused: they differ.

    >>> _duration("minute"), _duration("10 Seconds"), _duration("1 month"), _duration("soon")
    ('1 minute', '10 seconds', None, None)
    """
    try:
        slots = slotting(pa.timestamp("s"), text)
    except BadDefinition:
        return None
    assert isinstance(slots, Durations | Calendar)
    if slots.unit in ("month", "quarter", "year"):
        return None
    return f"{slots.every} {slots.unit}{'s' * (slots.every > 1)}"


def _check_index(notes: TomlNotes, index: dict[str, Any]) -> str | None:
    """Note what is wrong with the options, and return the kind of the index.

    The kind is None where that is in doubt. Options of a new index are not needed where there is
    one.
    """
    named = index.get("kind")
    if notes.doubts(("index", "kind")):
        return None
    if named is not None and named not in KINDS:
        text = f"kind is {named!r}. Give one of {', '.join(map(repr, KINDS))}."
        notes.add(("index", "kind"), text + did_you_mean(nearest(named, KINDS)))
        return None
    definition, is_known = _find_index(notes, index.get("path"))
    kind = KINDS[definition.kind if definition is not None and named is None else named or DEFAULT]
    own = ("path", "kind", "apply_by")
    options = {key: value for key, value in index.items() if key not in own}
    known = {key: value for key, value in options.items() if key in kind.hints}
    if "apply_by" in index and not notes.doubts(("index", "apply_by")):
        sound = {key: value for key, value in known.items() if not notes.doubts(("index", key))}
        _check_applied(notes, kind, definition, sound, index["apply_by"])
    for key, text in index_options.find_refused(kind, known):
        notes.add(("index", key), text)
    if definition is not None:
        for key, text in index_options.find_differences(definition, named, options):
            if not notes.doubts(("index", key)):
                notes.add(("index", key), text)
    elif is_known:
        for key, called in kind.missing(options):
            if not notes.doubts(("index", key)):
                notes.add(("index", key), f"[index] lacks {called}, which a new index needs.")
    return kind.name


def _check_applied(
    notes: TomlNotes, kind: Kind, definition: Definition | None, options: Mapping[str, Any], by: str
) -> None:
    """Note what is wrong with the column of instructions."""
    try:
        kind.check_applied(by)
        text = index_options.find_clash(definition, options, by)
    except BadDefinition as error:
        text = str(error)
    if text is not None:
        notes.add(("index", "apply_by"), text)


def _check_window(notes: TomlNotes, given: Given) -> None:
    """Note with what no window can be made, and what it cannot be asked."""
    window, index, stream = given["window"], given.get("index", {}), given.get("stream", {})
    if "apply_by" in index and not notes.doubts(("window",)):
        text = "[window] does not go with apply_by: a window takes rows that come, and no others."
        notes.add(("window",), f"{text} Leave out one of them.")
    if is_uri(window.get("answers", "")):
        notes.add(_ANSWERS, "answers is a URI. Give a folder of this machine.")
    for place, text in window_options.find_bad_values(window):
        notes.add(("window", *place), text)
    if notes.doubts_within("window"):
        return
    definition = None if notes.doubts(_INDEX) else _find_index(notes, index.get("path"))[0]
    time = index.get("time") or index.get("inserted")
    schema = None
    if definition is not None:
        time, schema = definition.time, definition.schema
    settings = window_options.settings_of(window, time, stream.get("delay"))
    queries = window.get("queries", {})
    for place, text in window_options.find_refused(settings, queries, schema):
        notes.add(("window", *place), text)


def _check_history(notes: TomlNotes, given: Given) -> None:
    """Note where the history is kept by no method, or is said twice."""
    try:
        check_history(given["history"].get("method"))
    except BadDefinition as error:
        notes.add(("history", "method"), str(error))
    if "history" in given.get("index", {}):
        text = "[index] says history, and there is a [history]. Leave out one of them."
        notes.add(("index", "history"), text)


def _find_index(notes: TomlNotes, path: str | None) -> tuple[Definition | None, bool]:
    """The definition of the index that is there, if any, and whether that could be told."""
    if path is not None and is_uri(path):
        return None, False
    try:
        return (None if path is None else index_options.find_index(path)), True
    except WavedexError as error:
        notes.add(_INDEX, str(error))
    except OSError as error:
        notes.add(_INDEX, f"The path {path!r} cannot be used: {error.strerror}.")
    return None, False


def _check_kind_of_stream(notes: TomlNotes, stream: dict[str, Any], kind: str | None) -> None:
    if kind is None or KINDS[kind].has_watermark:
        return
    for key in ("delay", "dead_letters"):
        if key in stream and not notes.doubts(("stream", key)):
            text = f"{key} is for wave indexes: no row comes too late for a lifetime index."
            notes.add(("stream", key), f"{text} Leave it out.")


def _check_apart(notes: TomlNotes, given: Given) -> None:
    for inner, outer in _APART:
        path, other = (given.get(table, {}).get(key) for table, key in (inner, outer))
        if path is None or other is None or notes.doubts(inner) or notes.doubts(outer):
            continue
        if lies_in(path, other):
            what = f"{inner[1]} lies in the {outer[1]} of [{outer[0]}], {other!r}"
            notes.add(inner, f"{what}. Give it a folder of its own.")
