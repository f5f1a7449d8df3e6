"""Options of Spark, which are all text, as those of `create` of a kind of index."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args, get_origin

from wavedex.errors import BadDefinition
from wavedex.index.kind import Kind

_BOOLEANS = {"true": True, "false": False}


def creation_options(
    kind: Kind, options: Mapping[str, str], columns: Collection[str]
) -> dict[str, Any]:
    """The options of a kind of index among those of a data source.

    `columns` are those of the frame. A key that is not one of them is several, with commas between
    their names. Raises BadDefinition for values that cannot be read.
    """
    hints = kind.hints
    asked = {name: _read(name, hints[name], options[name]) for name in hints if name in options}
    if "key" in asked and asked["key"] not in columns and "," in asked["key"]:
        asked["key"] = _split(asked["key"])
    return asked


def _read(name: str, hint: Any, text: str) -> Any:
    kinds = {hint, *get_args(hint)}
    if hint is Any or str in kinds:
        return text
    if Sequence[str] in kinds:
        return _split(text)
    if Sequence[int] in kinds:
        return [_read(name, int, each) for each in _split(text)]
    if any(get_origin(kind) is Mapping for kind in kinds):
        return _table(name, text)
    try:
        if bool in kinds:
            return _BOOLEANS[text.strip().lower()]
        return int(text) if int in kinds else float(text)
    except (KeyError, ValueError):
        raise BadDefinition(f"The option {name} is {text!r}, which is no {hint}.") from None


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")]


def _table(name: str, text: str) -> dict[str, Any]:
    """A table, which is written as JSON."""
    try:
        table = json.loads(text)
    except ValueError:
        table = None
    if not isinstance(table, dict):
        raise BadDefinition(
            f'The option {name} is {text!r}. Write it as JSON, such as {{"17": 300, "18": 250}}.'
        )
    return table
