"""Wavedex on Spark: sessions, data frames in, streams in, probes, and the data source `format("wavedex")`.

Spark itself is imported when the first of these names is used, so that a pipeline file can be checked without it.
"""

from __future__ import annotations

from importlib import import_module
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
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    # The modules `session` and `sink` are found under their own names once imported: put the function there.
    globals()[name] = value
    return value


__all__ = ["Sink", "amend", "append", "probe", "session", "sink"]
