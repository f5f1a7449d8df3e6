"""Files on several disks: one folder for the log and whatever is small, others for the data.

The folders for the data are the roots. To everybody else it is one set of files. A name in
`data@2/` lies in the second root; a name without such a number lies in the folder of the index. A
root has a mark that says which one it is and of which index. So a disk that is not mounted is told
from an empty one, and the root of another index from our own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from wavedex.errors import BadDefinition, NotOurs
from wavedex.files.contract import AnyFiles, Output
from wavedex.files.local import Files
from wavedex.files.names import ABOVE, DEFINITION
from wavedex.files.wrapped import WrappedFiles

MARK = "wavedex-root.json"
T = TypeVar("T")


class SpreadFiles(WrappedFiles):
    """The files of one index in its own folder and in several roots.

    REQUIRES: at least one root.
    """

    def __init__(
        self, own: AnyFiles, roots: Sequence[AnyFiles], spread: str, identity: str
    ) -> None:
        """`spread` is the folder whose files lie in the roots.

        The roots know the index by its `identity`.
        """
        super().__init__(own)
        self.is_local = all(files.is_local for files in (own, *roots))
        self._roots = {f"{spread}@{number}": files for number, files in enumerate(roots, start=1)}
        self._spread = spread
        self._identity = identity

    def __reduce__(self) -> tuple[Any, ...]:
        return SpreadFiles, (self.wrapped, [*self._roots.values()], self._spread, self._identity)

    def homes(self, folder: str) -> list[str]:
        return [*self._roots] if folder == self._spread else [folder]

    def missing(self) -> dict[str, str]:
        """The roots that are not there, or are others, by the names of their folders.

        Raises NotOurs where this is a copy.
        """
        missing = {}
        for home, files in self._roots.items():
            mark = _read_mark(files)
            if not _mark_of(self._identity, home).items() <= mark.items():
                missing[home] = str(files.root)
            elif self._is_copy(str(mark.get("path", ""))):
                raise NotOurs(
                    f"{files.root} belongs to the index at {mark['path']}, of which {self.root} is "
                    "a copy. Use the index itself; if it was moved here, remove what is left of it "
                    "there."
                )
        return missing

    def _is_copy(self, marked: str) -> bool:
        """Whether the index of this identity still lies where it was created, in another folder.

        The mark says where that was.
        """
        if marked == str(self.root) or not self.wrapped.is_local or not os.path.isdir(marked):
            return False
        if os.path.samefile(marked, self.root):
            return False
        return _said(Files(marked), DEFINITION).get("identity") == self._identity

    def strange(self) -> list[str]:
        """The roots that are taken by something else.

        What an attempt to create this index may have left does not count.
        """
        return [
            str(files.root)
            for files in self._roots.values()
            if set(files.list("")) - {MARK}
            or _read_mark(files).get("path", str(self.root)) != str(self.root)
        ]

    def mark(self) -> None:
        """Make the roots, and mark each as the one it is.

        Raises BadDefinition where two of them are one.
        """
        for home, files in self._roots.items():
            files.make_folder("")
            files.remove(MARK)
            mark = {**_mark_of(self._identity, home), "path": str(self.root)}
            body = json.dumps(mark).encode()
            files.create(MARK, partial(Output.write, data=body))
            files.sync(MARK)
            for folder in ("", ABOVE):
                files.sync_folder(folder)
        same = self.missing()
        if same:
            raise BadDefinition(
                f"{' and '.join(same.values())} is one folder with another of the roots. "
                "Name each folder once."
            )

    def at(self, name: str) -> tuple[AnyFiles, str]:
        folder, _, rest = name.partition("/")
        files = self._roots.get(folder)
        return (self.wrapped, name) if files is None else (files, rest)


def _mark_of(identity: str, home: str) -> dict[str, str]:
    return {"index": identity, "folder": home}


def _read_mark(files: AnyFiles) -> dict[str, str]:
    """What the mark of a root says; nothing where there is none."""
    return _said(files, MARK)


def _said(files: AnyFiles, name: str) -> dict[str, str]:
    try:
        said = json.loads(files.read(name))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
