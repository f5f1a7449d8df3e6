"""What an index takes from outside: the disk, the clock and names that are new."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from wavedex.store.files import Files


@dataclass(frozen=True)
class Surroundings:
    """The disk, the clock and a source of names. Tests hand in others."""

    files: Callable[[str | os.PathLike[str]], Files] = Files
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    token: Callable[[], str] = lambda: secrets.token_hex(4)
