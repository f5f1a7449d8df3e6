"""Sets over time: who was in them at any past time (Kollios and Tsotras)."""

from wavedex.temporal.members import TemporalSet

__all__ = ["TemporalSet"]
