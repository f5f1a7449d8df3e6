"""What an index takes from outside: the disk, the clock, names that are new, and who does the work."""

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
    """The disk, the clock, a source of names and an engine. Tests hand in others, and so does Spark."""

    files: Callable[[str | os.PathLike[str]], AnyFiles] = files_at
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    token: Callable[[], str] = lambda: os.urandom(4).hex()
    engine: Callable[[Workshop, int], Engine] = LocalEngine
