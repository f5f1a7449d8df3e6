"""Crash walks: what is done to an index is stopped before every change to the disk, in turn.

1. The index is copied, and opened on a disk that goes down before change number 1, then 2, ...
2. After each crash it must verify, and answer as it did before or as it does after.
3. The same is done again, and must then succeed; a vacuum leaves no file that nobody names.

A disk can also tear the change in which it goes down, and forget what was not synced.
The walk works for whatever keeps an index: a local disk, an object store, a package of one's own.

>>> import tempfile
>>> import pyarrow as pa
>>> import wavedex as wx
>>> schema = pa.schema([("k", pa.int64())])
>>> folder = tempfile.TemporaryDirectory()
>>> path = f"{folder.name}/x.wx"
>>> _ = wx.WaveIndex.create(path, schema, key="k", window=2)
>>> rows = pa.table({"k": [1, 2]}, schema=schema)
>>> walk = LocalWalk(path, f"{folder.name}/scratch")
>>> walk.crash_everywhere(DISKS["torn"], lambda index: index.append(rows, slot=1), [], rows) > 8
True
>>> folder.cleanup()
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles, Output
from wavedex.files.local import Files
from wavedex.files.names import DATA, base_of, commit_of
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.opening import open_index
from wavedex.log.manifest import Log
from wavedex.testing.disks import Crash, CrashingDisk, ForgetfulDisk
from wavedex.testing.oracle import same_rows

Expected: TypeAlias = "pa.Table | Sequence[dict[str, Any]]"
"""Rows that are expected, as a table or as Python's values."""
DiskOf = Callable[[AnyFiles, int], CrashingDisk]
"""Makes a disk of files that goes down before the change of that number."""

DISKS: dict[str, DiskOf] = {
    "crash": lambda files, number: CrashingDisk(files, number),
    "torn": lambda files, number: CrashingDisk(files, number, torn=True),
    "forgetful": lambda files, number: ForgetfulDisk(files, number),
}
"""Every way for a local disk to go down. An object store crashes; it neither tears nor forgets."""
EACH = range(1, 10**9)
"""The numbers of all changes."""


class CrashWalk(ABC):
    """Crashes what is done to copies of one index."""

    @abstractmethod
    def copy(self) -> AnyFiles:
        """A fresh copy of the index, in place of the last."""

    def answers(self, index: Any) -> list[dict[str, Any]]:
        """What the index is judged by: all of its rows, if nothing else is said."""
        rows: list[dict[str, Any]] = index.scan().read_all().to_pylist()
        return rows

    def open(self, files: AnyFiles) -> Any:
        """What lies below those files."""
        return open_index(str(files.root), surroundings=Surroundings(files=lambda _: files))

    def check_whole(self, index: Any) -> None:
        """Raise what `verify` raises where something is wrong."""
        index.verify()

    def tidy(self, index: Any) -> None:
        """Have removed what nobody needs."""
        index.vacuum()

    def left_over(self, files: AnyFiles, index: Any) -> set[str]:
        """The files that should have been removed."""
        return _left_over(files, index.manifest.commit)

    def crash_everywhere(
        self,
        disk_of: DiskOf,
        act: Callable[[Any], object],
        old: Expected,
        new: Expected,
        numbers: Iterable[int] = EACH,
    ) -> int:
        """Crash `act` before each of its changes in turn. How many there were.

        `numbers` says before which of them, if not before each: EACH[::3] for every third.
        Raises AssertionError where answers are then neither the `old` nor the `new` ones, where
        `act` does not bring the new ones when it is done again, and where files are left that
        nobody names. Raises Damaged where the index does not verify.
        """
        before, after = _listed(old), _listed(new)
        for number in numbers:
            files = self.copy()
            disk = disk_of(files, number)
            try:
                act(self.open(disk))
            except Crash:
                if isinstance(disk, ForgetfulDisk):
                    disk.forget()
            else:
                if not disk.is_down:
                    return disk.changes.total()
            self._check(files, act, before, after, f"crashed before change {number}")
        raise AssertionError("the numbers ended before the changes did")

    def _check(
        self,
        files: AnyFiles,
        act: Callable[[Any], object],
        old: list[dict[str, Any]],
        new: list[dict[str, Any]],
        where: str,
    ) -> None:
        survivor = self.open(files)
        self.check_whole(survivor)
        found = self.answers(survivor)
        assert same_rows(found, old) or same_rows(found, new), where
        act(survivor)
        assert same_rows(self.answers(survivor), new), f"{where}, done again"
        self.tidy(survivor)
        self.check_whole(survivor)
        assert same_rows(self.answers(survivor), new), f"{where}, vacuumed"
        assert not self.left_over(files, survivor), where


class LocalWalk(CrashWalk):
    """A walk on a local disk: `scratch` is where the copies are made."""

    def __init__(self, origin: str | Path, scratch: str | Path) -> None:
        self.origin, self.scratch = Path(origin), Path(scratch)

    def copy(self) -> Files:
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.copytree(self.origin, self.scratch)
        return Files(self.scratch)


class CopyingWalk(CrashWalk):
    """A walk anywhere: `place` makes files of a new address for every copy."""

    def __init__(self, origin: AnyFiles, place: Callable[[], AnyFiles]) -> None:
        self.origin, self.place = origin, place

    def copy(self) -> AnyFiles:
        target = self.place()
        target.make_folder("")
        for name in _names_below(self.origin, ""):
            if "/" in name:
                target.make_folder(name.rpartition("/")[0])
            target.create(name, partial(Output.write, data=self.origin.read(name)))
            target.sync(name)
        return target


def crash_everywhere(
    origin: str | Path,
    scratch: str | Path,
    disk_of: DiskOf,
    act: Callable[[Any], object],
    old: Expected,
    new: Expected,
    numbers: Iterable[int] = EACH,
) -> int:
    """A walk on a local disk, as `CrashWalk` has it."""
    return LocalWalk(origin, scratch).crash_everywhere(disk_of, act, old, new, numbers)


def unnamed_files(place: AnyFiles | str | Path) -> set[str]:
    """The data files that no commit names."""
    files = place if isinstance(place, AnyFiles) else files_at(place)
    log = Log(files)
    named = {name for commit in log.commits() for name in log.read(commit).files}
    return {*files.names_in(DATA)} - named


def _left_over(files: AnyFiles, newest: int) -> set[str]:
    """The files that a vacuum should have removed.

    Where there is no lock, those of the newest commit or a later one may be another writer's.
    """
    unnamed = unnamed_files(files)
    if files.is_local:
        return unnamed
    return {name for name in unnamed if (commit_of(base_of(name)) or 0) < newest}


def _names_below(files: AnyFiles, folder: str) -> list[str]:
    names = [f"{folder}/{name}" if folder else name for name in files.list(folder)]
    return [
        each
        for name in names
        for each in (_names_below(files, name) if files.is_folder(name) else [name])
    ]


def _listed(rows: Expected) -> list[dict[str, Any]]:
    return rows.to_pylist() if isinstance(rows, pa.Table) else list(rows)
