"""Whether a window in memory can be made as a pipeline file says, and its queries asked.

The window itself is asked: one is made over stand-ins for the columns that the file names. A time
is a timestamp, or a whole number where the span is one; other columns are whole numbers, or what
the boundaries of their groups are. Whether the real columns fit is said when they are there.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wavedex.errors import BadDefinition, WavedexError

if TYPE_CHECKING:
    from wavedex.online.queries.text import ContinuousQuery

HINTS: dict[str, Any] = {
    "rows": int,
    "span": str | int,
    "basic": str | int,
    "time": str,
    "delay": str | int,
    "storage": str | Mapping[str, Any],
    "index": Sequence[str] | Mapping[str, Any],
    "ring": Sequence[str] | Mapping[str, Any],
    "groups": Mapping[str, Any] | None,
    "buckets": int,
    "storage_buckets": int,
    "pointers": str,
    "purge": str | int | bool,
    "late": str,
    "keep_up": bool | float,
    "queries": Mapping[str, Any] | None,
    "answers": str,
}
"""What [window] may say, and the types of the values."""
_OWN = ("queries", "answers")
"""The keys that are no settings of a window."""
_NAMED = ("storage", "index", "ring")
"""The settings that may be tables of columns and words."""
_STAND_IN = "any column"
"""The stand-in for columns of which none is named."""


@dataclass(frozen=True)
class WindowPart:
    """A window in memory that the stream of a pipeline fills, and what it is asked."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """The keywords of `Window`, as far as the file says them."""
    queries: Mapping[str, ContinuousQuery] = field(default_factory=dict)
    """What is asked again and again, by the name that the answers have."""
    answers: str | None = None
    """The folder that gets the answers. Without one they are told."""


def window_part(window: Mapping[str, Any]) -> WindowPart:
    """What a table says that has no mistakes."""
    from wavedex.online.queries.text import read_continuous

    settings = {key: value for key, value in window.items() if key not in _OWN}
    queries = {name: read_continuous(text) for name, text in window.get("queries", {}).items()}
    return WindowPart(settings, queries, window.get("answers"))


Found = tuple[tuple[str, ...], str]
"""The key within [window], and what is wrong with it."""


def find_bad_values(window: Mapping[str, Any]) -> Iterator[Found]:
    """Find what is wrong within tables. REQUIRES: their own types are those of the hints."""
    for key in _NAMED:
        given = window.get(key)
        for name, value in given.items() if isinstance(given, Mapping) else ():
            if not isinstance(value, str):
                yield (key, name), f"{name} is {value!r}. Give the name of a kind in quotes."
    for name, value in (window.get("groups") or {}).items():
        if not isinstance(value, list) or not value:
            yield ("groups", name), f"{name} is {value!r}. Give a list of boundaries."
    for name, value in (window.get("queries") or {}).items():
        if not isinstance(value, str):
            yield ("queries", name), f'{name} is {value!r}. Give a query in quotes: "top(dest, 5)".'
        elif not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            yield (
                ("queries", name),
                f"{name!r} cannot name answers. Use letters, digits, '_', '-' and dots.",
            )
        elif (said := _refused_query(value)) is not None:
            yield ("queries", name), said
    if window.get("purge") is True:
        yield ("purge",), "purge is true. Give false for never, or say when."


def settings_of(
    window: Mapping[str, Any], time: str | None, delay: str | int | None
) -> dict[str, Any]:
    """The keywords of `Window`: what is left out is as the index and the stream have it.

    Rows that come too late are dropped, as the index sets them aside.
    """
    settings = {key: value for key, value in window.items() if key not in _OWN}
    settings.setdefault("late", "drop")
    if settings.get("purge") is False:
        settings["purge"] = None
    if settings.get("span") is not None:
        if time is not None:
            settings.setdefault("time", time)
        if delay is not None and isinstance(settings["span"], str):
            settings.setdefault("delay", delay)
    return settings


def find_refused(
    settings: Mapping[str, Any], queries: Mapping[str, str], schema: pa.Schema | None
) -> Iterator[Found]:
    """Find what no window can be made with, whatever the columns, and what it cannot be asked.

    `schema` has the columns, where they are known.
    REQUIRES: `find_bad_values` finds nothing. COST: Numba is loaded where there is an index.
    """
    from wavedex.online import Window
    from wavedex.online.queries.text import read_continuous

    read = {name: read_continuous(text) for name, text in queries.items()}
    if "span" in settings and "time" not in settings:
        settings = {**settings, "time": _STAND_IN}  # It is that of the index, which is not known.
    if schema is None:
        schema = _stand_ins(settings, [each.column for each in read.values()])
    refusal = _refusal(schema, settings)
    if refusal is not None:
        yield _culprit(schema, settings, str(refusal)), str(refusal)
        return
    window = Window(schema, **settings)
    for name, each in read.items():
        try:
            each.query.explain(window)
        except WavedexError as error:
            yield ("queries", name), str(error)


def key_of(settings: Mapping[str, Any], said: str) -> tuple[str, ...]:
    """The setting that a sentence is about: it begins with it, or names it."""
    named = re.findall(r"(\w+)=", said)
    return next(((name,) for name in named if name in settings), ())


def _culprit(schema: pa.Schema, settings: Mapping[str, Any], said: str) -> tuple[str, ...]:
    """The setting that is wrong: it is named first, or all is well without it."""
    begins = re.match(r"(\w+)=", said)
    if begins is not None and begins[1] in settings:
        return (begins[1],)
    for name in reversed([*settings]):
        if _refusal(schema, {key: settings[key] for key in settings if key != name}) is None:
            return (name,)
    return key_of(settings, said)


def _refusal(schema: pa.Schema, settings: Mapping[str, Any]) -> WavedexError | None:
    from wavedex.online import Window

    try:
        Window(schema, **settings)
    except WavedexError as error:
        return error
    return None


def _refused_query(text: str) -> str | None:
    from wavedex.online.queries.text import read_continuous

    try:
        read_continuous(text)
    except BadDefinition as error:
        return str(error)
    return None


def _stand_ins(settings: Mapping[str, Any], asked: Sequence[str | None]) -> pa.Schema:
    """The columns that are named, with types that their settings leave possible."""
    kinds: dict[str, pa.DataType] = {}
    for key in _NAMED:
        given = settings.get(key, ())
        kinds |= dict.fromkeys(() if isinstance(given, str) else given, pa.int64())
    kinds |= {name: pa.int64() for name in asked if name is not None}
    for name, bounds in settings.get("groups", {}).items():
        kinds[name] = _kind_of(bounds[0])
    if "time" in settings:
        whole = isinstance(settings.get("span"), int)
        kinds[settings["time"]] = pa.int64() if whole else pa.timestamp("us", "UTC")
    return pa.schema(kinds or {_STAND_IN: pa.int64()})


def _kind_of(bound: object) -> pa.DataType:
    match bound:
        case str():
            return pa.string()
        case float():
            return pa.float64()
        case dt.datetime():
            return pa.timestamp("us", "UTC" if bound.tzinfo is not None else None)
        case dt.date():
            return pa.date32()
        case _:
            return pa.int64()
