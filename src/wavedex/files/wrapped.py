"""Files that wrap others: every method is passed on, and whoever derives from it changes a few.

Three kinds do: files whose syncs go on behind, files that are spread over several disks,
and the disks of tests that crash, tear, forget, fill up and count.
They wrap files of any kind, a local disk as well as an object store.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.files.contract import AnyFiles, FileRef, Output, Pin
from wavedex.files.opened import Opened

T = TypeVar("T")


class WrappedFiles(AnyFiles):
    """The same files as others."""

    def __init__(self, files: AnyFiles) -> None:
        self.wrapped = files
        self.root = files.root
        self.is_local = files.is_local

    def at(self, name: str) -> tuple[AnyFiles, str]:
        """Which files have that name, and what they call it."""
        return self.wrapped, name

    def homes(self, folder: str) -> list[str]:
        return self.wrapped.homes(folder)

    def missing(self) -> dict[str, str]:
        return self.wrapped.missing()

    def path(self, name: str) -> Path | str:
        files, own = self.at(name)
        return files.path(own)

    def stamp(self, name: str) -> str:
        files, own = self.at(name)
        return files.stamp(own)

    # -- reading ------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        files, own = self.at(name)
        return files.exists(own)

    def is_folder(self, name: str) -> bool:
        files, own = self.at(name)
        return files.is_folder(own)

    def age_s(self, name: str) -> float:
        files, own = self.at(name)
        return files.age_s(own)

    def list(self, folder: str) -> list[str]:
        files, own = self.at(folder)
        return files.list(own)

    def version(self, folder: str) -> Hashable | None:
        files, own = self.at(folder)
        return files.version(own)

    def read(self, name: str) -> bytes:
        files, own = self.at(name)
        return files.read(own)

    def map(self, ref: FileRef) -> pa.Buffer:
        files, own = self.at(ref.name)
        return files.map(FileRef(own, ref.bytes, ref.checksum))

    def open(self, ref: FileRef) -> Opened:
        files, own = self.at(ref.name)
        return files.open(FileRef(own, ref.bytes, ref.checksum))

    def private(self, ref: FileRef) -> npt.NDArray[np.uint8]:
        files, own = self.at(ref.name)
        return files.private(FileRef(own, ref.bytes, ref.checksum))

    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> Sequence[pa.Buffer]:
        files, own = self.at(name)
        return files.ranges(own, spans)

    # -- changing -----------------------------------------------------------------------------

    def make_folder(self, name: str) -> None:
        files, own = self.at(name)
        files.make_folder(own)

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        files, own = self.at(name)
        made = files.create(own, fill)
        return FileRef(name, made.bytes, made.checksum)

    def sync(self, name: str) -> None:
        files, own = self.at(name)
        files.sync(own)

    def sync_folder(self, name: str) -> None:
        files, own = self.at(name)
        files.sync_folder(own)

    def publish(self, name: str, data: bytes, draft: str) -> None:
        self.wrapped.publish(name, data, draft)

    def remove(self, name: str) -> None:
        files, own = self.at(name)
        files.remove(own)

    # -- locks --------------------------------------------------------------------------------

    def lock(self, name: str, preparing: bool = False) -> AbstractContextManager[None]:
        return self.wrapped.lock(name, preparing)

    def pin(self, name: str) -> Pin:
        return self.wrapped.pin(name)

    def remove_unpinned(self, name: str) -> bool:
        return self.wrapped.remove_unpinned(name)

    # -- changing in place ----------------------------------------------------------------------

    def size(self, name: str) -> int:
        files, own = self.at(name)
        return files.size(own)

    def copy(self, source: str, target: str, size: int) -> None:
        (files, before), (others, after) = self.at(source), self.at(target)
        if files is others:
            files.copy(before, after, size)
            return
        content = files.map(FileRef(before, size, ""))
        others.create(after, lambda out: out.write(content))

    def resize(self, name: str, size: int) -> None:
        files, own = self.at(name)
        files.resize(own, size)

    def patch(self, name: str, offset: int, data: Any) -> None:
        files, own = self.at(name)
        files.patch(own, offset, data)

    def scatter(
        self, name: str, positions: npt.NDArray[np.int64], rows: npt.NDArray[np.void]
    ) -> None:
        files, own = self.at(name)
        files.scatter(own, positions, rows)

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        files, own = self.at(name)
        return files.hand_over(own, change)
