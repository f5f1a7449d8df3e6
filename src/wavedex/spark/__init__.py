"""Wavedex on Spark: sessions, data frames in, streams in, probes, and the data source `format("wavedex")`.

Spark itself is imported when the first of these names is used, so that a pipeline file can be checked without it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wavedex.spark.probing import probe
    from wavedex.spark.session import session
    from wavedex.spark.sink import Sink, sink
    from wavedex.spark.writing import amend, append

_HOMES = {
    "Sink": "sink",
    "amend": "writing",
    "append": "writing",
    "probe": "probing",
    "session": "session",
    "sink": "sink",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


class _Package(ModuleType):
    """Python puts the modules `session` and `sink` here under their names when they are imported: keep the functions."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

__all__ = ["Sink", "amend", "append", "probe", "session", "sink"]
