"""Files of a local disk mapped into memory, with advice to the system on how they will be read.

Without advice the system reads ahead around every page that is touched, by as much as the disk is
set to: megabytes for a probe that wants one page. So a file is mapped twice, and each map keeps its
own advice. Threads that probe and threads that scan do not change it for each other. A map costs
addresses, and no descriptor once it is made.

The maps are Arrow's. They are undone without a line of Python: an interrupt that came in one would
be lost. Arrow asks for all pages of what is read of a map. So one byte is read, and what lies
around it is looked at where it is.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.files.opened import Opened, Span

# Advice takes less time than giving way to other threads would.
_ADVISE: Any = ctypes.PyDLL(None).madvise
_ADVISE.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_RESIDENCE: Any = ctypes.PyDLL(None).mincore
_RESIDENCE.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

LOOKS = 4
"""How many pages of a file are looked at to tell whether it is in memory."""


def same_file(descriptor: int) -> str:
    """A path to the very file that a descriptor is open on, whatever has become of its name."""
    return f"/proc/self/fd/{descriptor}"


def map_file(descriptor: int, size: int, advice: int = mmap.MADV_NORMAL) -> pa.Buffer:
    """The first `size` bytes of a file, read-only.

    The descriptor may be closed, and the name removed.
    """
    if not size:
        return pa.py_buffer(b"")
    with pa.memory_map(same_file(descriptor)) as file:
        held = file.read_buffer(1)
    _ADVISE(held.address, size, advice)
    return pa.foreign_buffer(held.address, size, held)


def map_privately(descriptor: int, size: int) -> npt.NDArray[np.uint8]:
    """The first `size` bytes of a file, to be changed in memory. They stay what they are on disk.

    The descriptor may be closed, and the name removed.
    """
    if not size:
        return np.zeros(0, np.uint8)
    return np.frombuffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY), np.uint8)


class MappedFile(Opened):
    """A file of a local disk, mapped for those who probe and for those who scan."""

    is_near = True

    def __init__(self, descriptor: int, size: int) -> None:
        self._sparse = map_file(descriptor, size, mmap.MADV_RANDOM)
        self._whole = map_file(descriptor, size)
        self._address = self._sparse.address

    @property
    def sparse(self) -> pa.Buffer:
        return self._sparse

    @property
    def whole(self) -> pa.Buffer:
        return self._whole

    def need(self, spans: Iterable[Span]) -> None:
        """Have the disk read these pages, all at once, without waiting for them.

        COST: a system call for each span.
        """
        for start, stop in spans:
            first = start - start % mmap.PAGESIZE
            if start < stop <= self._sparse.size:
                _ADVISE(self._address + first, stop - first, mmap.MADV_WILLNEED)

    @property
    def seems_in_memory(self) -> bool:
        """Whether a few of its pages, spread over all of it, are in memory.

        COST: microseconds.
        """
        pages = -(-self._sparse.size // mmap.PAGESIZE)
        found = ctypes.c_ubyte()
        for look in range(LOOKS if pages else 0):
            page = pages * (2 * look + 1) // (2 * LOOKS)
            at = self._address + page * mmap.PAGESIZE
            if _RESIDENCE(at, 1, ctypes.byref(found)) or not found.value & 1:
                return False
        return True
