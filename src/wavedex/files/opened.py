"""A file that is open for reading, and how look-ups say beforehand what they will touch.

A file is read in two ways. A scan reads it from front to back, and wants the disk to run ahead. A
probe touches a few places, and wants nothing else to be read. So an open file is offered twice:
`whole` and `sparse`. Who reads `sparse` says first which bytes it *needs*. On a local disk that is
advice. Elsewhere they are fetched then and only then.

A look-up needs one thing to know where the next one lies: a place in a table, then the first row of
a bucket, then the row. Such a look-up is a *seek*: a generator that yields what it needs next and
goes on when that is there. Seeks of several parts go on `together`, step by step. So the disk or
the store is asked for all they need at the same time.
"""

from __future__ import annotations

import resource
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from functools import partial
from typing import TypeVar

import pyarrow as pa

from wavedex.crew import run_together

T = TypeVar("T")

Span = tuple[int, int]
"""Bytes of a file, from the first to past the last."""

_THREAD = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)

AT_ONCE_MAX = 32
"""How many files are asked for at the same time where each of them is a request."""


class Opened(ABC):
    """A file that is open for reading. It costs no descriptor."""

    is_near: bool
    """Whether `need` is advice, which costs next to nothing."""

    @property
    @abstractmethod
    def seems_in_memory(self) -> bool:
        """Whether all of it seems to be in memory, so that nobody need say what they will touch."""

    @property
    @abstractmethod
    def sparse(self) -> pa.Buffer:
        """The content, of which only what was needed before may be looked at."""

    @property
    @abstractmethod
    def whole(self) -> pa.Buffer:
        """The content, to be read from front to back."""

    @abstractmethod
    def need(self, spans: Iterable[Span]) -> None:
        """These bytes of `sparse` are about to be looked at.

        Raises FileNotFoundError and Damaged where they cannot be had.
        """

    def place_of(self, buffer: pa.Buffer) -> Span:
        """Where in the file a piece of `sparse` lies."""
        start = buffer.address - self.sparse.address
        return start, start + buffer.size


Need = tuple[Opened, Span]
Seek = Generator[Sequence[Need], None, T]


def together(seeks: Iterable[Seek[T]]) -> Seek[list[T]]:
    """Several seeks as one. Each step goes on with all of them. Returns what they return."""
    going = dict(enumerate(seeks))
    found: dict[int, T] = {}
    while True:
        needs: list[Need] = []
        for place, seek in [*going.items()]:
            try:
                needs += next(seek)
            except StopIteration as end:
                found[place] = end.value
                del going[place]
        if not going:
            return [found[place] for place in sorted(found)]
        yield needs


def finish(seek: Seek[T]) -> T:
    """Bring a seek to its end.

    Whatever it needs is asked for, file by file, and from afar at the same time.
    """
    while True:
        try:
            needs = next(seek)
        except StopIteration as end:
            return end.value
        by_file: dict[Opened, list[Span]] = {}
        for file, span in needs:
            by_file.setdefault(file, []).append(span)
        _ask_for(by_file)


def _ask_for(by_file: dict[Opened, list[Span]]) -> None:
    far = [partial(file.need, spans) for file, spans in by_file.items() if not file.is_near]
    run_together(far, AT_ONCE_MAX)
    for file, spans in by_file.items():
        if file.is_near:
            file.need(spans)


def waits() -> int:
    """How often this thread has waited for something, such as a page that is being read."""
    return resource.getrusage(_THREAD).ru_nvcsw


def disk_faults() -> int:
    """How often this process has touched a page that had to be read."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt
