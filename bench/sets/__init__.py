"""Sets over time: what is measured, a question a file."""

from bench.sets.tables import markdown

__all__ = ["markdown"]
