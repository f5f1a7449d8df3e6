"""Basic windows on disk, with the circle of them in memory (003, Section 5.6).

A window may be larger than memory. The rows of a basic window that is complete are then written to
a file, which is mapped, and the system keeps of it in memory what is read. Its name is removed at
once: what is mapped stays readable, and a process that ends leaves nothing behind. Pointers,
indexes and rings stay in memory.

It is no archive: whoever wants rows to last uses `Window.archive`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.files.contract import AnyFiles
from wavedex.files.local import Files
from wavedex.online.rows import PiecedColumn


class SpilledColumn(PiecedColumn):
    """A column of which complete basic windows are on disk."""

    @property
    def nbytes(self) -> int:
        """How many bytes it takes in memory, without what is mapped."""
        return sum(piece.nbytes for piece in self._pieces[self._mapped :])

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._mapped = 0
        """How many pieces are on disk; these are the first."""

    def replace(self, first: int, stop: int, values: pa.Array) -> None:
        """Keep the rows of a basic window as they were written. REQUIRES: those before it are."""
        place, kept = self._mapped, stop
        starts, pieces = [first], [values]
        while place < len(self._starts) and self._starts[place] < stop:
            start, piece = self._starts[place], self._pieces[place]
            if start + len(piece) > stop:
                starts.append(kept)
                pieces.append(piece.slice(stop - start))
            place += 1
        self._starts[self._mapped : place] = starts
        self._pieces[self._mapped : place] = pieces
        self._mapped += 1

    def leave(self, oldest: int) -> None:
        before = len(self._pieces)
        super().leave(oldest)
        self._mapped -= before - len(self._pieces)


class Spill:
    """Writes basic windows to files without a name."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Write below a folder on a local disk. Raises BadDefinition, BadPath, DiskFailed."""
        if not isinstance(folder, str | os.PathLike):
            raise BadDefinition(f"disk={folder!r}: give the path of a folder.")
        if "://" in os.fspath(folder):
            raise BadDefinition(
                f"disk={os.fspath(folder)!r} is no folder on a local disk, and rows that are read "
                "again and again must lie on one. Give a path."
            )
        self._files: AnyFiles = Files(Path(folder))
        self._files.make_folder("")
        self._tokens = (f"basic-{os.getpid()}-{id(self)}-{n}" for n in itertools.count())
        self.bytes_written = 0
        """How many bytes were written."""

    def write(self, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
        """Write the rows of a basic window. Returns them as they lie on disk. Raises DiskFull."""
        batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        name = next(self._tokens)

        def fill(sink: pa.NativeFile) -> None:
            with pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)

        written = self._files.create(name, fill)
        try:
            mapped = self._files.map(written)
        finally:
            self._files.remove(name)
        self.bytes_written += written.bytes
        found = pa.ipc.open_file(pa.BufferReader(mapped)).get_batch(0)
        return dict(zip(columns, found.columns, strict=True))
