"""What can be done with the files of an index, wherever they lie.

The methods that the rest of the library may call are named here once. `Files` offers them on a
local disk, `ObjectFiles` on an object store, `RemoteFiles` on another file system of Arrow's. Only
a local disk can change a file in place. That is refused here for all others.

Names are relative to the root and use forward slashes.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from wavedex.errors import BadDefinition, Damaged, DiskFailed, DiskFull, ReadOnly, WavedexError
from wavedex.files.mirror import Mirror
from wavedex.files.opened import Opened

T = TypeVar("T")

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READING_ADVICE = {
    errno.EMFILE: "The process has too many files open: let go of some, or raise its limit "
    "(ulimit -n).",
    errno.ENFILE: "The system has too many files open: end what holds them.",
    errno.ENOMEM: "There is no room left to map files into: let go of snapshots and answers, "
    "read fewer columns at a time, or raise the limit on memory (ulimit -v) or on maps "
    "(vm.max_map_count).",
    errno.EACCES: "Read it as a user who may.",
    errno.EPERM: "Read it as a user who may.",
}
"""What to do about refusals for which the file itself is not to blame."""
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file as a manifest names it."""

    name: str
    """Its name, relative to the root."""
    bytes: int
    """Its size."""
    checksum: str = ""
    """XXH64 in hexadecimal; empty for files that grow in place."""


class Output:
    """A file that is being written: counts and checksums what passes through it.

    `put` writes some of the bytes that it is given and says how many.
    """

    def __init__(self, put: Callable[[memoryview], int]) -> None:
        self._put = put
        self._hash = xxhash.xxh64()
        self.bytes = 0
        self.closed = False
        self.told: Callable[[int], object] | None = None
        """What is told how many bytes were written, as they are."""

    def write(self, data: Any) -> int:
        """Write all of `data`, however often the system has to be asked."""
        view = memoryview(data).cast("B")
        self._hash.update(view)
        self.bytes += len(view)
        done = 0
        while done < len(view):
            done += self._put(view[done:])
        if self.told is not None:
            self.told(len(view))
        return len(view)

    def flush(self) -> None:
        """Nothing is buffered here."""

    def close(self) -> None:
        """What is written to belongs to whoever made the sink."""

    @property
    def checksum(self) -> str:
        """XXH64 of all bytes so far."""
        return self._hash.hexdigest()


class Pin:
    """Keeps a file from `remove_unpinned` until it is closed.

    This one keeps nothing. It is for stores that have no pins.
    """

    def close(self) -> None:
        """Let go."""

    def __enter__(self) -> Pin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AnyFiles(ABC):
    """The files below one folder, the root.

    `str(root)` names the same folder to `files_at`, in any process.
    """

    root: Path | str
    is_local: bool
    """Whether files can be locked, pinned and changed in place."""

    def homes(self, folder: str) -> list[str]:
        """The folders in which new files of a folder go.

        It is the folder itself, unless it is spread over several disks.
        """
        return [folder]

    def missing(self) -> dict[str, str]:
        """The disks that files are spread over and that are not there, by their folders' names."""
        return {}

    def names_in(self, folder: str) -> list[str]:
        """The files of a folder, with its name, wherever they are spread to."""
        places = dict.fromkeys([folder, *self.homes(folder)])
        return [f"{place}/{name}" for place in places for name in self.list(place)]

    @abstractmethod
    def path(self, name: str) -> Path | str:
        """Where `name` lies, for other tools."""

    def stamp(self, name: str) -> str:
        """What tells a file that is never written again from a copy of it.

        Where that can be told, it stays the same if the file is moved.
        """
        return str(self.path(name))

    # -- reading ------------------------------------------------------------------------------

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""

    @abstractmethod
    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of that name."""

    @abstractmethod
    def age_s(self, name: str) -> float:
        """How long ago the file was last written to, in seconds. Raises FileNotFoundError."""

    @abstractmethod
    def list(self, folder: str) -> list[str]:
        """The names in a folder, without the folder; empty where there is none.

        Raises NotADirectoryError for a file.
        """

    @abstractmethod
    def version(self, folder: str) -> Hashable | None:
        """A value that changes when names in a folder do; None where that cannot be told."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The whole content. Raises FileNotFoundError."""

    @abstractmethod
    def map(self, ref: FileRef) -> pa.Buffer:
        """The content in memory, read-only, to be read from front to back.

        It stays readable after its name is removed. Raises FileNotFoundError where it is gone, and
        Damaged where it is shorter than it should be.
        """

    def open(self, ref: FileRef) -> Opened:
        """The file, to be looked at here and there as well.

        Raises what `map` raises, perhaps not before it is read. What was read of it stays readable
        after its name is removed. On a local disk all of it does.
        """
        return Mirror(self, ref)

    def private(self, ref: FileRef) -> npt.NDArray[np.uint8]:
        """The content in memory, as bytes that may be changed there: nobody else sees that.

        Raises what `map` raises. On a local disk nothing is read or copied before it is touched.
        """
        return np.frombuffer(self.map(ref), np.uint8).copy()

    @abstractmethod
    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> Sequence[pa.Buffer]:
        """Some of the content: the bytes of each (start, stop), in this order, stop not included.

        Raises FileNotFoundError where the file is gone, and Damaged where it ends before a stop.
        """

    def read_at(self, name: str, offset: int, count: int) -> pa.Buffer:
        """The `count` bytes of a file that begin at an offset. Raises what `ranges` raises."""
        return self.ranges(name, [(offset, offset + count)])[0]

    # -- changing -----------------------------------------------------------------------------

    @abstractmethod
    def make_folder(self, name: str) -> None:
        """Create a folder, and those above it, unless it is there."""

    @abstractmethod
    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        """Write a new file, which lasts only once it is synced.

        Raises FileExistsError where there is one.
        """

    @abstractmethod
    def sync(self, name: str) -> None:
        """Make the content of a file last."""

    @abstractmethod
    def sync_folder(self, name: str) -> None:
        """Make the names in a folder last."""

    @abstractmethod
    def publish(self, name: str, data: bytes, draft: str) -> None:
        """Let a file appear all at once, with all of its content, and last.

        This is done only if its name is free. `draft` is a name for use on the way. Raises
        FileExistsError where the name is taken, and CommitUncertain where the file may still appear
        after this has failed. May raise FileNotFoundError where somebody took the draft away.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file; one that is gone already is fine."""

    # -- locks --------------------------------------------------------------------------------

    @abstractmethod
    def lock(self, name: str, preparing: bool = False) -> AbstractContextManager[None]:
        """Hold the one writer's lock, where there is one. Raises ConcurrentWrite and NotAnIndex.

        Who says that they are only preparing is told from others: StillPreparing is raised then.
        """

    @abstractmethod
    def pin(self, name: str) -> Pin:
        """Hold a file so that `remove_unpinned` leaves it, where that can be.

        Raises FileNotFoundError.
        """

    @abstractmethod
    def remove_unpinned(self, name: str) -> bool:
        """Remove a file unless a process holds a pin on it; whether it is gone."""

    # -- changing in place, on a local disk only ------------------------------------------------

    def size(self, name: str) -> int:
        """The size in bytes. Raises FileNotFoundError."""
        raise needs_local_disk(self.root)

    def copy(self, source: str, target: str, size: int) -> None:
        """Copy the first `size` bytes of a file to a new name."""
        raise needs_local_disk(self.root)

    def resize(self, name: str, size: int) -> None:
        """Grow a file with zeros that have room on the disk, or cut it off."""
        raise needs_local_disk(self.root)

    def patch(self, name: str, offset: int, data: Any) -> None:
        """Write bytes at an offset of a file that exists."""
        raise needs_local_disk(self.root)

    def scatter(
        self, name: str, positions: npt.NDArray[np.int64], rows: npt.NDArray[np.void]
    ) -> None:
        """Write records of equal width to record positions of a file that is large enough."""
        raise needs_local_disk(self.root)

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        """Let a package change a file that exists, by its path.

        Whether that lasts is for the package to say.
        """
        raise needs_local_disk(self.root)


def is_there(files: AnyFiles, name: str) -> bool:
    """Whether a file is there, where perhaps not even its folder or its bucket is."""
    try:
        files.read(name)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


class LinkingFiles(AnyFiles):
    """Files that can get another name, which is how one appears all at once."""

    @abstractmethod
    def link(self, source: str, target: str) -> None:
        """Give a file another name, only if that name is free; the first name may go with it.

        Raises FileExistsError or FileNotFoundError.
        """

    def publish(self, name: str, data: bytes, draft: str) -> None:
        """Write the draft, make it last, and give it the name."""
        publish_by_link(self, self.link, name, data, draft)


def publish_by_link(
    files: AnyFiles, link: Callable[[str, str], None], name: str, data: bytes, draft: str
) -> None:
    """Let a file appear all at once: write a draft, make it last, and give it the name."""
    try:
        files.create(draft, lambda out: out.write(data))
        files.sync(draft)
        link(draft, name)
        files.sync_folder(name.rpartition("/")[0])
    finally:
        files.remove(draft)


def needs_local_disk(root: object) -> BadDefinition:
    """What to say where files would have to be changed in place and cannot be."""
    return BadDefinition(
        f"{root} is on no local disk, and update='in-place', update='simple-shadow' and "
        "format='sqlite' need one: they change files in place. Create the index with "
        "update='runs' or update='packed-shadow' and another format, or on a local disk."
    )


def check_spans(name: str, spans: Sequence[tuple[int, int]], size: int) -> None:
    """Raise Damaged where a file of this size ends before one of the spans to be read."""
    needed = max((stop for _, stop in spans), default=0)
    if size < needed:
        raise Damaged(f"{name} has {size} bytes, not {needed} or more")


def name_reading_refusal(error: OSError, path: object) -> WavedexError:
    """The error with a name for a read that the system has refused. The file may be undamaged."""
    said = str(error.strerror or error)
    # Arrow says of a map that failed only in words why.
    known = (advice for code, advice in _READING_ADVICE.items() if os.strerror(code) in said)
    advice = next(known, "Look to the disk and try again.")
    return DiskFailed(f"Cannot read {path} ({said}). {advice}")


def name_refusal(
    error: Exception, path: object, advice: str = "Look to the disk and try again."
) -> WavedexError:
    """The error with a name for a write that the system has refused."""
    code = getattr(error, "errno", None)
    if code in _FULL:
        return DiskFull(
            f"No room to write {path}. Free some space and try again; nothing was changed."
        )
    if code in _REFUSED:
        return ReadOnly(
            f"Not allowed to write {path}. Open the index as a user who may write there."
        )
    said = getattr(error, "strerror", None) or error
    return DiskFailed(f"Cannot write {path} ({said}). {advice}")
