"""Disks that misbehave on purpose: they count, crash, tear, forget what was not synced, or fill up.

All of them wrap real files, on a local disk or on an object store, and are handed to an index
through `Surroundings(files=...)`. Only what the wrapper is for is not real. To tear, to forget and
to fill up is for local disks: an object store does none of that.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles, FileRef, LinkingFiles, Output, publish_by_link
from wavedex.files.local import named_errors
from wavedex.files.wrapped import WrappedFiles

T = TypeVar("T")


class Crash(BaseException):
    """The machine went down. Not an Exception, so that no code under test can go on after it."""


class WatchedDisk(WrappedFiles):
    """Calls `before` ahead of every change, with what is to be done and to which name."""

    def __init__(self, root: str | os.PathLike[str] | AnyFiles) -> None:
        """Watch the files at a path or URI, or files that somebody has made."""
        super().__init__(root if isinstance(root, AnyFiles) else files_at(root))
        self.changes: Counter[str] = Counter()
        self.bytes_written = 0
        self._guard = threading.Lock()

    def before(self, change: str, name: str) -> None:
        """Note a change that is about to be made; whoever wants to stop it raises here."""
        with self._guard:
            self.changes[change] += 1

    def make_folder(self, name: str) -> None:
        self.before("make_folder", name)
        super().make_folder(name)

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        self.before("create", name)
        ref = super().create(name, fill)
        self.bytes_written += ref.bytes
        return ref

    def copy(self, source: str, target: str, size: int) -> None:
        self.before("copy", target)
        super().copy(source, target, size)
        self.bytes_written += size

    def resize(self, name: str, size: int) -> None:
        self.before("resize", name)
        super().resize(name, size)

    def patch(self, name: str, offset: int, data: Any) -> None:
        self.before("patch", name)
        super().patch(name, offset, data)
        self.bytes_written += len(memoryview(data).cast("B"))

    def scatter(self, name: str, positions: Any, rows: Any) -> None:
        self.before("scatter", name)
        super().scatter(name, positions, rows)
        self.bytes_written += rows.nbytes

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        self.before("hand_over", name)
        return super().hand_over(name, change)

    def sync(self, name: str) -> None:
        self.before("sync", name)
        super().sync(name)

    def sync_folder(self, name: str) -> None:
        self.before("sync_folder", name)
        super().sync_folder(name)

    def publish(self, name: str, data: bytes, draft: str) -> None:
        """Step by step where it takes several, so that each is watched."""
        if isinstance(self.wrapped, LinkingFiles):
            publish_by_link(self, self.link, name, data, draft)
            return
        self.before("publish", name)
        super().publish(name, data, draft)

    def link(self, source: str, target: str) -> None:
        """Give a file another name."""
        self.before("link", target)
        assert isinstance(self.wrapped, LinkingFiles)
        self.wrapped.link(source, target)

    def remove(self, name: str) -> None:
        self.before("remove", name)
        super().remove(name)

    def remove_unpinned(self, name: str) -> bool:
        self.before("remove", name)
        return super().remove_unpinned(name)


class CrashingDisk(WatchedDisk):
    """Goes down before the change number `crash_before`, counted from 1, and stays down.

    With `torn`, the change in which it goes down is half done where it is one that writes.
    """

    def __init__(
        self, root: str | os.PathLike[str] | AnyFiles, crash_before: int, torn: bool = False
    ) -> None:
        super().__init__(root)
        self.crash_before = crash_before
        self.torn = torn
        self.is_down = False
        self._tearing = threading.local()

    def before(self, change: str, name: str) -> None:
        with self._guard:
            if self.is_down:
                raise Crash
            self.changes[change] += 1
            if self.changes.total() < self.crash_before:
                return
            self.is_down = True
        if not self.torn:
            raise Crash
        self._tearing.now = True

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        ref = super().create(name, fill)
        self._tear(lambda: os.truncate(self.path(name), ref.bytes // 2))
        return ref

    def copy(self, source: str, target: str, size: int) -> None:
        super().copy(source, target, size)
        self._tear(lambda: os.truncate(self.path(target), size // 2))

    def patch(self, name: str, offset: int, data: Any) -> None:
        view = memoryview(data).cast("B")
        self.before("patch", name)
        self.wrapped.patch(name, offset, view[: len(view) // 2] if self._is_tearing else view)
        self._tear(lambda: None)

    def scatter(self, name: str, positions: Any, rows: Any) -> None:
        self.before("scatter", name)
        count = len(rows) // 2 if self._is_tearing else len(rows)
        self.wrapped.scatter(name, positions[:count], rows[:count])
        self._tear(lambda: None)

    def hand_over(self, name: str, change: Callable[[Path], T]) -> T:
        # A package sees to it itself that its change is not half done. Only what comes after it is
        # torn.
        changed = super().hand_over(name, change)
        self._tear(lambda: None)
        return changed

    def sync(self, name: str) -> None:
        super().sync(name)
        self._tear(lambda: None)

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        self._tear(lambda: None)

    @property
    def _is_tearing(self) -> bool:
        return getattr(self._tearing, "now", False)

    def _tear(self, spoil: Callable[[], None]) -> None:
        if self._is_tearing:
            spoil()
            raise Crash


class ForgetfulDisk(CrashingDisk):
    """A crashing disk that loses, when it goes down, everything that was not synced.

    The content of files that were written and not synced is as it was at the last sync. So are
    names that were made or removed in folders that were not synced. Call `forget` after the crash.
    """

    def __init__(self, root: str | os.PathLike[str] | AnyFiles, crash_before: int) -> None:
        super().__init__(root, crash_before)
        self._contents: dict[str, bytes] = {}
        self._names: dict[str, bytes | None] = {}

    def before(self, change: str, name: str) -> None:
        super().before(change, name)
        if change in ("resize", "patch", "scatter"):
            self._contents.setdefault(name, self.read(name))
        elif change in ("create", "copy"):
            self._contents.setdefault(name, b"")
            self._names.setdefault(name, None)
        elif change == "link":
            self._names.setdefault(name, None)
        elif change == "remove" and self.exists(name):
            self._names.setdefault(name, self.read(name))
        elif change == "sync":
            self._contents.pop(name, None)
        elif change == "sync_folder":
            for entry in [entry for entry in self._names if _folder(entry) == name]:
                del self._names[entry]

    def forget(self) -> None:
        """Lose what was not synced."""
        for name, content in self._contents.items():
            if self.exists(name):
                Path(self.path(name)).write_bytes(content)
        for name, former in self._names.items():
            if former is None:
                Path(self.path(name)).unlink(missing_ok=True)
            else:
                Path(self.path(name)).write_bytes(former)


class FullDisk(WatchedDisk):
    """A disk with room for `room_bytes` more bytes."""

    def __init__(self, root: str | os.PathLike[str] | AnyFiles, room_bytes: int) -> None:
        super().__init__(root)
        self.room_bytes = room_bytes

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        def fill_while_room(sink: Output) -> None:
            write = sink.write

            def limited(data: Any) -> int:
                self._use(len(memoryview(data).cast("B")))
                return write(data)

            sink.write = limited  # type: ignore[method-assign]
            fill(sink)

        return super().create(name, fill_while_room)

    def copy(self, source: str, target: str, size: int) -> None:
        with named_errors(Path(self.path(target))):
            self._use(size)
        super().copy(source, target, size)

    def resize(self, name: str, size: int) -> None:
        with named_errors(Path(self.path(name))):
            self._use(max(0, size - self.size(name)))
        super().resize(name, size)

    def patch(self, name: str, offset: int, data: Any) -> None:
        with named_errors(Path(self.path(name))):
            self._use(len(memoryview(data).cast("B")))
        super().patch(name, offset, data)

    def _use(self, count: int) -> None:
        with self._guard:
            if count > self.room_bytes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.room_bytes -= count


def _folder(name: str) -> str:
    parent = str(Path(name).parent)
    return "" if parent == "." else parent
