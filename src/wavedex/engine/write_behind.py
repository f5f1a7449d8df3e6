"""Files whose syncs go on behind the writing, and whose bytes are counted.

One thread writes the next file while others make the last ones last.
A refresh of a grid writes dozens of files. To wait for each of them before the next is begun leaves
the processor idle, and lets the disk do one by one what it can do for several at a time.
All syncs are done when the work is. Only then is anything committed that names the files.

How many bytes were handed to the disk is counted file by file. The size of a file that grows does
not tell: records go into room that is there already, and room is made that nothing is written to
yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from wavedex.crew import Crew, Task
from wavedex.files.contract import AnyFiles, FileRef, Output
from wavedex.progress import step

T = TypeVar("T")

THREADS = 8
"""How many files of a shard are synced at a time."""


@contextmanager
def synced_behind(files: AnyFiles, written: dict[str, int]) -> Iterator[AnyFiles]:
    """The same files, whose syncs are done when this is left.

    What a sync raises is raised then. `written` gets how many bytes were written to each file.
    """
    crew = Crew(THREADS)
    with crew, crew:
        behind = _Behind(files, crew, written)
        yield cast(AnyFiles, behind)
        behind.wait()


class _Behind:
    """Files that sync behind the writing and count what is written. All else is passed on."""

    def __init__(self, files: AnyFiles, crew: Crew, written: dict[str, int]) -> None:
        self._files = files
        self._crew = crew
        self._written = written
        self._asked: list[Task[None]] = []
        self._step = partial(step, str(files.root))

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        def filled(out: Output) -> None:
            out.told = self._step
            fill(out)

        ref = self._files.create(name, filled)
        self._written[name] = ref.bytes
        return ref

    def copy(self, source: str, target: str, size: int) -> None:
        self._files.copy(source, target, size)
        self._count(target, size)

    def patch(self, name: str, offset: int, data: Any) -> None:
        self._files.patch(name, offset, data)
        self._count(name, memoryview(data).nbytes)

    def scatter(self, name: str, positions: Any, rows: Any) -> None:
        self._files.scatter(name, positions, rows)
        self._count(name, rows.nbytes)

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        # What a package writes itself is known by what the file has grown by.
        before = self._files.size(name)
        changed = self._files.hand_over(name, change)
        self._count(name, max(0, self._files.size(name) - before))
        return changed

    def _count(self, name: str, count: int) -> None:
        # A file is written by one thread at a time.
        self._written[name] = self._written.get(name, 0) + count
        self._step(count)

    def sync(self, name: str) -> None:
        self._asked.append(self._crew.give(partial(self._files.sync, name)))

    def wait(self) -> None:
        for each in self._asked:
            each.result()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)
