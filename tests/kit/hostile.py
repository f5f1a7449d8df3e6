"""Folders that somebody else made.

Indexes of every kind, whose manifests are forged with good checksums.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import xxhash

import wavedex as wx
from kit import life_rows
from kit.small_waves import make, rows_of, table
from wavedex.files.local import Files
from wavedex.log.manifest import Log

SLOTS = range(1, 7)


def _everything(path: Path) -> None:
    """Temporaries, sub-indexes that drain, a delta that a stream feeds, and staged parts."""
    make(path, "rata", "runs", SLOTS)
    index = wx.open(path)
    index.migrate(scheme="reindex++", strategy="drain")
    for number, slot in enumerate((7, 8, 9)):
        index.feed(table(rows_of(slot)), stream="s", number=number, delay=15)
    stage_a_part(path)


KINDS: dict[str, Callable[[Path], object]] = {
    "everything": _everything,
    "packed": lambda path: make(path, "del", "packed-shadow", SLOTS),
    "parquet": lambda path: make(path, "wata", "runs in parquet", SLOTS),
    "in place": lambda path: make(path, "wata", "in-place", SLOTS),
    "chained": lambda path: make(path, "wata", "in-place in chained", SLOTS),
    "sqlite": lambda path: make(path, "wata", "runs in sqlite", SLOTS),
    "sqlite in place": lambda path: make(path, "wata", "in-place in sqlite", SLOTS),
    "lifetimes": lambda path: life_rows.make(path, "rebuild"),
    "chained lifetimes": lambda path: life_rows.make(path, "no-rebuild"),
}


def forge(path: Path, change: Callable[[dict[str, Any]], None], commit: int = -1) -> None:
    """Change a manifest, the newest by default, and give it a checksum that is right."""
    number = Log(Files(path)).commits()[commit]
    file = path / "log" / f"{number:020d}.json"
    body = json.loads(file.read_text())["manifest"]
    change(body)
    text = json.dumps(body, separators=(",", ":"))
    checksum = xxhash.xxh64_hexdigest(text.encode())
    file.write_text(f'{{"checksum":"{checksum}","manifest":{text}}}\n')


def named_files(node: Any) -> Iterator[dict[str, Any]]:
    """Every mention of a file in a manifest, wherever it stands."""
    if isinstance(node, dict):
        if {"name", "bytes", "checksum"} <= node.keys():
            yield node
        for inner in node.values():
            yield from named_files(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from named_files(inner)


def stage_a_part(path: Path) -> None:
    """Let the files of one part lie below `staged`.

    A write through Spark's data source leaves them there.
    """
    (path / "staged").mkdir()

    def change(body: dict[str, Any]) -> None:
        part = next(p for sub in body["indexes"].values() for ps in sub["shards"] for p in ps)
        for name in {file["name"] for file in part["files"].values()}:
            staged = f"staged/{'0' * 16}-1-abcdef01-00000{Path(name).suffix}"
            (path / name).rename(path / staged)
            for mention in named_files(body):
                mention["name"] = staged if mention["name"] == name else mention["name"]

    forge(path, change)
    wx.open(path).verify()


def acts_on(path: Path) -> dict[str, Callable[[], object]]:
    """All that can be done with an index, whatever its kind, each with a handle of its own."""

    def append() -> object:
        index = wx.open(path)
        if isinstance(index, wx.LifetimeIndex):
            return index.update(life_rows.LAST + 4, life_rows.table(life_rows.rows_at(22)))
        return index.append(table(rows_of(10)))

    def correct() -> object:
        index = wx.open(path)
        if isinstance(index, wx.LifetimeIndex):
            return index.retract(life_rows.LAST + 1, index.scan().read_all().slice(0, 1))
        return index.amend(table([{"k": 1, "t": 61, "v": "late"}]))

    def migrate() -> object:
        index = wx.open(path)
        if isinstance(index, wx.LifetimeIndex):
            return index.migrate(grid=(4, 4))
        return index.migrate(scheme="reindex", shards=2)

    return {
        "probe": lambda: wx.open(path).probe(1),
        "probe many": lambda: wx.open(path).probe_many([1, 2, 3]),
        "scan": lambda: wx.open(path).scan().read_all(),
        "files": lambda: wx.open(path).files(),
        "describe": lambda: wx.open(path).describe(),
        "verify": lambda: wx.open(path).verify(),
        "append": append,
        "correct": correct,
        "erase": lambda: wx.open(path).erase([1]),
        "migrate": migrate,
        "vacuum": lambda: wx.open(path).vacuum(),
    }


def tree(folder: Path) -> dict[str, tuple[Any, ...]]:
    """All that lies below a folder: names, contents, modes and times of change."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (content, about.st_mode, about.st_mtime_ns)
    return found
