"""Sets over time: who was in them at any past time (Kollios and Tsotras)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wavedex.temporal.members import TemporalSet

__all__ = ["TemporalSet"]


def __getattr__(name: str) -> Any:
    """What users call, loaded when it is first wanted: an index knows the names of methods only."""
    if name == "TemporalSet":
        from wavedex.temporal.members import TemporalSet

        return TemporalSet
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
