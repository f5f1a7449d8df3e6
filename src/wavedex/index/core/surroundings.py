"""What an index takes from outside: the disk, the clock, new names, and who does the work."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass

from wavedex.engine.base import Engine
from wavedex.engine.local import LocalEngine
from wavedex.engine.workshop import Workshop
from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles


@dataclass(frozen=True)
class Surroundings:
    """What an index takes from outside. Tests hand in others, and so does Spark."""

    files: Callable[[str | os.PathLike[str]], AnyFiles] = files_at
    """The disk."""
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    """The clock."""
    token: Callable[[], str] = lambda: os.urandom(4).hex()
    """A source of names that are new."""
    engine: Callable[[Workshop, int], Engine] = LocalEngine
    """Who does the work."""
