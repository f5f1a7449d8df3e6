"""Wavedex on Spark: sessions, data frames in, streams in, views, probes, and the data source.

The data source is `format("wavedex")`. Spark itself is imported when the first of these names is
used, so a pipeline file can be checked without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wavedex.spark.appends import amend, append, apply, update
    from wavedex.spark.moving_view import view
    from wavedex.spark.opening import open  # noqa: A004 - as wavedex.open
    from wavedex.spark.probes import probe
    from wavedex.spark.sessions import session
    from wavedex.spark.sets import SetSink, load_set, set_sink
    from wavedex.spark.stream import Sink, sink

_HOMES = {
    "SetSink": "sets",
    "Sink": "stream",
    "amend": "appends",
    "append": "appends",
    "load_set": "sets",
    "open": "opening",
    "probe": "probes",
    "session": "sessions",
    "set_sink": "sets",
    "sink": "stream",
    "update": "appends",
    "apply": "appends",
    "view": "moving_view",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


__all__ = [
    "SetSink",
    "Sink",
    "amend",
    "append",
    "apply",
    "load_set",
    "open",
    "probe",
    "session",
    "set_sink",
    "sink",
    "update",
    "view",
]
