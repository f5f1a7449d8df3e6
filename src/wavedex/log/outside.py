"""What everything that is kept takes from outside: the disk, the clock, and new names."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass

from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles


@dataclass(frozen=True)
class Outside:
    """What is taken from outside. Tests hand in others, and so does Spark."""

    files: Callable[[str | os.PathLike[str]], AnyFiles] = files_at
    """The disk."""
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    """The clock."""
    token: Callable[[], str] = lambda: os.urandom(4).hex()
    """A source of names that are new."""
