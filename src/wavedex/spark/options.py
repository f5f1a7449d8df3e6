"""Options of Spark, which are all text, as those of `WaveIndex.create`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from wavedex.errors import BadDefinition
from wavedex.spark.index_options import HINTS

_BOOLEANS = {"true": True, "false": False}


def creation_options(options: Mapping[str, str]) -> dict[str, Any]:
    """The options of an index among those of a data source. Raises BadDefinition for values that cannot be read."""
    return {name: _read(name, options[name]) for name in HINTS if name in options}


def _read(name: str, text: str) -> Any:
    kinds = {HINTS[name], *get_args(HINTS[name])}
    if HINTS[name] is Any or str in kinds:
        return text
    if Sequence[str] in kinds:
        return [each.strip() for each in text.split(",")]
    try:
        if bool in kinds:
            return _BOOLEANS[text.strip().lower()]
        return int(text) if int in kinds else float(text)
    except (KeyError, ValueError):
        raise BadDefinition(f"The option {name} is {text!r}, which is no {HINTS[name]}.") from None
