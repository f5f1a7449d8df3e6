"""What the system has of files in memory: to forget it, and to count it."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

SYSTEM = ctypes.CDLL(None, use_errno=True)
SYSTEM.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def forget(folder: Path) -> None:
    """Have the system forget the files below a folder.

    REQUIRES: nobody has them mapped. In memory they stay.
    """
    for path in files_of(folder):
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def resident_pages(folder: Path) -> int:
    """How many pages of the files below a folder are in memory."""
    return sum(map(_resident, files_of(folder)))


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]


def _resident(path: Path) -> int:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE) as content:
        pages = -(-len(content) // mmap.PAGESIZE)
        found = (ctypes.c_ubyte * pages)()
        address = ctypes.addressof(ctypes.c_char.from_buffer(content))
        assert SYSTEM.mincore(address, len(content), found) == 0
        return sum(each & 1 for each in found)
