"""Places for indexes.

A local disk, a sub-tree of one behind Arrow, S3 on loopback, and other stores of obstore's.
"""

from __future__ import annotations

import itertools
import json
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obstore.store import LocalStore, MemoryStore

import wavedex as wx
from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles
from wavedex.files.objects import ObjectFiles


@dataclass(frozen=True)
class S3:
    """The server, as tests see it."""

    port: int

    def uri(self, path: str) -> str:
        """The URI of a path that begins with a bucket."""
        endpoint = f"endpoint_override=http://127.0.0.1:{self.port}"
        return f"s3://{path}?{endpoint}&scheme=http&region=us-east-1"

    def refuse(self, *refusals: dict[str, Any]) -> None:
        """Refuse requests from now on.

        Those with one of `methods` whose key, or whose prefix to list, has `key` in it. One that
        `obeys` does what it was asked for and says that it did not; some do so only so many
        `times`.
        """
        self._ask("refuse", json.dumps(refusals).encode())

    def heed(self, conditions: bool = True) -> None:
        """Heed conditions from now on, or pass over them as some stores do."""
        self._ask("careless", json.dumps([] if conditions else [True]).encode())

    def requests(self) -> list[list[str]]:
        """The methods and keys of the requests since the last time."""
        return json.loads(self._ask("requests"))

    def _ask(self, what: str, body: bytes | None = None) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/{what}", body) as answer:
            return answer.read()


@dataclass(frozen=True)
class Place:
    """A place for indexes: how to name one in it, and the surroundings with which it is opened."""

    kind: str
    address: Callable[[str], str]
    files: Callable[[Any], AnyFiles] = files_at
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def around(self) -> wx.Surroundings:
        return wx.Surroundings(files=self.files)

    def new(self) -> str:
        """The address of an index that is not there yet."""
        return self.address(f"{next(self.numbers)}.wx")

    def open(self, address: str) -> wx.WaveIndex:
        return wx.open(address, surroundings=self.around)


def place_of(request, tmp_path: Path, kind: str) -> Place:
    if kind == "local":
        return Place(kind, lambda name: str(tmp_path / name))
    if kind == "subtree":
        return request.getfixturevalue("subtree")
    if kind in ("memory", "folder"):
        store = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
        return Place(kind, str, lambda path: ObjectFiles(store, path))
    server = request.getfixturevalue(kind)
    return Place(kind, lambda name: server.uri(f"bucket/{tmp_path.name}/{name}"))
