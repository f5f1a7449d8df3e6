"""Before which changes to the disk a test crashes: before some by turns, or before each.

Tests of like writes make like changes, dozens of them. Each test crashes before every third, and
which third follows from the name of the test. With WAVEDEX_TESTS=all it crashes before each.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kit.matrix import RUNS_ALL
from wavedex.testing.crashes import DiskOf, Expected, LocalWalk

EVERY = 1 if RUNS_ALL else 3


def crash_numbers() -> Iterator[int]:
    """The numbers of the changes before which this test crashes."""
    name = os.environ["PYTEST_CURRENT_TEST"]
    return itertools.count(1 + zlib.crc32(name.encode()) % EVERY, EVERY)


def crash_everywhere(
    folder: Path, disk_of: DiskOf, act: Callable[[Any], object], old: Expected, new: Expected
) -> int:
    """Crash what is done to copies of the index `origin` in a folder. How many changes it makes."""
    walk = LocalWalk(folder / "origin", folder / "scratch")
    return walk.crash_everywhere(disk_of, act, old, new, crash_numbers())
