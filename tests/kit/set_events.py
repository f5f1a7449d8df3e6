"""Random events for sets over time, and the oracle that was told the same."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from wavedex.files.contract import AnyFiles
from wavedex.files.names import DATA
from wavedex.log.outside import Outside
from wavedex.temporal import TemporalSet
from wavedex.temporal.commit import set_journal
from wavedex.testing.crashes import LocalWalk
from wavedex.testing.lifespans import Members

NAMES = [f"u{number}" for number in range(30)]
SCHEMA = pa.schema(
    [("oid", pa.string()), ("time", pa.int64()), ("op", pa.int8()), ("v", pa.int64())]
)


class Told:
    """An oracle, and tables of events that it was told."""

    def __init__(self, seed: int, names: list[str] = NAMES) -> None:
        self.members, self.time, self.names = Members(), 0, names
        self.rng, self._next = random.Random(seed), 0

    def events(self, count: int) -> pa.Table:
        """Some more events."""
        made = []
        for _ in range(count):
            self.time += self.rng.randrange(3)
            name, row = self.rng.choice(self.names), None
            if self.members.is_alive(name):
                self.members.remove(name, self.time)
                sign = -1
            else:
                sign, row, self._next = 1, self._next, self._next + 1
                self.members.add(name, self.time, row)
            made.append((name, self.time, sign, row))
        columns = zip(*made, strict=True) if made else [()] * 4
        return pa.table([[*column] for column in columns], schema=SCHEMA)

    def check(self, found: TemporalSet, queries: int = 30) -> None:
        """Hold every answer to the oracle."""
        members, rng = self.members, self.rng
        for _ in range(queries):
            name, at = rng.choice([*self.names, "nobody"]), rng.randrange(-1, self.time + 5)
            until = at + rng.randrange(10)
            assert found.contains(name, at) == members.contains(name, at)
            row = found.row(name, at)
            assert (row and row["v"]) == members.carried(name, at)
            assert found.contains_during(name, at, until) == members.was_there(name, at, until)
            spans = found.lifespans(name).select(["start", "end"]).to_pylist()
            assert [(each["start"], each["end"]) for each in spans] == members.lifespans(name)
        at = rng.randrange(-1, self.time + 5)
        snapshot = found.snapshot(at)
        assert sorted(snapshot["oid"].to_pylist()) == sorted(members.snapshot(at))
        if snapshot.num_rows:
            rows = zip(snapshot["oid"].to_pylist(), snapshot["v"].to_pylist(), strict=True)
            assert all(members.carried(name, at) == row for name, row in rows)
        between = found.range("u1", "u3", at)["oid"].to_pylist()
        assert between == sorted(name for name in members.snapshot(at) if "u1" <= name <= "u3")
        many = found.contains_many(self.names, [at] * len(self.names))
        assert many.tolist() == [members.contains(name, at) for name in self.names]
        assert len(found) == len(members.snapshot(self.time + 1))


def spans_of(found: TemporalSet) -> list[dict[str, Any]]:
    """All lifespans, sorted."""
    return sorted(found.lifespans().to_pylist(), key=str)


class SetWalk(LocalWalk):
    """Crashes what is done to copies of a set over time."""

    def open(self, files: AnyFiles) -> TemporalSet:
        return TemporalSet.open(str(files.root), surroundings=Outside(files=lambda _: files))

    def answers(self, index: TemporalSet) -> list[dict[str, Any]]:
        return spans_of(index)

    def check_whole(self, index: TemporalSet) -> None:
        assert index.verify() == []

    def tidy(self, index: TemporalSet) -> None:
        index.compact()

    def left_over(self, files: AnyFiles, index: TemporalSet) -> set[str]:
        return unnamed_set_files(files)


def unnamed_set_files(files: AnyFiles) -> set[str]:
    """The data files that no commit of a set names."""
    journal = set_journal(files)
    named = {name for commit in journal.commits() for name in journal.read(commit).files}
    return {*files.names_in(DATA)} - named


def all_bytes(path: Path) -> bytes:
    """All that the files below a folder hold, and their names."""
    found = [each for each in sorted(path.rglob("*")) if each.is_file()]
    return b"".join(each.name.encode() + each.read_bytes() for each in found)


def copy_of(path: Path, other: Path) -> Path:
    """A copy of a folder."""
    shutil.rmtree(other, ignore_errors=True)
    return Path(shutil.copytree(path, other))
