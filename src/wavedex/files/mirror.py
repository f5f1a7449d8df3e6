"""A file that lies afar, in memory as far as it was needed.

There is room in memory for the whole file, which costs nothing until it is filled. So every byte
has its place, and Arrow reads the file as if it were all there. Blocks are fetched when somebody
needs them, and stay.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wavedex.files.opened import Opened, Span

if TYPE_CHECKING:
    from wavedex.files.contract import AnyFiles, FileRef

BLOCK_BYTES = 4096
"""The least that is fetched. More is fetched in multiples of it."""
GAP_BYTES = 32_768
"""Up to this much between two blocks is fetched too: it takes less time than another request."""
PIECE_BYTES = 32 << 20
"""The most that is fetched at once, since it is in memory twice until it has its place."""


class Mirror(Opened):
    """A file of a store that is not at hand."""

    is_near = False

    def __init__(self, files: AnyFiles, ref: FileRef) -> None:
        self._files = files
        self._ref = ref
        self._fetched = np.zeros(-(-ref.bytes // BLOCK_BYTES), np.bool_)
        self._memory = mmap.mmap(-1, max(1, ref.bytes), flags=mmap.MAP_PRIVATE)
        self._content = pa.py_buffer(self._memory).slice(0, ref.bytes)

    @property
    def sparse(self) -> pa.Buffer:
        return self._content

    @property
    def seems_in_memory(self) -> bool:
        return False

    @property
    def whole(self) -> pa.Buffer:
        self.need([(0, self._ref.bytes)])
        return self._content

    def need(self, spans: Iterable[Span]) -> None:
        """Fetch what is not there yet.

        COST: as `ranges` of the files, once for whatever lies close together.
        """
        wanted = np.zeros_like(self._fetched)
        for start, stop in spans:
            wanted[start // BLOCK_BYTES : -(-stop // BLOCK_BYTES)] = True
        missing = np.flatnonzero(wanted & ~self._fetched)
        if not len(missing):
            return
        far_apart = np.diff(missing) > GAP_BYTES // BLOCK_BYTES
        runs = np.split(missing, np.flatnonzero(far_apart) + 1)
        lacking = [span for run in runs for span in self._cut(int(run[0]), int(run[-1]) + 1)]
        if sum(stop - start for start, stop in lacking) <= PIECE_BYTES:
            self._fetch(lacking)
        else:
            for span in lacking:
                self._fetch([span])

    def _cut(self, first: int, last: int) -> Iterator[Span]:
        """The bytes of some blocks, in pieces that are not too large."""
        stop = min(last * BLOCK_BYTES, self._ref.bytes)
        for start in range(first * BLOCK_BYTES, stop, PIECE_BYTES):
            yield start, min(stop, start + PIECE_BYTES)

    def _fetch(self, spans: list[Span]) -> None:
        # Two threads may fetch the same block. The bytes are the same, and it counts as fetched
        # only once they are there.
        pieces = self._files.ranges(self._ref.name, spans)
        with memoryview(self._memory) as memory:
            for (start, stop), piece in zip(spans, pieces, strict=True):
                memory[start:stop] = memoryview(piece).cast("B")
        for start, stop in spans:
            self._fetched[start // BLOCK_BYTES : -(-stop // BLOCK_BYTES)] = True
