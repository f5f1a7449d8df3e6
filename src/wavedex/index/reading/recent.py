"""The last part of an index: what `idx.last("7 days")` returns. It moves on as the index does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wavedex.index.reading.readable import Readable

if TYPE_CHECKING:
    from wavedex.index.reading.snapshot import Snapshot


class Recent(Readable):
    """The rows of the last slots, or of the last stretch of time, of an index."""

    def __init__(self, whole: Readable, span: Any) -> None:
        """Use `last` of an index instead."""
        self._whole = whole
        self._span = span
        self._cached: tuple[Snapshot, Snapshot] | None = None

    def _current(self) -> Snapshot:
        newest = self._whole._current()
        cached = self._cached
        if cached is None or cached[0] is not newest:
            cached = self._cached = newest, newest.since(self._span)
        return cached[1]

    def __reduce__(self) -> tuple[type[Recent], tuple[Readable, Any]]:
        return Recent, (self._whole, self._span)

    def __repr__(self) -> str:
        return f"<the last {self._span} of {self._whole!r}>"
