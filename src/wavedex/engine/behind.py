"""Files whose syncs go on behind: one thread writes the next file while others make the last ones last.

A refresh of a grid writes dozens of files. To wait for each of them before the next is begun leaves the processor idle, and lets
the disk do one by one what it can do for several at a time. What was asked for is done when the work is: only then is anything
committed that names the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

from wavedex.store.access import AnyFiles

THREADS = 8
"""How many files of a shard are synced at a time."""


@contextmanager
def synced_behind(files: AnyFiles) -> Iterator[AnyFiles]:
    """The same files, whose syncs are done when this is left; what one of them raises is raised then."""
    with ThreadPoolExecutor(THREADS) as pool:
        behind = _Behind(files, pool)
        yield cast(AnyFiles, behind)
        behind.wait()


class _Behind:
    """All that files are, but for `sync`."""

    def __init__(self, files: AnyFiles, pool: ThreadPoolExecutor) -> None:
        self._files = files
        self._pool = pool
        self._asked: list[Future[None]] = []

    def sync(self, name: str) -> None:
        self._asked.append(self._pool.submit(self._files.sync, name))

    def wait(self) -> None:
        for each in self._asked:
            each.result()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)
