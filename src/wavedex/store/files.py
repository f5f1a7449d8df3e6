"""All access to a local disk, in one small object that a test can wrap to crash, tear, delay or count.

Which bytes lie where is everybody else's business; this module only knows how to make a change and how to make it last.
Reading methods change nothing. Each changing method is one change to the disk, so that a test can stop the world before
any of them. Nothing here retries, caches or decides; the operating system's refusals come out as errors with a name.

Names are relative to the root and use forward slashes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.errors import ConcurrentWrite, Damaged, NotAnIndex
from wavedex.store.access import AnyFiles, FileRef, Pin, Sink, T, name_refusal

__all__ = ["FileRef", "Files", "Sink"]

LARGE_BYTES = 4 << 20
"""From which size on the room of a removed file is given back by a thread."""
_CLOCK_STEP_NS = 20_000_000


class Files(AnyFiles):
    """The files below one folder of a local disk."""

    root: Path
    is_local = True

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.abspath(root))
        self._root_text = str(self.root)

    def path(self, name: str) -> Path:
        """Where `name` lies, for tools that want a path."""
        return self.root / name

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
            return os.listdir(self.path(folder))
        except FileNotFoundError:
            return []

    def version(self, folder: str) -> int | None:
        """A number that changes when names in a folder do; None where the last change is too fresh to tell.

        File systems note times of change in steps of some milliseconds, and within a step another change could hide.
        """
        changed_at_ns = os.stat(f"{self._root_text}/{folder}").st_mtime_ns
        return changed_at_ns if time.time_ns() - changed_at_ns > _CLOCK_STEP_NS else None

    def read(self, name: str) -> bytes:
        """The whole content. Raises FileNotFoundError."""
        return self.path(name).read_bytes()

    def map(self, ref: FileRef) -> pa.Buffer:
        """The file mapped into memory, read-only; it stays readable after its name is removed.

        Raises FileNotFoundError where it is gone, and Damaged where it is shorter than it should be.
        """
        path = str(self.path(ref.name))
        if ref.bytes == 0:
            os.stat(path)
            return pa.py_buffer(b"")
        try:
            mapped = pa.memory_map(path)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        with mapped as file:  # Arrow's map outlives its descriptor: open parts cost none.
            size = file.size()
            if size < ref.bytes or (ref.checksum and size != ref.bytes):
                raise Damaged(f"{ref.name} has {size} bytes, not {ref.bytes}")
            return file.read_buffer(ref.bytes)

    # -- changing -----------------------------------------------------------------------------

    def make_folder(self, name: str) -> None:
        """Create a folder, and those above it, unless it is there."""
        with _named_errors(self.path(name)):
            self.path(name).mkdir(parents=True, exist_ok=True)

    def create(self, name: str, fill: Callable[[Sink], object]) -> FileRef:
        """Write a new file. It lasts only once it is synced. Raises FileExistsError where there is one."""
        path = self.path(name)
        with _named_errors(path):
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            try:
                sink = Sink(partial(os.write, descriptor))
                fill(sink)
            finally:
                os.close(descriptor)
        return FileRef(name, sink.bytes, sink.checksum)

    def copy(self, source: str, target: str, size: int) -> None:
        """Copy the first `size` bytes of a file to a new name."""
        with (
            _named_errors(self.path(target)),
            open(self.path(source), "rb") as old,
            open(self.path(target), "xb") as new,
        ):
            while (done := new.tell()) < size:
                if not (data := old.read(min(1 << 22, size - done))):
                    raise Damaged(f"{source} has {done} bytes, not {size}")
                new.write(data)

    def resize(self, name: str, size: int) -> None:
        """Grow a file with zeros that have room on the disk, or cut it off."""
        with _named_errors(self.path(name)), open(self.path(name), "r+b") as file:
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
        with _named_errors(self.path(name)), open(self.path(name), "r+b") as file:
            file.seek(offset)
            file.write(memoryview(data).cast("B"))

    def scatter(
        self, name: str, positions: npt.NDArray[np.int64], rows: npt.NDArray[np.void]
    ) -> None:
        """Write records of equal width to the given record positions of a file that is large enough."""
        if not len(rows):
            return
        with (
            _named_errors(self.path(name)),
            open(self.path(name), "r+b") as file,
            mmap.mmap(file.fileno(), 0) as target,
        ):
            records = np.frombuffer(target, dtype=rows.dtype)
            records[positions] = rows
            del records

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        """Let a package change a file that exists, by its path. Whether that lasts is for the package to say."""
        return change(self.path(name))

    def sync(self, name: str) -> None:
        """Make the content of a file last."""
        with _named_errors(self.path(name)):
            _fsync(self.path(name), os.O_RDWR)

    def sync_folder(self, name: str) -> None:
        """Make the names in a folder last."""
        with _named_errors(self.path(name)):
            _fsync(self.path(name), os.O_RDONLY | os.O_DIRECTORY)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name, only if that name is free. Raises FileExistsError or FileNotFoundError."""
        with _named_errors(self.path(target), FileNotFoundError):
            os.link(self.path(source), self.path(target))

    def remove(self, name: str) -> None:
        """Remove a file; one that is gone already is fine.

        COST: the name is gone at once. To give the room of a large file back takes the system some time, which a thread
        spends: until it closes the file, the file is only nameless.
        """
        with _named_errors(self.path(name)), contextlib.suppress(FileNotFoundError):
            held = _hold_if_large(self.path(name))
            try:
                os.unlink(self.path(name))
            finally:
                if held is not None:
                    _close_later(held)

    # -- locks --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the one writer's lock, which the system takes back when its process ends.

        Raises ConcurrentWrite at once where another writer holds it.
        """
        try:
            with _named_errors(self.path(name), FileNotFoundError):
                descriptor = os.open(self.path(name), os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:
            raise NotAnIndex(f"{self.root} is no index any more: the folder is gone.") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConcurrentWrite(
                    f"Another writer is at work on {self.root}. Try again when it has finished."
                ) from None
            yield
        finally:
            os.close(descriptor)

    def pin(self, name: str) -> Pin:
        """Hold a file so that `remove_unpinned` leaves it. Raises FileNotFoundError where it is gone."""
        return LockedPin(self.path(name))

    def remove_unpinned(self, name: str) -> bool:
        """Remove a file unless a process holds a pin on it; whether it is gone."""
        try:
            descriptor = os.open(self.path(name), os.O_RDONLY)
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
    """A shared lock on a file, held for as long as this object lives."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        try:
            is_there = os.stat(path).st_ino == os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            is_there = False
        if not is_there:
            self.close()
            raise FileNotFoundError(errno.ENOENT, "removed while it was being pinned", str(path))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):
            self.close()


def _hold_if_large(path: Path) -> int | None:
    """A descriptor that keeps the room of a file until it is closed; None for a small file, or one that none can be had of."""
    if os.stat(path).st_size < LARGE_BYTES:
        return None
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:  # Too many are open, or it may not be read: it can be removed all the same, only not as fast.
        return None


def _close_later(descriptor: int) -> None:
    try:
        threading.Thread(target=os.close, args=(descriptor,), daemon=True).start()
    except RuntimeError:  # The interpreter is about to end, or no more threads can be had.
        os.close(descriptor)


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _named_errors(path: Path, *meant: type[OSError]) -> Iterator[None]:
    """Give the system's refusals their names. Those that the caller has a use for come out as they are."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (FileExistsError, *meant)):
            raise
        raise name_refusal(error, path) from error
