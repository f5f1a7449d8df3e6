"""What an index takes from outside: the disk, the clock, new names, and who does the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wavedex.engine.base import Engine
from wavedex.engine.local import LocalEngine
from wavedex.engine.workshop import Workshop
from wavedex.log.outside import Outside


@dataclass(frozen=True)
class Surroundings(Outside):
    """What an index takes from outside."""

    engine: Callable[[Workshop, int], Engine] = LocalEngine
    """Who does the work."""
