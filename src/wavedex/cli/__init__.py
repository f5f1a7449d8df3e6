"""The command `wavedex`: the index from a shell."""

from wavedex.cli.commands import app, main

__all__ = ["app", "main"]
