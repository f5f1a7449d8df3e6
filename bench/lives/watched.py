"""A lifetime index that is watched.

What a refresh writes below `data/`, in how many files, and how long it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import wavedex as wx
from bench.ledger import Ledger
from bench.lives.rows import POSITION, Lives
from bench.sliding import DataFiles
from wavedex.files.local import FileRef
from wavedex.plan import find_method

CHRONOLOGICAL = "rebuild-chr"
"""`rebuild` with both sides partitioned chronologically, as the papers have it for comparison."""


class CountedFiles(DataFiles):
    """The disk, with a ledger of what is written below `data/`.

    And with a count of files made and of syncs.
    """

    def __init__(self, root: Any, ledger: Ledger) -> None:
        super().__init__(root, ledger)
        self.files_made = self.syncs = 0

    def create(self, name: str, fill: Callable[..., object]) -> FileRef:
        with self.ledger.guard:
            self.files_made += 1
        return super().create(name, fill)

    def sync(self, name: str) -> None:
        with self.ledger.guard:
            self.syncs += 1
        super().sync(name)

    def sync_folder(self, name: str) -> None:
        with self.ledger.guard:
            self.syncs += 1
        super().sync_folder(name)


@dataclass(frozen=True)
class Lap:
    """One refresh."""

    update_s: float
    written_bytes: int
    files: int
    syncs: int
    touched: int


def grid_of(method: str, n: int) -> tuple[int, int]:
    """The grid in which a method has n sub-indexes: square where it has two sides.

    REQUIRES: n is a square number.
    """
    sides = find_method(base_of(method)).sides
    if len(sides) == 2:
        side = round(n**0.5)
        assert side * side == n
        return side, side
    return (n, 1) if "births" in sides else (1, n)


def base_of(method: str) -> str:
    """The method of the library that a name stands for here."""
    return "rebuild" if method == CHRONOLOGICAL else method


class WatchedLife:
    """An index over `lives`, made anew, whose refreshes are timed and counted."""

    def __init__(self, path: Path, lives: Lives, method: str, n: int) -> None:
        self.path, self.lives = path, lives
        ledger = Ledger()
        self.disk = CountedFiles(path, ledger)
        counts = {POSITION: lives.window} if lives.counted else None
        partition = ("chronological",) * 2 if method == CHRONOLOGICAL else None
        self.idx = wx.LifetimeIndex.create(
            path,
            lives.schema,
            key="key",
            inserted="born",
            expires=None if lives.counted else "until",
            counts=counts,
            max_lifetime=lives.window,
            refresh=lives.width,
            grid=grid_of(method, n),
            method=base_of(method),
            partition=partition,
            surroundings=wx.Surroundings(files=lambda _: self.disk),
        )

    def refresh(self, slot: int, rows: pa.Table) -> Lap:
        """Refresh at the end of a slot."""
        now, disk = slot * self.lives.width, self.disk
        arrived = {POSITION: now} if self.lives.counted else None
        before = disk.ledger.bytes_written, disk.files_made, disk.syncs
        begun = time.perf_counter()
        done = self.idx.update(now, rows, arrived=arrived)
        taken_s = time.perf_counter() - begun
        after = disk.ledger.bytes_written, disk.files_made, disk.syncs
        counted = (new - old for new, old in zip(after, before, strict=True))
        return Lap(taken_s, *counted, touched=len(done.touched))

    @property
    def disk_bytes(self) -> int:
        """All files of its folder, those of the commit before the newest included."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
