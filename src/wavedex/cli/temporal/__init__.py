"""The commands below `wavedex temporal`: sets over time from a shell."""

from wavedex.cli.temporal import contains, inspect, lifespans, load, snapshot, verify

MODULES = (load, contains, snapshot, lifespans, inspect, verify)

__all__ = ["MODULES"]
