"""How far long work has come, for whoever looks: rows, share and rate.

Work that may take a while says beforehand how much it is, in bytes, and tells each step as it goes.
Steps are told by the place that is worked at, the folder of an index, so that nothing has to be
handed through all that lies between who begins the work and who writes a file. Where nobody looks,
a step costs one look at an empty dictionary.

>>> seen = []
>>> stop = watch(seen.append)
>>> with underway("sales.wx", "append", rows=1_000, total=400):
...     step("sales.wx", 100)
>>> stop()
>>> [(each.doing, each.share, each.rows_done) for each in seen]
[('append', 0.0, 0), ('append', 0.25, 250), ('append', 1.0, 1000)]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wavedex.events import LOGGER


@dataclass(frozen=True)
class Progress:
    """How far some work has come."""

    path: str
    """Where it is done."""
    doing: str
    """What is done: append, prepare, erase, migrate, verify, read ..."""
    rows: int
    """How many rows it is about in all; 0 where that is not known."""
    share: float
    """How much of it is done, from 0 to 1. It is an estimate until it is 1."""
    seconds: float
    """Since it began."""

    @property
    def rows_done(self) -> int:
        """About how many rows are done."""
        return round(self.rows * self.share)

    @property
    def rate(self) -> float:
        """Rows a second so far."""
        return self.rows_done / self.seconds if self.seconds else 0.0


Watcher = Callable[[Progress], object]
_WATCHERS: dict[object, Watcher] = {}
_UNDERWAY: dict[str, _Work] = {}
_NEARLY = 0.99
"""What an estimate says at most before the work is done."""


def watch(callback: Watcher) -> Callable[[], None]:
    """Have a function called with every step of the work of this process.

    It is called in the thread that works, so it had better be quick. What it raises is logged and
    disturbs nobody. Returns a function that ends it.
    """
    token = object()
    _WATCHERS[token] = callback

    def stop() -> None:
        _WATCHERS.pop(token, None)

    return stop


@contextmanager
def underway(path: str, doing: str, rows: int, total: int) -> Iterator[None]:
    """Say that some work begins: about how many rows, and how many bytes."""
    if not _WATCHERS:
        yield
        return
    work = _UNDERWAY[path] = _Work(path, doing, rows, total)
    work.tell(0.0)
    try:
        yield
    finally:
        if _UNDERWAY.get(path) is work:
            del _UNDERWAY[path]
    work.tell(1.0)


def is_watched() -> bool:
    """Whether anybody looks."""
    return bool(_WATCHERS)


def step(path: str, count: int) -> None:
    """Tell that so many bytes more are done at a path."""
    if (work := _UNDERWAY.get(path)) is not None:
        work.step(count)


class _Work:
    """Work that goes on, on several threads perhaps."""

    def __init__(self, path: str, doing: str, rows: int, total: int) -> None:
        self._path, self._doing, self._rows = path, doing, rows
        self._total = max(1, total)
        self._done = 0
        self._guard = threading.Lock()
        self._begun_s = time.monotonic()

    def step(self, count: int) -> None:
        with self._guard:
            self._done += count
            self.tell(min(_NEARLY, self._done / self._total))

    def tell(self, share: float) -> None:
        seconds = time.monotonic() - self._begun_s
        progress = Progress(self._path, self._doing, self._rows, share, seconds)
        for callback in [*_WATCHERS.values()]:
            try:
                callback(progress)
            except Exception:
                LOGGER.exception("A watcher failed at %s of %s", self._doing, self._path)
