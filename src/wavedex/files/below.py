"""The files below a folder of others: what is kept there sees a root of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from wavedex.files.contract import AnyFiles, Pin
from wavedex.files.names import ABOVE
from wavedex.files.wrapped import WrappedFiles


class FilesBelow(WrappedFiles):
    """The files in a folder of others."""

    def __init__(self, files: AnyFiles, folder: str) -> None:
        super().__init__(files)
        self._folder = folder
        root = files.root
        self.root = root / folder if isinstance(root, Path) else f"{root}/{folder}"

    def at(self, name: str) -> tuple[AnyFiles, str]:
        if name == ABOVE:
            return self.wrapped, ""
        return self.wrapped, f"{self._folder}/{name}" if name else self._folder

    def publish(self, name: str, data: bytes, draft: str) -> None:
        self.wrapped.publish(self.at(name)[1], data, self.at(draft)[1])

    def lock(self, name: str, preparing: bool = False) -> AbstractContextManager[None]:
        return self.wrapped.lock(self.at(name)[1], preparing)

    def pin(self, name: str) -> Pin:
        return self.wrapped.pin(self.at(name)[1])

    def remove_unpinned(self, name: str) -> bool:
        return self.wrapped.remove_unpinned(self.at(name)[1])
