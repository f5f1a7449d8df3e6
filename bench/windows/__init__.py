"""Windows in memory: what is measured, a question a file."""

from bench.windows.tables import markdown

__all__ = ["markdown"]
