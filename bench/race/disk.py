"""What the disk is asked and told.

Syncing what a store does not sync itself, bytes written, memory, bytes kept. `write_bytes` of
/proc/PID/io counts the bytes of pages that a process made dirty, and so caused to be written to a
block device: each page once until it is written back, whether by `write` or through a memory map;
what is removed before it is written back is counted all the same. A file system in memory, and some
of those of containers, leave it at 0; then the bytes handed to `write` (`wchar`) are counted
instead, and the figure is recorded under that name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

MEASURES = ("write_bytes", "wchar")
TRIAL_BYTES = 1 << 20
ATTEMPTS = 100


def choose_measure(folder: Path) -> str:
    """The name of the count that works for a folder, found out by writing a megabyte to it."""
    before = _count("write_bytes", os.getpid())
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(TRIAL_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return MEASURES[_count("write_bytes", os.getpid()) - before < TRIAL_BYTES]


def bytes_written(measure: str, servers: Callable[[], list[int]]) -> int:
    """Bytes written by this process and by the processes of a server since they began.

    A process's count includes those of children that it has waited for. So the sum over a server's
    first process and the children it has now leaves nobody out, those that have come and gone in
    between included.
    """
    return _over_all(lambda process: _count(measure, process), servers)


def bytes_read(servers: Callable[[], list[int]]) -> int:
    """Bytes that the disk has read for this process and for a server's since they began."""
    return _over_all(lambda process: _count("read_bytes", process), servers)


def forget_peak_memory() -> bool:
    """Begin anew with the peak of this process's memory. Returns whether the system can do that."""
    forget = Path("/proc/self/clear_refs")
    if not forget.exists():
        return False
    forget.write_text("5")
    return True


def memory_bytes(servers: Callable[[], list[int]]) -> int:
    """The most memory that this process had resident at once since its peak was forgotten.

    Mapped files are included. Of a server's processes what they have now is added, each with its
    part of what it shares with the others.
    """

    def of(process: int) -> int:
        if process == os.getpid():
            return 1024 * _field(f"/proc/{process}/status", "VmHWM")
        return 1024 * _field(f"/proc/{process}/smaps_rollup", "Pss")

    return _over_all(of, servers)


def _over_all(count: Callable[[int], int], servers: Callable[[], list[int]]) -> int:
    """The sum over this process and those of a server.

    It is begun anew where one of them ends meanwhile.
    """
    for _ in range(ATTEMPTS):
        try:
            return sum(map(count, (os.getpid(), *servers())))
        except (FileNotFoundError, ProcessLookupError):
            continue
    raise RuntimeError("the processes of the server come and go too fast to be counted")


def children_of(process: int) -> list[int]:
    """The processes that a process has started and that still run."""
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name, which may have brackets in it: the state, then the parent.
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended since it was listed.
        if int(fields[1]) == process:
            children.append(int(path.parent.name))
    return children


def bytes_kept(folder: Path) -> int:
    """The bytes that the files below a folder take on the disk.

    They are counted by blocks, since some files have holes.
    """
    blocks = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            status = path.stat()
            blocks[status.st_ino] = status.st_blocks
    return 512 * sum(blocks.values())


def sync_file(path: Path) -> None:
    """Sync a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Syncer:
    """Syncs what is new below a folder, for stores that leave their files to the system."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: set[Path] = set()

    def sync(self) -> None:
        """Sync every file that was not there before, and every folder that has one.

        REQUIRES: files do not change once they are written.
        """
        present = {path for path in self._folder.rglob("*") if path.is_file()}
        new = present - self._synced
        folders = set()
        for path in new:
            sync_file(path)
            folders.update(parent for parent in path.parents if parent.is_relative_to(self._folder))
        for folder in folders:
            sync_file(folder)
        self._synced = present


def _count(measure: str, process: int) -> int:
    return _field(f"/proc/{process}/io", measure)


def _field(path: str, name: str) -> int:
    for line in Path(path).read_text().splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0])
    raise KeyError(f"{path} has no {name}")
