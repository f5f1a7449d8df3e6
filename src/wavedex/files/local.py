"""All access to a local disk, in one small object. A test can wrap it to crash, tear, delay, count.

Which bytes lie where is everybody else's business. This module only knows how to make a change and
how to make it last. Reading methods change nothing. Each changing method is one change to the disk,
so that a test can stop the world before any of them. Nothing here retries, caches or decides. The
operating system's refusals come out as errors with a name.

Names are relative to the root and use forward slashes. None leads out of the root, and no link
below it is followed. `path` sees to both, and all that is done to a file is done at its `path`.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import fcntl
import mmap
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.errors import ConcurrentWrite, Damaged, NotAnIndex, StillPreparing
from wavedex.files.contract import (
    FileRef,
    LinkingFiles,
    Output,
    Pin,
    T,
    check_spans,
    name_reading_refusal,
    name_refusal,
)
from wavedex.files.links import check_plain, open_here
from wavedex.files.mapping import MappedFile, map_file, map_privately, same_file
from wavedex.files.names import ABOVE, check_inside
from wavedex.files.opened import Opened

__all__ = ["FileRef", "Files", "Output"]

LARGE_BYTES = 4 << 20
"""From this size on, a thread gives back the room of a removed file."""
_CLOCK_STEP_NS = 20_000_000

_PREPARING = b"preparing"
"""What stands in the lock of a writer that only works ahead."""


class Files(LinkingFiles):
    """The files below one folder of a local disk."""

    root: Path
    is_local = True

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.abspath(root))
        self._root_text = str(self.root)
        self._plain: set[str] = set()

    def path(self, name: str) -> Path:
        """Where `name` lies.

        Raises NotOurs where the name leads out of the root, or a link stands there or on the way.

        COST: one look at the disk, and one at each folder on the way the first time.
        """
        if not name:
            return self.root
        folder = name.rpartition("/")[0]
        if folder and folder not in self._plain:
            self.path(folder)
            self._plain.add(folder)
        check_inside(name)
        place = f"{self._root_text}/{name}"
        try:
            check_plain(place)
        except OSError as error:
            raise name_reading_refusal(error, place) from error
        return self.root / name

    def stamp(self, name: str) -> str:
        """The number of the file on its disk, and when it was written. Raises FileNotFoundError."""
        found = self.path(name).stat()
        return f"{found.st_ino:x}-{found.st_mtime_ns:x}"

    # -- reading ------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""
        return self.path(name).exists()

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of that name."""
        return self.path(name).is_dir()

    def size(self, name: str) -> int:
        """The size in bytes. Raises FileNotFoundError."""
        return self.path(name).stat().st_size

    def age_s(self, name: str) -> float:
        """How long ago the file was last written to, in seconds. Raises FileNotFoundError."""
        return time.time() - self.path(name).stat().st_mtime

    def list(self, folder: str) -> list[str]:
        """The names in a folder, without the folder; empty where there is no such folder."""
        try:
            with _named_refusals(self.path(folder)):
                return os.listdir(self.path(folder))
        except FileNotFoundError:
            return []

    def version(self, folder: str) -> int | None:
        """A number that changes when names in a folder do.

        None where the last change is too fresh to tell. File systems note times of change in steps
        of some milliseconds, and within a step another change could hide.
        """
        changed_at_ns = os.stat(f"{self._root_text}/{folder}").st_mtime_ns
        return changed_at_ns if time.time_ns() - changed_at_ns > _CLOCK_STEP_NS else None

    def read(self, name: str) -> bytes:
        """The whole content. Raises FileNotFoundError."""
        path = self.path(name)
        with _named_refusals(path), open(path, "rb", opener=open_here) as file:
            return file.read()

    def map(self, ref: FileRef) -> pa.Buffer:
        """The file mapped into memory, read-only; it stays readable after its name is removed.

        Raises FileNotFoundError where it is gone, and Damaged where it is shorter than it should
        be.
        """
        with _named_refusals(self.path(ref.name)), self._descriptor(ref) as descriptor:
            return map_file(descriptor, ref.bytes)

    def private(self, ref: FileRef) -> npt.NDArray[np.uint8]:
        """The file mapped into memory: pages that are changed are copied first."""
        with _named_refusals(self.path(ref.name)), self._descriptor(ref) as descriptor:
            return map_privately(descriptor, ref.bytes)

    def open(self, ref: FileRef) -> Opened:
        """The file mapped into memory. Raises what `map` raises, at once."""
        with _named_refusals(self.path(ref.name)), self._descriptor(ref) as descriptor:
            return MappedFile(descriptor, ref.bytes)

    @contextlib.contextmanager
    def _descriptor(self, ref: FileRef) -> Iterator[int]:
        """A file of the right size, to be mapped.

        Maps outlive the descriptor: open parts cost none.
        """
        descriptor = open_here(self.path(ref.name), os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            if size < ref.bytes or (ref.checksum and size != ref.bytes):
                raise Damaged(f"{ref.name} has {size} bytes, not {ref.bytes}")
            yield descriptor
        finally:
            os.close(descriptor)

    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> Sequence[pa.Buffer]:
        """Some of the content, read piece by piece without a map."""
        descriptor = open_here(self.path(name), os.O_RDONLY)
        try:
            check_spans(name, spans, os.fstat(descriptor).st_size)
            return [pa.py_buffer(_pread(descriptor, *span)) for span in spans]
        finally:
            os.close(descriptor)

    # -- changing -----------------------------------------------------------------------------

    def make_folder(self, name: str) -> None:
        """Create a folder, and those above it, unless it is there."""
        with named_errors(self.path(name)):
            self.path(name).mkdir(parents=True, exist_ok=True)

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        """Write a new file, which lasts only once it is synced.

        Raises FileExistsError where there is one.
        """
        path = self.path(name)
        with named_errors(path):
            descriptor = open_here(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            try:
                sink = Output(partial(os.write, descriptor))
                fill(sink)
            finally:
                os.close(descriptor)
        return FileRef(name, sink.bytes, sink.checksum)

    def copy(self, source: str, target: str, size: int) -> None:
        """Copy the first `size` bytes of a file to a new name."""
        with (
            named_errors(self.path(target)),
            open(self.path(source), "rb", opener=open_here) as old,
            open(self.path(target), "xb", opener=open_here) as new,
        ):
            while (done := new.tell()) < size:
                if not (data := old.read(min(1 << 22, size - done))):
                    raise Damaged(f"{source} has {done} bytes, not {size}")
                new.write(data)

    def resize(self, name: str, size: int) -> None:
        """Grow a file with zeros that have room on the disk, or cut it off."""
        with named_errors(self.path(name)), open(self.path(name), "r+b", opener=open_here) as file:
            old = os.fstat(file.fileno()).st_size
            if size <= old:
                file.truncate(size)
                return
            try:
                os.posix_fallocate(file.fileno(), old, size - old)
            except OSError:
                file.truncate(old)
                raise

    def patch(self, name: str, offset: int, data: Any) -> None:
        """Write bytes at an offset of a file that exists."""
        with named_errors(self.path(name)), open(self.path(name), "r+b", opener=open_here) as file:
            file.seek(offset)
            file.write(memoryview(data).cast("B"))

    def scatter(
        self, name: str, positions: npt.NDArray[np.int64], rows: npt.NDArray[np.void]
    ) -> None:
        """Write records of equal width to record positions of a file that is large enough."""
        if not len(rows):
            return
        with (
            named_errors(self.path(name)),
            open(self.path(name), "r+b", opener=open_here) as file,
            mmap.mmap(file.fileno(), 0) as target,
        ):
            records = np.frombuffer(target, dtype=rows.dtype)
            records[positions] = rows
            del records

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        """Let a package change a file that exists, by its path.

        Whether that lasts is for the package to say.
        """
        return change(self.path(name))

    def sync(self, name: str) -> None:
        """Make the content of a file last."""
        with named_errors(self.path(name)):
            _fsync(self.path(name), os.O_RDWR)

    def sync_folder(self, name: str) -> None:
        """Make the names in a folder last."""
        path = self.root.parent if name == ABOVE else self.path(name)
        with named_errors(path):
            _fsync(path, os.O_RDONLY | os.O_DIRECTORY)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name, only if that name is free.

        Raises FileExistsError or FileNotFoundError.
        """
        with named_errors(self.path(target), FileNotFoundError):
            os.link(self.path(source), self.path(target))

    def remove(self, name: str) -> None:
        """Remove a file; one that is gone already is fine.

        COST: the name is gone at once. To give the room of a large file back takes the system some
        time, which a thread spends: until it closes the file, the file is only nameless.
        """
        with named_errors(self.path(name)), contextlib.suppress(FileNotFoundError):
            held = _hold_if_large(self.path(name))
            try:
                os.unlink(self.path(name))
            finally:
                if held is not None:
                    _close_later(held)

    # -- locks --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, name: str, preparing: bool = False) -> Iterator[None]:
        """Hold the one writer's lock, which the system takes back when its process ends.

        Raises ConcurrentWrite at once where another writer holds it, StillPreparing where that one
        has said so. What is said stands in the file, and counts only while the lock is held.
        """
        try:
            with named_errors(self.path(name), FileNotFoundError):
                descriptor = open_here(self.path(name), os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise NotAnIndex(f"{self.root} is no index any more: the folder is gone.") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                is_preparing = os.pread(descriptor, len(_PREPARING), 0) == _PREPARING
                raise (StillPreparing if is_preparing else ConcurrentWrite)(
                    f"Another writer is at work on {self.root}. Try again when it has finished, or "
                    "wait for it, as with wait='30 s'."
                ) from None
            os.ftruncate(descriptor, 0)
            if preparing:
                os.pwrite(descriptor, _PREPARING, 0)
            yield
        finally:
            os.close(descriptor)

    def pin(self, name: str) -> Pin:
        """Hold a file so that `remove_unpinned` leaves it.

        Raises FileNotFoundError where it is gone.
        """
        with _named_refusals(self.path(name)):
            return LockedPin(self.path(name))

    def remove_unpinned(self, name: str) -> bool:
        """Remove a file unless a process holds a pin on it; whether it is gone."""
        try:
            descriptor = open_here(self.path(name), os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            # Held until the name is gone, so that nobody can pin the file in between.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.remove(name)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True


class LockedPin(Pin):
    """A shared lock on a file, held for as long as this object lives.

    The file is one of Arrow's, which closes itself when nobody holds it any more. A `__del__` would
    do so in Python, where an interrupt that comes meanwhile is dropped.
    """

    def __init__(self, path: Path) -> None:
        descriptor = open_here(path, os.O_RDONLY)
        try:
            self._file = pa.OSFile(same_file(descriptor))
        finally:
            os.close(descriptor)
        fcntl.flock(self._file.fileno(), fcntl.LOCK_SH)
        try:
            is_there = os.lstat(path).st_ino == os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            is_there = False
        if not is_there:
            self.close()
            raise FileNotFoundError(errno.ENOENT, "removed while it was being pinned", str(path))

    def close(self) -> None:
        self._file.close()


def _hold_if_large(path: Path) -> int | None:
    """A descriptor that keeps the room of a file until it is closed.

    None for a small file, or where no descriptor can be had.
    """
    if os.lstat(path).st_size < LARGE_BYTES:
        return None
    try:
        return open_here(path, os.O_RDONLY)
    except OSError:
        # Too many are open, or it may not be read. It can be removed all the same, only slower.
        return None


def _close_later(descriptor: int) -> None:
    try:
        # A bare one, in which no interrupt gets lost.
        _thread.start_new_thread(os.close, (descriptor,))
    except RuntimeError:  # The interpreter is about to end, or no more threads can be had.
        os.close(descriptor)


def _pread(descriptor: int, start: int, stop: int) -> bytes:
    """The bytes of a file from `start` up to `stop`, however often the system has to be asked."""
    pieces = []
    while start < stop and (piece := os.pread(descriptor, stop - start, start)):
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _named_refusals(path: Path | str) -> Iterator[None]:
    """Give the system's refusals to read their names.

    What is not there, and folders, come out as they are.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise
    except OSError as error:
        raise name_reading_refusal(error, path) from error


@contextlib.contextmanager
def named_errors(path: Path, *meant: type[OSError]) -> Iterator[None]:
    """Give the system's refusals their names.

    Those that the caller has a use for come out as they are.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, (FileExistsError, *meant)):
            raise
        raise name_refusal(error, path) from error
