"""A disk that keeps a ledger: how many bytes were written, and when each manifest appeared."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wavedex.files.local import FileRef, Files


@dataclass
class Ledger:
    """What was written, and when manifests appeared."""

    bytes_written: int = 0
    commits: list[tuple[float, int]] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, count: int) -> None:
        with self.guard:
            self.bytes_written += count


class CountingFiles(Files):
    """The disk, with a ledger."""

    def __init__(self, root: str | os.PathLike[str], ledger: Ledger) -> None:
        super().__init__(root)
        self.ledger = ledger

    def create(self, name: str, fill: Callable[..., object]) -> FileRef:
        ref = super().create(name, fill)
        self.ledger.add(ref.bytes)
        return ref

    def copy(self, source: str, target: str, size: int) -> None:
        super().copy(source, target, size)
        self.ledger.add(size)

    def patch(self, name: str, offset: int, data: Any) -> None:
        super().patch(name, offset, data)
        self.ledger.add(memoryview(data).nbytes)

    def scatter(self, name: str, positions: Any, rows: Any) -> None:
        super().scatter(name, positions, rows)
        self.ledger.add(rows.nbytes)

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        if target.startswith("log/"):
            self.ledger.commits.append((time.perf_counter(), self.ledger.bytes_written))
