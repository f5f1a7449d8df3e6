"""Places for indexes: a local disk, a sub-tree of one behind Arrow, and S3 on loopback."""

from __future__ import annotations

import itertools
import json
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import wavedex as wx
from wavedex.store import AnyFiles, files_at


@dataclass(frozen=True)
class S3:
    """The server, as tests see it."""

    port: int

    def uri(self, path: str) -> str:
        """The URI of a path that begins with a bucket."""
        endpoint = f"endpoint_override=http://127.0.0.1:{self.port}"
        return f"s3://{path}?{endpoint}&scheme=http&region=us-east-1"

    def refuse(self, *refusals: dict[str, Any]) -> None:
        """Refuse requests from now on: those with one of `methods` whose key, or whose prefix to list, has `key` in it."""
        self._ask("refuse", json.dumps(refusals).encode())

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
    server = request.getfixturevalue("s3")
    return Place(kind, lambda name: server.uri(f"bucket/{tmp_path.name}/{name}"))
